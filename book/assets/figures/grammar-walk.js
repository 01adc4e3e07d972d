/* An answer of a given form, token by token: what the model would like to say, what the grammar allows, what is said; and one's own beginning.

   data = {
     vocabulary: 49152,
     examples: [{key: "0", label: "moored the boat", words: "what it said when asked in words only",
                 steps: [{token: "{", p: 0.01, allowed: 12, mass: 0.3, top: [{token: "The", p: 0.4, allowed: false}, ...]}, ...]}, ...],
     forms: ["{\"bank\":\"river\",\"sure\":true}", ...]       every text that has the form
   } */
window.w2s.register("grammar-walk", function (stage, data, tools) {
  "use strict";
  const { el } = tools, row = el("p", { class: "w2s-sentence", style: { "justify-content": "flex-start" } }), note = el("p", { class: "w2s-note" }), own = el("p", { class: "w2s-note" }), holder = el("div", { class: "w2s-bar" });
  const seen = (token) => (token === "" ? "end" : token.replaceAll("\n", "⏎").replaceAll(" ", "␣")), bars = tools.bars({ rows: 6, text: (value) => value.toFixed(3) });
  let now = data.examples[0];

  function show(at) {
    const step = now.steps[at], wanted = step.top[0];
    row.replaceChildren(...now.steps.map((one, i) => el("span", { class: "w2s-token" + (i === at ? " is-centre" : i < at ? " is-near" : "") }, i <= at ? seen(one.token) : "·")));
    const shown = step.top.some(({ token }) => token === step.token) ? step.top : step.top.concat({ token: step.token, p: step.p, allowed: true });
    bars.show(shown.map((one) => ({ label: seen(one.token), value: one.p, hue: one.allowed ? "green" : "grey", note: one.token === step.token ? "chosen" : one.allowed ? "allowed" : "no" })), { most: 1 });
    note.textContent = `Asked in words only, it answered: ${now.words.replaceAll("\n", " ⏎ ")}`;
    tools.say(`Token ${at + 1} of ${now.steps.length}: the grammar allows ${step.allowed.toLocaleString("en")} of ${data.vocabulary.toLocaleString("en")} tokens, and the model gives these ${(100 * step.mass).toFixed(step.mass < 0.01 ? 3 : 1)} % together. `
      + `It would have generated "${seen(wanted.token)}" with ${(100 * wanted.p).toFixed(0)} %. ${wanted.allowed ? "That is allowed" : "That is forbidden"}, and "${seen(step.token)}" is generated.`);
    Object.assign(stage.dataset, { example: now.key, at, allowed: step.allowed, token: step.token, agrees: wanted.token === step.token });
  }
  function begin() {
    const stepper = tools.stepper({ label: "Token", count: now.steps.length, text: (value) => `${value + 1} of ${now.steps.length}`, still: 0, show });
    holder.replaceChildren(...stepper.nodes);
    stepper.begin();
  }
  function judge(text) {
    const left = data.forms.filter((one) => one.startsWith(text)), next = [...new Set(left.map((one) => one[text.length] ?? "the end"))];
    own.textContent = left.length ? `"${text}" may continue with: ${next.join("  ")}. ${left.length} ${left.length > 1 ? "answers begin" : "answer begins"} so.` : `No answer of this form begins with "${text}".`;
    Object.assign(stage.dataset, { own: text, left: left.length });
  }
  const field = tools.textField({ label: "Your own beginning", value: data.forms[0].slice(0, 9), most: 40, oninput: judge });
  stage.append(tools.bar(tools.choice({ legend: "Sentence", value: now.key, options: data.examples.map(({ key, label }) => ({ key, label })), onchange(key) { now = data.examples.find((one) => one.key === key); begin(); } })),
    holder, row, bars.node, note, tools.bar(field), own);
  begin();
  judge(data.forms[0].slice(0, 9));
});
