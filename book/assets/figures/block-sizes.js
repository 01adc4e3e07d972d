/* One block of a Transformer: where its norms stand, what flows through it, and what each part costs.

   data = {
     task: "Take ...",                           what the reader is to do, above the drawing
     examples: [{label: "by hand", tokens: 3, heads: 2, size: 2, times: 2, norm: "before", parameters: 172,
                 flops: 912}, ...]               C = heads * size, F = times * C; the counts are those of
                                                 reference_impl.measure.flops
   } */
window.w2s.register("block-sizes", function (stage, data, tools) {
  "use strict";
  const { el } = tools, TOKENS = [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4608, 8192],
    COUNTS = { parameters: "parameters", flops: "FLOPs", bytes: "bytes" }, HEADS = [1, 2, 4, 8, 12, 16, 32],
    SIZES = [1, 2, 4, 8, 16, 32, 64, 128];
  const now = { ...data.examples[0] }, place = el("div", { style: { "margin-bottom": "0.9rem" } }), bars = tools.bars({ rows: 4, text: short });
  bars.node.classList.add("w2s-named");
  let counted = "flops", lit = "", drawing = null;

  function short(value) {
    const step = [[1e12, "T"], [1e9, "G"], [1e6, "M"]].find(([size]) => value >= size);
    return step ? `${(value / step[0]).toPrecision(3)} ${step[1]}` : value.toLocaleString("en");
  }
  function sizes() {
    const { tokens: T, heads: H, size: D, times } = now, C = H * D, F = times * C;
    const parts = { parameters: [["Q, K, V, O", 4 * C * C, "orange"], ["feed-forward", 2 * C * F, "green"],
      ["biases", 5 * C + F, "grey"], ["norms", 4 * C, "purple"]],
    flops: [["Q, K, V, O", 8 * T * C * C, "orange"], ["scores, averages", 4 * T * T * C, "blue"],
      ["feed-forward", 4 * T * C * F, "green"]],
    bytes: [["parameters", 4 * (4 * C * C + 2 * C * F + 9 * C + F), "grey"], ["residual stream", 4 * T * C, "blue"],
      ["scores", 4 * H * T * T, "orange"], ["hidden units", 4 * T * F, "green"]] };
    return { T, H, D, C, F, parts, total: (key) => parts[key].reduce((sum, [, value]) => sum + value, 0) };
  }
  function meaning(key, { T, H, D, C, F }) {
    const before = now.norm === "before";
    return { x: `The input: ${T} tokens of ${C} dimensions.`,
      attention: `Attention: ${H} heads of ${D} dimensions, ${H} × ${T} × ${T} scores. Here tokens meet, and only here.`,
      think: `The feed-forward layer: each token alone, to ${F} hidden units and back.`,
      norm1: before ? "This norm is on a side path. The residual stream on the left never passes it."
        : "This norm is on the residual stream: each gradient passes it on its way back.",
      norm2: before ? "A side path again. The stream leaves as a plain sum, so one more norm follows the last block."
        : "The block's output is normalized: every token has the same mean and variance before the gain and bias.",
      sum1: "Attention's output is added to the input; it does not replace it.",
      sum2: "The feed-forward layer's output is added." }[key];
  }
  function say() {
    const found = sizes(), { C, F } = found;
    const [most, value] = found.parts[counted].reduce((a, b) => (b[1] > a[1] ? b : a)), all = found.total(counted);
    const amount = counted === "parameters" ? all.toLocaleString("en") : short(all), of = counted === "parameters" ? "" : ` for ${now.tokens.toLocaleString("en")} tokens`;
    tools.say(lit ? meaning(lit, found) : `C = ${C}, F = ${F}, ${now.norm === "before" ? "pre-norm" : "post-norm"}: ${amount} ${COUNTS[counted]}${of}, `
      + `${(100 * value / all).toFixed(0)} % in ${most}.`);
    Object.assign(stage.dataset, { counted, lit, norm: now.norm, tokens: now.tokens, width: C, inner: F,
      parameters: found.total("parameters"), flops: found.total("flops") });
  }
  function show() {
    const { T, C, F, parts } = sizes(), before = now.norm === "before", LEFT = [2, 96], RIGHT = [128, 186];
    const box = (key, label, hue, row, [x, width]) => ({ key, label, hue, x, y: 2 + 43 * row, width, height: 30 });
    const arrows = (text) => text.split(" ").map((pair) => ({ from: pair.split(">")[0], to: pair.split(">")[1] }));
    drawing = tools.diagram({ width: 316, height: 208, onpick(key) { lit = key; drawing.show({ lit: [key] }); say(); },
      boxes: [box("x", `${T} × ${C}`, "blue", 0, LEFT), box("norm1", "norm", "purple", before ? 1 : 2, before ? RIGHT : LEFT),
        box("attention", "attention", "orange", before ? 2 : 1, RIGHT), box("sum1", "+", "blue", before ? 2 : 1, LEFT),
        box("norm2", "norm", "purple", before ? 3 : 4, before ? RIGHT : LEFT),
        box("think", `feed-forward, F = ${F}`, "green", before ? 4 : 3, RIGHT), box("sum2", "+", "blue", before ? 4 : 3, LEFT)],
      arrows: arrows(before ? "x>norm1 norm1>attention attention>sum1 x>sum1 sum1>norm2 norm2>think think>sum2 sum1>sum2"
        : "x>attention attention>sum1 x>sum1 sum1>norm1 norm1>think think>sum2 norm1>sum2 sum2>norm2") });
    drawing.name(`A ${before ? "pre-norm block: its norms are beside" : "post-norm block: its norms are on"} the residual stream.`);
    drawing.show({ lit: [lit] }); place.replaceChildren(drawing.node);
    bars.show(parts[counted].map(([label, value, hue]) => ({ label, value, hue }))); say();
  }
  const pick = (key, value) => { now[key] = value; lit = ""; show(); };
  const slider = (label, key, list) => tools.slider({ label, min: 0, max: list.length - 1, value: list.indexOf(now[key]),
    text: (at) => String(list[at]), oninput: (at) => pick(key, list[at]) });
  const lists = { tokens: TOKENS, heads: HEADS, size: SIZES, times: [1, 2, 3, 4, 8] };
  const sliders = { tokens: slider("Tokens T", "tokens", TOKENS), heads: slider("Heads H", "heads", HEADS),
    size: slider("Head dimension D", "size", SIZES), times: slider("F / C", "times", lists.times) };
  const picks = tools.choice({ legend: "Block", value: now.label, options: data.examples.map(({ label }) => ({ key: label,
    label })), onchange(label) {
    Object.assign(now, data.examples.find((one) => one.label === label));
    for (const [key, one] of Object.entries(sliders)) one.set(lists[key].indexOf(now[key]));
    norms.set(now.norm); pick("norm", now.norm);
  } });
  const norms = tools.choice({ legend: "Norm", value: now.norm, options: [{ key: "after", label: "post-norm" },
    { key: "before", label: "pre-norm" }], onchange: (key) => pick("norm", key) });
  const counts = tools.choice({ legend: "Count", value: counted, options: Object.entries(COUNTS).map(([key, label]) =>
    ({ key, label })), onchange(key) { counted = key; lit = ""; show(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), place, bars.node, tools.bar(picks, counts), tools.bar(sliders.tokens));
  tools.more("Heads, sizes and norm", tools.bar(sliders.heads, sliders.size), tools.bar(sliders.times, norms));
  show();
});
