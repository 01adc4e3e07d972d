/* The reader's own text, cut by published tokenizers, beside its words, letters and bytes.

   data = {
     texts: [{text: "...", cuts: {gpt2: ["We", "Ġsat", ...], ...}}, ...]   recorded by the reference
     vocabularies: [{key: "gpt2", label: "GPT-2", vocabulary: {name, megabytes, tokens}}, ...]
     plain: true                                    optional: rows for words, letters and bytes above them
   } */
window.w2s.register("text-cuts", function (stage, data, tools) {
  "use strict";
  const { el } = tools, utf8 = new TextEncoder(), dim = 768;
  const table = el("div", { class: "w2s-cuts" });
  let found = null, text = data.texts[0].text;

  const visible = (piece) => piece.replaceAll(" ", "␣").replaceAll("\n", "⏎") || "∅";
  const plain = () => [
    { label: "words", pieces: text.split(/\s+/).filter(Boolean) },
    { label: "letters", pieces: Array.from(text) },
    { label: "bytes", pieces: Array.from(utf8.encode(text), (b) => b.toString(16).toUpperCase().padStart(2, "0")) }];

  function show() {
    const recorded = data.texts.find((one) => one.text === text);
    const rows = [...(data.plain ? plain() : []), ...data.vocabularies.map(({ key, label, vocabulary }) => ({ label,
      tokens: vocabulary.tokens, pieces: found ? found[key].ids(text).map((id) => found[key].written(id))
        : recorded.cuts[key] }))];
    table.replaceChildren(...rows.map(({ label, pieces }) => el("section", { class: "w2s-cut" },
      el("p", { class: "w2s-cut-name" }, el("strong", {}, label), ` ${pieces.length}`),
      el("p", { class: "w2s-cut-pieces" }, ...pieces.map((piece) => el("span", { class: `w2s-piece${
        piece === "[UNK]" || piece === "<unk>" ? " is-lost" : ""}` }, visible(piece)))))));
    const counts = Object.fromEntries(rows.map(({ label, pieces }) => [label, pieces.length]));
    Object.assign(stage.dataset, { text, source: found ? "page" : "recorded", counts: JSON.stringify(counts),
      cuts: JSON.stringify(Object.fromEntries(data.vocabularies.map(({ key, label }) => [key,
        rows.find((row) => row.label === label).pieces]))) });
    const cost = data.vocabularies.map(({ label, vocabulary }) => `${label}: ${counts[label]} tokens, `
      + `${counts[label] ** 2} pairs of them, a table of ${(vocabulary.tokens * dim / 1e6).toFixed(1)} million numbers`);
    tools.say(`${found ? "Cut in this page" : "As the reference cuts it"}. ${cost.join("; ")}${
      cost.length > 1 ? ", each" : ""} at ${dim} numbers a row.`);
  }
  const answer = (asked) => { text = asked; field.set(asked); picks.set(asked); show(); };

  const field = tools.textField({ label: "Your text", value: text, most: 160, oninput: answer });
  field.input.disabled = true;
  const picks = tools.choice({ legend: "Try", value: text, onchange: answer,
    options: data.texts.map(({ text: key, label }) => ({ key, label: label || key })) });
  const offer = tools.vocabularyOffer(data.vocabularies, (tokenizers) => {
    found = tokenizers;
    field.input.disabled = false;
    field.input.focus();
    show();
  });
  stage.append(tools.bar(offer), tools.bar(field), tools.bar(picks), table);
  show();
});
