/* Rotary positions as two clocks: a query and a key, each turned by its place, and the score that is left.

   data = {
     words: ["bank", "river"], query: [1, 2], key: [2, 1]    one pair of numbers of each
     places: [3, 1], most: 12                                where the two stand at first, and the last place
     speeds: [{key: "90", label: "90°", degrees: 90}, ...]   how far a step turns
   } */
window.w2s.register("two-clocks", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, { words, most } = data, vectors = [data.query, data.key], RADIUS = 84, TALL = 2 * RADIUS + 46;
  const long = Math.hypot(...data.query) > Math.hypot(...data.key) ? data.query : data.key, unit = RADIUS / Math.hypot(...long);
  const places = [...data.places], hues = ["blue", "orange"], names = ["query", "key"];
  let speed = data.speeds[0], together = "alone", wide = 560;
  const turned = ([a, b], steps) => {
    const angle = steps * speed.degrees * Math.PI / 180, cos = Math.cos(angle), sin = Math.sin(angle);
    return [a * cos - b * sin, a * sin + b * cos];
  };
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1], show = (vector) => `(${vector.map((value) => value.toFixed(2)).join(", ")})`;
  const scoreAt = (distance) => dot(turned(vectors[0], distance), vectors[1]);

  const dials = names.map((name, n) => {
    const first = svg("line", { class: "w2s-line is-dotted hue-grey", x2: vectors[n][0] * unit, y2: -vectors[n][1] * unit });
    const hand = svg("line", { class: `w2s-line is-solid hue-${hues[n]}` }), end = svg("g", {}, tools.mark({ hue: hues[n],
      mark: 4 * (1 - n) }));
    const text = svg("text", { class: "w2s-tick", y: RADIUS + 24, "text-anchor": "middle" });
    const node = svg("g", {}, svg("circle", { class: "w2s-lane hue-grey", r: RADIUS }), svg("path", { class: "w2s-grid",
      d: `M${-RADIUS} 0H${RADIUS}M0 ${-RADIUS}V${RADIUS}` }), first, hand, end, text);
    return { node, show(vector) {
      set(hand, { x2: vector[0] * unit, y2: -vector[1] * unit });
      tools.move(end, vector[0] * unit, -vector[1] * unit);
      text.textContent = `${name} of ${words[n]}, at ${places[n]}: ${show(vector)}`;
    } };
  });
  const clocks = tools.picture({ class: "w2s-lanes" }, ...dials.map(({ node }) => node));
  const axes = tools.axes({ xLabel: "place of the query less place of the key", yLabel: "score" });
  const chart = tools.picture({ class: "w2s-lanes" }, axes.node);

  function draw() {
    const [q, k] = vectors.map((vector, n) => turned(vector, places[n])), score = dot(q, k), distance = places[0] - places[1];
    dials.forEach((dial, n) => { dial.show([q, k][n]); sliders[n].set(places[n]); });
    const reach = Math.hypot(...data.query) * Math.hypot(...data.key), box = [44, 26, wide - 12, 170];
    const fine = Array.from({ length: 40 * most + 1 }, (_, i) => -most + i / 20);
    axes.show({ x: tools.scale([-most, most], [box[0], box[2]]), y: tools.scale([-reach, reach], [box[3], box[1]]), box, many: [6, 4],
      lines: [{ points: fine.map((d) => [d, scoreAt(d)]) }], dot: [distance, score] });
    set(chart.node, { viewBox: `0 0 ${wide} 210`, width: wide });
    clocks.name(`Query ${show(q)}, key ${show(k)}.`);
    chart.name(`The score by distance; ${score.toFixed(2)} at ${distance}.`);
    Object.assign(stage.dataset, { places: places.join(), turn: speed.degrees, together, score, query: JSON.stringify(q),
      key: JSON.stringify(k) });
    tools.say(`${show(q)} · ${show(k)} = ${score.toFixed(2)}. The distance is ${distance}; wherever the two stand with that `
      + "between them, the score is the same.");
  }

  const sliders = names.map((name, n) => tools.slider({ label: `The ${name} stands at`, min: 0, max: most, value: places[n],
    oninput(to) {
      const step = to - places[n], other = places[1 - n] + step;
      if (together === "together" && other >= 0 && other <= most) places[1 - n] = other;
      if (together === "alone" || (other >= 0 && other <= most)) places[n] = to;
      draw();
    } }));
  const moving = tools.choice({ legend: "A slider moves", value: together, onchange(key) { together = key; draw(); },
    options: [{ key: "alone", label: "one alone" }, { key: "together", label: "both together" }] });
  const speeds = tools.choice({ legend: "A place turns by", value: speed.key, options: data.speeds,
    onchange(key) { speed = data.speeds.find((one) => one.key === key); draw(); } });
  stage.append(tools.bar(moving, speeds), tools.bar(...sliders), clocks.node, chart.node);
  tools.onWidth((width) => {
    wide = width;
    const beside = width >= 460, side = beside ? width / 4 : width / 2;
    dials.forEach(({ node }, n) => tools.move(node, beside ? side + n * width / 2 : side, RADIUS + 6 + (beside ? 0 : n * TALL)));
    set(clocks.node, { viewBox: `0 0 ${width} ${beside ? TALL : 2 * TALL}`, width });
    draw();
  });
});
