/* Attention of one word in the plane: the query and the keys can be moved; the weights and the output follow.

   data = {
     words: ["sat", ...], at: 2, task: "..."   the words, the one that attends, and what the reader is to do
     query: [x, y], keys: [[x, y], ...]      the first two numbers of each vector, size: 4 of how many
     values: [[x, y], ...]
     drawn: [[...], ...]                     for the query and each key further numbers, drawn at random; as many as a size may ask
   } */
window.w2s.register("attention-plane", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, { words, values, at } = data, REACH = 2.4, EDGE = 2.2, most = data.drawn[0].length + 2;
  const points = [data.query, ...data.keys].map((point) => [...point]), far = Math.max(...values.flat().map(Math.abs)) * 1.2;
  const names = [`query of ${words[at]}`, ...words.map((word) => `key of ${word}`)];
  let size = data.size, scale = "root", mask = "all", rest = "zero", side = 264;
  const plane = (title) => svg("g", {}, svg("rect", { class: "w2s-lane hue-grey", rx: 6 }),
    svg("text", { class: "w2s-lane-count", x: 2, y: -8 }, title));
  const toPixels = ([x, y]) => [side / 2 + x * side / 2 / REACH, side / 2 - y * side / 2 / REACH];
  const toValue = ([x, y]) => [22 + x * (side - 44) / far, side - 26 - y * (side - 52) / far];
  const grid = svg("path", { class: "w2s-grid" }), arrow = svg("line", { class: "w2s-line is-solid hue-blue" });
  const asked = plane("query and keys"), seen = plane("values and output"), dots = svg("g", {}), both = [asked, seen];
  const picture = tools.picture({ class: "w2s-lanes", role: "group" }, ...both); asked.append(grid, arrow); seen.append(dots);
  picture.name("Two planes: the query with the keys, and the values with the output.");
  const move = (n, point) => { points[n] = point.map((value) => Math.round(Math.max(-EDGE, Math.min(EDGE, value)) * 10) / 10); draw(); };

  const handles = points.map((_, n) => {
    const node = svg("g", { class: "w2s-handle", tabindex: 0, role: "slider", "aria-label": names[n], "aria-valuemin": -EDGE,
      "aria-valuemax": EDGE, onkeydown(event) {
        const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
        if (step) { event.preventDefault(); move(n, points[n].map((value, i) => value + step[i])); } },
      onpointerdown: (event) => node.setPointerCapture(event.pointerId), onpointermove(event) {
        if (!node.hasPointerCapture(event.pointerId)) return;
        const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.node.getScreenCTM().inverse());
        move(n, [(2 * x / side - 1) * REACH, (1 - 2 * y / side) * REACH]);
      } }, svg("circle", { class: "w2s-grip", r: 15 }), svg("g", {}),
    svg("text", { class: "w2s-word" }, n ? words[n - 1] : "query")); return node;
  }), bars = tools.bars({ rows: words.length, text: (value) => `${(100 * value).toFixed(1)} %` });
  asked.append(...handles);

  function draw() {
    const dot = (n) => points[0][0] * points[n][0] + points[0][1] * points[n][1] + (rest === "zero" ? 0
      : data.drawn[0].slice(0, size - 2).reduce((sum, value, i) => sum + value * data.drawn[n][i], 0));
    const open = words.map((_, s) => mask === "all" || (mask === "before" && s <= at));
    const scores = words.map((_, s) => dot(s + 1) / (scale === "root" ? Math.sqrt(size) : 1));
    const high = Math.max(...scores.filter((_, s) => open[s])), shares = scores.map((score, s) => (open[s] ? Math.exp(score - high) : 0));
    const sum = shares.reduce((a, b) => a + b) || 1, weights = shares.map((share) => share / sum);
    const output = [0, 1].map((i) => weights.reduce((total, weight, s) => total + weight * values[s][i], 0));
    points.forEach((point, n) => {
      tools.move(handles[n], ...toPixels(point));
      set(handles[n], { "aria-valuenow": point[0], "aria-valuetext": point.map((value) => value.toFixed(1)).join(", ") });
      handles[n].childNodes[1].replaceChildren(tools.mark(n === 0 ? { hue: "blue", mark: 4 } : open[n - 1] ? { hue: "orange",
        mark: 0 } : { hue: "grey", mark: 3 }));
    });
    const [x2, y2] = toPixels(points[0]), places = points.map(toPixels);
    set(arrow, { x2, y2 }); tools.placeLabels(handles.map((node) => node.lastChild), places, side, points.map((_, n) => n));
    const spots = [...values, output], radii = spots.map((_, n) => (n < words.length ? side * (0.012 + 0.075 * Math.sqrt(weights[n])) : 7));
    const marks = radii.map((r, n) => (n < words.length ? svg("circle", { class: "w2s-share hue-orange", r }) : tools.mark({ hue: "blue", mark: 4 })));
    const labels = spots.map((_, n) => svg("text", { class: "w2s-word" }, words[n] || `(${output.map((one) => Number(one.toFixed(1)) + 0).join(", ")})`));
    dots.replaceChildren(...spots.map((spot, n) => tools.move(svg("g", {}, marks[n], labels[n]), ...toValue(spot))));
    tools.placeLabels(labels, spots.map(toValue), side, spots.map((_, n) => -n), Infinity, radii);
    const shown = words.map((word, s) => ({ label: `${word}: ${open[s] ? scores[s].toFixed(2) : "masked"}`, value: weights[s], hue: "orange" }));
    const best = weights.indexOf(Math.max(...weights)); bars.show(shown, { most: 1 });
    Object.assign(stage.dataset, { weights: JSON.stringify(weights), output: JSON.stringify(output), size, scale, mask, rest });
    tools.say(mask === "none" ? "Every key is masked: all weights are 0, and so is the output."
      : `“${words[best]}” gets ${(100 * weights[best]).toFixed(1)} % of the weight. Output: (${output.map((value) =>
        value.toFixed(2)).join(", ")}).`);
  }

  const choose = (legend, value, options, onchange) => tools.choice({ legend, value, onchange: (key) => { onchange(key); draw(); },
    options: Object.entries(options).map(([key, label]) => ({ key, label })) });
  const field = tools.textField({ label: `D, from 2 to ${most}`, value: String(size), most: 4, oninput(text) {
    const typed = Number(text);
    if (Number.isInteger(typed) && typed >= 2 && typed <= most) { size = typed; draw(); } else tools.say(`D is a whole number from 2 to ${most}.`);
  } });
  set(field.input, { size: 6 }); field.node.style.setProperty("flex", "0 1 auto");
  stage.append(tools.el("p", { class: "w2s-task" }, data.task), picture.node,
    tools.el("p", { class: "w2s-cut-name" }, "Each key's score and weight"), bars.node,
    tools.bar(field, choose("The other D − 2 dimensions", rest, { zero: "0", drawn: "random" }, (key) => { rest = key; }),
    choose("Scores", scale, { root: "divided by √D", none: "unscaled" }, (key) => { scale = key; })));
  tools.more("Attention mask", tools.bar(choose("It may attend to", mask, { all: "all", before: "itself and earlier", none: "nothing" },
    (key) => { mask = key; })));
  tools.onWidth((width) => {
    side = Math.min(264, Math.floor((width - 12) / 2));
    for (const { firstChild } of both) set(firstChild, { width: side, height: side });
    set(grid, { d: `M0 ${side / 2}H${side}M${side / 2} 0V${side}` }); set(arrow, { x1: side / 2, y1: side / 2 });
    set(picture.node, { viewBox: `0 -22 ${2 * side + 12} ${side + 22}`, width: 2 * side + 12 }); tools.move(seen, side + 12, 0); draw();
  });
});
