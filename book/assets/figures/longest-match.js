/* A word is cut by the longest pieces that BERT's vocabulary knows, from left to right: every look is a step.

   data = {
     examples: [{word: "unbanked", tries: [{start: 0, end: 8, piece: "unbanked", id: null}, ...]}, ...]
                                      every look into the vocabulary, id null where nothing was found
     vocabularies: [{key: "bert", label: "BERT", vocabulary: {name, megabytes, tokens}}]
   } */
window.w2s.register("longest-match", function (stage, data, tools) {
  "use strict";
  const { el } = tools, shown = data.vocabularies[0], place = el("div", {});
  const letters = el("div", { class: "w2s-merging" }), made = el("p", { class: "w2s-cut-pieces" });
  let tokenizer = null, word = data.examples[0].word, tries = data.examples[0].tries;

  function show(at) {
    const here = tries[at], found = tries.slice(0, at + 1).filter(({ id }) => id !== null && id !== undefined);
    const hit = found.at(-1) === here, last = at === tries.length - 1, all = Array.from(word);
    const cut = last && found.at(-1)?.end !== all.length ? ["[UNK]"] : found.map(({ piece }) => piece);
    const row = (look, taken) => all.map((letter, i) => el("span", { class: `w2s-token${i >= look.start && i < look.end
      ? (taken ? " is-near" : " is-centre") : ""}` }, letter));
    const rows = tools.asStill ? tries : [here];  // the still shows all looks
    letters.replaceChildren(...rows.map((look) => el("p", { class: "w2s-sentence" }, ...row(look, found.includes(look)))));
    made.replaceChildren(...cut.map((piece) => el("span", { class: `w2s-piece${piece === "[UNK]" ? " is-lost" : ""}` },
      piece)));
    Object.assign(stage.dataset, { word, at, cut: JSON.stringify(cut), source: tokenizer ? "page" : "recorded" });
    const where = `Look ${at + 1} of ${tries.length}: ${here.piece} is `;
    tools.say(hit ? `${where}in the vocabulary, so it is taken and never given back. ${last ? `${word} is ${cut.join(" | ")
      }.` : ""}` : `${where}not in the vocabulary. ${last ? "Nothing is left to try: the whole word is [UNK]."
      : "One letter less is tried."}`);
  }
  function begin() {
    const steps = tools.stepper({ label: "Looks", count: tries.length, text: (at) => `${at + 1} of ${tries.length}`,
      show });
    place.replaceChildren(tools.bar(...steps.nodes));
    steps.begin();
  }
  function answer(asked) {
    const example = data.examples.find((one) => one.word === asked);
    const own = tokenizer ? tokenizer.words(asked)[0] : example && asked;
    field.set(asked);
    if (!own) { tools.say("Type a word."); return; }
    [word, tries] = [own, tokenizer ? tokenizer.tries(own) : example.tries];
    if (tries.length) begin();
    else tools.say("A word of more than 100 letters is [UNK] without a look.");
  }

  const field = tools.textField({ label: "Your word", value: word, most: 110,
    oninput(typed) { picks.set(typed); answer(typed); } });
  field.input.disabled = true;
  const picks = tools.choice({ legend: "Try", value: word, onchange: answer,
    options: data.examples.map((example) => ({ key: example.word, label: example.word })) });
  const offer = tools.vocabularyOffer([shown], (found) => {
    tokenizer = found[shown.key];
    field.input.disabled = false;
    field.input.focus();
    answer(word);
  });
  stage.append(tools.bar(offer), tools.bar(field, picks), place, letters, made);
  begin();
});
