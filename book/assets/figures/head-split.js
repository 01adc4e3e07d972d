/* Multi-head attention of one word: every head reads the whole vector, attends alone, and fills its part of the result.

   data = {
     words: ["sat", ...], at: 2, task: "Raise ...",     the words, the one that attends, and what the reader is to do
     query: [8 numbers], keys: [[8 numbers], ...]       its query and all keys, before they are cut into heads
     counts: [1, 2, 4], heads: 2                        the numbers of heads to choose from, and the first of them
   } */
window.w2s.register("head-split", function (stage, data, tools) {
  "use strict";
  const { svg, set, el } = tools, { words, query, keys } = data, C = query.length, HUES = ["blue", "orange", "green", "purple"];
  const ROW = 18, ATTEND = 70, CUT = ATTEND + 34 + ROW * words.length, MIX = CUT + 62, OUT = MIX + 66;
  let count = tools.asStill ? data.counts[data.counts.length - 1] : data.heads, wide = 520;

  const label = (x, y, text, kind = "w2s-tick") => svg("text", { x, y, class: kind, "text-anchor": "middle" }, text);
  const strip = (y) => Array.from({ length: C }, (_, c) => svg("rect", { class: "w2s-tile", x: c * wide / C + 3, y, width: wide / C - 6, height: 20, rx: 3 }));
  const parts = () => Array.from({ length: count }, (_, head) => svg("rect", { class: `w2s-share hue-${HUES[head]}`,
    x: head * wide / count + 3, y: CUT, width: wide / count - 6, height: 20, rx: 3 }));
  const line = (x1, y1, x2, y2, hue) => svg("line", { class: `w2s-flow hue-${hue}`, x1, y1, x2, y2 });
  const cells = (y, name) => Array.from({ length: C }, (_, c) => label((c + 0.5) * wide / C, y, `${name}${String.fromCharCode(0x2080 + c)}`));
  const box = (x, y, width, height, hue) => svg("rect", { class: `w2s-lane hue-${hue}`, x, y, width, height, rx: 5 });

  function weightsOf(head, size) {
    const part = (vector) => vector.slice(head * size, (head + 1) * size);
    const scores = keys.map((key) => part(key).reduce((sum, value, i) => sum + value * part(query)[i], 0) / Math.sqrt(size));
    const powers = scores.map((score) => Math.exp(score - Math.max(...scores))), total = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / total);
  }

  function headNodes(head, size, weights) {
    const hue = HUES[head], width = wide / count, left = head * width, bar = width - 60;
    const rows = words.map((word, s) => [svg("text", { class: "w2s-tick", x: left + 46, y: ATTEND + 36 + s * ROW, "text-anchor": "end" },
      word), svg("rect", { class: `w2s-share hue-${hue}`, x: left + 52, y: ATTEND + 25 + s * ROW, height: 13, rx: 2,
      width: Math.max(1, bar * weights[s]) })]);
    return [line(wide / 2, 42, left + width / 2, ATTEND, hue), box(left + 2, ATTEND, width - 4, 26 + ROW * words.length, hue),
      label(left + width / 2, ATTEND + 16, `head ${head + 1}`, "w2s-word"), ...rows.flat(),
      line(left + width / 2, CUT - 8, left + width / 2, CUT, hue), line(left + width / 2, CUT + 20, wide / 2, MIX, hue)];
  }

  function draw() {
    const size = C / count, all = Array.from({ length: count }, (_, head) => weightsOf(head, size)), scores = count * words.length ** 2;
    picture.node.replaceChildren(picture.node.firstChild, label(wide / 2, 13, `token vector, C = ${C}`), ...strip(22), ...cells(37, "x"),
      ...all.flatMap((weights, head) => headNodes(head, size, weights)), ...parts(), ...all.map((_, head) => label((head + 0.5) * wide / count, CUT + 15, `head ${head + 1}`, "w2s-word")),
      box(wide / 2 - 88, MIX, 176, 30, "grey"), label(wide / 2, MIX + 20, "output projection", "w2s-word"),
      line(wide / 2, MIX + 30, wide / 2, OUT - 22, "grey"), label(wide / 2, OUT - 7, `output, C = ${C}`), ...strip(OUT), ...cells(OUT + 15, "y"));
    set(picture.node, { viewBox: `0 0 ${wide} ${OUT + 24}`, width: wide });
    picture.name(`${words[data.at]} attends with ${count} heads; most to ${all.map((weights) =>
      words[weights.indexOf(Math.max(...weights))]).join(", ")}.`);
    Object.assign(stage.dataset, { heads: count, weights: JSON.stringify(all) });
    tools.say(`D = ${C} / ${count} = ${size}. Parameters: 4 · ${C}² = ${4 * C * C}. Scores: ${count} · ${words.length}² = ${scores}.`);
  }

  const picture = tools.picture({ class: "w2s-lanes" }), choice = tools.choice({ legend: "Number of heads H", value: String(count),
    options: data.counts.map((number) => ({ key: String(number), label: String(number) })), onchange(key) { count = Number(key); draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(choice));
  tools.onWidth((width) => { wide = Math.min(width, 520); draw(); });
});
