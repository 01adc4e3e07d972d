/* The reader's text under a GPT and its twin without a mask: each token's price, what comes next, and writing on.

   data = {
     models: [{key: "gpt", label: "GPT", model: {name, megabytes, parameters}}, ...]    all of one tokenizer
     examples: [{text, pieces: ["We", " sat", ...], found: {gpt: {nats: [...], next: [{text, share}],
                 written: [{text, share}]}, ...}}]      by torch; `written` by one that takes the likeliest each time
   }
   A line feed, the end of a verse, stands before the text. A model reads it and all tokens of the text but the last, in
   one pass, as in training: the first price is of the first token. What was written on is read again for each token. */
window.w2s.register("next-token", function (stage, data, tools) {
  "use strict";
  const { el } = tools, MOST = 7, DEAREST = 8, lines = el("div", { class: "w2s-cuts" }), title = el("p", { class: "w2s-cut-name" });
  const bars = tools.bars({ rows: MOST, text: (share) => `${(100 * share).toFixed(1)} %` });
  let models = null, now = data.examples[0], key = data.models[0].key, asked = 0, dart = null;
  const visible = (piece) => piece.replaceAll(" ", "␣").replaceAll("\n", "⏎"), percent = (share) => `${(100 * share).toFixed(1)} %`;
  const labelOf = (wanted) => data.models.find((one) => one.key === wanted).label;

  function part({ key: own, label }) {
    const { nats, written } = now.found[own], row = tools.tokenLines([now.pieces.map(visible)]);
    const before = nats.slice(0, -1), mean = (some) => (some.length ? (some.reduce((a, b) => a + b) / some.length).toFixed(2) : "no");
    row.show({ levels: [nats.map((price) => Math.min(1, price / DEAREST))] });
    return el("section", { class: "w2s-cut" }, el("p", { class: "w2s-cut-name" }, el("strong", {}, label),
      `: ${mean(before)} nats a token before the last, ${nats[nats.length - 1].toFixed(2)} for the last`), row.node,
    ...(written.length ? [el("p", { class: "w2s-quoted" }, el("strong", {}, now.text), written.map(({ text }) => text).join(""))] : []));
  }

  function show() {
    const { next, written, nats } = now.found[key], last = written[written.length - 1];
    lines.replaceChildren(...data.models.map(part));
    title.textContent = `${labelOf(key)}: what comes after “${visible(last ? last.text : now.pieces[now.pieces.length - 1])}”`;
    bars.show(next.map(({ text, share }) => ({ label: visible(text), value: share })), { most: 1 });
    const recorded = data.examples.find(({ text }) => text === now.text);
    Object.assign(stage.dataset, { source: models ? "page" : "torch", text: now.text, model: key, nats: JSON.stringify(nats),
      next: JSON.stringify(next), written: JSON.stringify(written.map(({ text }) => text)), apart: models && recorded
        ? Math.max(...data.models.flatMap((one) => now.found[one.key].nats.map((price, t) => Math.abs(price - recorded.found[one.key].nats[t])))) : "" });
    tools.say(`${last ? `${labelOf(key)} wrote “${visible(last.text)}”, to which it had given ${percent(last.share)}. ` : ""}Next it would say “${
      visible(next[0].text)}” with ${percent(next[0].share)}, then “${visible(next[1].text)}” with ${percent(next[1].share)}.`);
  }

  const idsOf = (text) => ["\n", text].map(models[0].tokenizer.ids);
  async function nextOf(model, ids) {
    const room = ids.slice(-Math.min(model.positions - 1, ids.length)), { data: logits } = await model.call("next", room);
    const row = Array.from(logits), high = Math.max(...row), powers = row.map((logit) => Math.exp(logit - high)), sum = powers.reduce((a, b) => a + b);
    return powers.map((power, id) => ({ id, text: model.tokenizer.token(id), share: power / sum })).sort((a, b) => b.share - a.share);
  }

  async function read(text) {
    const example = data.examples.find((one) => one.text === text), turn = ++asked;
    if (!models) { if (example) { now = example; show(); } return; }
    const [before, ids] = idsOf(text), found = {};
    if (!ids.length) { tools.say("Type a word or two."); return; }
    try {
      for (const [m, model] of models.entries()) {
        const { data: logits, shape: [, size] } = await model.call("logits", [...before, ...ids.slice(0, -1)]), start = before.length - 1;
        const nats = ids.map((id, t) => {
          const row = logits.subarray((start + t) * size, (start + t + 1) * size), high = row.reduce((a, b) => Math.max(a, b));
          return Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - high), 0)) + high - row[id];
        });
        found[data.models[m].key] = { nats, written: [], next: (await nextOf(model, [...before, ...ids])).slice(0, MOST) };
      }
    } catch (error) { tools.say(`${error.message}.`); return; }
    if (turn === asked) { now = { text, pieces: ids.map(models[0].tokenizer.token), found }; show(); }
  }

  async function write(pick, many) {
    if (!models) { tools.say("Load the models first: then they write on."); return; }
    const turn = ++asked, model = models[data.models.findIndex((one) => one.key === key)], mine = now.found[key], ids = idsOf(now.text).flat();
    for (let n = 0; n < many; n++) {
      const shares = await nextOf(model, [...ids, ...mine.written.map(({ id }) => id)]), chosen = pick(shares);
      const written = [...mine.written, chosen], next = (await nextOf(model, [...ids, ...written.map(({ id }) => id)])).slice(0, MOST);
      if (turn !== asked) return;
      Object.assign(mine, { written, next });
      show();
    }
  }
  function drawn(shares) {
    let left = (dart ??= window.w2s.models.lib.chance(1))();
    return shares.find(({ share }) => (left -= share) < 0) || shares[0];
  }

  const field = tools.textField({ label: "Your text", value: now.text, most: 60, oninput(text) { picks.set(text); read(text); } });
  const picks = tools.choice({ legend: "Try", value: now.text, options: data.examples.map(({ text }) => ({ key: text, label: text })),
    onchange(text) { field.set(text); read(text); } });
  const who = tools.choice({ legend: "What comes next, by", value: key, options: data.models, onchange(wanted) { key = wanted; asked++; show(); } });
  const offer = tools.modelOffer(data.models.map((one) => one.model), (...given) => { models = given; field.input.disabled = false; read(field.input.value); });
  field.input.disabled = true; stage.append(tools.bar(offer), tools.bar(field), tools.bar(picks), lines, tools.bar(who, tools.button("Take the likeliest", () => write((shares) => shares[0], 1)),
    tools.button("Draw one", () => write(drawn, 1)), tools.button("Draw twelve", () => write(drawn, 12))), title, bars.node); show();
});
