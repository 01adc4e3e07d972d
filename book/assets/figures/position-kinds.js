/* Small decoders that differ in their positions only read the reader's text, with more or less scripture before it.

   data = {
     task: "Put more ...",                      what the reader is to do
     model: {name, megabytes, parameters},      a model of kind "placed"
     kinds: [{key: "RoPE", label: "RoPE"}, ...]
     before: [3, 41, ...]                       tokens of held-out scripture; the last of them stand before the text
     shifts: [0, 64, ...]                       how many of them
     examples: [{text, pieces, found: {"64": {RoPE: {nats: [...], looks: [[...], ...]}, ...}, ...}}]    computed by torch
   }
   A line feed stands before the text and is not judged. `looks`: the weights of the first layer's heads, from the last
   token to each of the last ones; what is left of 1 goes to earlier tokens. */
window.w2s.register("position-kinds", function (stage, data, tools) {
  "use strict";
  const { el } = tools, LAST = 8, places = el("div", {}), picture = el("div", { class: "w2s-scroll", tabindex: 0,
    role: "group", "aria-label": "Weights" }), mean = (values) => values.reduce((a, b) => a + b) / values.length;
  const bars = tools.bars({ rows: data.kinds.length, text: (value) => value.toFixed(2) });
  let model = null, now = data.examples[0], kind = data.kinds[data.kinds.length - 1].key, shift = 0, asked = 0;
  const visible = (piece) => piece.replaceAll(" ", "␣").replaceAll("\n", "⏎");

  function show() {
    const all = now.found[shift], { nats, looks } = all[kind], line = tools.tokenLines([now.pieces.map(visible)]);
    const costs = data.kinds.map(({ key, label }) => ({ label, key, value: mean(all[key].nats) }));
    bars.show(costs.map((one) => ({ ...one, hue: one.key === kind ? "orange" : "green" })), { most: 7 });
    line.show({ focus: [0, nats.indexOf(Math.max(...nats))], levels: [nats.map((value) => Math.min(1, value / 10))] });
    places.replaceChildren(line.node);
    const matrix = tools.matrix({ rows: looks.map((_, h) => `head ${h + 1}`), cell: 28, columns: ["earlier",
      ...now.pieces.slice(-LAST).map(visible)] });
    const withRest = (row) => [Math.max(0, 1 - row.reduce((sum, share) => sum + share, 0)), ...row];
    matrix.show({ values: looks.map((row) => withRest(row.slice(-LAST))), most: 1, text: (share) => (share < 0.05 ? "" : `${Math.round(100 * share)}`) });
    matrix.name(`Attention weights of the last token in four heads of the first layer, in percent, with ${kind}.`);
    picture.replaceChildren(matrix.node);
    const recorded = data.examples.find(({ text }) => text === now.text);
    const apart = recorded && Math.max(...data.kinds.flatMap(({ key }) => all[key].nats.map((value, n) => Math.abs(value
      - recorded.found[shift][key].nats[n]))));
    Object.assign(stage.dataset, { text: now.text, kind, shift, source: model ? "page" : "recorded", apart: recorded ? apart : "",
      costs: JSON.stringify(costs.map(({ value }) => value)) });
    const lowest = costs.reduce((a, b) => (b.value < a.value ? b : a));
    tools.say(`${kind}: ${mean(all[kind].nats).toFixed(2)} nats per token after ${shift} tokens. Lowest${
      lowest.key === kind ? " of all" : `: ${lowest.label}`}.`);
  }

  async function answer(text) {
    const example = data.examples.find((one) => one.text === text), turn = ++asked;
    if (!model) { if (example) { now = example; show(); } return; }
    const own = model.tokenizer.ids(text).slice(0, 48), ids = [...data.before.slice(data.before.length - shift),
      ...model.tokenizer.ids("\n"), ...own];
    if (!own.length) { tools.say("Type a few words."); return; }
    const read = await Promise.all(data.kinds.map(({ key }) => model.call("read", key, ids, ids.length - own.length,
      Math.min(LAST, own.length))));
    if (turn !== asked) return;
    now = { text, pieces: own.map(model.tokenizer.token), found: { [shift]: Object.fromEntries(data.kinds.map(({ key }, k) =>
      [key, read[k]])) } };
    show();
  }

  const field = tools.textField({ label: "Your text", value: now.text, most: 60, oninput: answer });
  const which = tools.choice({ legend: "Attention weights of", value: kind, options: data.kinds, onchange(key) { kind = key; show(); } });
  const far = tools.slider({ label: "Tokens before the line", min: 0, max: data.shifts.length - 1, value: 0,
    text: (n) => `${data.shifts[n]}`, oninput(n) { shift = data.shifts[n]; if (now.found[shift]) show(); else answer(now.text); } });
  field.input.disabled = true;
  const offer = tools.modelOffer(data.model, (loaded) => {
    model = loaded;
    field.input.disabled = false;
    field.input.focus();
    answer(field.input.value);
  });
  stage.append(el("p", { class: "w2s-task" }, data.task), bars.node, picture, tools.bar(far), tools.bar(which));
  tools.more("Loss of each token, your own text", places, tools.bar(offer, field));
  show();
});
