/* A cache of keys and values while a model writes: a row for each block, a column for each byte. Framed cells are computed in
   this pass; the shade of a cell is what the newest byte's queries make of its key. Switched off, every pass computes all.

   data = {
     model: {name, megabytes, parameters}, bytes: 576,       bytes of keys and values a token, at 16 bits
     examples: [{text, turns: [{chosen: "e", looks: [[share of each key], ...a block]}, ...]}]    greedy, by Python; heads averaged
   }
   A text has one-byte characters only: each is a token. */
window.w2s.register("cache-filling", function (stage, data, tools) {
  "use strict";
  const { el } = tools, most = 24, number = (n) => n.toLocaleString("en"), visible = (piece) => piece.replaceAll(" ", "␣").replaceAll("\n", "⏎");
  const line = el("div", {}), grid = el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "The cache" });
  const COUNTED = [["tokens, on", "kept"], ["tokens, off", "again"], ["pairs, on", "kept"], ["pairs, off", "again"]];
  const bars = [0, 2].map((from) => ({ from, part: tools.bars({ rows: 2, text: number }) }));
  let loaded = null, now = data.examples[0], turns = [], cache = "kept", asked = 0;

  const given = () => now.text.length, length = (turn) => given() + turn;                  // tokens that have been read after a pass
  const fresh = (turn, way) => (way === "kept" && turn ? 1 : length(turn));                 // of them in this pass
  function counted(way) {
    let tokens = 0, pairs = 0;
    turns.forEach((_, turn) => {
      tokens += fresh(turn, way);
      for (let place = length(turn) - fresh(turn, way); place < length(turn); place++) pairs += place + 1;
    });
    return [tokens, pairs];
  }

  function show() {
    const passes = turns.length, words = [...now.text, ...turns.map(({ chosen }) => chosen)], last = turns[passes - 1];
    const row = tools.tokenLines([words.map(visible)]);
    row.show({ focus: [0, passes ? words.length - 1 : -1], near: turns.map((_, n) => given() + n) });
    line.replaceChildren(row.node);
    const columns = words.slice(0, passes ? words.length - 1 : words.length).map(visible), made = passes ? fresh(passes - 1, cache) : 0;
    const rows = (passes ? last.looks : now.turns[0].looks).map((_, n) => `layer ${n + 1}`);
    const matrix = tools.matrix({ rows, columns, cell: 22 });
    matrix.show({ values: rows.map((_, block) => columns.map((__, place) => (passes ? Math.max(last.looks[block][place], 0.001) : 0))), most: 0.5,
      fresh: (_, place) => place >= columns.length - made, columns: passes ? [columns.length - 1] : [], text: () => "" });
    matrix.name(`${rows.length} layers by ${columns.length} bytes; the keys and values of the last ${made} were computed in this pass.`);
    matrix.node.style.setProperty("min-width", `${Math.min(560, 70 + 22 * columns.length)}px`);
    grid.replaceChildren(matrix.node);
    grid.scrollLeft = grid.scrollWidth;
    const ways = { kept: counted("kept"), again: counted("again") }, [tokens, pairs] = ways[cache];
    for (const { from, part } of bars)
      part.show(COUNTED.slice(from, from + 2).map(([label, way]) => ({ label, value: ways[way][from / 2], hue: way === cache ? "orange" : "grey" })));
    tools.able(on, passes < (loaded ? most : now.turns.length));
    tools.able(back, passes > 0);
    Object.assign(stage.dataset, { text: now.text, written: turns.map(({ chosen }) => chosen).join(""), passes, cache, tokens, pairs, made,
      read: last?.read ?? "", looks: JSON.stringify(last?.looks ?? []), source: loaded ? "page" : "recorded" });
    const held = cache === "kept" ? `The cache holds ${number(data.bytes * columns.length)} bytes.` : "Nothing is cached.";
    tools.say(passes ? `Pass ${passes} computed keys and values of ${made} byte${made > 1 ? "s" : ""} and chose “${visible(last.chosen)}”. ${held} So far ${
      number(tokens)} tokens and ${number(pairs)} pairs, in each layer and head.` : `A text of ${given()} bytes, nothing computed yet. Press Step.`);
  }

  async function step() {
    const turn = turns.length, asking = ++asked;
    if (!loaded) turns = [...turns, now.turns[turn]];
    else {
      const ids = [...loaded.tokenizer.ids(now.text), ...turns.map(({ id }) => id)];
      const { data: logits, read, looks } = await loaded.call("next", ids, { cache: cache === "kept" && turn > 0, looks: true });
      if (asking !== asked) return;
      const id = window.w2s.models.lib.argmax(logits), mean = looks.map(({ data: shares, shape: [queries, heads, keys] }) => Array.from({ length: keys },
        (_, key) => Array.from({ length: heads }, (__, head) => shares[((queries - 1) * heads + head) * keys + key]).reduce((a, b) => a + b) / heads));
      turns = [...turns, { id, chosen: loaded.tokenizer.token(id), looks: mean, read }];
    }
    show();
  }
  const begin = (text) => {
    const plain = Array.from(text).filter((one) => one >= " " && one <= "~").join("");
    const example = data.examples.find((one) => one.text === plain);
    now = loaded && plain ? { text: plain, turns: data.examples[0].turns } : example || now;
    turns = [];
    asked++;
    show();
  };
  const on = tools.button("Step", step, { class: "w2s-play" }), back = tools.button("Take back", () => { asked++; turns = turns.slice(0, -1); show(); });
  const field = tools.textField({ label: "Your text", value: now.text, most: 32, oninput(text) { picks.set(text); begin(text); } });
  const picks = tools.choice({ legend: "Try", value: now.text, options: data.examples.map(({ text }) => ({ key: text, label: text })),
    onchange(text) { field.set(text); begin(text); } });
  const keys = tools.choice({ legend: "The cache is", value: cache, onchange(key) { cache = key; asked++; show(); },
    options: [{ key: "kept", label: "on" }, { key: "again", label: "off" }] });
  field.input.disabled = true;
  const offer = tools.modelOffer(data.model, (model) => { loaded = model; field.input.disabled = false; begin(field.input.value); });
  stage.append(tools.bar(offer), tools.bar(field), tools.bar(picks), tools.bar(keys, on, back), line, grid, ...bars.map(({ part }) => part.node));
  if (tools.asStill) turns = now.turns.slice(0, 8);
  show();
});
