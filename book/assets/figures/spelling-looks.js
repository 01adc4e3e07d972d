/* A reader of spellings writes phonemes, and looks back at the letters at each step: the weights of its attention.

   data = {
     model: {name, megabytes, parameters},      a model of kind "seq2seq"; source symbol 1 ends a word
     examples: [{word: "bank", said: ["B", "AE1", ...], looks: [[0.9, ...], ...]}, ...]   a row for each phoneme, with a
                                                number for each letter and for the end; computed by torch
   } */
window.w2s.register("spelling-looks", function (stage, data, tools) {
  "use strict";
  const { el } = tools, place = el("div", {}), picture = el("div", { class: "w2s-scroll", tabindex: 0, role: "group",
    "aria-label": "Weights" }), lost = el("p", { class: "w2s-note", role: "status" }), END = 1;
  let model = null, now = data.examples[0], asked = 0;

  function begin() {
    const letters = [...now.word, "end"], matrix = tools.matrix({ rows: now.said, columns: letters, cell: 30 });
    const steps = tools.stepper({ label: "Phonemes", count: now.said.length, text: (at) => `${at + 1} of ${now.said.length}`,
      show(at) {
        const row = now.looks[at], most = row.indexOf(Math.max(...row));
        matrix.show({ values: now.looks.map((look, n) => (n <= at ? look : look.map(() => 0))), most: 1, row: at,
          columns: [most], text: (share) => (share < 0.05 ? "" : `${Math.round(100 * share)}`) });
        matrix.name(`Weights in percent, a row for each phoneme of ${now.word}.`);
        const recorded = data.examples.find(({ word }) => word === now.word);
        const apart = recorded && Math.max(...recorded.looks.flatMap((look, n) => look.map((share, s) => Math.abs(share
          - (now.looks[n] ? now.looks[n][s] : Infinity)))));
        Object.assign(stage.dataset, { word: now.word, at, said: JSON.stringify(now.said), source: model ? "page"
          : "recorded", apart: recorded ? apart : "" });
        tools.say(`For ${now.said[at]}, “${letters[most]}” has the largest attention weight: ${Math.round(100 * row[most])} %. `
          + `“${now.word}” is pronounced ${now.said.join(" ")}.`);
      } });
    picture.replaceChildren(matrix.node);
    place.replaceChildren(tools.bar(...steps.nodes));
    steps.begin();
  }

  async function answer(typed) {
    const example = data.examples.find(({ word }) => word === typed), turn = ++asked;
    if (!model && example) { now = example; begin(); }
    if (!model) return;
    const { source, target } = model.tokenizer, ids = source.ids(typed), gone = source.lost(typed);
    lost.textContent = gone.length ? `It learned the letters a to z; left out: ${gone.join(" ")}` : "";
    if (!ids.length) { tools.say("Type a word of the letters a to z."); return; }
    const { ids: written, looks } = await model.call("write", [...ids, END], { start: 0, end: END, most: 32 });
    if (turn !== asked || !written.length) return;
    now = { word: source.decode(ids), said: written.map(target.token), looks };
    begin();
  }

  const field = tools.textField({ label: "Your word", value: now.word, most: 24,
    oninput(typed) { picks.set(typed); answer(typed); } });
  const picks = tools.choice({ legend: "Try", value: now.word, options: data.examples.map(({ word }) => ({ key: word,
    label: word })), onchange(word) { field.set(word); answer(word); } });
  field.input.disabled = true;
  const offer = tools.modelOffer(data.model, (loaded) => {
    model = loaded;
    field.input.disabled = false;
    field.input.focus();
    answer(field.input.value);
  });
  stage.append(tools.bar(offer), tools.bar(field, picks), place, picture, lost);
  begin();
});
