/* A distribution and the knobs on it: what each leaves, where a dart falls, and what the model then writes.

   data = {
     model: {name, megabytes, parameters}, tokens: ["!", ...]       the vocabulary as text
     examples: [{text, logits: [V], seen: [ids], written: {preset: "..."}}],      by Python
     presets: [{key, label, knobs: {temperature, topK, topP, minP, penalty}}]
   }
   lib.shares of assets/models/sampling.js bends, in the page; its order is that of generation/processors. */
window.w2s.register("bent-shares", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { lib } = window.w2s.models, rows = 14, size = data.tokens.length, STOPS = [1, 2, 3, 5, 10, 20, 40, 80, 160, 320, 0];
  const neutral = { temperature: 1, topK: 0, topP: 1, minP: 0, penalty: 1, late: false };
  let loaded = null, now = data.examples[0], knobs = { ...neutral, ...data.presets[0].knobs }, preset = data.presets[0].key, dart = 0.5,
    written = now.written[preset], asked = 0, seed = 0;
  const visible = (text) => text.replaceAll(" ", "␣").replaceAll("\n", "⏎"), percent = (share) => `${(100 * share).toFixed(1)} %`;
  const bars = tools.bars({ rows, text: percent }), note = el("p", { class: "w2s-note" }), quoted = el("p", { class: "w2s-quoted" });

  function show() {
    const before = lib.shares(now.logits), after = lib.shares(now.logits, { ...knobs, seen: now.seen });
    const order = Array.from(before.keys()).sort((a, b) => after[b] - after[a] || before[b] - before[a]), hit = lib.draw(after, dart);
    const shown = order.slice(0, rows), kept = after.reduce((sum, share) => sum + (share > 0), 0);
    if (!shown.includes(hit)) shown[rows - 1] = hit;
    bars.show(shown.map((id) => ({ label: visible(data.tokens[id]), value: after[id], hue: id === hit ? "orange" : "blue",
      note: percent(before[id]) === percent(after[id]) ? "" : `was ${percent(before[id])}` })), { most: Math.max(0.15, after[order[0]]) });
    const bits = after.reduce((sum, share) => sum - (share > 0 ? share * Math.log2(share) : 0), 0);
    note.textContent = `${kept} of ${size} tokens may follow; ${bits.toFixed(2)} bits of choice. The dart falls on “${visible(data.tokens[hit])}”.`;
    quoted.replaceChildren(...(written ? [el("strong", {}, now.text), written] : ["Load the model to have the text continued with these parameters."]));
    Object.assign(stage.dataset, { text: now.text, kept, bits, hit, preset, dart, knobs: JSON.stringify(knobs), written: written || "",
      source: loaded ? "page" : "recorded", top: JSON.stringify(shown.slice(0, 4).map((id) => after[id])) });
    tools.say(`${kept} of ${size} tokens are left, with ${bits.toFixed(2)} bits of choice. The most probable, “${visible(data.tokens[order[0]])}”, `
      + `went from ${percent(before[order[0]])} to ${percent(after[order[0]])}. The dart at ${dart.toFixed(2)} falls on “${visible(data.tokens[hit])}”.`);
  }
  const fit = () => sliders.forEach(({ key, slider, to }) => slider.set(to(knobs[key])));
  function turn(change, key = "") {
    Object.assign(knobs, change);
    [preset, written] = [key, now.written[key]];
    picks.set(key);
    fit();
    order.set(String(knobs.late));
    show();
  }
  const knob = (key, label, min, max, step, text, from = Number, to = Number) => ({ key, to, slider: tools.slider({ label, min, max, step,
    value: to(knobs[key]), text: (value) => text(from(value)), oninput: (value) => turn({ [key]: from(value) }) }) });
  const sliders = [knob("temperature", "Temperature", 0, 2, 0.1, (value) => (value ? value.toFixed(1) : "0: greedy")),
    knob("topK", "Top-k", 0, STOPS.length - 1, 1, (value) => (value ? `${value}` : "off"), (stop) => STOPS[stop], (k) => STOPS.indexOf(k)),
    knob("topP", "Top-p", 0.05, 1, 0.05, (value) => (value < 1 ? value.toFixed(2) : "off")),
    knob("minP", "Min-p", 0, 0.5, 0.05, (value) => (value ? value.toFixed(2) : "off")),
    knob("penalty", "Penalty", 1, 2, 0.1, (value) => (value > 1 ? value.toFixed(1) : "off"))];
  const throwing = tools.slider({ label: "Dart", min: 0, max: 0.99, step: 0.01, value: dart, text: (value) => value.toFixed(2), oninput(value) { dart = value; show(); } });
  const order = tools.choice({ legend: "Temperature", value: "false", onchange: (key) => turn({ late: key === "true" }),
    options: [{ key: "false", label: "before the filters" }, { key: "true", label: "after them" }] });
  const picks = tools.choice({ legend: "Ways", value: preset, options: data.presets, onchange(key) {
    turn({ ...neutral, ...data.presets.find((one) => one.key === key).knobs }, key); } });
  async function read(text) {
    const example = data.examples.find((one) => one.text === text), turn_ = ++asked;
    if (example) now = example;
    else {
      if (!loaded || !text) return;
      const ids = ["\n", text].flatMap(loaded.tokenizer.ids), { data: logits } = await loaded.call("next", ids);
      if (turn_ !== asked) return;
      now = { text, logits, seen: ids, written: {} };
    }
    written = now.written[preset];
    show();
  }
  const write = tools.button("Write with these parameters", async () => {
    const turn_ = ++asked, found = await loaded.call("generate", ["\n", now.text].flatMap(loaded.tokenizer.ids), { ...knobs, most: 40, seed: ++seed });
    if (turn_ !== asked) return;
    written = loaded.tokenizer.decode(found.ids);
    show();
  }, { disabled: true });
  const field = tools.textField({ label: "Your text", value: now.text, most: 80, oninput(text) { texts.set(text); read(text); } });
  const texts = tools.choice({ legend: "Try", value: now.text, options: data.examples.map(({ text }) => ({ key: text, label: text })), onchange(text) { field.set(text); read(text); } });
  field.input.disabled = true;
  const offer = tools.modelOffer(data.model, (model) => { loaded = model; field.input.disabled = write.disabled = false; show(); });
  stage.append(tools.bar(offer), tools.bar(field, write), tools.bar(texts), tools.bar(picks), tools.bar(...sliders.map(({ slider }) => slider)), tools.bar(throwing, order), bars.node, note, quoted);
  show();
});
