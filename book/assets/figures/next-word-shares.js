/* The probability of each word of a sentence, cut into what each length of context gives, counted in the page.

   data = {
     sentences: [["the", "bank", ...], ...],   the corpus
     examples: ["the bank lends money .", ...]
   }
   reference_impl/models/ngram.py does the same: AbsoluteDiscount and KneserNey, and with discount 0 the plain NGram. */
window.w2s.register("next-word-shares", function (stage, data, tools) {
  "use strict";
  const { el } = tools, words = [...new Set(data.sentences.flat())];
  const HUES = ["grey", "yellow", "green", "purple"], LEVELS = ["uniform", "unigram", "bigram",
    "trigram"].map((label, level) => ({ label, hue: HUES[level], mark: 1 }));
  const state = { text: data.examples[0], discount: 0.5, order: 2, rule: "company" };
  const total = (values) => values.reduce((a, b) => a + b);
  const padded = (text, length) => [...Array(length - 1).fill("START"), ...text];

  /* After each context of `length` - 1 words, how often each word followed; or after how many different words. */
  function rows(length, asCompany) {
    const runs = new Map();
    for (const sentence of data.sentences) {
      const text = padded(sentence, length + asCompany);
      text.slice(length + asCompany - 1).forEach((_, i) => {
        const run = text.slice(i, i + length + asCompany).join(" ");
        runs.set(run, asCompany ? 1 : (runs.get(run) || 0) + 1);
      });
    }
    const found = new Map(), rowOf = (context) => found.get(context) || found.set(context, new Map()).get(context);
    for (const [run, count] of runs) {
      const parts = run.split(" ").slice(asCompany), word = parts.pop(), row = rowOf(parts.join(" "));
      row.set(word, (row.get(word) || 0) + count);
    }
    return found;
  }

  /* For each word what each level gives it: [all alike, no word before, one, two]. */
  function shares(text) {
    const { discount, order, rule } = state;
    const tables = Array.from({ length: order }, (_, i) => rows(i + 1, Number(rule === "company" && i + 1 < order)));
    return text.map((word, t) => {
      let given = [1 / words.length];
      tables.forEach((table, length) => {
        const before = padded(text.slice(0, t), order), row = table.get(before.slice(before.length - length).join(" "));
        const all = row && total([...row.values()]), count = row ? row.get(word) || 0 : 0;
        const kept = row ? Math.max(count - discount, 0) / all : 0, passed = row ? discount * row.size / all : 1;
        given = [...given.map((share) => share * passed), kept];
      });
      return given;
    });
  }

  const list = el("ol", { class: "w2s-bars" }), lost = el("p", { class: "w2s-note", role: "status" });
  const row = (word, given) => el("li", {}, el("span", { class: "w2s-bar-label" }, word),
    el("span", { class: "w2s-bar-track w2s-stack" }, ...given.map((share, level) => el("span",
      { class: `w2s-bar-fill hue-${HUES[level]}`, style: { "--share": share.toFixed(4) } })).reverse()),
    el("span", { class: "w2s-bar-value" }, total(given).toFixed(3)));

  function show(change) {
    Object.assign(state, change);
    const typed = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const known = typed.filter((word) => words.includes(word)), unknown = typed.filter((word) => !words.includes(word));
    lost.textContent = unknown.length ? `Not in the corpus, left out: ${unknown.join(", ")}.` : "";
    if (!known.length) return tools.say(`Type some of these words: ${words.join(" ")}`);
    const found = shares(known), bits = found.reduce((sum, given) => sum - Math.log2(total(given)), 0);
    list.replaceChildren(...known.map((word, t) => row(word, found[t])));
    Object.assign(stage.dataset, { ...state, shares: JSON.stringify(found) });
    return tools.say(Number.isFinite(bits) ? `“${known.join(" ")}” needs ${bits.toFixed(2)} bits for ${known.length} words: `
      + `perplexity ${(2 ** (bits / known.length)).toFixed(2)}.` : "One word has probability 0: the sentence is impossible.");
  }

  const field = tools.textField({ label: "Your sentence", value: state.text, most: 120,
    oninput(text) { picks.set(text); show({ text }); } });
  const picks = tools.choice({ legend: "Try", value: state.text, onchange(text) { field.set(text); show({ text }); },
    options: data.examples.map((text) => ({ key: text, label: text })) });
  const rule = tools.choice({ legend: "Lower orders use", value: state.rule, onchange: (key) => show({ rule: key }),
    options: [{ key: "occurrences", label: "frequency" }, { key: "company", label: "contexts (Kneser-Ney)" }] });
  const discount = tools.slider({ label: "Discount", min: 0, max: 1, step: 0.05, value: state.discount,
    text: (value) => value.toFixed(2), oninput: (value) => show({ discount: value }) });
  const order = tools.slider({ label: "Context, in words", min: 0, max: 2, value: state.order - 1,
    oninput: (value) => show({ order: value + 1 }) });
  stage.append(tools.bar(field), tools.bar(picks), tools.bar(rule), tools.bar(discount, order), list,
    tools.legend(LEVELS).node, lost);
  show(tools.asStill ? { text: data.examples[1] } : {});
});
