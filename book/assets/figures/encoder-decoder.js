/* Encoder, decoder and cross-attention while a word is spelled: who may attend to whom, and with which weights.

   data = {
     task: "What to try",                                     stands above the drawing
     source: ["b", "a", ...], target: ["start", "B", ...],    one letter a column; what the decoder is given
     written: ["B", ..., "end"],                              what it predicts at each position
     reads: [[...]], writes: [[...]], backs: [[...]]          weights of one layer, the mean of its heads: a row a query
   } */
window.w2s.register("encoder-decoder", function (stage, data, tools) {
  "use strict";
  const { svg, el } = tools, { source, target, written } = data, WIDTH = 344, HEIGHT = 252, TOP = 58, MEMORY = 128, CROSS = 190, OUT = 232;
  const left = (s) => 18 + 118 * s / (source.length - 1), right = (t) => 192 + 134 * t / (target.length - 1);
  const parts = svg("g", {}), picture = tools.picture({ class: "w2s-diagram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH + 80 }, parts);
  const NAMES = { both: "encoder–decoder", encoder: "encoder only", decoder: "decoder only" };
  let family = "both", at = 0;

  const link = (from, to, weight, lit) => svg("line", { class: `w2s-line is-solid hue-${lit ? "orange" : "grey"}`, x1: from[0],
    y1: from[1], x2: to[0], y2: to[1], style: { "stroke-width": lit ? 1 + 6 * weight : 0.7, opacity: lit ? 1 : 0.55 } });
  const dot = ([x, y], hue, lit) => svg("circle", { class: `w2s-share hue-${hue}`, cx: x, cy: y, r: lit ? 8 : 5.5 });
  const word = (text, [x, y], lit) => svg("text", { class: lit ? "w2s-word is-centre" : "w2s-word", x, y, "text-anchor": "middle",
    style: { "font-weight": lit ? 700 : 400 } }, text);
  const note = (text, x, y) => svg("text", { class: "w2s-tick", x, y, "text-anchor": "middle" }, text);

  function encoder(query) {
    const all = source.map((_, s) => s), middle = left((source.length - 1) / 2);
    return [...all.flatMap((q) => all.map((k) => link([left(k), TOP], [left(q), MEMORY], data.reads[q][k], q === query))),
      ...all.flatMap((s) => [dot([left(s), TOP], "blue"), dot([left(s), MEMORY], "green", s === query),
        word(source[s], [left(s), TOP - 17])]), note("encoder: bidirectional", middle, 16)];
  }
  function decoder(cross) {
    const made = family === "both" ? target.slice(0, at + 1) : target, query = at, bottom = cross ? CROSS : MEMORY, middle = right((target.length - 1) / 2);
    const seen = made.map((_, t) => t), lines = seen.flatMap((q) => seen.filter((k) => k <= q).map((k) =>
      link([right(k), TOP], [right(q), MEMORY], data.writes[q][k], q === query)));
    const across = cross ? source.map((_, s) => link([left(s), MEMORY], [right(query), CROSS], data.backs[query][s], true)) : [];
    return [...lines, ...across, ...target.flatMap((token, t) => [word(token, [right(t), TOP - 17], t === query),
      dot([right(t), TOP], t <= query || !cross ? "blue" : "grey")]),
    ...seen.flatMap((t) => [...(cross ? [svg("line", { class: "w2s-line is-solid hue-blue", x1: right(t), x2: right(t), y1: MEMORY, y2: CROSS,
      style: { "stroke-width": 2 } }), dot([right(t), CROSS], "orange", t === query)] : []), dot([right(t), MEMORY], "blue", t === query && !cross),
    svg("line", { class: "w2s-line is-solid hue-blue", x1: right(t), x2: right(t), y1: bottom, y2: OUT - 4, style: { "stroke-width": 2 } }),
    word(family === "both" ? written[t] : "?", [right(t), OUT + 14], t === query)]),
    note("decoder: causal", middle, 16), ...(cross ? [note("cross-attention", 70, CROSS + 22)] : [])];
  }
  function show() {
    const query = family === "encoder" ? at % source.length : -1, row = family === "encoder" ? data.reads[query] : data.backs[at];
    parts.replaceChildren(...(family === "decoder" ? [] : encoder(query)), ...(family === "encoder" ? [] : decoder(family === "both")));
    const best = row.indexOf(Math.max(...row)), percent = `${Math.round(100 * row[best])} %`;
    tools.say({ encoder: `“${source[query < 0 ? 0 : query]}” may attend to all ${source.length} letters. The result is one vector per letter.`,
      decoder: `There is no source and no cross-attention. “${target[at]}” may attend to itself and what came before: ${at + 1} of ${target.length}.`,
      both: `Given “${target[at]}”, the decoder attends to ${at + 1} of ${target.length} target positions and to all ${source.length} of the source, `
        + `most to “${source[best]}” (${percent}), and predicts “${written[at]}”.` }[family]);
    picture.name(`${NAMES[family]}: source letters on the left, target sounds on the right, and a line for each pair that may attend.`);
    tools.able(back, at > 0); tools.able(next, at < last());
    Object.assign(stage.dataset, { family, at });
  }
  const last = () => (family === "encoder" ? source.length : target.length) - 1, go = (to) => { at = to; show(); };
  const back = tools.button("Back", () => go(at - 1)), next = tools.button("Step", () => go(at + 1));
  const families = tools.choice({ legend: "Family", value: family, options: Object.entries(NAMES).map(([key, label]) => ({ key, label })),
    onchange(key) { family = key; go(Math.min(at, last())); } });
  if (tools.asStill) at = Math.min(2, last());
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(back, next), tools.bar(families));
  show();
});
