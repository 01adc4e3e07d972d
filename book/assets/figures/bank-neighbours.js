/* The nearest neighbours of one word under each method, sorted into its senses.

   data = {
     words: ["bank", ...],                   the first is shown first; with more, the reader can choose
     senses: {bank: ["river", "money"]},     for each word, its senses in order (one to three); each gets a column,
                                             a colour and a shape, and "other" always comes last
     methods: [{key: "svd", label: "Counts + SVD"}, ...],
     neighbours: {bank: {svd: [{word: "shore", cosine: 0.71, sense: "river"}, ...]}}
                                             nearest first, at most 16; sense is one of the word's senses or "other";
                                             a missing method means that the word is not in its vocabulary
   } */
window.w2s.register("bank-neighbours", function (stage, data, tools) {
  "use strict";
  const { el, svg, choice, select, animate, onWidth } = tools;
  const hues = ["blue", "orange", "green"], top = 72, line = 19;
  let width = 560, word = data.words[0], method = data.methods[0].key, shown = new Map(), stop = () => {};

  const shapes = [() => svg("circle", { r: 5.5 }), () => svg("rect", { x: -5, y: -5, width: 10, height: 10 }),
    () => svg("path", { d: "M0-6.5 6 5h-12Z" }), () => svg("path", { d: "M-5-5 5 5M5-5-5 5", class: "is-cross" })];
  const columns = () => [...data.senses[word], "other"];
  const style = (sense) => {
    const k = data.senses[word].indexOf(sense);
    return k < 0 ? { hue: "grey", shape: shapes[3] } : { hue: hues[k], shape: shapes[k] };
  };
  const narrow = () => width / columns().length < 150;  // a phone: no room for the cosines beside the words
  const list = () => (data.neighbours[word] || {})[method] || [];
  const longest = Math.max(...data.words.flatMap((w) => Object.values(data.neighbours[w] || {}).map((l) => l.length)), 1);

  const height = top + longest * line + 34;
  const picture = svg("svg", { class: "w2s-lanes", role: "img" });
  const title = svg("title", {}), ground = svg("g", {}), items = svg("g", {});
  picture.append(title, ground, items);

  /* Cosine sets the height; words that would touch are pushed down just enough to stay readable. */
  function layout() {
    const found = list(), best = found.length ? found[0].cosine : 1, worst = found.length ? found[found.length - 1].cosine : 0;
    const names = columns(), lane = width / names.length, floor = {}, out = new Map();
    for (const item of found) {
      const k = Math.max(0, names.indexOf(item.sense));
      const wanted = top + 12 + (best - item.cosine) / (best - worst || 1) * (longest * line - line);
      const y = Math.max(wanted, floor[k] || 0);
      floor[k] = y + line;
      out.set(item.word, { x: k * lane + (narrow() ? 14 : 22), y, item });
    }
    const ceiling = {};
    for (const spot of [...out.values()].reverse()) {  // and up again where a column ran out of the picture
      spot.y = Math.min(spot.y, ceiling[spot.x] === undefined ? height - 20 : ceiling[spot.x]);
      ceiling[spot.x] = spot.y - line;
    }
    return out;
  }

  function drawGround() {
    const names = columns(), lane = width / names.length;
    ground.replaceChildren();
    names.forEach((name, k) => {
      const { hue, shape } = style(name), n = list().filter((item) => item.sense === name).length;
      ground.append(svg("rect", { class: `w2s-lane hue-${hue}`, x: k * lane + 3, y: 4, width: lane - 6, height: height - 8, rx: 6 }));
      const mark = svg("g", { class: `w2s-mark hue-${hue}`, transform: `translate(${k * lane + (narrow() ? 14 : 22)} 27)` }, shape());
      const x = k * lane + (narrow() ? 26 : 35);
      ground.append(mark, svg("text", { class: `w2s-lane-name hue-${hue}`, x, y: 32 }, name));
      ground.append(svg("text", { class: "w2s-lane-count", x, y: 51 }, `${n} of ${list().length}`));
    });
  }

  function show(milliseconds = 500) {
    stop();
    drawGround();
    const goal = layout(), old = shown, next = new Map();
    for (const [name, spot] of old) if (!goal.has(name)) spot.node.remove();
    for (const [name, spot] of goal) {
      const { hue, shape } = style(spot.item.sense), before = old.get(name);
      if (before) before.node.remove();
      const node = svg("g", { class: `w2s-neighbour hue-${hue}` }, shape(),
        svg("text", { x: 12, y: 5 }, name,
          narrow() ? "" : svg("tspan", { class: "w2s-cosine", dx: 6 }, spot.item.cosine.toFixed(2).replace("0.", "."))));
      items.append(node);
      next.set(name, { node, x: spot.x, y: spot.y, fromX: before ? before.x : spot.x, fromY: before ? before.y : spot.y + 24, fresh: !before });
    }
    shown = next;
    stop = animate(milliseconds, (t) => {
      for (const spot of next.values()) {
        spot.node.setAttribute("transform", `translate(${(spot.fromX + (spot.x - spot.fromX) * t).toFixed(1)} ${(spot.fromY + (spot.y - spot.fromY) * t).toFixed(1)})`);
        spot.node.style.opacity = spot.fresh ? t : 1;
      }
    });
    const label = data.methods.find((m) => m.key === method).label, found = list();
    stage.dataset.method = method;
    stage.dataset.word = word;
    if (!found.length) { tools.say(`${label}: “${word}” is not in its vocabulary.`); title.textContent = "No neighbours."; return; }
    const tally = columns().map((name) => `${found.filter((item) => item.sense === name).length} ${name}`).join(", ");
    title.textContent = `Neighbours of ${word} by ${label}: ${found.map((item) => item.word).join(", ")}.`;
    tools.say(`${label}: of the ${found.length} nearest to “${word}”, ${tally}. The nearest is “${found[0].word}” (cosine ${found[0].cosine.toFixed(2)}).`);
  }

  const bar = el("div", { class: "w2s-bar" });
  if (data.words.length > 1) bar.append(select({ label: "Word", options: data.words, value: word, onchange: (chosen) => { word = chosen; shown.forEach((spot) => spot.node.remove()); shown = new Map(); show(); } }));
  bar.append(choice({ legend: "Method", options: data.methods, value: method, onchange: (key) => { method = key; show(); } }));
  stage.append(bar, picture);
  onWidth((pixels) => {
    width = pixels;
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    shown.forEach((spot) => spot.node.remove());
    shown = new Map();
    show(0);
  });
});
