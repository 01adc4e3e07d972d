/* One block of a Transformer as a residual stream: what each sublayer reads, and what it adds.

   data = {
     task: "What to try",                      stands above the drawing
     words: ["the", "bank", ...], at: 1,       the tokens, and the one whose stream is drawn in full
     weights: [0.1, ...],                      its attention weights over the words
     sizes: {norms: [before, attention, between, feedForward, after]}   lengths of its vectors, or absent
   } */
window.w2s.register("residual-stream", function (stage, data, tools) {
  "use strict";
  const { svg, el } = tools, { words, at, weights } = data, X = 58, SIDE = 140, WIDTH = 336, HEIGHT = 316, BOX = 104;
  const others = words.map((_, s) => s).filter((s) => s !== at), lane = (s) => 212 + 49 * others.indexOf(s);
  const percent = (share) => `${Math.round(100 * share)} %`;
  const layer = svg("g", {}), dot = svg("circle", { class: "w2s-dot-on-line", r: 6, visibility: "hidden" });
  const picture = tools.picture({ class: "w2s-diagram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH + 80 }, layer, dot);
  let norm = "before", stop = 0, halt = () => {};

  const line = (points, hue, width, more = "") => svg("polyline", { class: `w2s-line is-solid hue-${hue} ${more}`,
    points: tools.points(points), style: { "stroke-width": width } });
  const tip = ([x, y], [dx, dy]) => svg("polyline", { class: "w2s-arrow", points: tools.points([[x - 7 * dx - 4 * dy,
    y - 7 * dy - 4 * dx], [x, y], [x - 7 * dx + 4 * dy, y - 7 * dy + 4 * dx]]) });
  const box = (label, hue, x, y, width, lit) => svg("g", { class: `w2s-box hue-${hue}${lit ? " is-lit" : ""}` },
    svg("rect", { x: x - width / 2, y, width, height: 28, rx: 5 }),
    svg("text", { x, y: y + 19, "text-anchor": "middle" }, label));
  const sum = (y, lit) => svg("g", { class: `w2s-box hue-blue${lit ? " is-lit" : ""}` }, svg("circle", { class: "w2s-place", cx: X, cy: y,
    r: 11 }), svg("text", { x: X, y: y + 5, "text-anchor": "middle" }, "+"));
  const bar = (x, y, height) => svg("g", { class: "w2s-box hue-purple" }, svg("rect", { x, y, width: 9, height, rx: 2 }));   // the norm, on a line in
  const half = (top, before) => ({ leave: before ? top : top + 24, norm: before ? top + 12 : top + 108, layer: top + 50, sum: top + 92 });
  const STEPS = [[], ["attention"], ["sum1"], ["feed"], ["sum2"]];

  function draw() {
    const before = norm === "before", one = half(34, before), two = half(166, before), lit = STEPS[stop];
    const side = ({ leave, layer: y, sum: end }) => [[X, leave], [SIDE, leave], [SIDE, y + 28], [SIDE, end], [X + 12, end]];
    const parts = [line([[X, 24], [X, HEIGHT - 8]], "blue", 5), tip([X, HEIGHT - 4], [0, 1]),
      ...others.map((s) => line([[lane(s), 24], [lane(s), HEIGHT - 8]], "grey", 2)),
      ...words.map((word, s) => svg("text", { class: "w2s-word", x: s === at ? X : lane(s), y: 15, "text-anchor": "middle" }, word))];
    for (const [n, part] of [one, two].entries()) {
      const on = lit[0] === ["attention", "feed"][n] || lit[0] === `sum${n + 1}`;
      parts.push(line(side(part), on ? "orange" : "grey", on ? 3 : 1.75), tip([X + 12, part.sum], [-1, 0]));
    }
    others.forEach((s, n) => parts.push(line([[lane(s), one.layer + 7 + 7 * n], [SIDE + BOX / 2, one.layer + 7 + 7 * n]],
      lit[0] === "attention" ? "orange" : "grey", lit[0] === "attention" ? 1 + 9 * weights[s] : 1)));
    parts.push(line([[X, one.layer + 10], [SIDE - BOX / 2, one.layer + 10]], lit[0] === "attention" ? "orange" : "grey",
      lit[0] === "attention" ? 1 + 9 * weights[at] : 1), svg("text", { class: "w2s-word", x: X - 20, y: 86, "text-anchor": "middle",
      transform: `rotate(-90 ${X - 20} 86)` }, "residual stream"), ...words.map((_, s) => svg("text", { class: "w2s-word", "text-anchor": "middle",
      x: s === at ? (X + SIDE - BOX / 2) / 2 + 2 : lane(s), y: one.layer + (s === at ? 27 : 46) }, percent(weights[s]))));
    if (before) for (const [x, many] of [[X + 18, 1], [SIDE + BOX / 2 + 4, others.length]]) parts.push(bar(x, one.layer + 3, 7 * many + 7));
    parts.push(box("attention", "orange", SIDE, one.layer, BOX, lit[0] === "attention"), box("feed-forward", "green", SIDE, two.layer,
      BOX, lit[0] === "feed"), sum(one.sum, lit[0] === "sum1"), sum(two.sum, lit[0] === "sum2"));
    for (const part of [one, two]) parts.push(box("norm", "purple", before ? SIDE : X, part.norm, 58, false));
    layer.replaceChildren(...parts);
    picture.name(`The stream of ${words[at]} runs down on the left; attention and the feed-forward layer read it and add to it.`);
  }
  function travel() {
    const lit = STEPS[stop][0], part = { sum1: half(34, norm === "before"), sum2: half(166, norm === "before") }[lit];
    halt();
    tools.set(dot, { visibility: part ? "visible" : "hidden" });
    if (part) halt = tools.animate(700, (t) => { const [x, y] = t < 0.4 ? [SIDE, part.layer + 28 + (part.sum - part.layer - 28) * t / 0.4]
      : [SIDE - (SIDE - X) * (t - 0.4) / 0.6, part.sum]; tools.set(dot, { cx: x, cy: y, visibility: t < 1 ? "visible" : "hidden" }); });
  }
  function show() {
    const best = others.reduce((a, b) => (weights[b] > weights[a] ? b : a)), texts = [`The stream of “${words[at]}” carries its vector down, ${
      norm === "before" ? "past" : "through"} both norms.`,
      `Attention reads all streams${norm === "before" ? ", each through the norm" : ""}. “${words[best]}” gets ${percent(weights[best])}.`, "What attention found is added. Nothing is replaced.",
      "The feed-forward layer reads this stream only.", norm === "before" ? "Its result is added. No norm is on the stream."
        : "Its result is added, and a norm rescales the stream."];
    tools.say(texts[stop]);
    Object.assign(stage.dataset, { stop, norm });
    tools.able(back, stop > 0); tools.able(next, stop < STEPS.length - 1);
    draw(); travel();
  }
  const go = (to) => { stop = to; show(); };
  const back = tools.button("Back", () => go(stop - 1)), next = tools.button("Step", () => go(stop + 1));
  const norms = tools.choice({ legend: "Norm", value: norm, options: [{ key: "before", label: "pre-norm" },
    { key: "after", label: "post-norm" }], onchange(key) { norm = key; show(); } });
  if (tools.asStill) stop = 1;
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(back, next, norms));
  show();
});
