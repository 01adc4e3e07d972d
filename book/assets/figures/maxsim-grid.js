/* Late interaction: the cosine of each query token with each document token; the largest of each row counts.

   data = {
     task: "Choose ...",                          what the reader is to do
     query: ["who", "gives", "credit"],
     texts: [{label: "the bank lends money", tokens: ["the", ...],
              cosines: [[0.2, ...], ...],         a row for each query token, a column for each token of the text
              mean: 0.34}, ...]                   the cosine of the two means: what a bi-encoder compares
   } */
window.w2s.register("maxsim-grid", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { query, texts } = data, grid = el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "Cosines" });
  const title = el("p", { class: "w2s-cut-name" }), bars = tools.bars({ rows: texts.length, text: (value) => value.toFixed(2) });
  let at = 0, score = "maxsim", row = query.length - 1, map = null;

  const best = (line) => line.indexOf(Math.max(...line));
  const maxsim = ({ cosines }) => cosines.reduce((sum, line) => sum + Math.max(...line), 0);
  const value = (text) => (score === "maxsim" ? maxsim(text) : text.mean);

  function begin(next) {
    at = next;
    map = tools.matrix({ rows: query, columns: texts[at].tokens, cell: 34 });
    grid.replaceChildren(map.node);
    draw();
  }

  function draw() {
    const text = texts[at], found = text.cosines.map(best), late = score === "maxsim";
    map.show({ values: text.cosines.map((line) => line.map((one) => Math.max(one, 0.001))), most: 1, row: late ? row : -1,
      columns: late ? [found[row]] : [], fresh: (r, c) => late && c === found[r], text: (one) => `${Math.round(100 * one)}` });
    map.name(`Cosines in percent of ${query.length} query tokens with the tokens of “${text.label}”.`);
    title.textContent = late ? "MaxSim: the sum of the framed cosines" : "Cosine of the two means: one number, whatever the tokens";
    bars.show(texts.map((one, n) => ({ label: one.label, value: value(one), hue: n === at ? "orange" : "grey" })),
      { most: late ? query.length : 1 });
    Object.assign(stage.dataset, { text: text.label, score, row, value: value(text).toFixed(4), best: found.join() });
    tools.say(late ? `“${query[row]}” is most similar to “${text.tokens[found[row]]}”, ${text.cosines[row][found[row]].toFixed(2)}. `
      + `MaxSim of “${text.label}” is ${maxsim(text).toFixed(2)}.` : `The means of the query and of “${text.label}” have a cosine of ${text.mean.toFixed(2)}.`);
  }

  const which = tools.select({ label: "Text", value: texts[0].label, options: texts.map(({ label }) => label),
    onchange(label) { begin(texts.findIndex((one) => one.label === label)); } });
  const steps = tools.stepper({ label: "Query token", count: query.length, text: (n) => query[n], every: 1200, show(n) { row = n; draw(); } });
  const kind = tools.choice({ legend: "Score", value: score, options: [{ key: "maxsim", label: "MaxSim" }, { key: "mean", label: "cosine of the means" }],
    onchange(key) { score = key; draw(); } });
  map = tools.matrix({ rows: query, columns: texts[at].tokens, cell: 34 });
  stage.append(el("p", { class: "w2s-task" }, data.task), grid, tools.bar(which, kind), tools.bar(...steps.nodes), title, bars.node);
  begin(0);
});
