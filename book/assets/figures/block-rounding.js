/* Thirty-two numbers of a trained matrix, the levels that a block can store, and what rounding to them loses.

   data = { rows: [{label, values: [32 numbers or 64, ...]}, ...] }       blocks of 32, whole
   The rules are those of reference_impl/weights/gguf_quantizing.py; a scale is rounded to the 11 bits of a float16. */
window.w2s.register("block-rounding", function (stage, data, tools) {
  "use strict";
  const { svg } = tools, SIZE = 32, tall = 230, drawing = svg("g", {}), axis = tools.axes({ xLabel: "numbers of the row" });
  const picture = tools.picture({ class: "w2s-axes-picture" }, axis.node, drawing), away = (x) => Math.sign(x) * Math.floor(Math.abs(x) + 0.5);
  const half = (x) => { const step = x ? 2 ** (Math.floor(Math.log2(Math.abs(x))) - 10) : 1; return Math.round(x / step) * step; };
  const clip = (q, low, high) => Math.min(high, Math.max(low, q)), most = (xs) => Math.max(...xs.map(Math.abs));
  const symmetric = (levels) => (xs) => { const scale = most(xs) / levels; return { scale: half(scale), minimum: 0, q: xs.map((x) => clip(away(scale ? x / scale : 0), -levels, levels)), low: -levels, high: levels }; };
  const TYPES = {
    Q8_0: { own: 8, scales: 16, make: symmetric(127) },
    Q4_1: { own: 4, scales: 32, make(xs) { const [low, high] = tools.span(xs), scale = (high - low) / 15;
      return { scale: half(scale), minimum: half(low), q: xs.map((x) => clip(Math.trunc(scale ? (x - low) / scale + 0.5 : 0), 0, 15)), low: 0, high: 15 }; } },
    Q4_0: { own: 4, scales: 16, make(xs) { const scale = xs.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a)) / -8;
      return { scale: half(scale), minimum: 0, q: xs.map((x) => clip(Math.trunc(scale ? x / scale + 8.5 : 8), 0, 15) - 8), low: -8, high: 7 }; } },
    "3 bits": { own: 3, scales: 16, make: symmetric(3) }, "2 bits": { own: 2, scales: 16, make: symmetric(1) },
  };
  let row = data.rows[0], type = "Q4_0", factor = 1, blocks = "32", width = 560;

  function draw() {
    const values = row.values.slice(), large = values.indexOf(row.values.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a)));
    values[large] *= factor;
    const size = blocks === "32" ? SIZE : values.length, made = [], got = [];
    for (let from = 0; from < values.length; from += size) {
      const block = TYPES[type].make(values.slice(from, from + size));
      made.push(block);
      got.push(...block.q.map((q) => q * block.scale + block.minimum));
    }
    const [low, high] = tools.span([...values, ...got]), x = tools.scale([-1, values.length], [46, width - 8]), y = tools.scale([low, high], [tall - 8, 14]);
    tools.set(picture.node, { viewBox: `0 0 ${width} ${tall + 38}`, width });
    axis.show({ x, y, box: [46, 14, width - 8, tall], many: [6, 5] });
    const drawn = made.flatMap(({ scale, minimum, low: first, high: last }, n) => Array.from({ length: last - first + 1 }, (_, q) => (first + q) * scale + minimum)
      .filter((_, __, all) => all.length < 40).map((level) => svg("line", { class: "w2s-line is-dotted hue-grey", x1: x(n * size - 0.5), x2: x((n + 1) * size - 0.5), y1: y(level), y2: y(level), "stroke-width": 1 })));
    values.forEach((value, n) => drawn.push(svg("line", { class: "w2s-line is-solid hue-orange", x1: x(n), x2: x(n), y1: y(value), y2: y(got[n]) }),
      svg("circle", { class: "w2s-area hue-blue", cx: x(n), cy: y(value), r: 3 })));
    drawing.replaceChildren(...drawn);
    const root = (xs) => Math.sqrt(xs.reduce((sum, one) => sum + one * one, 0)), off = (skip) => root(values.map((value, n) => (n === skip ? 0 : value - got[n]))) / root(values.map((value, n) => (n === skip ? 0 : value)));
    const bits = TYPES[type].own + TYPES[type].scales / size, percent = `${(100 * off(-1)).toFixed(1)} %`;
    picture.name(`${values.length} weights as dots, the levels of ${type} as dotted lines, and the distance from each weight to its level.`);
    tools.say(`${type}, ${made.length} block${made.length > 1 ? "s" : ""}: ${bits} bits per weight. Off by ${percent} of the size, by ${(100 * off(large)).toFixed(1)} % without the largest weight${factor > 1 ? `, which was made ${factor} times as large` : ""}.`);
    Object.assign(stage.dataset, { type, factor, row: row.label, blocks: made.length, off: off(-1), bits, got: JSON.stringify(got) });
  }
  const rows = tools.choice({ legend: "Weights of", value: row.label, options: data.rows.map(({ label }) => ({ key: label, label })),
    onchange(label) { row = data.rows.find((one) => one.label === label); draw(); } });
  const types = tools.choice({ legend: "Stored as", value: type, options: Object.keys(TYPES).map((key) => ({ key, label: key })), onchange(key) { type = key; draw(); } });
  const sizes = tools.choice({ legend: "One scale for", value: blocks, options: [{ key: "32", label: "32 weights" }, { key: "all", label: "all that are shown" }], onchange(key) { blocks = key; draw(); } });
  const outlier = tools.slider({ label: "The largest", min: 1, max: 10, value: factor, text: (n) => `times ${n}`, oninput(n) { factor = n; draw(); } });
  stage.append(tools.bar(rows, types), tools.bar(sizes, outlier), picture.node, tools.legend([{ label: "a level that can be stored", line: "dotted", hue: "grey" },
    { label: "rounding error", line: "solid", hue: "orange" }]).node);
  if (tools.asStill) factor = 4;
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
