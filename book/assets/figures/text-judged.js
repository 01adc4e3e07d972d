/* The reader's own text, judged token by token by trained models in the page, and continued by them.

   data = {
     models: [{key: "ngram", label: "Counts", model: {name, megabytes, parameters}}, ...]   all of one tokenizer
     examples: [{text, pieces: ["We", " sat", ...], judged: {ngram: [{nats, best: [{text, share}]}, ...], ...},
                 written: {ngram: " the river", ...}}]     what Python computed, shown before the models are loaded
   }
   The end of a verse, a line feed, stands before the text and is not judged. */
window.w2s.register("text-judged", function (stage, data, tools) {
  "use strict";
  const { el } = tools, body = el("div", { class: "w2s-cuts" }), darkest = 12;
  let loaded = null, now = data.examples[0], at = tools.asStill ? 5 : 0, asked = 0, seed = 0;
  const visible = (piece) => piece.replaceAll(" ", "␣").replaceAll("\n", "⏎");
  const percent = (share) => (share < 0.0005 ? "under 0.1 %" : `${(100 * share).toFixed(1)} %`);

  function part({ key, label }, bits) {
    const all = now.judged[key], { nats, best } = all[at], line = tools.tokenLines([now.pieces.map(visible)]);
    line.show({ focus: [0, at], levels: [all.map((one) => Math.min(1, one.nats / Math.LN2 / darkest))] });
    const expected = best.map(({ text, share }) => `“${visible(text)}” ${percent(share)}`).join(", ");
    return el("section", { class: "w2s-cut" }, el("p", { class: "w2s-cut-name" }, el("strong", {}, label),
      `: ${bits.toFixed(2)} bits a byte`), line.node, el("p", { class: "w2s-note" },
      `“${visible(now.pieces[at])}” had ${percent(Math.exp(-nats))}. Expected: ${expected}.`),
      ...(now.written[key] ? [el("p", { class: "w2s-quoted" }, el("strong", {}, now.text), now.written[key])] : []));
  }

  function show() {
    at = Math.min(at, now.pieces.length - 1);
    const bytes = new TextEncoder().encode(now.text).length;
    const bits = data.models.map(({ key }) => now.judged[key].reduce((sum, { nats }) => sum + nats, 0) / Math.LN2 / bytes);
    body.replaceChildren(...data.models.map((model, m) => part(model, bits[m])));
    token.input.max = now.pieces.length - 1;
    token.set(at);
    const recorded = data.examples.find(({ text }) => text === now.text);
    const apart = recorded && Math.max(...data.models.flatMap(({ key }) => now.judged[key].map(({ nats }, i) =>
      Math.abs(nats - recorded.judged[key][i].nats))));
    Object.assign(stage.dataset, { text: now.text, at, source: loaded ? "page" : "recorded", apart: recorded ? apart : "",
      bits: JSON.stringify(bits), written: JSON.stringify(now.written) });
    tools.say(`“${now.text}”: ${data.models.map(({ key, label }, m) => `${label}, ${bits[m].toFixed(2)} bits a byte, `
      + `${visible(now.pieces[at])} at ${percent(Math.exp(-now.judged[key][at].nats))}`).join("; ")}.`);
  }

  const named = (best) => best.map(({ id, share }) => ({ text: loaded[0].tokenizer.token(id), share }));
  async function answer(text) {
    const example = data.examples.find((one) => one.text === text), turn = ++asked;
    if (!loaded) { if (example) { now = example; show(); } return; }
    const [before, ids] = ["\n", text].map(loaded[0].tokenizer.ids);
    const found = ids.length && await Promise.all(loaded.map((model) => model.call("judge", before, ids)));
    if (!found || turn !== asked) return;
    now = { text, pieces: ids.map(loaded[0].tokenizer.token), written: {}, judged: Object.fromEntries(found.map((all, m) =>
      [data.models[m].key, all.map(({ nats, best }) => ({ nats, best: named(best) }))])) };
    show();
  }

  async function write() {
    const turn = ++asked, ids = ["\n", now.text].flatMap(loaded[0].tokenizer.ids);
    const options = { most: 24, temperature: 0.8, topP: 0.95, seed: ++seed };
    const found = await Promise.all(loaded.map((model) => model.call("generate", ids, options)));
    if (turn !== asked) return;
    now = { ...now, written: Object.fromEntries(data.models.map(({ key }, m) => [key,
      loaded[0].tokenizer.decode(found[m].ids)])) };
    show();
  }

  const field = tools.textField({ label: "Your text", value: now.text, most: 160,
    oninput(text) { picks.set(text); answer(text); } });
  const on = tools.button("Write on", write, { disabled: true });
  const picks = tools.choice({ legend: "Try", value: now.text, onchange(text) { field.set(text); answer(text); },
    options: data.examples.map(({ text }) => ({ key: text, label: text })) });
  const token = tools.slider({ label: "Token", min: 0, max: now.pieces.length - 1, value: 0,
    text: (value) => visible(now.pieces[value]), oninput(value) { at = value; show(); } });
  field.input.disabled = true;
  const offer = tools.modelOffer(data.models.map((one) => one.model), (...models) => {
    loaded = models;
    field.input.disabled = on.disabled = false;
    field.input.focus();
    answer(field.input.value);
  });
  stage.append(tools.bar(offer), tools.bar(field, on), tools.bar(picks), tools.bar(token), body);
  show();
});
