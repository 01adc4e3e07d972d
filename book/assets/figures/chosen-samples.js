/* Accuracy against the number of samples, for several ways of choosing among them; measured.

   data = {
     task: "Draw ...", sizes: [1, 2, 4, ...], at: 3,
     ways: [{key: "vote", label: "majority vote", hue: "blue", values: [0.33, ...]}, ...],      one value a size
     greedy: 0.66, tokens: 21                                                                 one greedy chain; tokens of a sample
   } */
window.w2s.register("chosen-samples", function (stage, data, tools) {
  "use strict";
  const { el } = tools, percent = (share) => `${(100 * share).toFixed(1)} %`, { sizes, ways } = data;
  const chart = tools.axes({ xLabel: "samples, doubling", yLabel: "accuracy", text: (value) => `${Number(value.toFixed(2))}` });
  const picture = tools.picture({ class: "w2s-chart" }, chart.node), bars = tools.bars({ rows: ways.length, text: percent });
  let { at } = data, chosen = ways[0].key, width = 560;

  function draw() {
    const way = ways.find(({ key }) => key === chosen), box = [46, 24, width - 12, 170], last = sizes.length - 1;
    const x = tools.scale([0, last], [box[0], box[2]]), y = tools.scale([0, 1], [box[3], box[1]]);
    tools.set(picture.node, { viewBox: `0 0 ${width} 208`, width });
    chart.show({ x, y, box, many: [0, 4], dot: [at, way.values[at]],
      lines: [{ points: [[0, data.greedy], [last, data.greedy]], hue: "yellow", line: "dashed" },
        ...ways.map(({ key, hue, values }) => ({ points: values.map((value, n) => [n, value]), hue, line: key === chosen ? "solid" : "dashed" }))] });
    chart.node.append(...sizes.map((size, n) => tools.svg("text", { class: "w2s-tick", x: x(n), y: box[3] + 17, "text-anchor": "middle" }, String(size))));
    picture.name(`Accuracy by number of samples for ${ways.length} ways of choosing; ${way.label} with ${sizes[at]} samples is right for ${percent(way.values[at])}.`);
    bars.show(ways.map(({ label, hue, values }) => ({ label, value: values[at], hue })), { most: 1 });
    Object.assign(stage.dataset, { size: sizes[at], way: chosen, accuracy: way.values[at] });
    tools.say(`${sizes[at]} sample${sizes[at] > 1 ? "s" : ""}, ${data.tokens * sizes[at]} tokens: ${way.label} is right for ${percent(way.values[at])}. One greedy chain of ${data.tokens} tokens: ${percent(data.greedy)}.`);
  }
  const picks = tools.choice({ legend: "Way", value: chosen, options: ways.map(({ key, label }) => ({ key, label })), onchange(key) { chosen = key; draw(); } });
  const size = tools.slider({ label: "Samples", min: 0, max: sizes.length - 1, value: at, text: (n) => String(sizes[n]), oninput(n) { at = n; draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, bars.node, tools.bar(size), tools.bar(picks));
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
