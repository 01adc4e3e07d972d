/* What an encoder predicts for a masked token, what it attends to there, and one side hidden.

   data = {
     model: {name, megabytes, parameters},   of kind "bert", or null: the examples only
     mask: "[MASK]",
     examples: [{text, tokens: [...], at: 4, sides: {both: {fillings: [["land", 0.08], ...], looks: [layer][head][token]},
                 left: ..., right: ...}}]    by torch; `text` has the mask, `at` is its position; with a side hidden, `looks` begins
   }                                         with the first token that is seen */
window.w2s.register("filled-blanks", function (stage, data, tools) {
  "use strict";
  const { el } = tools, MOST = 7, words = el("div", {}), title = el("p", { class: "w2s-cut-name" });
  const bars = tools.bars({ rows: MOST, text: (share) => `${(100 * share).toFixed(1)} %` });
  let model = null, now = data.examples[0], found = null, side = "both", layer = 0, head = 0, typed = [], pressed = -1, asked = 0;

  function draw(focused = false) {
    const { tokens, at, was = "" } = now, { fillings, looks } = found, from = side === "left" ? at : 0, row = looks[layer][head];
    const line = tools.tokenLines([tokens], { onpick: (_, place) => press(place) });
    line.show({ focus: [0, at], levels: [tokens.map((_, place) => row[place - from] || 0)] });
    words.replaceChildren(line.node);
    line.node.querySelectorAll(".w2s-token").forEach((node, place) => {
      node.classList.toggle("is-covered", place < from || place >= from + row.length);
      if (focused && place === at) node.focus();
    });
    const best = fillings[0], own = fillings.find(([token]) => token === was);
    title.textContent = `Predicted for [MASK] from ${{ both: "both sides", left: "the right side only", right: "the left side only" }[side]}`;
    bars.show(fillings.slice(0, MOST).map(([label, value]) => ({ label, value, hue: label === was ? "orange" : "blue" })), { most: 1 });
    const most = row.indexOf(Math.max(...row)) + from;
    tools.say(`Most probable: “${best[0]}”, ${(100 * best[1]).toFixed(1)} %. ${own ? `The original, “${was}”, has ${
      (100 * own[1]).toFixed(1)} %. ` : ""}Layer ${layer + 1}, head ${head + 1} attends most to “${tokens[most]}”.`);
    Object.assign(stage.dataset, { source: now.source || "torch", text: now.text, at, side, layer, head, looks: JSON.stringify(row),
      fillings: JSON.stringify(fillings.slice(0, MOST)) });
  }

  /* The text as it was typed, with the pressed word masked, by the model in the page. */
  async function read(text, focused = false) {
    if (!model) { now = data.examples.find((one) => one.text === text) || now; found = now.sides[side]; draw(); return; }
    const turn = ++asked, { tokenizer } = model, [mask] = tokenizer.ids(data.mask), fresh = tokenizer.ids(text);
    if (fresh.join() !== typed.join()) { typed = fresh; pressed = -1; }
    const blanks = typed.flatMap((id, place) => (id === mask ? [place] : []));
    if (pressed < 0) pressed = blanks.length ? blanks[0] : typed.length >> 1;
    const ids = typed.map((id, place) => (place === pressed ? mask : id)), from = side === "left" ? pressed : 0;
    try {
      const seen = ids.slice(from, side === "right" ? pressed + 1 : undefined), place = pressed - from;
      const { data: logits, shape: [, size], looks } = await model.call("logits", seen, { looks: true });
      if (turn !== asked) return;
      const row = Array.from(logits.slice(place * size, (place + 1) * size)), high = Math.max(...row);
      const powers = row.map((logit) => Math.exp(logit - high)), sum = powers.reduce((a, b) => a + b);
      const order = powers.map((_, id) => id).sort((a, b) => powers[b] - powers[a]);
      const was = typed[pressed] === mask ? "" : tokenizer.token(typed[pressed]), kept = order.slice(0, MOST);
      if (was && !kept.includes(typed[pressed])) kept.push(typed[pressed]);
      now = { text, at: pressed, was, source: "page", tokens: ids.map((id) => tokenizer.token(id)) };
      found = { fillings: kept.map((id) => [tokenizer.token(id), powers[id] / sum]), looks: looks.map(({ data: shares, shape: [, count,
        keys] }) => Array.from({ length: count }, (_, h) => Array.from(shares.slice((place * count + h) * keys).slice(0, keys)))) };
      draw(focused);
    } catch (error) { tools.say(`${error.message}.`); }
  }
  function press(place) {
    if (!model) { if (data.model) tools.say("Load the model to mask another word."); return; }
    pressed = place; read(field.input.value, true);
  }

  const picks = tools.choice({ legend: "Try", value: now.text, options: data.examples.map(({ text }) => ({ key: text, label: text
    .replace(data.mask, "___") })), onchange(key) { field.set(key); typed = []; read(key); } });
  const field = tools.textField({ label: "Your text: press a word to mask it", value: now.text, most: 120,
    oninput(text) { picks.set(text); read(text); } });
  const curtain = tools.choice({ legend: "Hide", value: side, options: [["both", "nothing"], ["left", "the left side"],
    ["right", "the right side"]].map(([key, label]) => ({ key, label })), onchange(key) { side = key; read(field.input.value); } });
  const { looks } = now.sides.both, of = (label, many, set) => tools.slider({ label, min: 1, max: many, value: 1, text: String,
    oninput(number) { set(number - 1); draw(); } });
  const offer = data.model && tools.modelOffer(data.model, (loaded) => { model = loaded; field.input.disabled = false; field.input.focus();
    read(field.input.value); });
  field.input.disabled = true;
  stage.append(tools.bar(picks), ...(offer ? [tools.bar(offer), tools.bar(field)] : []), tools.bar(curtain), words, title, bars.node,
    tools.bar(of("Layer", looks.length, (n) => { layer = n; }), of("Head", looks[0].length, (n) => { head = n; })));
  read(now.text);
});
