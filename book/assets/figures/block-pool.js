/* Texts that fill, fork and free blocks of a pool, with a cache in pieces of fixed length beside it.

   data = { blocks: 12, size: 4, room: 16, runs: [{key, label, commands: [["write", "a", "we sat"], ["fork", "a", "b"], ["free", "a"]]}, ...] }
   A word is a token. Blocks are taken, counted, copied and freed as engine.block_manager does without prefix caching;
   what a text reads comes through its table. In pieces a text gets `room` slots, and a fork is a copy of all. */
window.w2s.register("block-pool", function (stage, data, tools) {
  "use strict";
  const { svg, el, set } = tools, { blocks, size, room } = data, drawing = svg("g", {}), picture = tools.picture({ class: "w2s-matrix" }, drawing), wholes = Math.floor(blocks * size / room);
  const table = el("table", { class: "w2s-walk" }), note = el("p", { class: "w2s-note" }), names = "abcdef", split = (text) => text.split(/\s+/).filter(Boolean);
  let run = data.runs[0].key, commands = data.runs[0].commands, at = 0, copies = true, chosen = "a", wide = 560, now = null;
  function replay(list) {
    const pool = Array.from({ length: blocks }, () => ({ words: [], count: 0 })), free = pool.map((_, b) => b), texts = {}, pieces = Array(wholes).fill(null);
    let told = "Nothing is written yet.", moved = 0, without = [];
    const take = () => { const b = free.shift(); pool[b] = { words: [], count: 1 }; return b; }, drop = (b) => { pool[b].count -= 1; if (!pool[b].count) free.unshift(b); };
    const whole = (name) => pieces.findIndex((piece) => piece?.name === name), put = (name, words) => {
      const place = pieces.indexOf(null);
      if (place < 0 || words.length > room) without = [...without, name];
      else pieces[place] = { name, words: [...words] };
    };
    for (const [kind, name, rest] of list) {
      if (kind === "write") {
        const words = split(rest), text = texts[name] || { table: [], length: 0 }, entry = Math.floor(text.length / size);
        const shared = copies && entry < text.table.length && pool[text.table[entry]].count > 1, needed = Math.ceil((text.length + words.length) / size) - text.table.length + (shared ? 1 : 0);
        if (needed > free.length) { told = `“${name}” needs ${needed} blocks more, and ${free.length} are free: refused, nothing changed.`; continue; }
        if (shared) { const old = text.table[entry]; text.table[entry] = take(); pool[text.table[entry]].words = pool[old].words.slice(0, text.length % size); drop(old); moved += 1; }
        for (const word of words) {
          if (text.length === text.table.length * size) text.table.push(take());
          pool[text.table[Math.floor(text.length / size)]].words[text.length % size] = word;
          text.length += 1;
        }
        texts[name] = text;
        told = `“${name}” writes ${words.length} word${words.length > 1 ? "s" : ""}${shared ? ", after a copy of the shared block" : ""}.`;
        const mine = whole(name), all = mine < 0 ? words : [...pieces[mine].words, ...words];
        if (mine >= 0) pieces[mine] = null;
        if (!without.includes(name)) put(name, all);
      } else if (kind === "fork" && texts[name]) {
        texts[rest] = { table: [...texts[name].table], length: texts[name].length };
        texts[rest].table.forEach((b) => { pool[b].count += 1; });
        put(rest, whole(name) < 0 ? Array(room + 1) : pieces[whole(name)].words);
        told = `“${rest}” forks from “${name}”: the table is copied, the blocks are shared.`;
      } else if (kind === "free" && texts[name]) {
        [...texts[name].table].reverse().forEach(drop);
        if (whole(name) >= 0) pieces[whole(name)] = null;
        delete texts[name];
        without = without.filter((one) => one !== name);
        told = `“${name}” has ended: ${free.length} blocks are free.`;
      }
    }
    return { pool, free, texts, pieces, without, told, moved, reads: (text) => Array.from({ length: text.length }, (_, i) => pool[text.table[Math.floor(i / size)]].words[i % size]) };
  }
  function draw() {
    now = replay(commands.slice(0, at));
    const live = Object.keys(now.texts), across = wide > 480 ? 3 : 2, gap = 12, cell = (wide - gap * (across - 1)) / across / size, tall = 62, rows = Math.ceil(blocks / across), mine = now.texts[chosen]?.table || [];
    const top = rows * tall + 26, step = wide / room, letters = (word, room_) => (word || "").slice(0, Math.max(1, Math.floor(room_ / 8.4)));
    const boxes = now.pool.flatMap(({ words, count }, b) => {
      const x = (b % across) * (size * cell + gap), y = Math.floor(b / across) * tall, filled = Math.max(0, ...live.map((one) => now.texts[one]).filter((t) => t.table.includes(b)).map((t) => Math.min(size, t.length - t.table.indexOf(b) * size)));
      return [svg("text", { class: "w2s-tick", x, y: y + 14 }, count ? `${b}: held by ${count}` : `${b}: free`), ...Array.from({ length: size }, (_, i) => svg("g", { class: "w2s-matrix" },
        svg("rect", { class: `w2s-tile${count && i < filled ? (mine.includes(b) ? " is-held" : " is-gone") : ""}${count ? "" : " is-masked"}`, x: x + i * cell, y: y + 20, width: cell - 2, height: 30, rx: 3 }),
        svg("text", { class: "w2s-count", x: x + i * cell + cell / 2 - 1, y: y + 40 }, count && i < filled ? letters(words[i], cell) : "")))];
    });
    const lanes = now.pieces.flatMap((piece, r) => Array.from({ length: room }, (_, i) => svg("rect", { class: `w2s-tile${piece && i < piece.words.length ? (piece.name === chosen ? " is-held" : " is-gone") : ""}${piece ? "" : " is-masked"}`, x: i * step, y: top + r * 26, width: step - 2, height: 20, rx: 3 })));
    drawing.replaceChildren(...boxes, svg("text", { class: "w2s-tick", x: 0, y: top - 8 }, `the same memory in pieces of ${room}`), ...lanes);
    set(picture.node, { viewBox: `0 0 ${wide} ${top + wholes * 26}`, width: wide });
    const tables = live.map((name) => [name, `[${now.texts[name].table.join(", ")}]`, now.reads(now.texts[name]).join(" ")]);
    table.replaceChildren(el("thead", {}, el("tr", {}, ...["text", "table", "reads"].map((one) => el("th", {}, one)))), el("tbody", {}, ...tables.map((line) => el("tr", { class: line[0] === chosen ? "is-new" : "" }, ...line.map((one) => el("td", {}, one))))));
    const held = blocks - now.free.length, alone = live.reduce((all, name) => all + now.texts[name].table.length, 0);
    note.textContent = now.without.length ? `In pieces, no room for: ${now.without.join(", ")}.` : "In pieces, all have room so far.";
    picture.name(`${blocks} blocks, ${held} of them held; below, ${wholes} pieces of ${room} slots.`);
    tools.say(`${now.told} ${now.texts[chosen] ? `“${chosen}” holds ${mine.length} blocks` : `There is no text “${chosen}”`}; copy on write is ${copies ? "on" : "off"}. ${held} of ${blocks} blocks are held, ${alone} if nothing were shared; ${now.moved} copied so far. Pieces: ${now.pieces.filter(Boolean).length} of ${wholes} taken${now.without.length ? `, ${now.without.length} texts without room` : ""}.`);
    tools.able(back, at > 0); tools.able(next, at < commands.length);
    Object.assign(stage.dataset, { run, at, held, copies, moved: now.moved, without: now.without.join(" "), tables: JSON.stringify(Object.fromEntries(live.map((name) => [name, now.texts[name].table]))), reads: JSON.stringify(Object.fromEntries(live.map((name) => [name, now.reads(now.texts[name]).join(" ")]))) });
  }
  const go = (to) => { at = to; draw(); }, act = (command) => { commands = [...commands.slice(0, at), command]; chosen = command[0] === "fork" ? command[2] : command[1]; picks.set(chosen); go(commands.length); };
  const unused = () => [...names].find((name) => !now.texts[name]), field = tools.textField({ label: "Words", value: "the bank lends money", most: 80, oninput() {} });
  const next = tools.button("Step", () => go(at + 1), { class: "w2s-play" }), back = tools.button("Take back", () => go(at - 1));
  const runs = tools.choice({ legend: "Runs", value: data.runs[0].key, options: data.runs, onchange(key) { run = key; commands = data.runs.find((one) => one.key === key).commands; go(0); } });
  const picks = tools.choice({ legend: "Text", value: chosen, options: [...names].map((key) => ({ key, label: key })), onchange(key) { chosen = key; draw(); } });
  const ways = tools.choice({ legend: "Copy on write", value: "on", options: [{ key: "on", label: "on" }, { key: "off", label: "off" }], onchange(key) { copies = key === "on"; draw(); } });
  const doing = [["New text", () => unused() && act(["write", unused(), field.input.value])], ["Append", () => now.texts[chosen] && act(["write", chosen, field.input.value])],
    ["Fork", () => now.texts[chosen] && unused() && act(["fork", chosen, unused()])], ["Free", () => now.texts[chosen] && act(["free", chosen])]].map(([label, what]) => tools.button(label, what));
  stage.append(tools.bar(runs, next, back), picture.node, note, el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "Tables" }, table), tools.bar(ways, picks), tools.bar(field, ...doing));
  if (tools.asStill) at = commands.length;
  tools.onWidth((pixels) => { wide = pixels; draw(); });
});
