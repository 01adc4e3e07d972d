/* Rotary positions as pairs of numbers that the reader turns: one real query, one real key, all pairs of a head.

   data = {
     query: [q0, ...], key: [k0, ...]            D numbers each, before they are turned
     words: ["query of ...", "key of ..."], places: [30, 20], most: 127
     bases: [10000, ...], base: 10000            what the speeds are made from; the first number the model was trained with
   }
   Pair i turns by place * base ** (-2 i / D). "halves" pairs number i with i + D/2, "neighbours" 2 i with 2 i + 1. */
window.w2s.register("rotary-pairs", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, { words, most } = data, D = data.query.length, P = D / 2, RADIUS = 30, CELL = 78;
  const places = [...data.places], hues = ["blue", "orange"], names = ["query", "key"];
  let base = data.base, layout = "halves", together = "alone", wide = 560;
  const members = (i, how) => (how === "halves" ? [i, i + P] : [2 * i, 2 * i + 1]);
  const pair = (vector, i, how) => members(i, how).map((n) => vector[n]);
  const speed = (i) => base ** (-2 * i / D);
  const turned = ([a, b], angle) => [a * Math.cos(angle) - b * Math.sin(angle), a * Math.sin(angle) + b * Math.cos(angle)];
  const part = (i, how, distance) => { const q = turned(pair(data.query, i, how), distance * speed(i)), k = pair(data.key, i, how); return q[0] * k[0] + q[1] * k[1]; };
  const scoreAt = (distance, how) => Array.from({ length: P }, (_, i) => part(i, how, distance)).reduce((sum, one) => sum + one, 0) / Math.sqrt(D);

  const dials = Array.from({ length: P }, () => {
    const hands = hues.map((hue) => svg("line", { class: `w2s-line is-solid hue-${hue}` })), ends = hues.map((hue, n) => svg("g", {}, tools.mark({ hue, mark: 4 * (1 - n) })));
    const text = svg("text", { class: "w2s-tick", y: RADIUS + 14, "text-anchor": "middle" });
    const node = svg("g", {}, svg("circle", { class: "w2s-lane hue-grey", r: RADIUS }), ...hands, ...ends, text);
    return { node, hands, ends, text };
  });
  const board = tools.picture({ class: "w2s-lanes" }, ...dials.map(({ node }) => node));
  const axes = tools.axes({ xLabel: "position of the query minus position of the key", yLabel: "score" }), chart = tools.picture({ class: "w2s-lanes" }, axes.node);

  function draw() {
    const distance = places[0] - places[1], score = scoreAt(distance, layout), trained = scoreAt(distance, "halves");
    const vectors = [data.query, data.key], across = wide >= 460 ? 6 : 4, step = wide / across;
    const longest = Math.max(...vectors.flatMap((vector) => Array.from({ length: P }, (_, i) => Math.hypot(...pair(vector, i, layout)))));
    dials.forEach((dial, i) => {
      tools.move(dial.node, step * (i % across + 0.5), CELL * Math.floor(i / across) + RADIUS + 4);
      vectors.forEach((vector, n) => {
        const [a, b] = turned(pair(vector, i, layout), places[n] * speed(i)).map((value) => value * RADIUS / longest);
        set(dial.hands[n], { x2: a, y2: -b });
        tools.move(dial.ends[n], a, -b);
      });
      dial.text.textContent = `${members(i, layout).join(", ")}: ${(part(i, layout, distance) / Math.sqrt(D)).toFixed(2)}`;
    });
    set(board.node, { viewBox: `0 0 ${wide} ${CELL * Math.ceil(P / across) + 4}`, width: wide });
    const all = Array.from({ length: most + 1 }, (_, d) => [scoreAt(d, "halves"), scoreAt(d, "neighbours")]), [low, high] = tools.span(all.flat());
    const box = [44, 26, wide - 12, 170];
    axes.show({ x: tools.scale([0, most], [box[0], box[2]]), y: tools.scale([Math.min(0, low), Math.max(0, high)], [box[3], box[1]]), box, many: [6, 4],
      lines: [{ points: all.map(([right], d) => [d, right]) }, { points: all.map(([, wrong], d) => [d, wrong]), hue: "orange", line: "dotted" }],
      dot: distance >= 0 ? [distance, score] : null });
    set(chart.node, { viewBox: `0 0 ${wide} 210`, width: wide });
    board.name(`${P} pairs of dimensions, each with a hand for the query and one for the key.`);
    chart.name(`The score by distance for both layouts; ${score.toFixed(2)} at ${distance}.`);
    tools.say(`Query at ${places[0]}, key at ${places[1]}, distance ${distance}: score ${score.toFixed(2)}${layout === "halves" ? "" : `, where the trained layout gives ${trained.toFixed(2)}`}. `
      + `The first pair has rotated ${(Math.abs(distance) * speed(0) / (2 * Math.PI)).toFixed(1)} times between them, the last ${(360 * Math.abs(distance) * speed(P - 1) / (2 * Math.PI)).toFixed(1)}°.`);
    Object.assign(stage.dataset, { places: places.join(), layout, base, score, trained, together });
  }
  const sliders = names.map((name, n) => tools.slider({ label: `The ${words[n]} stands at`, min: 0, max: most, value: places[n], oninput(to) {
    const other = places[1 - n] + to - places[n];
    if (together === "together" && other >= 0 && other <= most) places[1 - n] = other;
    if (together === "alone" || (other >= 0 && other <= most)) places[n] = to;
    sliders.forEach((slider, m) => slider.set(places[m]));
    draw();
  } }));
  const moving = tools.choice({ legend: "A slider moves", value: together, onchange(key) { together = key; draw(); }, options: [{ key: "alone", label: "one alone" }, { key: "together", label: "both together" }] });
  const layouts = tools.choice({ legend: "A pair is", value: layout, onchange(key) { layout = key; draw(); }, options: [{ key: "halves", label: "i and i + D/2" }, { key: "neighbours", label: "2i and 2i + 1" }] });
  const bases = tools.choice({ legend: "Base", value: String(base), onchange(key) { base = Number(key); draw(); }, options: data.bases.map((one) => ({ key: String(one), label: one.toLocaleString("en") })) });
  stage.append(tools.bar(layouts, bases, moving), tools.bar(...sliders), board.node, chart.node, tools.legend([{ label: "query", hue: "blue", mark: 4 }, { label: "key", hue: "orange", mark: 0 },
    { label: "half-split, as trained", line: "solid", hue: "blue" }, { label: "interleaved", line: "dotted", hue: "orange" }]).node);
  tools.onWidth((width) => { wide = width; draw(); });
});
