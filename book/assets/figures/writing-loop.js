/* The loop, one turn a press: the model reads, a token is chosen and put behind the text; and what passed through.

   data = {
     model: {name, megabytes, parameters},
     examples: [{text, pieces: ["We", ...], turns: [{best: [{text, share}], chosen}, ...]}]    greedy, by Python
   }
   A line feed, the end of a verse, stands before the text: it is read, and counted, as the first token. */
window.w2s.register("writing-loop", function (stage, data, tools) {
  "use strict";
  const { el } = tools, most = 12, line = el("div", {}), grid = el("div", { class: "w2s-scroll", tabindex: 0, role: "group",
    "aria-label": "What each pass reads" }), bars = tools.bars({ rows: 6, text: (share) => `${(100 * share).toFixed(1)} %` });
  let loaded = null, now = data.examples[0], turns = [], cache = "kept", take = "best", asked = 0, chance = null;
  const visible = (piece) => piece.replaceAll(" ", "␣").replaceAll("\n", "⏎");
  const reads = (turn) => (cache === "kept" && turn ? 1 : now.pieces.length + 1 + turn);

  function show() {
    const pieces = ["\n", ...now.pieces], passes = turns.length, words = [...pieces, ...turns.map(({ chosen }) => chosen)];
    const row = tools.tokenLines([words.map(visible)]);
    row.show({ focus: [0, passes ? words.length - 1 : -1], near: turns.map((_, n) => pieces.length + n) });
    line.replaceChildren(row.node);
    const best = passes ? turns[passes - 1].best : [];
    bars.show(best.map(({ text, share }) => ({ label: visible(text), value: share,
      hue: text === turns[passes - 1].chosen ? "orange" : "blue" })), { most: Math.max(0.3, ...best.map(({ share }) => share)) });
    const names = turns.map((_, n) => `pass ${n + 1}`), matrix = passes && tools.matrix({ rows: names, columns: words.map(visible), cell: 18 });
    if (matrix) {
      matrix.show({ values: turns.map((_, n) => words.map((__, place) => Number(place < pieces.length + n
        && place >= pieces.length + n - reads(n)))), most: 1, text: () => "" });
      matrix.name(`Rows are passes, columns the tokens that pass through the model in them.`);
    }
    grid.replaceChildren(...(matrix ? [matrix.node] : []));
    const total = turns.reduce((sum, _, n) => sum + reads(n), 0), text = turns.map(({ chosen }) => chosen).join("");
    Object.assign(stage.dataset, { text: now.text, written: text, passes, total, cache, take, source: loaded ? "page" : "recorded" });
    tools.able(on, (loaded || (take !== "drawn" && passes < now.turns.length)) && passes < most);
    tools.able(back, passes > 0);
    tools.say(passes ? `Pass ${passes} read ${reads(passes - 1)} token${reads(passes - 1) > 1 ? "s" : ""}, ${total} in all. Chosen: `
      + `“${visible(turns[passes - 1].chosen)}”.` : `The text has ${pieces.length} tokens, the line feed before it included. Press Step.`);
  }

  async function step() {
    const turn = turns.length;
    if (!loaded) turns = [...turns, now.turns[turn]];
    else {
      const asking = ++asked, { tokenizer } = loaded, { lib } = window.w2s.models, written = turns.map(({ id }) => id);
      const ids = [...["\n", now.text].flatMap(tokenizer.ids), ...written], { data: logits } = await loaded.call("next", ids);
      if (asking !== asked) return;
      const shares = lib.shares(logits), id = take === "best" ? lib.argmax(logits) : lib.draw(shares, chance());
      const best = Array.from(shares.keys()).sort((a, b) => shares[b] - shares[a]).slice(0, 6);
      turns = [...turns, { id, chosen: tokenizer.token(id), best: best.map((one) => ({ text: tokenizer.token(one), share: shares[one] })) }];
    }
    show();
  }
  const begin = (text) => {
    const example = data.examples.find((one) => one.text === text);
    now = loaded && text ? { text, turns: [], pieces: loaded.tokenizer.ids(text).map(loaded.tokenizer.token) } : example || now;
    turns = [];
    asked++;
    show();
  };
  const on = tools.button("Step", step, { class: "w2s-play" }), back = tools.button("Take back", () => { asked++; turns = turns.slice(0, -1); show(); });
  const field = tools.textField({ label: "Your text", value: now.text, most: 60, oninput(text) { picks.set(text); begin(text); } });
  const picks = tools.choice({ legend: "Try", value: now.text, options: data.examples.map(({ text }) => ({ key: text, label: text })),
    onchange(text) { field.set(text); begin(text); } });
  const keys = tools.choice({ legend: "Keys and values", value: cache, onchange(key) { cache = key; show(); },
    options: [{ key: "kept", label: "are kept" }, { key: "again", label: "are computed again" }] });
  const how = tools.choice({ legend: "Choose", value: take, onchange(key) { take = key; show(); },
    options: [{ key: "best", label: "the most probable" }, { key: "drawn", label: "by chance" }] });
  field.input.disabled = true;
  const offer = tools.modelOffer(data.model, (model) => {
    [loaded, chance] = [model, window.w2s.models.lib.chance(1)];
    field.input.disabled = false;
    begin(field.input.value);
  });
  stage.append(tools.bar(offer), tools.bar(field), tools.bar(picks), tools.bar(keys, how), tools.bar(on, back), line, bars.node, grid);
  if (tools.asStill) { turns = now.turns.slice(0, 6); cache = "again"; }
  show();
});
