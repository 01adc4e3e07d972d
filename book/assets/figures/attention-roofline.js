/* The roofline of a GPU and three ways to compute attention: FLOPs a second over FLOPs a byte, both axes logarithmic.

   data = {
     task: "Find the tile.",                             what the reader is to do
     machines: [{label: "H100", flops: 989.4e12, bandwidth: 3.35e12}, ...]      of 16-bit numbers, from measure.roofline
     lengths: [7, 15], widths: [5, 8], rows: [4, 9]      the powers of two that the sliders reach
     start: {length: 10, width: 6, rows: 7}
   }
   One head, not causal, forward. Bytes as in kernels.traffic: standard_attention_bytes and flash_attention_bytes. */
window.w2s.register("attention-roofline", function (stage, data, tools) {
  "use strict";
  const tall = 250, log = Math.log10, range = [-0.4, 4], now = { ...data.start };
  const axis = tools.axes({ xLabel: "arithmetic intensity, FLOPs per byte", yLabel: "FLOPs per second" });
  const picture = tools.picture({ class: "w2s-axes-picture" }, axis.node), bars = tools.bars({ rows: 3, text: (value) => time(value) });
  const words = (value) => (value >= 1e12 ? `${(value / 1e12).toPrecision(3)} trillion` : value >= 1e9 ? `${(value / 1e9).toPrecision(3)} billion` : `${(value / 1e6).toPrecision(3)} million`);
  const time = (seconds) => (seconds >= 1e-3 ? `${(1e3 * seconds).toPrecision(3)} ms` : `${(1e6 * seconds).toPrecision(3)} µs`);
  let machine = data.machines[0], width = 560;

  function ways() {  // operations and bytes of each
    const T = 2 ** now.length, D = 2 ** now.width, rows = Math.min(2 ** now.rows, T), flops = 4 * T * T * D;
    return [{ key: "plain", label: "plain", hue: "orange", mark: 1, flops, bytes: 2 * (4 * T * D + 4 * T * T) },
      { key: "flash", label: "flash", hue: "blue", mark: 0, flops, bytes: 2 * (2 * T * D + 2 * Math.ceil(T / rows) * T * D) + 4 * T },
      { key: "one", label: "decoding one token", hue: "grey", mark: 3, flops: 4 * T * D, bytes: 2 * (2 * T * D + 2 * D) }];
  }

  function draw() {
    const { flops, bandwidth } = machine, ridge = flops / bandwidth, x = tools.scale(range, [30, width - 12]);
    const y = tools.scale([log(bandwidth) + range[0], log(flops) + 0.4], [tall, 20]);
    tools.set(picture.node, { viewBox: `0 0 ${width} ${tall + 40}`, width });
    axis.show({ x: null, y, box: [30, 20, width - 12, tall], many: [0, 0], lines: [{ hue: "grey", points:
      [[range[0], log(bandwidth) + range[0]], [log(ridge), log(flops)], [range[1], log(flops)]].map(([a, b]) => [x(a).toFixed(1), b]) }] });
    for (const power of [0, 1, 2, 3, 4]) axis.node.append(tools.svg("text", { class: "w2s-tick", x: x(power), y: tall + 17, "text-anchor": "middle" }, String(10 ** power)));
    for (const power of [12, 13, 14]) axis.node.append(tools.svg("text", { class: "w2s-tick", x: 26, y: y(power) + 4, "text-anchor": "end" }, `1e${power}`));
    axis.node.append(tools.svg("text", { class: "w2s-tick", x: x(log(ridge)), y: y(log(flops)) - 8, "text-anchor": "middle" }, `ridge point ${Math.round(ridge)}`));
    const found = ways().map((way) => ({ ...way, at: way.flops / way.bytes, seconds: Math.max(way.flops / flops, way.bytes / bandwidth) }));
    for (const { at, hue, mark, seconds, flops: work } of found) {
      const node = tools.mark({ hue, mark });
      axis.node.append(tools.svg("line", { class: "w2s-grid", x1: x(log(at)), x2: x(log(at)), y1: y(log(work / seconds)), y2: tall }), node);
      tools.move(node, x(log(at)), y(log(work / seconds)));
    }
    const [plain, flash, one] = found;
    bars.show(found.map(({ label, seconds, hue }) => ({ label, value: seconds, hue })));
    picture.name(`The roofline of ${machine.label}: plain attention at ${plain.at.toFixed(0)} FLOPs per byte, flash at ${flash.at.toFixed(0)}.`);
    tools.say(`${(2 ** now.length).toLocaleString("en")} tokens, heads of dimension ${2 ** now.width}: ${words(plain.flops)} FLOPs either way. Plain attention moves ${words(plain.bytes)} bytes, `
      + `${plain.at.toFixed(0)} FLOPs for each; FlashAttention ${words(flash.bytes)}, ${flash.at.toFixed(0)} for each. The ridge point of ${machine.label} is ${Math.round(ridge)}: plain attention is `
      + `${plain.at < ridge ? "memory" : "compute"}-bound, FlashAttention ${flash.at < ridge ? "memory" : "compute"}-bound, and the bound of plain attention is ${(plain.seconds / flash.seconds).toFixed(1)} times as long. Decoding one token has ${one.at.toFixed(1)}.`);
    Object.assign(stage.dataset, { machine: machine.label, ...now, flops: plain.flops, plain: plain.bytes, flash: flash.bytes,
      one: one.bytes, ratio: plain.seconds / flash.seconds });
  }
  const power = (key, label, [min, max]) => tools.slider({ label, min, max, value: now[key], text: (value) => (2 ** value).toLocaleString("en"),
    oninput(value) { now[key] = value; draw(); } });
  const picks = tools.choice({ legend: "GPU", value: machine.label, options: data.machines.map(({ label }) => ({ key: label, label })),
    onchange(key) { machine = data.machines.find((one) => one.label === key); draw(); } });
  const sliders = tools.bar(power("length", "Tokens", data.lengths), power("width", "Head dimension", data.widths), power("rows", "Queries in a tile", data.rows));
  stage.append(tools.el("p", { class: "w2s-task" }, data.task), picture.node, tools.legend([{ label: "roofline", line: "solid", hue: "grey" }, ...ways().map(({ label, hue, mark }) => ({ label, hue, mark }))]).node, tools.el("p", { class: "w2s-cut-name" }, "Shortest possible time"), bars.node, sliders, tools.bar(picks));
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
