/* The nearest neighbours of one word under each method, sorted into its senses.

   data = {
     words: ["bank", ...],                   the first is shown first; with more, the reader can choose
     senses: {bank: ["river", "money"]},     for each word, its senses in order (one to three); each gets a column,
                                             its hue and its mark, and "other" always comes last
     methods: [{key: "svd", label: "Counts + SVD"}, ...],
     neighbours: {bank: {svd: [{word: "shore", cosine: 0.71, sense: "river"}, ...]}}
                                             nearest first, at most 16; sense is one of the word's senses or "other";
                                             a missing method means that the word is not in its vocabulary
     task: "Find ..."                        optional, what the reader is to do
   } */
window.w2s.register("bank-neighbours", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, top = 72, line = 19;
  const lengths = data.words.flatMap((word) => Object.values(data.neighbours[word] || {}).map((found) => found.length));
  const longest = Math.max(1, ...lengths), height = top + longest * line + 34;
  let width = 560, word = data.words[0], method = data.methods[0].key, shown = new Map(), stop = () => {};

  const ground = svg("g", {}), items = svg("g", {}), picture = tools.picture({ class: "w2s-lanes" }, ground, items);
  const list = () => (data.neighbours[word] || {})[method] || [];

  /* Cosine sets the height; words that would touch are pushed down, and up again where a column ran out. */
  function layout(names) {
    const found = list(), [least, most] = tools.span(found.map((item) => item.cosine));
    const y = tools.scale([most, least], [top + 12, top + 12 + (longest - 1) * line]);
    const spots = found.map((item) => ({ item, lane: Math.max(0, names.indexOf(item.sense)), y: y(item.cosine) }));
    names.forEach((_, lane) => {
      const mine = spots.filter((spot) => spot.lane === lane);
      mine.forEach((spot, n) => { if (n) spot.y = Math.max(spot.y, mine[n - 1].y + line); });
      mine.reduceRight((floor, spot) => (spot.y = Math.min(spot.y, floor)) - line, height - 20);
    });
    return spots;
  }

  function show(milliseconds) {
    stop();
    const names = [...data.senses[word], "other"], meaning = tools.meanings(names), lane = width / names.length;
    const narrow = lane < 150, inset = narrow ? 14 : 22, found = list();  // a phone has no room for the cosines
    const tally = names.map((name) => found.filter((item) => item.sense === name).length);
    ground.replaceChildren(...names.flatMap((name, k) => {
      const x = k * lane + inset + 13, hue = `hue-${meaning[name].hue}`, mark = tools.mark(meaning[name]);
      tools.move(mark, k * lane + inset, 27);
      const box = { x: k * lane + 3, y: 4, width: lane - 6, height: height - 8, rx: 6 };
      return [svg("rect", { class: `w2s-lane ${hue}`, ...box }), mark,
        svg("text", { class: `w2s-lane-name ${hue}`, x, y: 32 }, name),
        svg("text", { class: "w2s-lane-count", x, y: 51 }, `${tally[k]} of ${found.length}`)];
    }));
    const next = new Map(layout(names).map(({ item, lane: k, y }) => {
      const x = k * lane + inset, number = item.cosine.toFixed(2).replace("0.", ".");
      const cosine = svg("tspan", { class: "w2s-cosine", dx: 6 }, number);
      const label = svg("text", { x: 12, y: 5 }, item.word, narrow ? "" : cosine);
      const node = svg("g", { class: "w2s-neighbour" }, tools.mark(meaning[item.sense] || meaning.other), label);
      return [item.word, { node, x, y, from: shown.get(item.word) || { x, y: y + 24 }, fresh: !shown.has(item.word) }];
    }));
    items.replaceChildren(...Array.from(next.values(), ({ node }) => node));
    shown = next;
    stop = tools.animate(milliseconds, (t) => next.forEach(({ node, x, y, from, fresh }) => {
      tools.move(node, from.x + (x - from.x) * t, from.y + (y - from.y) * t);
      node.style.opacity = fresh ? t : 1;
    }));
    const label = data.methods.find((one) => one.key === method).label;
    const counted = names.map((name, k) => `${tally[k]} ${name}`).join(", ");
    Object.assign(stage.dataset, { method, word });
    picture.name(`Neighbours of ${word} by ${label}: ${found.map((item) => item.word).join(", ") || "none"}.`);
    tools.say(!found.length ? `${label}: “${word}” is not in its vocabulary.`
      : `${label}: of the ${found.length} nearest to “${word}”, ${counted}. `
        + `The nearest is “${found[0].word}” (cosine ${found[0].cosine.toFixed(2)}).`);
  }

  const words = tools.select({ label: "Word", options: data.words, value: word,
    onchange(chosen) { word = chosen; shown = new Map(); show(500); } });
  const methods = tools.choice({ legend: "Method", options: data.methods, value: method,
    onchange(key) { method = key; show(500); } });
  if (data.task) stage.append(tools.el("p", { class: "w2s-task" }, data.task));
  stage.append(picture.node, tools.bar(...(data.words.length > 1 ? [words] : []), methods));
  tools.onWidth((pixels) => {
    width = pixels;
    shown = new Map();
    set(picture.node, { viewBox: `0 0 ${width} ${height}` });
    show(0);
  });
});
