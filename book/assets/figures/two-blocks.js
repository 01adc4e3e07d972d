/* BERT's block and ModernBERT's side by side: press a part, and see what it is in both, its parameters and its operations.

   data = {
     tokens: 512, side: 64,                 what is shown at first; how far a local layer sees to each side
     blocks: [{name: "BERT-base", norm: "after", parts: {attention: {parameters: 2362368, token: 4718592, pair: 3072},
               think: {...}, norm1: {...}, norm2: {...}}, labels: {attention: "...", think: "..."}, says: {attention: "...", ...}}, {name: "ModernBERT-base", norm: "before", ...}]
   }                                        counted by torch; operations are token * T + pair * (pairs that are scored) */
window.w2s.register("two-blocks", function (stage, data, tools) {
  "use strict";
  const { el } = tools, TOKENS = [16, 64, 128, 256, 512, 1024, 2048, 4096, 8192], PARTS = ["norm1", "attention", "norm2", "think"];
  const NAMES = { x: "what comes in", norm1: "the norm of attention", attention: "attention", sum1: "the first sum", norm2: "the norm of the feed-forward layer",
    think: "the feed-forward layer", sum2: "the second sum" };
  const whole = (value) => Math.round(value).toLocaleString("en");
  const bars = { parameters: tools.bars({ rows: 2, text: whole }), operations: tools.bars({ rows: 2, text: (value) => `${(value / 1e9).toPrecision(3)} G` }) };
  const titles = { parameters: el("p", { class: "w2s-cut-name" }), operations: el("p", { class: "w2s-cut-name" }) };
  let tokens = data.tokens, reach = "global", lit = "";

  /* Pairs of query and key within `side` of each other: a band of 2 side + 1, less the corners. */
  const band = (count, side) => (side >= count ? count * count : count * (2 * side + 1) - side * (side + 1));
  const pairs = (model) => (model.norm === "before" && reach === "local" ? band(tokens, data.side) : tokens * tokens);
  const parameters = (model, key) => (model.parts[key] || { parameters: 0 }).parameters;
  const operations = (model, key) => { const part = model.parts[key]; return part ? part.token * tokens + part.pair * pairs(model) : 0; };
  const total = (model, count) => PARTS.reduce((sum, key) => sum + count(model, key), 0);

  const drawings = data.blocks.map((model) => {
    const before = model.norm === "before", LEFT = [2, 60], RIGHT = [96, 190], hues = { norm: "purple", sum: "blue" };
    const box = (key, label, hue, row, [x, width]) => ({ key, label, hue, x, y: 6 + 46 * row, width, height: 34 });
    const arrows = (text) => text.split(" ").map((pair) => ({ from: pair.split(">")[0], to: pair.split(">")[1] }));
    const drawing = tools.diagram({ width: 290, height: 230, onpick: press,
      boxes: [box("x", "x", "blue", 0, LEFT), box("norm1", "norm", hues.norm, before ? 1 : 2, before ? RIGHT : LEFT),
        box("attention", model.labels.attention, "orange", before ? 2 : 1, RIGHT), box("sum1", "+", hues.sum, before ? 2 : 1, LEFT),
        box("norm2", "norm", hues.norm, before ? 3 : 4, before ? RIGHT : LEFT), box("think", model.labels.think, "green", before ? 4 : 3, RIGHT),
        box("sum2", "+", hues.sum, before ? 4 : 3, LEFT)],
      arrows: arrows(before ? "x>norm1 norm1>attention attention>sum1 x>sum1 sum1>norm2 norm2>think think>sum2 sum1>sum2"
        : "x>attention attention>sum1 x>sum1 sum1>norm1 norm1>think think>sum2 norm1>sum2 sum2>norm2") });
    drawing.name(`A block of ${model.name}, its norms ${before ? "before each layer" : "after each sum"}.`);
    return drawing;
  });
  function press(key) { lit = lit === key ? "" : key; draw(); }

  function draw() {
    drawings.forEach((drawing) => drawing.show({ lit: lit ? [lit] : [] }));
    const counts = { parameters, operations }, found = {};
    for (const [name, count] of Object.entries(counts)) {
      found[name] = data.blocks.map((model) => (lit ? count(model, lit) : total(model, count)));
      bars[name].show(data.blocks.map((model, n) => ({ label: model.name, value: found[name][n], hue: ["orange", "blue"][n] })));
      titles[name].textContent = `${name === "parameters" ? "Parameters" : `FLOPs for ${whole(tokens)} tokens`} of ${lit ? NAMES[lit] : "the whole block"}`;
    }
    Object.assign(stage.dataset, { lit, tokens, reach, parameters: found.parameters.join(), operations: found.operations.join() });
    tools.say((lit ? data.blocks.map((model) => `${model.name}: ${model.says[lit] || "Nothing is learned here."}`).join(" ") : "Press a part of either block.")
      + ` Parameters ${found.parameters.map(whole).join(" and ")}, FLOPs ${found.operations.map((value) => `${(value / 1e9).toPrecision(3)} G`).join(" and ")}.`);
  }

  const slider = tools.slider({ label: "Tokens T", min: 0, max: TOKENS.length - 1, value: TOKENS.indexOf(tokens), text: (at) => whole(TOKENS[at]),
    oninput(at) { tokens = TOKENS[at]; draw(); } });
  const kind = tools.choice({ legend: "ModernBERT's layer is", value: reach, options: ["global", "local"].map((key) => ({ key, label: key })),
    onchange(key) { reach = key; draw(); } });
  stage.append(tools.bar(slider, kind), el("div", { class: "w2s-beside" }, ...data.blocks.map((model, n) => el("div", {},
    el("p", { class: "w2s-cut-name" }, model.name), drawings[n].node))), titles.parameters, bars.parameters.node, titles.operations, bars.operations.node);
  if (tools.asStill) lit = "think";
  draw();
});
