/* The best span: start + end for every pair of tokens, what may not be chosen, and what is left.

   data = {
     questions: [{label: "by hand", question: "", tokens: ["we", ...], inside: [true, ...],   inside: tokens of the text
                  start: [1, 2, ...], end: [0, 5, ...], answer: "the bank"}, ...],
     longest: 30
   }
   As reference_impl.measure.answers.best_spans; of equal sums the first in the order of starts, then of ends. */
window.w2s.register("span-sums", function (stage, data, tools) {
  "use strict";
  const { el, svg } = tools, asked = el("p", { class: "w2s-sentence" }), grid = tools.picture({ class: "w2s-matrix" });
  const list = tools.bars({ rows: 5, text: (value) => value.toFixed(1) });
  let one = data.questions[0], longest = data.longest, only = "text", ordered = "yes";
  list.node.classList.add("w2s-wide");

  const may = (i, j) => (ordered === "no" || (i <= j && j - i < longest)) && (only === "all" || (one.inside[i] && one.inside[j]));
  const words = (i, j) => (i <= j ? one.tokens.slice(i, j + 1).join(" ").replace(/ ##/g, "") : `nothing: from ${one.tokens[i]} back to ${one.tokens[j]}`);

  function show() {
    const size = one.tokens.length, cell = Math.max(4, Math.min(26, Math.floor(330 / size))), width = size * cell;
    const all = one.start.flatMap((s, i) => one.end.map((e, j) => ({ i, j, sum: s + e })));
    const [low, high] = tools.span(all.map(({ sum }) => sum));
    const best = all.filter(({ i, j }) => may(i, j)).sort((a, b) => b.sum - a.sum || a.i - b.i || a.j - b.j).slice(0, 5);
    const top = (row) => row.indexOf(Math.max(...row)), apart = [top(one.start), top(one.end)];
    grid.node.setAttribute("viewBox", `-2 -2 ${width + 4} ${width + 4}`);
    grid.node.setAttribute("width", width + 4);
    const frame = ([i, j], hue) => svg("rect", { class: `w2s-frame hue-${hue}`, x: j * cell - 1, y: i * cell - 1, width: cell + 2, height: cell + 2 });
    grid.node.replaceChildren(grid.node.querySelector("title"), ...all.flatMap(({ i, j, sum }) => {
      const box = svg("rect", { class: `w2s-cell${may(i, j) ? " is-counted" : ""}`, x: j * cell, y: i * cell, width: cell, height: cell });
      box.style.setProperty("--level", may(i, j) ? ((sum - low) / (high - low || 1)).toFixed(3) : 0);
      const text = size > 8 ? [] : [svg("text", { class: "w2s-count", x: (j + 0.5) * cell, y: (i + 0.5) * cell + 4.5 }, may(i, j) ? String(sum) : "×")];
      return [box, ...text];
    }), frame(apart, "blue"), ...(best.length ? [frame([best[0].i, best[0].j], "orange")] : []));
    grid.name(`Sums of start and end for ${size} by ${size} tokens`);
    asked.replaceChildren(el("em", {}, one.question || one.tokens.join(" ")));
    list.show(best.map(({ i, j, sum }, k) => ({ label: words(i, j), value: sum, hue: k ? "blue" : "orange", note: `= ${one.start[i]} + ${one.end[j]}` })),
      { most: Math.max(high, 1e-9) });
    Object.assign(stage.dataset, { label: one.label, best: best.length ? `${best[0].i},${best[0].j}` : "", apart: apart.join(), longest, only, ordered });
    const cross = apart[0] > apart[1] ? "the end comes before the start" : one.inside[apart[0]] && one.inside[apart[1]] ? "they make a span" : "it is not in the text";
    tools.say(`The best start and the best end by themselves: ${words(...apart)}; ${cross}. `
      + (best.length ? `The best that may be chosen: ${words(best[0].i, best[0].j)}. ` : "Nothing may be chosen. ") + (one.answer ? `Right: ${one.answer}.` : ""));
  }
  const which = tools.select({ label: "Question", options: data.questions.map(({ label }) => label), value: one.label,
    onchange(label) { one = data.questions.find((some) => some.label === label); show(); } });
  const long = tools.slider({ label: "Longest", min: 1, max: 30, value: longest, text: (value) => `${value} tokens`, oninput(value) { longest = value; show(); } });
  const order = tools.choice({ legend: "End before start", value: ordered, options: [{ key: "yes", label: "crossed out" }, { key: "no", label: "allowed" }],
    onchange(key) { ordered = key; show(); } });
  const where = tools.choice({ legend: "Tokens", value: only, options: [{ key: "text", label: "of the text" }, { key: "all", label: "all" }],
    onchange(key) { only = key; show(); } });
  stage.append(tools.bar(which, long), tools.bar(order, where), asked, grid.node, list.node);
  show();
});
