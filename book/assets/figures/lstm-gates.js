/* A trained LSTM reads the reader's text: its gates at each token, and the next token, with one gate fixed or all free.

   data = {
     model: {name, megabytes, parameters},     a model of kind "lstm"
     examples: [{text, pieces: ["⏎", "We", ...], gates: [{write, keep, show}, ...], next: [[{text, share}, ...], ...], bits}]
                           torch, all gates free: their means over the units, the likeliest tokens after each, and what
                           the text costs without the line feed that stands before it
   } */
window.w2s.register("lstm-gates", function (stage, data, tools) {
  "use strict";
  const { el } = tools, GATES = ["keep", "write", "show"], rows = data.examples[0].next[0].length;
  const LABELS = { keep: "forget gate", write: "input gate", show: "output gate", none: "none" };
  const gates = tools.bars({ rows: 3 }), next = tools.bars({ rows, text: (value) => `${(100 * value).toFixed(1)} %` });
  const title = el("p", { class: "w2s-cut-name" }), lines = el("div", {});
  let model = null, now = data.examples[0], at = now.pieces.length - 1, held = "none", value = 0.5, asked = 0, free = now;
  const visible = (piece) => piece.replaceAll(" ", "␣").replaceAll("\n", "⏎");
  const mean = (values) => values.reduce((a, b) => a + b) / values.length;

  function show() {
    at = Math.min(at, now.pieces.length - 1);
    const line = tools.tokenLines([now.pieces.map(visible)]);
    line.show({ focus: [0, at], levels: [now.gates.map(({ keep }) => keep)] });
    lines.replaceChildren(line.node);
    gates.show(GATES.map((name) => ({ label: LABELS[name], value: now.gates[at][name], hue: name === held ? "orange" : "green" })),
      { most: 1 });
    title.textContent = `Next token after ${visible(now.pieces[at])}`;
    next.show(now.next[at].map(({ text, share }) => ({ label: visible(text), value: share })), { most: 1 });
    token.input.max = now.pieces.length - 1;
    token.set(at);
    const recorded = data.examples.find(({ text }) => text === now.text);
    const apart = recorded && Math.abs(free.bits - recorded.bits);
    Object.assign(stage.dataset, { text: now.text, at, held, value, bits: now.bits, source: model ? "page" : "recorded",
      apart: recorded ? apart : "", next: JSON.stringify(now.next[at]) });
    const [first] = now.next[at];
    tools.say(`After ${visible(now.pieces[at])}, the most probable token is “${visible(first.text)}”. “${now.text}” needs ${now.bits.toFixed(1)} bits with ` + (held === "none" ? "all gates free."
      : `every ${LABELS[held]} fixed at ${value.toFixed(2)}; with all gates free, ${free.bits.toFixed(1)}.`));
  }

  /* What the model in the page says of ids, with some gates forced. */
  async function ask(text, ids, forced) {
    const { data: logits, shape: [, width], gates: found } = await model.call("logits", ids, { forced });
    const shares = ids.map((_, t) => window.w2s.models.lib.softmax(logits.subarray(t * width, (t + 1) * width)));
    const best = (all) => Array.from(all.keys()).sort((a, b) => all[b] - all[a]).slice(0, rows);
    return { text, pieces: ids.map(model.tokenizer.token), bits: ids.slice(1).reduce((sum, id, t) => sum
      - Math.log2(shares[t][id]), 0), gates: found.map((one) => Object.fromEntries(GATES.map((name) => [name,
      mean(Array.from(one[name]))]))), next: shares.map((all) => best(all).map((id) => ({ text: model.tokenizer.token(id),
      share: all[id] }))) };
  }

  async function answer(text) {
    const example = data.examples.find((one) => one.text === text), turn = ++asked;
    if (!model) { if (example) { now = free = example; at = Infinity; show(); } return; }
    const ids = ["\n", text].flatMap(model.tokenizer.ids), forced = held === "none" ? {} : { [held]: value };
    const [own, changed] = await Promise.all([ask(text, ids, {}), ask(text, ids, forced)]);
    if (turn !== asked) return;
    at = text === now.text ? at : Infinity;
    [free, now] = [own, changed];
    show();
  }

  const field = tools.textField({ label: "Your text", value: now.text, most: 160,
    oninput(text) { picks.set(text); answer(text); } });
  const picks = tools.choice({ legend: "Try", value: now.text, onchange(text) { field.set(text); answer(text); },
    options: data.examples.map(({ text }) => ({ key: text, label: text })) });
  const token = tools.slider({ label: "Token", min: 0, max: at, value: at, text: (n) => visible(now.pieces[n]),
    oninput(n) { at = n; show(); } });
  const hold = tools.choice({ legend: "Fix a gate of every unit", value: held, onchange(key) { held = key;
    to.input.disabled = key === "none"; answer(now.text); }, options: ["none", ...GATES].map((key) => ({ key, label: LABELS[key] })) });
  const to = tools.slider({ label: "at", min: 0, max: 1, step: 0.05, value, text: (v) => v.toFixed(2),
    oninput(v) { value = v; answer(now.text); } });
  const holding = el("div", {});  // without a model there is nothing to hold
  field.input.disabled = to.input.disabled = true;
  const offer = tools.modelOffer(data.model, (loaded) => {
    model = loaded;
    field.input.disabled = false;
    holding.append(tools.bar(hold, to));
    field.input.focus();
    answer(field.input.value);
  });
  stage.append(tools.bar(offer), tools.bar(field), tools.bar(picks), tools.bar(token), lines, gates.node,
    holding, title, next.node);
  show();
});
