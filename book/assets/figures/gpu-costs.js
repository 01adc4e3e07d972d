/* What a step of decoding takes on 1, 2, 4, 8 GPUs by the cost model, and what was published at batch 1.

   data = {
     machine: {label, flops, bandwidth, link}      of 16-bit numbers, from measure.roofline
     context: 105
     sizes: [{key, label, width, vocabulary, sums, gpus: [{n, bytes, flops, keys, scores}, ...], published: {"2": milliseconds}}, ...]
                      on each of n GPUs: bytes of weights a step reads, operations a token, bytes and operations of a token's attention
     start: {batch: 0, share: 100, sum: 0}        the power of two; percent of the bandwidth; microseconds of a sum
   }
   As step_time in reference_impl/measure/roofline.py, with a fixed time for a sum in place of a time for each message. */
window.w2s.register("gpu-costs", function (stage, data, tools) {
  "use strict";
  const { machine } = data, now = { ...data.start, model: data.sizes[0].key }, tall = 230, log = Math.log2;
  const axis = tools.axes({ xLabel: "GPUs", yLabel: "milliseconds a step" }), picture = tools.picture({ class: "w2s-axes-picture" }, axis.node), parts = tools.bars({ rows: 3, text: (value) => `${value.toFixed(2)} ms` });
  let width = 560;

  function cost(model, { n, bytes, flops, keys, scores }) {  // milliseconds: weights, attention, sums
    const batch = 2 ** now.batch, bandwidth = machine.bandwidth * now.share / 100, wait = n > 1 ? now.sum * 1e-6 : 0;
    const ring = model.sums * (2 * (n - 1) * 2 * batch * model.width / n / machine.link + wait), logits = (n - 1) * 2 * batch * model.vocabulary / n / machine.link + wait / 2;
    return [Math.max(batch * flops / machine.flops, bytes / bandwidth), Math.max(batch * scores / machine.flops, batch * keys / bandwidth), ring + logits].map((seconds) => 1e3 * seconds);
  }
  function draw() {
    const model = data.sizes.find(({ key }) => key === now.model), found = model.gpus.map((one) => ({ n: one.n, parts: cost(model, one) })).map((one) => ({ ...one, total: one.parts[0] + one.parts[1] + one.parts[2] }));
    const known = Object.entries(now.batch ? {} : model.published).map(([n, value]) => [Number(n), value]), most = Math.max(...found.map(({ total }) => total), ...known.map(([, value]) => value));
    const x = tools.scale([0, 3], [52, width - 24]), y = tools.scale([0, 1.08 * most], [tall, 24]);
    tools.set(picture.node, { viewBox: `0 0 ${width} ${tall + 40}`, width });
    axis.show({ x: null, y, box: [36, 24, width - 12, tall], many: [0, 4], lines: [{ hue: "blue", points: found.map(({ n, total }) => [x(log(n)).toFixed(1), total]) }] });
    for (const { n, total } of found) {
      const node = tools.mark({ hue: "blue", mark: 0 });
      axis.node.append(tools.svg("text", { class: "w2s-tick", x: x(log(n)), y: tall + 17, "text-anchor": "middle" }, String(n)), node);
      tools.move(node, x(log(n)), y(total));
    }
    for (const [n, value] of known) { const node = tools.mark({ hue: "orange", mark: 1 }); axis.node.append(node); tools.move(node, x(log(n)), y(value)); }
    const last = found[found.length - 1], best = found.reduce((one, other) => (other.total < one.total ? other : one)), count = 2 ** now.batch;
    parts.show(["weights", "cache", "all-reduces"].map((label, k) => ({ label, value: last.parts[k], hue: ["blue", "green", "grey"][k] })));
    picture.name(`${model.label}: from ${found[0].total.toFixed(1)} to ${last.total.toFixed(1)} milliseconds per step.`);
    tools.say(`${model.label}, ${count} ${count === 1 ? "sequence" : "sequences"}: ${found.map(({ n, total }) => `${total.toFixed(2)} ms on ${n}`).join(", ")}; least on ${best.n}. `
      + (known.length ? `Published: ${known.map(([n, value]) => `${value.toFixed(2)} ms on ${n}`).join(", ")}.` : "Nothing is published for this batch in that table."));
    Object.assign(stage.dataset, { ...now, totals: JSON.stringify(found.map(({ total }) => total)), best: best.n });
  }
  const slide = (label, key, min, max, text) => tools.slider({ label, min, max, value: now[key], text, oninput(value) { now[key] = value; draw(); } });
  const picks = tools.choice({ legend: "Model", value: now.model, options: data.sizes.map(({ key, label }) => ({ key, label })), onchange(key) { now.model = key; draw(); } });
  stage.append(tools.bar(picks), tools.bar(slide("Sequences", "batch", 0, 8, (value) => String(2 ** value)), slide("Fraction of the bandwidth", "share", 40, 100, (value) => `${value} %`), slide("Time of an all-reduce", "sum", 0, 100, (value) => `${value} µs`)),
    picture.node, tools.legend([{ label: "cost model", hue: "blue", mark: 0 }, { label: "published", hue: "orange", mark: 1 }]).node, tools.el("p", { class: "w2s-cut-name" }, `Where the time goes on ${data.sizes[0].gpus.at(-1).n} GPUs: reading weights, reading keys and values, adding up`), parts.node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
