/* Rotary positions on one pair of dimensions: a query and a key, each rotated by its position, and their score.

   data = {
     task: "Move both ...",                                  what the reader is to do
     words: ["bank", "river"], query: [1, 2], key: [2, 1]    one pair of dimensions of each
     places: [3, 1], most: 12                                the positions at first, and the last position
     speeds: [{key: "90", label: "90°", degrees: 90}, ...]   the rotation per position
   }
   The dials keep their height and the chart its own, so nothing moves on the page while the reader works. */
window.w2s.register("two-clocks", function (stage, data, tools) {
  "use strict";
  const { svg, set, el } = tools, { words, most } = data, vectors = [data.query, data.key], RADIUS = 66, TALL = 2 * RADIUS + 50;
  const unit = RADIUS / Math.max(Math.hypot(...data.query), Math.hypot(...data.key));
  const places = [...data.places], shown = [...data.places], hues = ["blue", "orange"], names = ["query", "key"];
  let speed = data.speeds[0], together = "alone", wide = 560, stop = () => {};
  const rotated = ([a, b], steps) => {
    const angle = steps * speed.degrees * Math.PI / 180, cos = Math.cos(angle), sin = Math.sin(angle);
    return [a * cos - b * sin, a * sin + b * cos];
  };
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1], short = (value) => String(+value.toFixed(2) || 0).replace("-", "−");
  const show = (vector) => `(${vector.map(short).join(", ")})`;
  const scoreAt = (distance) => dot(rotated(vectors[0], distance), vectors[1]);

  const dials = names.map((name, n) => {
    const first = svg("line", { class: "w2s-line is-dotted hue-grey", x2: vectors[n][0] * unit, y2: -vectors[n][1] * unit });
    const hand = svg("line", { class: `w2s-line is-solid hue-${hues[n]}` });
    const end = svg("g", {}, tools.mark({ hue: hues[n], mark: 4 * (1 - n) }));
    const texts = [22, 40].map((y) => svg("text", { class: "w2s-tick", y: RADIUS + y, "text-anchor": "middle" }));
    const node = svg("g", {}, svg("circle", { class: "w2s-lane hue-grey", r: RADIUS }), svg("path", { class: "w2s-grid",
      d: `M${-RADIUS} 0H${RADIUS}M0 ${-RADIUS}V${RADIUS}` }), first, hand, end, ...texts);
    return { node, show(place) {
      const vector = rotated(vectors[n], place);
      set(hand, { x2: vector[0] * unit, y2: -vector[1] * unit });
      tools.move(end, vector[0] * unit, -vector[1] * unit);
      texts[0].textContent = `${name} of ${words[n]}, ${"mn"[n]} = ${places[n]}`;
      texts[1].textContent = show(rotated(vectors[n], places[n]));
    } };
  });
  const clocks = tools.picture({ class: "w2s-lanes" }, ...dials.map(({ node }) => node));
  const axes = tools.axes({ xLabel: "distance d = m − n", yLabel: "score" });
  const chart = tools.picture({ class: "w2s-lanes" }, axes.node);

  function draw() {
    const [q, k] = vectors.map((vector, n) => rotated(vector, places[n])), score = dot(q, k), distance = places[0] - places[1];
    sliders.forEach((slider, n) => slider.set(places[n]));
    const from = [...shown], reach = Math.hypot(...data.query) * Math.hypot(...data.key), box = [34, 26, wide - 12, 130];
    stop();
    stop = tools.animate(350, (t) => dials.forEach((dial, n) => dial.show(shown[n] = from[n] + t * (places[n] - from[n]))));
    const fine = Array.from({ length: 40 * most + 1 }, (_, i) => -most + i / 20);
    axes.show({ x: tools.scale([-most, most], [box[0], box[2]]), y: tools.scale([-reach, reach], [box[3], box[1]]), box, many: [6, 2],
      lines: [{ points: fine.map((d) => [d, scoreAt(d)]) }], dot: [distance, score] });
    set(chart.node, { viewBox: `0 0 ${wide} 168`, width: wide });
    clocks.name(`Query ${show(q)}, key ${show(k)}.`);
    chart.name(`The score by distance; ${short(score)} at ${short(distance)}.`);
    Object.assign(stage.dataset, { places: places.join(), turn: speed.degrees, together, score, query: JSON.stringify(q),
      key: JSON.stringify(k) });
    tools.say(`${show(q)} · ${show(k)} = ${short(score)} at distance ${short(distance)}.`);
  }

  const sliders = names.map((name, n) => tools.slider({ label: `${name[0].toUpperCase()}${name.slice(1)} position ${"mn"[n]}`, min: 0, max: most,
    value: places[n], oninput(to) {
      const step = to - places[n], other = places[1 - n] + step, fits = other >= 0 && other <= most;
      if (together === "together" && fits) places[1 - n] = other;
      if (together === "alone" || fits) places[n] = to;
      draw();
    } }));
  const moving = tools.choice({ legend: "A slider moves", value: together, onchange(key) { together = key; draw(); },
    options: [{ key: "alone", label: "one" }, { key: "together", label: "both" }] });
  const speeds = tools.choice({ legend: "Rotation per position", value: speed.key, options: data.speeds,
    onchange(key) { speed = data.speeds.find((one) => one.key === key); draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), clocks.node, chart.node, tools.bar(...sliders), tools.bar(moving, speeds));
  tools.onWidth((width) => {
    wide = width;
    dials.forEach(({ node }, n) => tools.move(node, width / 4 + n * width / 2, RADIUS + 6));
    set(clocks.node, { viewBox: `0 0 ${width} ${TALL}`, width });
    draw();
  });
});
