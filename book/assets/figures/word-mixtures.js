/* The reader's own words, mixed to one vector, and who is nearest to it, answered by the vectors in the page.

   data = {
     model: {name, megabytes, parameters},   from course.book.pages.models.page_model; a model of kind "vectors"
     examples: [{text: "bank river", nearest: [{word: "shore", cosine: 0.71}, ...]}, ...]
                                             what torch found, shown before the vectors are loaded; the first at first
     task: "Compare ..."                     optional, what the reader is to do
   }
   A word with a minus before it is taken away. Every word's vector has length 1 before it is added. */
window.w2s.register("word-mixtures", function (stage, data, tools) {
  "use strict";
  const { el } = tools, rows = data.examples[0].nearest.length, bars = tools.bars({ rows });
  const lost = el("p", { class: "w2s-note", role: "status" });
  let model = null, asked = 0;

  /* "king -man woman" as words with their signs. */
  const read = (text) => text.split(/\s+/).filter(Boolean).map((part) => ({ word: part.replace(/^[+-]/, ""),
    sign: part.startsWith("-") ? -1 : 1 }));

  function show(text, nearest, source) {
    bars.node.style.visibility = "visible";
    bars.show(nearest.map(({ word, cosine }) => ({ label: word, value: cosine })), { most: 1 });
    Object.assign(stage.dataset, { text, source, nearest: JSON.stringify(nearest) });
    const torch = data.examples.find((example) => example.text === text);
    const apart = torch && Math.max(...torch.nearest.map(({ word, cosine }) => {
      const mine = nearest.find((one) => one.word === word);
      return mine ? Math.abs(mine.cosine - cosine) : Infinity;
    }));
    const most = apart < 5e-5 ? "less than 0.0001" : `at most ${(apart || 0).toFixed(4)}`;
    const beside = source === "torch" ? "As torch computed it."
      : torch ? `Computed in this page; torch's cosines differ by ${most}.` : "Computed in this page.";
    const first = nearest.slice(0, 3).map(({ word, cosine }) => `${word} (${cosine.toFixed(2)})`);
    stage.dataset.apart = torch ? apart : "";
    tools.say(`Nearest to “${text}”: ${first.join(", ")}. ${beside}`);
  }

  async function answer(text) {
    field.set(text);
    const example = data.examples.find((one) => one.text === text), turn = ++asked;
    if (!model) { if (example) show(text, example.nearest, "torch"); return; }
    const parts = read(text), unknown = parts.flatMap(({ word }) => model.tokenizer.lost(word));
    const known = parts.flatMap(({ word, sign }) => model.tokenizer.ids(word).map((id) => ({ id, sign })));
    lost.textContent = unknown.length
      ? `Not among the ${model.vocabulary.toLocaleString("en")} words: ${unknown.join(", ")}.` : "";
    if (!known.length) {
      bars.node.style.visibility = "hidden";  // what they show is of other words
      tools.say("Type a word or two: none of these has a vector here.");
      return;
    }
    const found = await model.call("nearest", known.map(({ id }) => id),
      { most: rows, weights: known.map(({ sign }) => sign) });
    if (turn === asked) show(text, found.map(({ id, cosine }) => ({ word: model.tokenizer.token(id), cosine })),
      "page");
  }

  const field = tools.textField({ label: "Your words", value: data.examples[0].text, most: 80,
    oninput(text) { picks.set(text); answer(text); } });
  field.input.disabled = true;
  const picks = tools.choice({ legend: "Try", options: data.examples.map(({ text }) => ({ key: text, label: text })),
    value: data.examples[0].text, onchange: answer });
  const offer = tools.modelOffer(data.model, (loaded) => {
    model = loaded;
    field.input.disabled = false;
    field.input.focus();
    answer(field.input.value);
  });
  if (data.task) stage.append(el("p", { class: "w2s-task" }, data.task));
  stage.append(bars.node, tools.bar(field, picks), tools.bar(offer), lost);
  show(data.examples[0].text, data.examples[0].nearest, "torch");
});
