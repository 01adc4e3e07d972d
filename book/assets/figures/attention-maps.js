/* What each head of a trained model attends to: a map of weights, and for one word the scores that made them.

   data = {
     examples: [{label, tokens: ["[CLS]", "we", ...], at: 5, scores: [layer][head][query][key]}]
                                       recorded from a larger model, before the softmax; `at`: the word asked about first
     recorded: "MiniLM", layer: 0, head: 4    that model, and which map of it is shown first
     task: "Find ..."                  what the reader is to do, above the drawing
     models: [{key, label, before: "[CLS] ", after: " [SEP]", model: {name, megabytes, parameters}}, ...]
                                       small models that read the reader's text; of kind "bert" or "gpt"
   } */
window.w2s.register("attention-maps", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { examples } = data, words = el("div", {}), picture = el("div", { class: "w2s-scroll", tabindex: 0,
    role: "group", "aria-label": "Map" }), title = el("p", { class: "w2s-cut-name" }), place = el("div", {});
  let now = examples[0], { layer, head } = data, at = now.at, word = now.tokens[at], split = "", line = null, map = null, bars = null;
  let models = [], asked = 0, reader = "recorded";

  function begin(next) {
    now = next;
    const pieces = tools.piecesOf(word, now.tokens);
    at = pieces ? pieces[pieces.length - 1] : Math.min(now.at, now.tokens.length - 1);
    split = pieces && pieces.length > 1 ? ` This tokenizer splits “${word}” into ${pieces.map((t) => now.tokens[t]).join(" ")}; the last piece is marked.`
      : "";
    line = tools.tokenLines([now.tokens], { onpick(_, t) { at = t; word = now.tokens[t]; split = ""; draw(); } });
    map = tools.matrix({ rows: now.tokens, columns: now.tokens, cell: stage.clientWidth < 420 ? 24 : 30 });
    bars = tools.bars({ rows: now.tokens.length, text: (share) => `${(100 * share).toFixed(1)} %` });
    [[words, line], [picture, map], [place, bars]].forEach(([into, { node }]) => into.replaceChildren(node));
    layer = Math.min(layer, now.scores.length - 1); head = Math.min(head, now.scores[0].length - 1);
    layers.input.max = now.scores.length; heads.input.max = now.scores[0].length; layers.set(layer + 1); heads.set(head + 1);
    draw();
  }

  function softmax(scores) {  // null stands for a key that is hidden
    const high = Math.max(...scores.filter((score) => score !== null));
    const powers = scores.map((score) => (score === null ? 0 : Math.exp(score - high))), sum = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / sum);
  }

  function draw() {
    const { tokens } = now, scores = now.scores[layer][head], weights = scores.map(softmax), row = weights[at];
    const most = row.indexOf(Math.max(...row));
    line.show({ focus: [0, at], levels: [row] });
    map.show({ values: weights, most: 1, row: at, columns: [most], text: (share) => (share < 0.05 ? "" : `${Math.round(100 * share)}`) });
    map.name(`Weights in percent of layer ${layer + 1}, head ${head + 1}: a row for each query.`);
    title.textContent = `Query of ${tokens[at]}: each key's score and weight`;
    bars.show(tokens.map((token, s) => ({ label: `${token}: ${scores[at][s] === null ? "masked" : scores[at][s].toFixed(2)}`,
      value: row[s], hue: s === most ? "orange" : "grey" })), { most: 1 });
    Object.assign(stage.dataset, { layer, head, at, reader, text: now.label, source: now.source || "recorded",
      weights: JSON.stringify(row), scores: JSON.stringify(scores[at]) });
    tools.say(`Layer ${layer + 1}, head ${head + 1}: “${tokens[at]}” attends most to “${tokens[most]}”, with ${(100
      * row[most]).toFixed(0)} % of the weight.${split}`);
  }

  /* The reader's text by a model in the page. What gets no weight at all was hidden. */
  async function read(text) {
    const turn = ++asked, { key, before = "", after = "" } = data.models.find((one) => one.key === reader);
    const model = models[data.models.findIndex((one) => one.key === key)], ids = model.tokenizer.ids(before + text + after);
    try {
      const { looks } = await model.call("logits", ids, { looks: "scores" }); if (turn !== asked) return;
      const scores = looks.map(({ data: shares, scores: raw, shape: [rows, count, keys] }) => Array.from({ length: count },
        (_, h) => Array.from({ length: rows }, (__, t) => Array.from({ length: keys }, (___, s) => {
          const i = (t * count + h) * keys + s;
          return shares[i] === 0 && raw[i] === 0 ? null : raw[i];
        }))));
      begin({ label: text, source: "page", at, tokens: ids.map((id) => model.tokenizer.token(id).replaceAll("\n", "⏎")), scores });
    } catch (error) { tools.say(`${error.message}.`); }
  }

  const show = () => (reader === "recorded" ? begin(examples.find(({ label }) => label === field.input.value) || examples[0])
    : read(field.input.value));
  const of = (name, oninput) => tools.slider({ label: name, min: 1, max: 1, value: 1, text: (number) => String(number),
    oninput(number) { oninput(number - 1); draw(); } });
  const layers = of("Layer", (number) => { layer = number; }), heads = of("Head", (number) => { head = number; });
  const picks = tools.choice({ legend: "Sentence", value: now.label, onchange(key) { field.set(key); show(); },
    options: examples.map(({ label }) => ({ key: label, label })) });
  const field = tools.textField({ label: "Your sentence", value: now.label, most: 80, oninput(text) { picks.set(text); show(); } });
  const readers = tools.choice({ legend: "Model", value: reader, options: [{ key: "recorded", label: data.recorded },
    ...data.models], onchange(key) { reader = key; field.input.disabled = key === "recorded"; show(); } });
  field.input.disabled = true;
  const choosing = el("div", {}), offer = tools.modelOffer(data.models.map(({ model }) => model), (...loaded) => {
    models = loaded; reader = data.models[0].key;
    readers.set(reader); field.input.disabled = false;
    choosing.append(tools.bar(readers), tools.bar(field));
    field.input.focus(); show();
  });
  stage.append(el("p", { class: "w2s-task" }, data.task), words, picture, tools.bar(layers, heads));
  tools.more("Scores, other sentences, your own", tools.bar(picks), tools.bar(offer), choosing, title, place);
  begin(now);
});
