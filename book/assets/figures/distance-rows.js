/* DeBERTa's relative positions: which embedding each pair of a query and a key uses, for a largest distance k.

   data = {
     task: "Select ...", tokens: ["we", "sat", ...], most: 5, span: 3,       span: k at first
     rows: {"1": [[0, 0, ...], ...], ...}       rows[k][query][key]: models.deberta.distance_rows
   } */
window.w2s.register("distance-rows", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { tokens } = data, count = tokens.length, named = tokens.map((token, i) => `${i} ${token}`);
  const matrix = tools.matrix({ rows: named, columns: named, cell: 28 });
  let span = data.span, query = Math.min(4, count - 1), key = Math.min(1, count - 1);

  function show() {
    const rows = data.rows[String(span)], row = rows[query][key];
    matrix.show({ values: rows.map((line) => line.map((value) => value + 1)), most: 2 * span, row: query, columns: [key],
      fresh: (i, j) => rows[i][j] === row, text: (value) => String(value - 1) });
    matrix.name(`Number of the embedding that a query, in a row, uses for a key, in a column, with k = ${span}.`);
    const distance = query - key, clipped = Math.max(0, Math.min(2 * span - 1, distance + span)), shared = rows.flat().filter((value) => value === row).length;
    Object.assign(stage.dataset, { span, query, key, row, clipped });
    tools.say(`Query “${tokens[query]}” and key “${tokens[key]}”: ${query} − ${key} + ${span} = ${distance + span}${
      clipped === distance + span ? "" : `, clipped to ${clipped}`}. Embedding ${row} of 0 to ${2 * span - 1}, outlined, is used by ${shared} of ${count * count} pairs.`);
  }
  const slider = (label, min, max, value, text, set) => tools.slider({ label, min, max, value, text, oninput(next) { set(next); show(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task),
    el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "Relative positions" }, matrix.node),
    tools.bar(slider("Query", 0, count - 1, query, (i) => tokens[i], (next) => { query = next; }),
      slider("Key", 0, count - 1, key, (i) => tokens[i], (next) => { key = next; }),
      slider("k", 1, data.most, span, String, (next) => { span = next; })));
  show();
});
