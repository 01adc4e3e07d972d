/* A model before it was adapted and after: both go on from the reader's own prompt, from the same chances.

   data = {
     models: [{key: "before", label: "as it was", model: {name, megabytes, parameters},
               before: [198], after: [],          ids that stand around the prompt's own
               stop: 198,                         the id that ends an answer
               strength: true}]                   an update of kind "lora" whose strength the reader may set
     examples: [{text, written: {before: {text, tokens, ended}, ...}}]     by Python, shown before the models are loaded
     most: 40, temperature: 0.7, tries: 10, marks: {1024: "<|im_start|>"}  names of ids that the tokenizer has not
   } */
window.w2s.register("before-after", function (stage, data, tools) {
  "use strict";
  const { el } = tools, body = el("div", { class: "w2s-cuts" }), { models, most, marks = {}, tries = 10 } = data;
  let loaded = null, now = { ...data.examples[0], lengths: {} }, seed = 0, asked = 0, strength = 1;
  const mean = (values) => values.reduce((sum, one) => sum + one, 0) / values.length;
  const told = ({ tokens, ended }) => (ended ? `ended by itself after ${tokens} tokens` : `cut off after ${tokens} tokens`);

  function show(source = loaded ? "page" : "recorded") {
    body.replaceChildren(...models.map(({ key, label, after }) => {
      const { text, tokens, ended } = now.written[key], lengths = now.lengths[key];
      return el("section", { class: "w2s-cut" }, el("p", { class: "w2s-cut-name" }, el("strong", {}, label), `: ${told({ tokens, ended })}`),
        el("p", { class: "w2s-quoted" }, el("strong", {}, now.text), `${after.length ? " " : ""}${text.replaceAll("\n", " ⏎ ")}`),
        ...(lengths ? [el("p", { class: "w2s-note" }, `${lengths.length} times: ${mean(lengths).toFixed(1)} tokens on average.`)] : []));
    }));
    Object.assign(stage.dataset, { text: now.text, source, seed, strength, written: JSON.stringify(now.written), lengths: JSON.stringify(now.lengths) });
    tools.say(`After “${now.text}”. ` + models.map(({ key, label }) => `${label}: ${now.lengths[key] ? `${mean(now.lengths[key]).toFixed(1)} tokens on average`
      : told(now.written[key])}`).join("; ") + ".");
  }

  /* Runs of the tokenizer's own ids are decoded; the others have names. */
  const inWords = (tokenizer, ids) => ids.reduce((runs, id) => (id in marks ? [...runs, marks[id], []]
    : [...runs.slice(0, -1), [...runs[runs.length - 1], id]]), [[]]).map((run) => (Array.isArray(run) ? tokenizer.decode(run) : run)).join("");

  async function one(m, text, number) {
    const { before, after, stop } = models[m], ids = [...before, ...loaded[m].tokenizer.ids(text), ...after];
    const found = await loaded[m].call("generate", ids, { most, temperature: heat, topP: 0.95, stop, seed: number });
    return { text: inWords(loaded[m].tokenizer, found.ids), tokens: found.ids.length, ended: found.ids.length < most };
  }

  async function write(times = 1) {
    const turn = ++asked, text = field.input.value;
    if (!loaded || !text.trim()) return;
    try {
      const found = await Promise.all(models.map(async (_, m) => {
        const all = [];
        for (let n = 0; n < times; n++) all.push(await one(m, text, seed + n));
        return all;
      }));
      if (turn !== asked) return;
      const by = (pick) => Object.fromEntries(models.map(({ key }, m) => [key, pick(found[m])]));
      now = { text, written: by((all) => all[0]), lengths: times > 1 ? by((all) => all.map(({ tokens }) => tokens)) : {} };
      show();
    } catch (error) { tools.say(`${error.message}.`); }
  }

  let heat = data.temperature;
  const field = tools.textField({ label: "Your prompt", value: now.text, most: 100, oninput(text) { picks.set(text); write(); } });
  const picks = tools.choice({ legend: "Try", value: now.text, options: data.examples.map(({ text }) => ({ key: text, label: text })),
    onchange(text) { field.set(text); if (loaded) write(); else { now = { ...data.examples.find((other) => other.text === text), lengths: {} }; show(); } } });
  const again = tools.button("Write again", () => { seed += tries; write(); });
  const often = tools.button(`Write ${tries} times`, () => { seed += tries; write(tries); });
  const warm = tools.slider({ label: "Temperature", min: 0, max: 1.5, step: 0.1, value: heat, text: (value) => value.toFixed(1), oninput(value) { heat = value; write(); } });
  const strong = models.some((model) => model.strength) && tools.slider({ label: "Strength of the update", min: 0, max: 2, step: 0.25, value: 1,
    text: (value) => value.toFixed(2), async oninput(value) {
      strength = value;
      await Promise.all(models.map((model, m) => loaded && model.strength && loaded[m].call("strength", value)));
      write();
    } });
  const allow = (may) => [field.input, warm.input, again, often, ...(strong ? [strong.input] : [])].forEach((node) => { node.disabled = !may; });
  const offer = tools.modelOffer(models.map(({ model }) => model), (...opened) => {
    loaded = opened;
    allow(true);
    field.input.focus();
    write();
  });
  allow(false);
  stage.append(tools.bar(offer), tools.bar(field, again, often), tools.bar(picks), tools.bar(warm, ...(strong ? [strong] : [])), body);
  show();
});
