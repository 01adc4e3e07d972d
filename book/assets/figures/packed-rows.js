/* Texts as padded rows or packed ones, with and without the borders between them, and what becomes of two banks.

   data = {
     examples: [{label: "two texts", texts: ["the bank lends money", ...], tokens: [["[CLS]", "the", ...], ...],
                 bank: {kept: 0.778, positions: 0.727, gone: 0.972, both: 0.944}}, ...],   cosine of the first two texts' *bank*,
     longest: 40                                                    by MiniLM, all texts of the example in one row in their order
   }
   A text that the reader types is cut at its blanks. Packed is first-fit decreasing, as reference_impl.layers.packing. */
window.w2s.register("packed-rows", function (stage, data, tools) {
  "use strict";
  const { el } = tools, HUES = ["purple", "green", "yellow", "blue", "grey"], MOST = 8;
  const WAYS = { kept: "kept", positions: "kept, positions not restarted", gone: "gone", both: "gone, positions not restarted" };
  const area = el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "The rows" });
  let now = data.examples[0], texts = now.tokens, way = "padded", borders = "kept", longest = data.longest, stop = () => {};

  /* Each row as the numbers of its texts: first-fit decreasing, or one text a row. */
  function rowsOf() {
    if (way === "padded") return texts.map((_, n) => [n]);
    const rows = [], room = [];
    for (const n of texts.map((_, k) => k).sort((a, b) => texts[b].length - texts[a].length || a - b)) {
      let row = room.findIndex((left) => left >= texts[n].length);
      if (row < 0) { row = rows.push([]) - 1; room.push(longest); }
      rows[row].push(n);
      room[row] -= texts[n].length;
    }
    rows.forEach((row) => row.sort((a, b) => a - b));  // which row is what packing decides; inside, the reader's order
    return rows;
  }
  const places = () => new Map(Array.from(area.querySelectorAll("[data-key]"), (node) => [node.dataset.key, node.getBoundingClientRect()]));
  function slide(before) {  // every token from where it was to where it is now
    stop();
    const moved = Array.from(area.querySelectorAll("[data-key]")).flatMap((node) => {
      const old = before.get(node.dataset.key), here = node.getBoundingClientRect();
      return old ? [[node, old.left - here.left, old.top - here.top]] : [];
    });
    stop = tools.animate(before.size ? 600 : 0, (t) => moved.forEach(([node, x, y]) => {
      node.style.transform = t < 1 ? `translate(${((1 - t) * x).toFixed(1)}px, ${((1 - t) * y).toFixed(1)}px)` : "";
    }));
  }

  function show() {
    const before = places(), rows = rowsOf(), sizes = texts.map(({ length }) => length), real = sizes.reduce((a, b) => a + b);
    const padded = way === "padded", wide = Math.max(...sizes), open = !padded && (borders === "gone" || borders === "both");
    const runs = !padded && (borders === "positions" || borders === "both"), bounds = rows.map((row) => row.reduce((all, n) => [...all, all.at(-1) + sizes[n]], [0]));
    const box = (key, token, place, hue, first) => el("span", { class: `w2s-token hue-${hue}`, "data-key": key, style: { "border-bottom-color": "var(--hue)",
      ...(first && !open ? { "border-left": "3px solid var(--hue)" } : {}) } }, token, " ", el("sub", {}, String(place)));
    area.replaceChildren(...rows.map((row, r) => el("p", { class: "w2s-sentence", style: { "justify-content": "flex-start", "border-bottom": "1px solid var(--w2s-line)",
      "padding-bottom": "0.3rem" } }, ...row.flatMap((n, k) => texts[n].map((token, i) => box(`${n}:${i}`, token, runs ? bounds[r][k] + i : i, HUES[n % 5], !i))),
      ...(padded ? Array.from({ length: wide - sizes[row[0]] }, () => el("span", { class: "w2s-token is-covered" }, "[PAD]")) : []))));
    slide(before);
    const spent = padded ? rows.length * wide : real, right = sizes.reduce((sum, n) => sum + n * n, 0);
    const pairs = padded ? rows.length * wide * wide : open ? bounds.reduce((sum, bound) => sum + bound.at(-1) ** 2, 0) : right;
    const exact = padded || borders === "kept", bank = !now.bank ? null : exact ? now.bank.kept : rows.length === 1 ? now.bank[borders] : undefined;
    Object.assign(stage.dataset, { way, borders, rows: JSON.stringify(rows), bounds: JSON.stringify(bounds), real, spent, pairs, bank: bank ?? "" });
    tools.say(`${padded ? `Padded: ${rows.length} rows of ${wide}, ${spent} positions for ${real} tokens` : `Packed: ${rows.length} ${rows.length > 1 ? "rows" : "row"}, ${real} tokens and no padding; `
      + `cu_seqlens ${bounds.map((bound) => open ? `0, ${bound.at(-1)}` : bound.join(", ")).join(" and ")}`}. ${pairs} pairs of a query and a key, where ${right} are right. ${
      bank === null ? "" : bank === undefined ? "The two banks were not recorded over several rows." : `The cosine of the two banks is ${bank.toFixed(3)}${exact ? ", as of each text alone" : `, and should be ${now.bank.kept.toFixed(3)}`}.`}`);
  }
  const pack = () => { ways.set(way = "packed"); show(); };  // what belongs to packed rows packs
  const most = () => Math.max(...texts.map(({ length }) => length));
  function take(found, own) {
    [now, texts] = [own, found];
    budget.input.min = most();
    longest = Math.max(longest, most());
    budget.set(longest);
    show();
  }
  const picks = tools.choice({ legend: "Texts", value: now.label, options: data.examples.map(({ label }) => ({ key: label, label })), onchange(key) {
    const chosen = data.examples.find(({ label }) => label === key);
    field.set(chosen.texts.join(" / "));
    take(chosen.tokens, chosen);
  } });
  const field = tools.textField({ label: "Your texts, with / between them", value: now.texts.join(" / "), most: 240, oninput(text) {
    const own = text.split("/").map((part) => part.trim()).filter(Boolean).slice(0, MOST), known = data.examples.find((one) => one.texts.join(" / ") === own.join(" / "));
    picks.set(known ? known.label : "");
    if (own.length) take(known ? known.tokens : own.map((part) => ["[CLS]", ...part.split(/\s+/).slice(0, data.longest - 2), "[SEP]"]), known || {});
  } });
  const ways = tools.choice({ legend: "Rows", value: way, options: ["padded", "packed"].map((key) => ({ key, label: key })), onchange(key) { way = key; show(); } });
  const budget = tools.slider({ label: "A packed row holds", min: most(), max: data.longest, value: longest, text: (value) => `${value} tokens`, oninput(value) { longest = value; pack(); } });
  const edges = tools.choice({ legend: "Borders in a packed row", value: borders, options: Object.entries(WAYS).map(([key, label]) => ({ key, label })), onchange(key) { borders = key; pack(); } });
  stage.append(tools.bar(picks), tools.bar(field), tools.bar(ways, budget), tools.bar(edges), area);
  show();
});
