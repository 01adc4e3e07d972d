/* Four chats cut into blocks of words: which blocks are computed, and which are cache hits because an earlier chat computed them.

   data = { size: 4, chats: ["you help the bank ...", ...], most: 6 }       a word is a token; at most so many blocks are drawn
   Chats come in order, each after the one before is computed. The rule is that of engine.block_manager.find_prefix:
   full blocks from the beginning, known by their words and all before, and never the last word. */
window.w2s.register("prefix-tree", function (stage, data, tools) {
  "use strict";
  const { svg, el, set } = tools, { size, most } = data, drawing = svg("g", {}), picture = tools.picture({ class: "w2s-matrix" }, drawing), left = 60, tall = 66;
  let chats = [...data.chats], rule = "chain", salted = false, wide = 560;
  const split = (text) => text.split(/\s+/).filter(Boolean), bars = tools.bars({ rows: 2, text: (n) => `${n} words` });

  function follow() {
    const known = new Map();                                             // key of a block -> chat that computed it, and what stood before
    return chats.map((text, c) => {
      const words = split(text), cut = Array.from({ length: Math.ceil(words.length / size) }, (_, b) => words.slice(b * size, (b + 1) * size));
      const path = (b) => words.slice(0, (b + 1) * size).join(" "), key = (b) => JSON.stringify([salted ? c : 0, rule === "chain" ? path(b) : cut[b].join(" ")]);
      let open = true;
      const blocks = cut.map((one, b) => {
        const full = one.length === size, usable = full && (b + 1) * size < words.length;
        const from = open && usable ? known.get(key(b)) : undefined;
        open = open && from !== undefined;
        return { words: one, full, found: from !== undefined, from: from?.chat, wrong: from !== undefined && from.path !== path(b) };
      });
      blocks.forEach(({ full, found }, b) => { if (full && !found && !known.has(key(b))) known.set(key(b), { chat: c, path: path(b) }); });
      const found = blocks.filter((one) => one.found).length * size;
      return { words, blocks, found, wrong: blocks.some((one) => one.wrong) };
    });
  }
  function draw() {
    const rows = follow(), box = (wide - left) / Math.min(most, Math.max(4, ...rows.map(({ blocks }) => blocks.length))), total = rows.reduce((all, { words }) => all + words.length, 0), found = rows.reduce((all, row) => all + row.found, 0), wrong = rows.filter((row) => row.wrong).length;
    drawing.replaceChildren(...rows.flatMap(({ blocks }, r) => [svg("text", { class: "w2s-row-label", x: left - 8, y: r * tall + 32 }, `chat ${r + 1}`), ...blocks.slice(0, most).flatMap((one, b) => {
      const x = left + b * box, y = r * tall + 4, letters = Math.floor((box - 12) / 7.2), half = Math.ceil(one.words.length / 2);
      const lines = [one.words.slice(0, half).join(" "), one.words.slice(half).join(" ")].map((line) => (line.length > letters ? `${line.slice(0, letters - 1)}…` : line));
      return [svg("rect", { class: `w2s-tile${one.wrong ? " is-stray" : one.found ? " is-gone" : one.full ? " is-held" : " is-masked"}`, x: x + 1, y, width: box - 6, height: 40, rx: 4 }),
        ...lines.map((line, n) => svg("text", { class: "w2s-count", x: x + box / 2 - 2, y: y + 17 + 15 * n, "font-size": 12 }, line)),
        svg("text", { class: "w2s-tick", x: x + box / 2 - 2, y: y + 53, "text-anchor": "middle" }, one.found ? `from chat ${one.from + 1}` : one.full ? "computed" : "not full")];
    })]));
    set(picture.node, { viewBox: `0 0 ${wide} ${rows.length * tall}`, width: wide });
    picture.node.style.setProperty("min-width", `${Math.min(wide, 560)}px`);
    bars.show([{ label: "without", value: total, hue: "grey" }, { label: "with", value: total - found, hue: "orange" }], { most: total });
    picture.name(`Four chats in blocks of ${size} words; orange blocks are computed, blue ones are cache hits, red ones are wrong hits.`);
    tools.say(`${total} words are sent. ${found} are cache hits, and ${total - found} are computed.${wrong ? ` In ${wrong} ${wrong > 1 ? "chats" : "chat"} a block was matched whose words were computed after another prefix: keys and values are wrong.` : ""}`);
    Object.assign(stage.dataset, { total, found, wrong, rule, salted, each: rows.map((row) => row.found).join(" ") });
  }
  const fields = chats.map((text, c) => tools.textField({ label: `Chat ${c + 1}`, value: text, most: 160, oninput(next) { chats[c] = next; draw(); } }));
  const rules = tools.choice({ legend: "A block is known by", value: rule, options: [{ key: "chain", label: "its words and all before" }, { key: "own", label: "its own words" }], onchange(key) { rule = key; draw(); } });
  const salts = tools.choice({ legend: "Salt", value: "one", options: [{ key: "one", label: "one for all" }, { key: "each", label: "each chat its own" }], onchange(key) { salted = key === "each"; draw(); } });
  stage.append(tools.bar(...fields), tools.bar(rules, salts), el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "The chats" }, picture.node), bars.node);
  tools.onWidth((pixels) => { wide = Math.max(560, pixels); draw(); });
});
