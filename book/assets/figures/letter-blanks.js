/* Two small encoders of letters fill the same blanks, with more or less scripture before the reader's line.

   data = {
     models: [{key: "alternating", label: "alternating", model: {name, megabytes, parameters}}, ...],     of kind "modernbert"
     blank: 256,                                       the id of a blank
     before: [3, 41, ...], shifts: [0, 96, ...],       ids of held-out scripture; the last so many of them stand before the line
     examples: [{text: "The bank", blanks: [5], found: {"0": {alternating: [{best: [["a", 0.9], ...], truth: 0.9}], ...}}}]   by torch
   } */
window.w2s.register("letter-blanks", function (stage, data, tools) {
  "use strict";
  const { el } = tools, MOST = 4, words = el("div", {}), lists = data.models.map(({ label }) => ({ title: el("p", { class: "w2s-cut-name" }, label),
    bars: tools.bars({ rows: MOST, text: (share) => `${(100 * share).toFixed(1)} %` }) }));
  const summary = tools.bars({ rows: data.models.length, text: (bits) => `${bits.toFixed(2)} bits` });
  const visible = (letter) => (letter === " " ? "␣" : letter === "\n" ? "⏎" : letter);
  let models = null, now = data.examples[0], shift = 0, at = 0, asked = 0;

  function show(focused = false) {
    const { text, blanks, found } = now, letters = Array.from(text), read = found[shift], place = blanks[at];
    const line = tools.tokenLines([letters.map((letter, n) => (blanks.includes(n) ? "▁" : visible(letter)))], { onpick: (_, n) => press(n) });
    line.show({ focus: [0, place], near: blanks });
    line.node.querySelectorAll("button").forEach((node, n) => {
      node.setAttribute("aria-label", blanks.includes(n) ? `masked, was ${letters[n]}` : letters[n]);
      if (focused && n === place) node.focus();
    });
    words.replaceChildren(line.node);
    const bits = data.models.map(({ key }) => read[key].reduce((sum, { truth }) => sum - Math.log2(truth), 0) / blanks.length);
    data.models.forEach(({ key }, n) => lists[n].bars.show(read[key][at].best.slice(0, MOST).map(([letter, value]) => ({ label: visible(letter), value,
      hue: letter === letters[place] ? "orange" : "blue" })), { most: 1 }));
    summary.show(data.models.map(({ label }, n) => ({ label, value: bits[n], hue: ["green", "purple", "yellow"][n] })), { most: 8 });
    Object.assign(stage.dataset, { text, blanks: blanks.join(), at, shift, source: models ? "page" : "recorded", bits: JSON.stringify(bits) });
    tools.say(`${shift} letters of scripture precede the line. At the masked “${visible(letters[place])}”: ${data.models.map(({ key, label }) =>
      `${label} predicts “${visible(read[key][at].best[0][0])}” with ${(100 * read[key][at].best[0][1]).toFixed(0)} %`).join(", ")}. Over ${blanks.length} `
      + `${blanks.length === 1 ? "masked letter" : "masked letters"}: ${data.models.map(({ label }, n) => `${label} ${bits[n].toFixed(2)}`).join(", ")} bits.`);
  }

  async function answer(text, blanks, focused = false) {
    const turn = ++asked, known = data.examples.find((one) => one.text === text && one.blanks.join() === blanks.join());
    if (!models) { if (known) { now = known; at = 0; show(); } else tools.say("Load the models to mask other letters."); return; }
    const own = models[0].tokenizer.ids(text), letters = Array.from(text);
    if (!own.length || own.length !== letters.length) { tools.say("Type a line in plain letters: here a letter is a byte."); return; }
    const ids = [...data.before.slice(data.before.length - shift), ...own.map((id, n) => (blanks.includes(n) ? data.blank : id))];
    try {
      const found = await Promise.all(models.map(async (model) => {
        const { data: logits, shape: [rows, size] } = await model.call("logits", ids);
        return blanks.map((n) => {
          const row = Array.from(logits.slice((rows - own.length + n) * size, (rows - own.length + n + 1) * size)), high = Math.max(...row);
          const powers = row.map((logit) => Math.exp(logit - high)), sum = powers.reduce((a, b) => a + b);
          const order = powers.map((_, id) => id).sort((a, b) => powers[b] - powers[a]).slice(0, MOST);
          return { truth: powers[own[n]] / sum, best: order.map((id) => [model.tokenizer.token(id), powers[id] / sum]) };
        });
      }));
      if (turn !== asked) return;
      now = { text, blanks, found: { [shift]: Object.fromEntries(data.models.map(({ key }, n) => [key, found[n]])) } };
      at = Math.min(at, blanks.length - 1);
      show(focused);
    } catch (error) { tools.say(`${error.message}.`); }
  }
  function press(n) {  // a letter becomes a blank; a blank is looked at, and pressed again it is a letter once more
    const { text, blanks } = now, place = blanks.indexOf(n);
    if (place >= 0 && place !== at) { at = place; show(true); return; }
    if (!models) { tools.say("Load the models to mask other letters."); return; }
    const next = place < 0 ? [...blanks, n].sort((a, b) => a - b) : blanks.filter((one) => one !== n);
    if (!next.length) return;
    at = Math.max(0, next.indexOf(n));
    answer(text, next, true);
  }
  const picks = tools.choice({ legend: "Try", value: now.text, options: data.examples.map(({ text }) => ({ key: text, label: text })), onchange(text) {
    field.set(text);
    at = 0;
    answer(text, data.examples.find((one) => one.text === text).blanks);
  } });
  const field = tools.textField({ label: "Your line: press a letter to mask it", value: now.text, most: 64, oninput(text) {
    picks.set(text);
    const kept = now.blanks.filter((n) => n < text.length);
    if (text) answer(text, kept.length ? kept : [text.length >> 1]);
  } });
  const far = tools.slider({ label: "Letters of scripture before it", min: 0, max: data.shifts.length - 1, value: 0, text: (n) => String(data.shifts[n]),
    oninput(n) { shift = data.shifts[n]; if (now.found[shift]) show(); else answer(now.text, now.blanks); } });
  field.input.disabled = true;
  const offer = tools.modelOffer(data.models.map(({ model }) => model), (...loaded) => { models = loaded; field.input.disabled = false; field.input.focus();
    answer(now.text, now.blanks); });
  stage.append(tools.bar(offer), tools.bar(picks), tools.bar(field), tools.bar(far), words, ...lists.flatMap(({ title, bars }) => [title, bars.node]),
    el("p", { class: "w2s-cut-name" }, "Bits per masked letter, over the line"), summary.node);
  show();
});
