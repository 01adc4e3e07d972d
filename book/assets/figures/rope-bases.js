/* Rotary positions of a whole head: one pair of it on two dials, and how alike a vector is to itself at each distance.

   data = {
     size: 64,                          dimensions of a head: half as many pairs
     base: 10000, pair: 12,             what is shown at first; the reader types another base
     bases: [10000, 160000],            bases to press
     reaches: [64, 1024, 8192],         how far the curve goes; the second one at first
     places: [40, 12]                   of query and key
   } */
window.w2s.register("rope-bases", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, PAIRS = data.size / 2, RADIUS = 70, TALL = 2 * RADIUS + 44, hues = ["blue", "orange"],
    names = ["query", "key"], number = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 });
  let { base, pair } = data, reach = data.reaches[1], places = [...data.places], together = "alone", wide = 560;
  const speed = (i) => base ** (-2 * i / data.size), wave = (i) => 2 * Math.PI / speed(i);
  const alike = (distance) => {
    let sum = 0;
    for (let i = 0; i < PAIRS; i++) sum += Math.cos(distance * speed(i));
    return sum / PAIRS;
  };

  const dials = names.map((name, n) => {
    const hand = svg("line", { class: `w2s-line is-solid hue-${hues[n]}` }), end = svg("g", {}, tools.mark({ hue: hues[n], mark: 4 * (1 - n) }));
    const text = svg("text", { class: "w2s-tick", y: RADIUS + 22, "text-anchor": "middle" });
    const node = svg("g", {}, svg("circle", { class: "w2s-lane hue-grey", r: RADIUS }), svg("path", { class: "w2s-grid",
      d: `M${-RADIUS} 0H${RADIUS}M0 ${-RADIUS}V${RADIUS}` }), hand, end, text);
    return { node, show() {
      const angle = places[n] * speed(pair), x = 0.9 * RADIUS * Math.cos(angle), y = -0.9 * RADIUS * Math.sin(angle);
      set(hand, { x2: x.toFixed(2), y2: y.toFixed(2) });
      tools.move(end, x, y);
      text.textContent = `${name} at ${number(places[n])}: ${number(angle / 2 / Math.PI)} rotations`;
    } };
  });
  const clocks = tools.picture({ class: "w2s-lanes" }, ...dials.map(({ node }) => node));
  const axes = tools.axes({ xLabel: "distance in tokens", yLabel: "score of a vector with itself", text: number });
  const chart = tools.picture({ class: "w2s-lanes" }, axes.node);

  function draw() {
    const distance = Math.abs(places[0] - places[1]), score = alike(distance), box = [48, 26, wide - 14, 176];
    const come = Array.from({ length: PAIRS }, (_, i) => i).filter((i) => wave(i) <= reach).length;
    dials.forEach((dial) => dial.show());
    sliders.forEach((slider, n) => slider.set(places[n]));
    axes.show({ x: tools.scale([0, reach], [box[0], box[2]]), y: tools.scale([-0.5, 1], [box[3], box[1]]), box, many: [wide > 480 ? 6 : 4, 4],
      lines: [{ points: Array.from({ length: 321 }, (_, i) => [i * reach / 320, alike(i * reach / 320)]) }],
      dot: distance <= reach ? [distance, score] : null });
    set(chart.node, { viewBox: `0 0 ${wide} 216`, width: wide });
    clocks.name(`Pair ${pair + 1} of the query and of the key, rotated by their positions ${places.join(" and ")}.`);
    chart.name(`The score by distance for base ${number(base)}; ${score.toFixed(2)} at ${distance}.`);
    Object.assign(stage.dataset, { base, pair, reach, places: places.join(), together, score, wave: wave(pair), come });
    tools.say(`Base ${number(base)}: pair ${pair + 1} of ${PAIRS} completes a rotation after ${number(wave(pair))} tokens, the last after `
      + `${number(wave(PAIRS - 1))}. Within ${number(reach)} tokens ${come} pairs complete one. At distance ${number(distance)} the score is ${score.toFixed(2)}.`);
  }

  const most = data.reaches[data.reaches.length - 1];
  const sliders = names.map((name, n) => tools.slider({ label: `Position of the ${name}`, min: 0, max: most, value: places[n], text: number,
    oninput(to) {
      const other = places[1 - n] + to - places[n], both = together === "together", fits = other >= 0 && other <= most;
      if (!both || fits) places[n] = to;
      if (both && fits) places[1 - n] = other;
      draw();
    } }));
  const moving = tools.choice({ legend: "A slider moves", value: together, onchange(key) { together = key; draw(); },
    options: [{ key: "alone", label: "one alone" }, { key: "together", label: "both together" }] });
  const field = tools.textField({ label: "Base", value: String(base), most: 14, oninput(text) {
    const typed = Number(text.replaceAll(/[, ]/g, ""));
    if (!(typed > 1 && typed <= 1e12)) { tools.say("Give a base above 1, up to 1,000,000,000,000."); return; }
    base = typed;
    known.set(String(base));
    draw();
  } });
  const known = tools.choice({ legend: "or press", value: String(base), options: data.bases.map((one) => ({ key: String(one),
    label: number(one) })), onchange(key) { base = Number(key); field.set(key); draw(); } });
  const which = tools.slider({ label: "Pair on the dials", min: 1, max: PAIRS, value: pair + 1, oninput(to) { pair = to - 1; draw(); } });
  const far = tools.choice({ legend: "Curve to", value: String(reach), options: data.reaches.map((one) => ({ key: String(one),
    label: number(one) })), onchange(key) { reach = Number(key); draw(); } });
  stage.append(tools.bar(field, known), tools.bar(which, moving), tools.bar(...sliders), clocks.node, tools.bar(far), chart.node);
  tools.onWidth((width) => {
    wide = width;
    dials.forEach(({ node }, n) => tools.move(node, (1 + 2 * n) * width / 4, RADIUS + 6));
    set(clocks.node, { viewBox: `0 0 ${width} ${TALL}`, width });
    draw();
  });
});
