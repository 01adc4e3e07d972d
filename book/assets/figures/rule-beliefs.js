/* Examples of a rule on digits, typed by the reader, and what a small GPT and Bayes's rule make of them.

   data = {
     model: {name, megabytes, parameters},
     rules: [{key: "+", label: "one more", says: [1, 2, ..., 0]}, ...]            what each rule makes of 0 to 9
     examples: [{text: "_4>5,2>", shares: [ten shares of the next digit]}, ...]    by torch; the first symbol is a rule's key or "_"
   } */
window.w2s.register("rule-beliefs", function (stage, data, tools) {
  "use strict";
  const { el } = tools, percent = (share) => `${Math.round(100 * share)} %`;
  const digits = tools.bars({ rows: 10, text: percent }), beliefs = tools.bars({ rows: 4, text: percent });
  let model = null, now = data.examples[tools.asStill ? 1 : 0], asked = 0;

  function parse(text) {
    const [, name, shown, query] = /^([_=+\-n])((?:\d>\d,)*)(\d)>$/.exec(text) ?? [];
    return query === undefined ? null : { name, query: Number(query), shown: [...shown.matchAll(/(\d)>(\d)/g)].map(([, x, y]) => [Number(x), Number(y)]) };
  }
  function draw() {
    const { text, shares } = now, { name, query, shown } = parse(text);
    const fits = data.rules.map(({ says }) => shown.every(([x, y]) => says[x] === y)), open = fits.filter(Boolean).length;
    const bayes = Array.from({ length: 10 }, (_, digit) => data.rules.reduce((sum, { says }, r) => sum + (open && fits[r] && says[query] === digit ? 1 / open : 0), 0));
    const order = shares.map((_, digit) => digit).sort((a, b) => shares[b] - shares[a]).slice(0, 4);
    digits.show(order.map((digit) => ({ label: `${digit}`, value: shares[digit], note: name === "_" ? `(Bayes ${percent(bayes[digit])})` : "" })), { most: 1 });
    beliefs.show(data.rules.map(({ label, says }, r) => ({ label: `${label}: ${says[query]}`, value: shares[says[query]], hue: fits[r] ? "green" : "orange" })), { most: 1 });
    const named = data.rules.find(({ key }) => key === name);
    tools.say(`${named ? `The rule “${named.label}” is named. ` : ""}${open ? `${open} of four rules fit the examples. ` : "No rule fits the examples. "}`
      + `After ${query} the model says ${order[0]} with ${percent(shares[order[0]])}.`);
    Object.assign(stage.dataset, { text, source: now.source ?? "torch", shares: JSON.stringify(shares), best: order[0] });
  }
  async function read(text) {
    const example = data.examples.find((one) => one.text === text), mine = ++asked;
    if (!parse(text)) { tools.say("A text is _ or a rule's sign (=, +, - or n), then examples such as 3>4, with a comma after each, then a digit and >."); return; }
    if (!model) { if (example) { now = example; draw(); } return; }
    if (text.length > 36) { tools.say("The model has 36 places: take an example away."); return; }
    const idOf = new Map(Array.from({ length: model.tokenizer.size }, (_, id) => [model.tokenizer.token(id), id]));
    const { data: logits } = await model.call("next", [...text].map((symbol) => idOf.get(symbol)));
    if (mine !== asked) return;
    const all = window.w2s.models.lib.softmax(Float32Array.from(logits));
    now = { text, source: "page", shares: Array.from({ length: 10 }, (_, digit) => all[idOf.get(`${digit}`)]) };
    draw();
  }
  const picks = tools.choice({ legend: "Try", value: now.text, options: data.examples.map(({ text }) => ({ key: text, label: text })), onchange(text) { field.set(text); read(text); } });
  const field = tools.textField({ label: "Your prompt", value: now.text, most: 40, oninput(text) { picks.set(text); read(text.trim()); } });
  const offer = tools.modelOffer(data.model, (loaded) => { model = loaded; field.input.disabled = false; field.input.focus(); read(field.input.value); });
  field.input.disabled = true;
  stage.append(tools.bar(picks), tools.bar(offer), tools.bar(field), el("p", { class: "w2s-note" }, "What the model says comes next:"), digits.node,
    el("p", { class: "w2s-note" }, "The same by rule, with the answer that each rule would give (green: fits the examples):"), beliefs.node);
  draw();
});
