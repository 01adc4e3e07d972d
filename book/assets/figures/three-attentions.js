/* The three attentions of an encoder-decoder while it generates the phonemes of a word: encoder self-attention, decoder
   self-attention and cross-attention. Each is a matrix of weights; masked keys stay blank.

   data = {
     task: "Find ...",                          what the reader is to do, above the drawing
     model: {name, megabytes, parameters},      a model of kind "transformer"; symbol 0 starts a target, 1 ends a word
     examples: [{word: "bank", said: ["B", "AE1", ...], reads: weights, writes: weights, backs: weights}, ...]
                                                weights[layer][query][head][key], computed by torch. Queries of `reads`
                                                are the letters and the end; of the others the start and each sound
   } */
window.w2s.register("three-attentions", function (stage, data, tools) {
  "use strict";
  const { el } = tools, START = 0, END = 1, place = el("div", { class: "w2s-segments", style: { "align-self": "end" } });
  const picture = el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "Weights", style: { display: "grid",
    "align-items": "center" } }), lost = el("p", { class: "w2s-note", role: "status" });
  let model = null, now = data.examples[0], kind = "backs", layer = now.backs.length - 1, head = "all", asked = 0, at = null;

  const names = () => ({ letters: [...now.word, "end"], given: ["start", ...now.said], said: [...now.said, "end"] });
  function row(weights, query) {
    const heads = weights[layer][query];
    return head === "all" ? heads[0].map((_, key) => heads.reduce((sum, one) => sum + one[key], 0) / heads.length) : heads[head];
  }
  function begin() {
    const { letters, given, said } = names(), rows = { reads: letters, writes: given, backs: said }[kind],
      columns = kind === "writes" ? given : letters, matrix = tools.matrix({ rows, columns, cell: 28 });
    const steps = tools.stepper({ label: "Query", count: rows.length, show(step) {
        at = step;
        const values = rows.map((_, query) => row(now[kind], query).map((share, key) =>  // shaded, unless it is masked
          (kind === "writes" && key > query ? 0 : Math.max(share, 1e-6)))), most = values[at].indexOf(Math.max(...values[at]));
        matrix.show({ values, most: 1, row: at, columns: [most],
          text: (share) => (share < 0.05 ? "" : `${Math.round(100 * share)}`) });
        matrix.name(`Weights in percent, a row for each of: ${rows.join(" ")}.`);
        const open = kind === "writes" ? at + 1 : columns.length, percent = `${Math.round(100 * values[at][most])} %`;
        const who = { reads: `“${rows[at]}”`, backs: `the query that predicts “${said[at]}”`,
          writes: `“${rows[at]}”, which predicts “${said[at]}”,` }[kind];
        const recorded = data.examples.find(({ word }) => word === now.word);
        const apart = recorded && ["reads", "writes", "backs"].flatMap((one) => {
          const mine = now[one].flat(3);
          return recorded[one].flat(3).map((share, n) => Math.abs(share - (mine[n] ?? Infinity)));
        }).reduce((a, b) => Math.max(a, b), 0);
        Object.assign(stage.dataset, { word: now.word, kind, layer, head, at, said: JSON.stringify(now.said),
          source: model ? "page" : "recorded", apart: recorded ? apart : "" });
        const where = `Layer ${layer + 1}, ${head === "all" ? "mean of the heads" : `head ${head + 1}`}`;
        tools.say(`${where}: ${who} may attend to ${open} of ${columns.length} positions and attends most to “${columns[most]}”, ${percent}. `
          + `Predicted: ${now.said.join(" ")}.`);
      } });
    const deepest = Math.max(...[...data.examples, now].flatMap((one) => [one.word.length, one.said.length])) + 1;
    picture.style.setProperty("min-height", `${Math.round(1.1 * (56 + 28 * deepest))}px`);  // words of any length: one height
    picture.replaceChildren(matrix.node);
    place.replaceChildren(steps.nodes[1], steps.nodes[2]);
    steps.begin();
  }
  const nested = ({ data: flat, shape: [queries, heads, keys] }) => Array.from({ length: queries }, (_, t) =>
    Array.from({ length: heads }, (__, h) => Array.from(flat.slice((t * heads + h) * keys, (t * heads + h + 1) * keys))));

  async function answer(typed) {
    const example = data.examples.find(({ word }) => word === typed), turn = ++asked;
    if (!model && example) { now = example; begin(); }
    if (!model) return;
    const { source, target } = model.tokenizer, ids = source.ids(typed), gone = source.lost(typed);
    lost.textContent = gone.length ? `It learned the letters a to z; left out: ${gone.join(" ")}` : "";
    if (!ids.length) { tools.say("Type a word of the letters a to z."); return; }
    const { ids: written } = await model.call("write", [...ids, END], { start: START, end: END, most: 32 });
    const { reads, looks } = await model.call("logits", [...ids, END], [START, ...written], { looks: true });
    if (turn !== asked || !written.length) return;
    const both = looks.map(nested), every = (first) => both.filter((_, n) => n % 2 === first);
    now = { word: source.decode(ids), said: written.map(target.token), reads: reads.map(nested), writes: every(0), backs: every(1) };
    begin();
  }
  const field = tools.textField({ label: "Your word", value: now.word, most: 24,
    oninput(typed) { picks.set(typed); answer(typed); } });
  const picks = tools.choice({ legend: "Try", value: now.word, options: data.examples.map(({ word }) => ({ key: word,
    label: word })), onchange(word) { field.set(word); answer(word); } });
  const kinds = tools.choice({ legend: "Attention", value: kind, options: [{ key: "backs", label: "cross" }, { key: "reads", label: "encoder self" },
    { key: "writes", label: "decoder self" }],
    onchange(key) { kind = key; begin(); } });
  const layers = tools.choice({ legend: "Layer", value: String(layer), options: now.backs.map((_, l) => ({ key: String(l),
    label: String(l + 1) })), onchange(key) { layer = Number(key); begin(); } });
  const heads = tools.choice({ legend: "Head", value: "all", options: [{ key: "all", label: "mean" },
    ...now.backs[0][0].map((_, h) => ({ key: String(h), label: String(h + 1) }))],
    onchange(key) { head = key === "all" ? key : Number(key); begin(); } });
  field.input.disabled = true;
  const offer = tools.modelOffer(data.model, (loaded) => { model = loaded; field.input.disabled = false; field.input.focus();
    answer(field.input.value); });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture, tools.bar(layers, place), tools.bar(heads), tools.bar(kinds));
  tools.more("Other words, your own", tools.bar(picks), tools.bar(offer, field), lost);
  begin();
});
