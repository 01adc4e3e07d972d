/* Attention of one word: its query meets every key, the scores become weights, and the weighted values become one output.

   data = {
     words: ["sat", ...], at: 2, task: "Turn ...",   the words, the one that attends, and what the reader is to do
     query: [x, y], keys: [[x, y], ...], size: 4     the entries that are not 0, of how many
     values: [[x, y], ...]
   } */
window.w2s.register("qkv-flow", function (stage, data, tools) {
  "use strict";
  const { svg, set, el } = tools, { words, at, keys, values } = data, HEIGHT = 322, BOX = 74;
  const name = words[at], start = Math.atan2(data.query[1], data.query[0]) * 180 / Math.PI, full = Math.hypot(...data.query);
  const vector = (point, digits) => `(${point.map((value) => value.toFixed(digits).replace("-", "−").replace(/^−(0\.?0*)$/, "$1")).join(", ")})`;
  let angle = start, factor = 1, mask = "all";

  const box = (hue, title, wide = BOX) => {
    const node = svg("g", { class: `w2s-box hue-${hue} is-lit` }, svg("rect", { x: -wide / 2, width: wide, height: 42, rx: 5 }),
      svg("text", { y: 17, "text-anchor": "middle" }, title), svg("text", { y: 34, "text-anchor": "middle", class: "w2s-flow-vector" }));
    return { node, write(text) { node.lastChild.textContent = text; } };
  };
  const query = box("blue", `query of ${name}`, 136), output = box("blue", `output for ${name}`, 136);
  const columns = words.map((word, s) => ({
    key: box("orange", word), value: box("green", "value"), out: svg("line", { class: "w2s-flow hue-green" }),
    ask: svg("line", { class: "w2s-flow hue-blue" }), score: svg("text", { class: "w2s-tick", "text-anchor": "middle" }),
    weight: svg("text", { class: "w2s-flow-weight", "text-anchor": "middle" }), s }));
  const parts = (...names) => columns.flatMap((column) => names.map((part) => column[part].node || column[part]));
  const picture = tools.picture({ class: "w2s-lanes" }, ...parts("ask", "out"), ...parts("key", "score", "weight", "value"),
    query.node, output.node);
  columns.forEach(({ key, value, s }) => { key.write(`key ${vector(keys[s], 0)}`); value.write(vector(values[s], 0)); });

  function draw() {
    const turn = angle * Math.PI / 180, q = [full * factor * Math.cos(turn), full * factor * Math.sin(turn)];
    const open = words.map((_, s) => mask === "all" || s <= at);
    const scores = keys.map(([x, y]) => (q[0] * x + q[1] * y) / Math.sqrt(data.size));
    const powers = scores.map((score, s) => (open[s] ? Math.exp(score) : 0)), sum = powers.reduce((a, b) => a + b);
    const weights = powers.map((power) => power / sum), best = weights.indexOf(Math.max(...weights));
    const found = [0, 1].map((i) => weights.reduce((total, weight, s) => total + weight * values[s][i], 0));
    const mean = vector(found, 1);
    query.write(vector(q, 1)); output.write(mean);
    columns.forEach(({ key, value, out, ask, score, weight, s }) => {
      score.textContent = open[s] ? `score ${vector([scores[s]], 2).slice(1, -1)}` : "masked";
      weight.textContent = `${(100 * weights[s]).toFixed(1)} %`;
      out.style.setProperty("stroke-width", `${(18 * weights[s]).toFixed(2)}px`);
      ask.style.setProperty("opacity", open[s] ? 1 : 0.15);
      set(key.node, { opacity: open[s] ? 1 : 0.45 }); set(value.node, { opacity: open[s] ? 1 : 0.45 });
    });
    const tied = weights.filter((weight) => weight > weights[best] - 1e-9).length > 1;
    picture.name(`The query of ${name} meets ${words.length} keys; the weights are ${words.map((word, s) => `${word} ${(100
      * weights[s]).toFixed(1)} percent`).join(", ")}; the output is ${mean}.`);
    Object.assign(stage.dataset, { weights: JSON.stringify(weights), output: JSON.stringify(found), angle, factor, mask });
    const most = `“${name}” attends most to ${best === at ? "itself" : `“${words[best]}”`}, with ${(100 * weights[best]).toFixed(1)} %.`;
    tools.say(tied ? "Two or more keys fit equally well." : best === at ? `Done. ${most}` : most);
  }

  const turning = tools.slider({ label: "Direction", min: -180, max: 180, step: 5, value: start,
    text: (degrees) => `${String(degrees).replace("-", "−")}°`, oninput(to) { angle = to; draw(); } });
  const length = tools.slider({ label: "Length", min: 0, max: 3, step: 0.1, value: 1, text: (times) => `${times.toFixed(1)} times`,
    oninput(to) { factor = to; draw(); } });
  const masks = tools.choice({ legend: `“${name}” may attend to`, value: mask, onchange(key) { mask = key; draw(); },
    options: [{ key: "all", label: "all words" }, { key: "causal", label: "itself and earlier words" }] });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(turning, length, masks));
  tools.onWidth((width) => {
    const wide = Math.min(width, 520), x = (s) => (s + 0.5) * wide / words.length, middle = wide / 2;
    set(picture.node, { viewBox: `0 0 ${wide} ${HEIGHT}`, width: wide });
    tools.move(query.node, middle, 0); tools.move(output.node, middle, 280);
    columns.forEach(({ key, value, out, ask, score, weight, s }) => {
      score.style.setProperty("font-size", wide < 400 ? "11px" : "13px");  // "score −1.80" in a column of a phone
      tools.move(key.node, x(s), 82); tools.move(value.node, x(s), 186);
      set(score, { x: x(s), y: 145 }); set(weight, { x: x(s), y: 172 });
      set(ask, { x1: middle, y1: 42, x2: x(s), y2: 82 });
      set(out, { x1: x(s), y1: 228, x2: middle + (s - (words.length - 1) / 2) * 22, y2: 280 });
    });
  });
  draw();
});
