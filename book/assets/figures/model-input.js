/* Two texts become one input: cut to a length, special tokens added, segments and mask written below, padded. On a
   phone a token is a row, so that the padding at the end is seen too.

   data = {
     first: ["we", "sat", ...], second: ["the", ...],   tokens of two texts
     length: 10, batch: 12                              what the sliders start at: longest input, length of the batch
   }
   Cutting follows reference_impl.tokenizers.encoding.kept_lengths. */
window.w2s.register("model-input", function (stage, data, tools) {
  "use strict";
  const { el } = tools, table = el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "The input" });
  let length = data.length, batch = data.batch, strategy = "longest_first", pair = "pair", narrow = false;
  const whole = data.first.length + data.second.length + 3;

  function kept(first, second, room) {
    if (first + second <= room) return [first, second];
    const over = first + second - room;
    if (strategy === "only_second") return over < second ? [first, second - over] : null;
    if (strategy === "only_first" || !second) return over < first ? [first - over, second] : null;
    const small = Math.min(first, second, Math.floor(room / 2));  // an odd place goes to the second of two equals
    return first <= second ? [Math.min(first, small), room - Math.min(first, small)] : [room - small, small];
  }
  const cell = ({ cells, mark }, i) => el("td", { class: mark(i) }, String(cells[i]));
  function written(lines) {
    const places = lines[0].cells.map((_, i) => i);
    const rows = narrow ? [el("tr", {}, ...lines.map(({ name }) => el("th", { scope: "col" }, name))),
      ...places.map((i) => el("tr", {}, ...lines.map((line) => cell(line, i))))]
      : lines.map((line) => el("tr", {}, el("th", { scope: "row" }, line.name), ...places.map((i) => cell(line, i))));
    return el("table", { class: `w2s-input${narrow ? " is-upright" : ""}` }, el("tbody", {}, ...rows));
  }

  function show() {
    Object.assign(stage.dataset, { length, batch, strategy });
    const paired = pair === "pair", specials = paired ? 3 : 2;
    const counts = kept(data.first.length, paired ? data.second.length : 0, Math.max(0, length - specials));
    if (!counts || length < specials) {
      table.style.minHeight = `${table.offsetHeight}px`;  // what is below stays where it is
      table.replaceChildren();
      Object.assign(stage.dataset, { tokens: "[]", kept: "" });
      tools.say(`A longest input of ${length} cannot be reached this way: too little of that text is left to cut.`);
      return;
    }
    const [a, b] = counts, tokens = ["[CLS]", ...data.first.slice(0, a), "[SEP]",
      ...(paired ? [...data.second.slice(0, b), "[SEP]"] : [])];
    const pads = Math.max(0, batch - tokens.length), all = [...tokens, ...Array(pads).fill("[PAD]")];
    const segment = all.map((_, i) => Number(paired && i >= a + 2 && i < tokens.length));
    const mask = all.map((_, i) => Number(i < tokens.length)), special = (i) => (/^\[/.test(all[i]) ? "is-special" : "");
    table.style.minHeight = "";
    table.replaceChildren(written([{ name: "token", cells: all, mark: special },
      { name: "position", cells: all.map((_, i) => i), mark: () => "" },
      { name: "segment", cells: segment, mark: (i) => (segment[i] ? "is-on" : "") },
      { name: "mask", cells: mask, mark: (i) => (mask[i] ? "" : "is-off") }]));
    Object.assign(stage.dataset, { tokens: JSON.stringify(all), segment: JSON.stringify(segment),
      mask: JSON.stringify(mask), kept: JSON.stringify(counts) });
    const lost = data.first.length + (paired ? data.second.length : 0) - a - b;
    tools.say(`${tokens.length} tokens, ${specials} of them special; ${lost ? `${lost} of the texts' were cut off` : "nothing was cut off"}, `
      + `${pads} places are padding${pads ? `, ${(100 * pads / all.length).toFixed(0)} % of the row` : ""}.`);
  }
  const longest = tools.slider({ label: "Longest input", min: 2, max: whole, value: length,
    text: (value) => `${value} tokens`, oninput(value) { length = value; show(); } });
  const wide = tools.slider({ label: "Batch padded to", min: 2, max: whole + 3, value: batch,
    text: (value) => `${value} places`, oninput(value) { batch = value; show(); } });
  const texts = tools.choice({ legend: "Texts", value: pair, options: [{ key: "pair", label: "two" },
    { key: "one", label: "one" }], onchange(chosen) { pair = chosen; show(); } });
  const cuts = tools.choice({ legend: "Cut", value: strategy, options: [{ key: "longest_first", label: "the longer" },
    { key: "only_first", label: "the first" }, { key: "only_second", label: "the second" }],
    onchange(chosen) { strategy = chosen; show(); } });
  stage.append(tools.bar(longest, wide), tools.bar(texts, cuts), table);
  tools.onWidth((width) => { narrow = width < 420; show(); });
});
