/* The reader's own text, cut by published tokenizers, next to its words, characters and bytes.

   data = {
     texts: [{text: "...", cuts: {gpt2: ["We", "Ġsat", ...], ...}}, ...]   recorded by the reference
     vocabularies: [{key: "gpt2", label: "GPT-2", vocabulary: {name, megabytes, tokens}}, ...]     or, without a vocabulary
                   to load, {key, label, tokens}: it answers for the recorded texts only
     plain: true                                    optional: rows for words, characters and bytes above them
   } */
window.w2s.register("text-cuts", function (stage, data, tools) {
  "use strict";
  const { el } = tools, utf8 = new TextEncoder(), dim = 768;
  const table = el("div", { class: "w2s-cuts w2s-token-rows" });
  let found = null, text = data.texts[0].text;

  const visible = (piece) => piece.replaceAll(" ", "␣").replaceAll("\n", "⏎") || "∅";
  const plain = () => [
    { label: "words", pieces: text.split(/\s+/).filter(Boolean) },
    { label: "characters", pieces: Array.from(text) },
    { label: "bytes", pieces: Array.from(utf8.encode(text), (b) => b.toString(16).toUpperCase().padStart(2, "0")) }];

  function show() {
    const recorded = data.texts.find((one) => one.text === text);
    const answers = data.vocabularies.filter(({ key }) => recorded || found?.[key]);
    const rows = [...(data.plain ? plain() : []), ...answers.map(({ key, label }) => ({ label,
      pieces: found?.[key] ? found[key].ids(text).map((id) => found[key].written(id)) : recorded.cuts[key] }))];
    table.replaceChildren(...rows.map(({ label, pieces }) => el("section", { class: "w2s-cut" },
      el("p", { class: "w2s-cut-name" }, el("strong", {}, label), ` ${pieces.length}`),
      el("p", { class: "w2s-cut-pieces" }, ...pieces.map((piece) => el("span", { class: `w2s-piece${
        piece === "[UNK]" || piece === "<unk>" ? " is-lost" : ""}` }, visible(piece)))))));
    const counts = Object.fromEntries(rows.map(({ label, pieces }) => [label, pieces.length]));
    Object.assign(stage.dataset, { text, source: found ? "page" : "recorded", counts: JSON.stringify(counts),
      cuts: JSON.stringify(Object.fromEntries(answers.map(({ key, label }) => [key,
        rows.find((row) => row.label === label).pieces]))) });
    const size = ({ vocabulary, tokens }) => vocabulary?.tokens ?? tokens, source = found ? "Tokenized in this page"
      : "Tokenized by the reference implementation", many = answers.map(({ label }) => counts[label]);
    const of = (count) => answers.filter(({ label }) => counts[label] === count).map(({ label }) => label).join(", ");
    const cost = answers.map((one) => `${one.label}: ${counts[one.label]} tokens, ${counts[one.label] ** 2} pairs, `
      + `${(size(one) * dim / 1e6).toFixed(1)} million embedding parameters`);
    tools.say(data.plain ? `${source}. ${cost.join("; ")}, with a dimension of ${dim}.`
      : `${source}. Fewest tokens: ${Math.min(...many)} (${of(Math.min(...many))}). Most: ${Math.max(...many)} (${of(Math.max(...many))}).`);
  }
  const answer = (asked) => { text = asked; field.set(asked); picks.set(asked); show(); };

  const field = tools.textField({ label: "Your text", value: text, most: 160, oninput: answer });
  field.input.disabled = true;
  const picks = tools.choice({ legend: "Try", value: text, onchange: answer,
    options: data.texts.map(({ text: key, label }) => ({ key, label: label || key })) });
  const offer = tools.vocabularyOffer(data.vocabularies.filter(({ vocabulary }) => vocabulary), (tokenizers) => {
    found = tokenizers;
    field.input.disabled = false;
    field.input.focus();
    show();
  });
  stage.append(tools.bar(offer), tools.bar(field), tools.bar(picks), table);
  show();
});
