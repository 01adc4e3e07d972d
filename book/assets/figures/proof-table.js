/* A comparison table: a press on a cell opens its proof; or its numbers are hidden, and the reader fills them in.

   data = {
     tables: [{id, title, columns: ["BERT-base", ...], rows: [{what: "parameters", cells: [
       {text: "109,482,240", kind: "counted", proof: "computed: ...", href, number: 109482240 or null}, ...]}, ...]}, ...]
   }
   A number within five per cent of the cell's passes as rounded. */
window.w2s.register("proof-table", function (stage, data, tools) {
  "use strict";
  const { el } = tools, holder = el("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "comparison table" }), below = el("div", {});
  const UNITS = { k: 1e3, m: 1e6, b: 1e9, million: 1e6, billion: 1e9, thousand: 1e3 };
  let table = data.tables[0], mode = "read", open = null, filled = new Map();

  /* "110M", "8,192 tokens", "75 %" and "1.5 billion" as numbers; NaN for words. */
  function typed(text) {
    const found = text.replace(/(\d),(?=\d{3})/g, "$1").replace(",", ".").match(/([+-]?\d+(?:\.\d+)?)\s*([a-z]*)/i);
    return found ? Number(found[1]) * (UNITS[found[2].toLowerCase()] || 1) : NaN;
  }
  const cells = () => table.rows.flatMap((row) => row.cells), hidden = (cell) => mode === "blank" && cell.number !== null && !filled.has(cell);

  function judge(cell, text) {
    const value = typed(text), off = Math.abs(value - cell.number) / (Math.abs(cell.number) || 1);
    if (Number.isNaN(value)) return tools.say("Type a number, such as 110M or 8,192.");
    if (off <= 0.05) { filled.set(cell, off === 0 ? "exact" : "rounded"); show(); return tools.say(`${off === 0 ? "Exact" : "Rounded, and near enough"}: ${cell.text}. ${cell.kind}: ${cell.proof}.`); }
    return tools.say(`Not that. ${value > cell.number ? "Less" : "More"}${off > 0.9 ? ", by a good deal" : ""}.`);
  }
  function press(row, cell) {
    open = cell;
    below.replaceChildren();
    if (!hidden(cell)) {
      tools.say(`${row.what}: ${cell.text}. ${cell.kind[0].toUpperCase()}${cell.kind.slice(1)}. ${cell.proof}.`);
      below.append(el("p", {}, el("a", { href: cell.href }, cell.kind === "cited" ? "To the references" : "To the page that shows it")));
    } else {
      const field = tools.textField({ label: `${row.what}: what stands here?`, oninput() {} });
      const go = () => judge(cell, field.input.value);
      field.input.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
      below.append(tools.bar(field, tools.button("Check", go), tools.button("Give up", () => { filled.set(cell, "shown"); show(); press(row, cell); })));
      tools.say("Type the number. 110M and 110,000,000 are the same.");
      if (!tools.asStill) field.input.focus();
    }
    Object.assign(stage.dataset, { open: cell.text, kind: cell.kind });
  }
  function show() {
    const body = table.rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.what), ...row.cells.map((cell) => el("td", {},
      tools.button(hidden(cell) ? "?" : cell.text, () => press(row, cell), { "aria-label": `${row.what}: ${hidden(cell) ? "hidden" : cell.text}`,
        title: hidden(cell) ? "hidden" : cell.kind })))));
    holder.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, el("td", {}), ...table.columns.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, ...body)));
    const states = [...filled.values()], all = cells().filter((cell) => cell.number !== null).length;
    Object.assign(stage.dataset, { table: table.id, mode, filled: states.filter((state) => state !== "shown").length, blanks: cells().filter(hidden).length, cells: cells().length });
    if (mode === "read") {
      const kinds = ["counted", "measured", "judged", "cited"].map((kind) => `${cells().filter((cell) => cell.kind === kind).length} ${kind}`);
      tools.say(`${table.title}: ${cells().length} cells, ${kinds.join(", ")}. Press one for its proof.`);
    } else tools.say(`${states.filter((state) => state === "exact").length} exact and ${states.filter((state) => state === "rounded").length} rounded of ${all} numbers. Press a question mark.`);
  }
  function begin() { filled = new Map(); open = null; below.replaceChildren(); show(); }
  const which = tools.select({ label: "Table", options: data.tables.map(({ title }) => title), value: table.title,
    onchange(title) { table = data.tables.find((one) => one.title === title); begin(); } });
  const modes = tools.choice({ legend: "Numbers", value: mode, options: [{ key: "read", label: "shown" }, { key: "blank", label: "hidden" }], onchange(key) { mode = key; begin(); } });
  stage.append(tools.bar(which, modes), holder, below);
  show();
  if (tools.asStill) press(table.rows[0], table.rows[0].cells[0]);
});
