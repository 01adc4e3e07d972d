/* One query ranks many texts, under each of several methods: what comes first, and where the right answers are.

   data = {
     sets: [{
       key: "words", label: "a thousand words", ask: "Definition",
       texts: ["shore", ...],                                          what the rankings name by number
       methods: [{key: "mean", label: "mean", ndcg: 0.52}, ...],       ndcg: over all queries; null where nobody judged
       queries: [{text: "sloping land", right: [0],                    numbers of the right texts; [] if nobody judged
                  first: {mean: [[0, 0.61], ...]},                     the best ten, each with its score, best first
                  ndcg: {mean: 0.63}, rank: {mean: 3}}, ...]           rank of the first right one
     }, ...]
   } */
window.w2s.register("ranked-texts", function (stage, data, tools) {
  "use strict";
  const { el } = tools, asking = el("div", {}), list = tools.bars({ rows: 10, text: (value) => value.toFixed(2) });
  const query = el("p", { class: "w2s-sentence" });
  let set = data.sets[0], method = set.methods[0].key, at = 0;
  list.node.classList.add("w2s-wide");

  function show() {
    const asked = set.queries[at], first = asked.first[method], right = new Set(asked.right), rank = asked.rank[method];
    const { label, ndcg } = set.methods.find(({ key }) => key === method), judged = right.size > 0;
    query.replaceChildren(el("em", {}, asked.text));
    list.show(first.map(([place, value], k) => ({ label: `${k + 1}. ${set.texts[place]}`, value, hue: right.has(place) ? "orange" : "blue",
      note: right.has(place) ? "right" : "" })), { most: Math.max(first[0][1], 1e-9) });
    Object.assign(stage.dataset, { set: set.key, method, at, first: first.map(([place]) => place).join(), rank: rank ?? "" });
    const names = asked.right.slice(0, 3).map((place) => set.texts[place]).join(", ");
    tools.say(judged ? `${label}: the first right answer stands at rank ${rank}; nDCG@10 of this query ${asked.ndcg[method].toFixed(2)}, `
      + `of all ${ndcg.toFixed(2)}. Right: ${right.size > 3 ? `${right.size} texts, among them ` : ""}${names}.`
      : `${label}: the nearest is ${set.texts[first[0][0]]}, at ${first[0][1].toFixed(2)}.`);
  }
  function ask() {  // another collection has other queries and may have other methods
    const options = set.queries.map(({ text }, k) => `${k + 1}. ${text}`);
    const step = (by) => { at = (at + by + options.length) % options.length; chosen.set(options[at]); show(); };
    const chosen = tools.select({ label: set.ask, options, value: options[at], onchange(text) { at = options.indexOf(text); show(); } });
    const ways = set.methods.length > 1 ? [tools.choice({ legend: "Ranked by", value: method, options: set.methods,
      onchange(key) { method = key; show(); } })] : [];
    asking.replaceChildren(tools.bar(chosen, tools.button("Back", () => step(-1)), tools.button("Next", () => step(1), { class: "w2s-play" })),
      ...(ways.length ? [tools.bar(...ways)] : []));
    show();
  }
  const sets = tools.choice({ legend: "Search in", value: set.key, options: data.sets, onchange(key) {
    set = data.sets.find((one) => one.key === key);
    at = 0;
    if (!set.methods.some((one) => one.key === method)) method = set.methods[0].key;
    ask();
  } });
  stage.append(...(data.sets.length > 1 ? [tools.bar(sets)] : []), asking, query, list.node);
  ask();
});
