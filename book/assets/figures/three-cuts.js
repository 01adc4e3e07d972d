/* One model on four GPUs, cut in three ways: who works when, and who waits.

   data = {
     gpus: 4, most: 10             the GPUs; so many micro-batches at most
     sums: [0, 50]                 of the slider: time of a matrix cut's sums, in percent of its products
     loads: [{key: "even", label: "even", tokens: [4, 4, 4, 4]}, ...]      tokens for each GPU's experts, in each micro-batch
     start: {batches: 4, sum: 20}
   }
   A micro-batch is as much work as one GPU does in `gpus` units. By layers: a stage takes one unit. By matrices: all take one
   unit together, and the sums on top. By experts: all wait for the one with the most tokens; an even share takes one unit. */
window.w2s.register("three-cuts", function (stage, data, tools) {
  "use strict";
  const { gpus, most } = data, now = { ...data.start, cut: "layers", load: data.loads[0].key }, names = Array.from({ length: gpus }, (_, g) => `GPU ${g}`);
  const end = 2 * most, drawn = tools.timeline({ rows: names, end, label: "units of time" }), used = tools.bars({ rows: 2, text: (value) => value.toFixed(2) });

  function plan() {  // stretches of work, when the first micro-batch is done, when all are
    const items = [], { batches, sum } = now;
    let each = 1;
    if (now.cut === "layers") {
      for (let m = 0; m < batches; m++) for (let g = 0; g < gpus; g++) items.push({ row: g, start: g + m, end: g + m + 1, label: String(m), hue: m % 2 ? "orange" : "blue" });
      return { items, first: gpus, all: gpus + batches - 1, work: gpus * batches };
    }
    const tokens = data.loads.find(({ key }) => key === now.load).tokens, mean = tokens.reduce((a, b) => a + b, 0) / gpus;
    const busy = names.map((_, g) => (now.cut === "matrices" ? 1 : tokens[g] / mean)), rest = now.cut === "matrices" ? sum / 100 : 0;
    each = Math.max(...busy) + rest;
    for (let m = 0; m < batches; m++) names.forEach((_, g) => {
      if (busy[g]) items.push({ row: g, start: m * each, end: m * each + busy[g], label: String(m), hue: m % 2 ? "orange" : "blue" });
      if (rest) items.push({ row: g, start: m * each + busy[g], end: (m + 1) * each, label: "", hue: "grey" });
    });
    return { items, first: each, all: batches * each, work: gpus * batches };
  }
  function draw() {
    const { items, first, all, work } = plan(), share = work / (all * gpus), cut = { layers: "by layers", matrices: "by matrices", experts: "by experts" }[now.cut];
    drawn.show({ items });
    used.show([{ label: "first done after", value: first, hue: "blue" }, { label: "all done after", value: all, hue: "orange" }], { most: end });
    const many = `${now.batches} micro-${now.batches === 1 ? "batch" : "batches"}`;
    drawn.name(`${many} cut ${cut}, done after ${all.toFixed(1)} units.`);
    tools.say(`Cut ${cut}, ${many}: the first is done after ${first.toFixed(2)} units, all after ${all.toFixed(2)}. `
      + `The GPUs compute ${(100 * share).toFixed(0)} % of the time${now.cut === "layers" ? `; the bubble is ${gpus - 1} of ${gpus + now.batches - 1} time slots` : now.cut === "matrices" ? "; grey is the all-reduce" : "; who has few tokens waits"}. On one GPU a micro-batch takes ${gpus}.`);
    Object.assign(stage.dataset, { ...now, first, all, share });
  }
  const choose = (legend, key, options) => tools.choice({ legend, value: now[key], options, onchange(next) { now[key] = next; draw(); } });
  const slide = (label, key, [min, max], text) => tools.slider({ label, min, max, value: now[key], text, oninput(next) { now[key] = next; draw(); } });
  stage.append(tools.bar(choose("Split", "cut", [{ key: "matrices", label: "by matrices" }, { key: "layers", label: "by layers" }, { key: "experts", label: "by experts" }])),
    tools.bar(slide("Micro-batches", "batches", [1, most], String), slide("All-reduce, of the products", "sum", data.sums, (value) => `${value} %`)), tools.bar(choose("Tokens of the experts", "load", data.loads)), drawn.node,
    tools.el("p", { class: "w2s-cut-name" }, "Units of time"), used.node);
  tools.onWidth((pixels) => { drawn.fit(pixels); draw(); });
});
