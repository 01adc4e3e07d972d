/* Byte-pair encoding learns on a few words whose counts the reader sets: pieces join, pairs are counted anew.

   data = {
     words: [{word: "bank", count: 3}, ...],   at most four; the letters a to z
     merges: 6                                 how many merges the stepper has
   }
   Ties go to the lower ids, as in reference_impl.tokenizers.bpe.train_bpe_plain. */
window.w2s.register("bpe-training", function (stage, data, tools) {
  "use strict";
  const { el } = tools, rows = 8, bars = tools.bars({ rows, text: String });
  const counts = data.words.map(({ count }) => count), body = el("div", { class: "w2s-lines" });
  const list = el("p", { class: "w2s-note" });

  const join = (parts, [left, right]) => parts.reduce((done, part) => {
    if (done.open && done.parts.at(-1) === left && part === right) {
      done.parts[done.parts.length - 1] += part;
      return { parts: done.parts, open: false };  // without overlap: what was joined is not joined again
    }
    return { parts: [...done.parts, part], open: true };
  }, { parts: [], open: true }).parts;

  /* The states of training: pieces of each word, counts of the pairs, the merge that comes next. */
  function learn() {
    const ids = [...new Set(data.words.flatMap(({ word }) => Array.from(word)))].sort();
    let pieces = data.words.map(({ word }) => Array.from(word));
    const states = [];
    for (let step = 0; step <= data.merges; step++) {
      const pairs = new Map();
      pieces.forEach((parts, w) => parts.slice(1).forEach((part, i) => {
        const key = `${parts[i]} ${part}`;
        if (counts[w]) pairs.set(key, (pairs.get(key) || 0) + counts[w]);
      }));
      const ranked = [...pairs].map(([key, count]) => ({ pair: key.split(" "), count })).sort((a, b) =>
        b.count - a.count || ids.indexOf(a.pair[0]) - ids.indexOf(b.pair[0])
        || ids.indexOf(a.pair[1]) - ids.indexOf(b.pair[1]));
      states.push({ pieces, ranked });
      if (!ranked.length) break;
      const { pair } = ranked[0];
      if (!ids.includes(pair.join(""))) ids.push(pair.join(""));
      pieces = pieces.map((parts) => join(parts, pair));
    }
    return states;
  }

  function show(at) {
    const states = learn(), last = Math.min(at, states.length - 1), { pieces, ranked } = states[last];
    const made = states.slice(0, last).map(({ ranked: [best] }) => best.pair.join(""));
    body.replaceChildren(...pieces.map((parts, w) => el("p", { class: "w2s-sentence" },
      ...parts.map((part) => el("span", { class: `w2s-token${part === made.at(-1) ? " is-centre"
        : part.length > 1 ? " is-near" : ""}` }, part)), el("span", { class: "w2s-times" }, `${counts[w]} times`))));
    bars.show(ranked.slice(0, rows).map(({ pair, count }, k) => ({ label: pair.join(" + "), value: count,
      hue: k ? "blue" : "orange" })), { most: Math.max(1, ...states[0].ranked.map(({ count }) => count)) });
    list.textContent = `Merges so far: ${made.join(", ") || "none"}.`;
    stage.dataset.merges = JSON.stringify(states.slice(0, last).map(({ ranked: [best] }) => best.pair));
    stage.dataset.counts = JSON.stringify(counts);
    stage.dataset.pieces = JSON.stringify(pieces);
    const next = ranked[0];
    tools.say(next ? `After ${made.length} merges the most frequent pair is ${next.pair.join(" + ")}, `
      + `${next.count} times.` : `After ${made.length} merges no pair is left: each word is one token.`);
  }

  const steps = tools.stepper({ label: "Merges", count: data.merges + 1, text: (at) => `${at} made`, show, still: 2 });
  const dials = data.words.map(({ word, count }, w) => tools.slider({ label: word, min: 0, max: 9, value: count,
    text: (value) => `${value} times`, oninput(value) { counts[w] = value; show(steps.at()); } }));
  stage.append(tools.bar(...dials), tools.bar(...steps.nodes), body, bars.node, list);
  steps.begin();
});
