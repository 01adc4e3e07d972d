/* The character n-grams of a word, as fastText cuts them, and which of them another word has too.

   data = {
     least: 3, most: 6,                         the lengths of n-grams
     pairs: [["quick", "quickly"], ...],        words to try; the first pair is shown first
     task: "Find ..."                           what the reader is to do
   } */
window.w2s.register("character-ngrams", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { least, most } = data;
  let [word, other] = data.pairs[0];

  /* The n-grams of one length, in order; those of a short word can be none. */
  function ngrams(text, length) {
    const letters = Array.from(`<${text}>`);
    return letters.slice(length - 1).map((_, i) => letters.slice(i, i + length).join(""));
  }
  const all = (text) => Array.from({ length: most - least + 1 }, (_, k) => ngrams(text, least + k));
  const clean = (text) => text.toLowerCase().replace(/[<>\s]/g, "").slice(0, 14);
  const rows = el("div", { class: "w2s-lines" });

  function draw() {
    const mine = all(word), theirs = new Set(all(other).flat()), flat = mine.flat();
    const shared = [...new Set(flat)].filter((run) => theirs.has(run)).length, total = new Set(flat).size;
    rows.replaceChildren(...mine.map((line) => el("p", { class: "w2s-sentence" }, ...(line.length ? line : ["–"]).map((run) =>
      el("span", { class: `w2s-token${theirs.has(run) ? " is-near" : ""}` }, run)))));
    Object.assign(stage.dataset, { word, other, total, shared });
    tools.say(!total ? "Type a word." : `“${word}” has ${total} different n-grams; “${other}” has ${shared} of them too `
      + `(${Math.round(100 * shared / total)} %).`);
  }

  const field = (label, value, take) => tools.textField({ label, value, most: 14, oninput(text) { take(clean(text)); draw(); } });
  const first = field("Word", word, (text) => { word = text; }), second = field("Compared with", other, (text) => { other = text; });
  const picks = tools.choice({ legend: "Try", value: "0", options: data.pairs.map((pair, k) => ({ key: String(k),
    label: pair.join(", ") })), onchange(key) {
    [word, other] = data.pairs[Number(key)];
    first.set(word); second.set(other);
    draw();
  } });
  stage.append(el("p", { class: "w2s-task" }, data.task), rows, tools.bar(first, second), tools.bar(picks));
  draw();
});
