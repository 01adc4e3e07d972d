/* Exchange words of a text, and a discriminator says of each token how suspicious it looks.

   data = {
     model: {name, megabytes, parameters},       of kind "electra"
     examples: [{text: "and the lord said unto moses", tokens: [...], chances: [0.01, ...]}, ...]    by torch
     tries: ["river", "king", ...]               what a pressed word is exchanged for, in turn
   }                                              a chance is the sigmoid of the model's logit */
window.w2s.register("suspicion", function (stage, data, tools) {
  "use strict";
  const { el } = tools, words = el("div", {}), bars = tools.bars({ rows: 3, text: (chance) => `${Math.round(100 * chance)} %` });
  let model = null, now = { ...data.examples[0], source: "torch" }, tried = 0, asked = 0;
  const percent = (chance) => `${Math.round(100 * chance)} %`;

  function draw(focused = -1) {
    const { tokens, chances } = now, order = chances.map((_, place) => place).sort((a, b) => chances[b] - chances[a]);
    const line = tools.tokenLines([tokens], { onpick: (_, place) => exchange(place) });
    line.show({ focus: [0, -1], levels: [chances] });
    words.replaceChildren(line.node);
    if (focused >= 0) line.node.querySelectorAll(".w2s-token")[focused]?.focus();
    bars.show(order.slice(0, 3).map((place) => ({ label: tokens[place], value: chances[place], hue: "orange" })), { most: 1 });
    const over = order.filter((place) => chances[place] > 0.5), most = tokens[order[0]];
    tools.say(`Most suspicious is “${most}” with ${percent(chances[order[0]])}. ${over.length ? `Predicted as replaced: ${over.map((place) =>
      `“${tokens[place]}”`).join(", ")}.` : "No token is predicted as replaced."}`);
    Object.assign(stage.dataset, { source: now.source, text: now.text, most, tokens: JSON.stringify(tokens), chances: JSON.stringify(chances) });
  }

  async function read(text, focused = -1) {
    if (!model) {
      const example = data.examples.find((one) => one.text === text);
      if (example) { now = { ...example, source: "torch" }; draw(); }
      return;
    }
    const mine = ++asked, ids = model.tokenizer.ids(text).slice(0, model.positions || 32);
    if (!ids.length) { tools.say("Type a word or two."); return; }
    try {
      const { data: logits } = await model.call("logits", ids);
      if (mine !== asked) return;
      now = { text, source: "page", tokens: ids.map((id) => model.tokenizer.token(id)), chances: Array.from(logits, (logit) => 1 / (1 + Math.exp(-logit))) };
      draw(focused);
    } catch (error) { tools.say(`${error.message}.`); }
  }
  function exchange(place) {
    if (!model) { tools.say("Load the model to exchange a word."); return; }
    const token = data.tries[tried++ % data.tries.length], tokens = now.tokens.slice();
    tokens[place] = token;
    const text = tokens.join(" ").replaceAll(" ##", "");
    field.set(text);
    picks.set("");
    read(text, place);
  }

  const picks = tools.choice({ legend: "Try", value: now.text, options: data.examples.map(({ text }) => ({ key: text, label: text })),
    onchange(key) { field.set(key); read(key); } });
  const field = tools.textField({ label: "Your text: press a word to exchange it", value: now.text, most: 120, oninput(text) { picks.set(text); read(text); } });
  const offer = tools.modelOffer(data.model, (loaded) => { model = loaded; field.input.disabled = false; field.input.focus(); read(field.input.value); });
  field.input.disabled = true;
  stage.append(...(data.task ? [el("p", { class: "w2s-task" }, data.task)] : []), words, bars.node, tools.bar(picks), tools.bar(offer), tools.bar(field));
  if (tools.asStill) now = { ...data.examples[Math.min(1, data.examples.length - 1)], source: "torch" };
  draw();
});
