/* A learned low-rank update cut down to its largest singular values: what is left of what it had learned and forgotten.

   data = {
     ranks: [{rank: 0, definitions: 3.98, scripture: 1.54}, ...]     measured, bits a byte, in the order of the ranks
     full: {definitions, scripture}                                  what training all weights gave
     layers: [{label: "block 1, attention in", values: [s1, s2, ...]}, ...]   singular values of each matrix's update
   } */
window.w2s.register("lora-cut", function (stage, data, tools) {
  "use strict";
  const { ranks, layers, full } = data, tall = 210, last = ranks.length - 1, most = ranks[last].rank;
  const axis = tools.axes({ xLabel: "rank that is kept", yLabel: "bits a byte" }), picture = tools.picture({ class: "w2s-axes-picture" }, axis.node);
  const bars = tools.bars({ rows: most, text: (value) => value.toFixed(2) }), TEXTS = { definitions: ["blue", "solid"], scripture: ["green", "solid"] };
  let at = last, layer = layers[0], width = 560;

  function draw() {
    const { rank, definitions, scripture } = ranks[at], all = ranks.flatMap((row) => [row.definitions, row.scripture]);
    const x = tools.scale([0, most], [44, width - 12]), y = tools.scale([Math.floor(Math.min(...all)), Math.ceil(Math.max(...all))], [tall, 22]);
    tools.set(picture.node, { viewBox: `0 0 ${width} ${tall + 40}`, width });
    axis.show({ x, y, box: [44, 22, width - 12, tall], many: [4, 4], dot: [rank, definitions], lines: [
      ...Object.entries(TEXTS).map(([text, [hue, line]]) => ({ points: ranks.map((row) => [row.rank, row[text]]), hue, line })),
      ...Object.entries(TEXTS).map(([text, [hue]]) => ({ points: [[0, full[text]], [most, full[text]]], hue, line: "dotted" }))] });
    picture.name(`Two lines over the rank: definitions fall to ${ranks[last].definitions.toFixed(2)} bits, scripture climbs to ${ranks[last].scripture.toFixed(2)}.`);
    bars.show(layer.values.map((value, n) => ({ label: `${n + 1}`, value, hue: n < rank ? "blue" : "grey" })), { most: layers.reduce((top, one) => Math.max(top, ...one.values), 0) });
    const square = (values) => values.reduce((sum, value) => sum + value * value, 0);
    const share = square(layer.values.slice(0, rank)) / square(layer.values);
    tools.say(`Rank ${rank}: definitions ${definitions.toFixed(2)} bits a byte, scripture ${scripture.toFixed(2)}. In ${layer.label} it keeps ${Math.round(100 * share)} % of the squared size.`);
    Object.assign(stage.dataset, { rank, definitions, scripture, layer: layer.label, share: share.toFixed(4) });
  }
  const steps = tools.slider({ label: "Rank", min: 0, max: last, value: at, text: (n) => String(ranks[n].rank), oninput(n) { at = n; draw(); } });
  const pick = tools.select({ label: "Singular values of", options: layers.map(({ label }) => label), value: layer.label,
    onchange(label) { layer = layers.find((one) => one.label === label); draw(); } });
  stage.append(tools.bar(steps), picture.node, tools.legend([{ label: "definitions, learned", line: "solid", hue: "blue" },
    { label: "scripture, forgotten", line: "solid", hue: "green" }, { label: "the same with all weights trained", line: "dotted", hue: "grey" }]).node, tools.bar(pick), bars.node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
