/* What position contributes to a score in trained decoders: a curve for each query position, one of them marked.

   data = {
     task: "Align ...",                                      what the reader is to do
     kinds: [{key: "learned", label: "learned"}, ...]        decoders that differ in their positions only
     queries: [7, 15, ...]                                   positions of the query
     scores: {learned: [[[...], ...], ...], ...}             by kind, head and query: mean score of the keys 0 .. query
     explained: {learned: 0.46, ...}                         how much of the variation the distance explains
   }
   Aligned at the query, curves of a relative encoding lie on each other. */
window.w2s.register("score-by-position", function (stage, data, tools) {
  "use strict";
  const { svg, set, el } = tools, { queries } = data, last = queries[queries.length - 1], HEIGHT = 250;
  let kind = data.kinds[0].key, head = 0, aligned = tools.asStill ? 1 : 0, shift = aligned, query = queries.length - 2, wide = 560, stop = () => {};
  const axes = tools.axes({ yLabel: "mean score" }), name = svg("text", { class: "w2s-axis-label", "text-anchor": "end" });
  const chart = tools.picture({ class: "w2s-lanes" }, axes.node, name);

  function paint() {
    const curves = data.scores[kind][head], [low, high] = tools.span(curves.flat()), box = [40, 26, wide - 12, HEIGHT - 44];
    const pad = 0.06 * (high - low), points = (n) => curves[n].map((score, key) => [key - shift * queries[n], score]);
    const order = [...queries.keys()].filter((n) => n !== query);
    axes.show({ x: tools.scale([-last * shift, last * (1 - shift)], [box[0], box[2]]), y: tools.scale([low - pad, high + pad], [box[3], box[1]]),
      box, many: [6, 4], lines: [...order.map((n) => ({ points: points(n), hue: "grey" })), { points: points(query), hue: "blue" }],
      dot: points(query)[queries[query]] });
    name.textContent = aligned ? "key position − query position" : "key position";
    set(name, { x: box[2], y: HEIGHT - 8 });
    set(chart.node, { viewBox: `0 0 ${wide} ${HEIGHT}`, width: wide });
  }

  function draw() {
    const share = Math.round(100 * data.explained[kind]), from = shift;
    stop();
    stop = tools.animate(from === aligned ? 0 : 600, (t) => { shift = from + t * (aligned - from); paint(); });
    chart.name(`Mean scores with ${kind}, head ${head + 1}, for ${queries.length} query positions.`);
    Object.assign(stage.dataset, { kind, head, aligned, query: queries[query], share });
    const curve = data.scores[kind][head][query], best = queries[query] - curve.indexOf(Math.max(...curve));
    tools.say(`${kind}, head ${head + 1}, aligned at ${aligned ? "the query" : "position 0"}: query ${queries[query]} scores highest at distance ${best}.`);
  }

  const kinds = tools.choice({ legend: "Encoding", value: kind, options: data.kinds, onchange(key) { kind = key; draw(); } });
  const heads = tools.choice({ legend: "Head", value: "0", options: data.scores[kind].map((_, h) => ({ key: String(h), label: String(h + 1) })),
    onchange(key) { head = Number(key); draw(); } });
  const align = tools.choice({ legend: "Align the curves at", value: String(aligned), onchange(key) { aligned = Number(key); draw(); },
    options: [{ key: "0", label: "position 0" }, { key: "1", label: "their query" }] });
  const slider = tools.slider({ label: "Query position", min: 0, max: queries.length - 1, value: query, text: (n) => String(queries[n]),
    oninput(n) { query = n; draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), chart.node, tools.bar(kinds), tools.bar(align, heads), tools.bar(slider));
  tools.onWidth((width) => { wide = width; draw(); });
});
