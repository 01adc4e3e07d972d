/* One word in two sentences, by each half of an ELMo's layers: two marks in a plane, and the cosine of the two vectors.

   data = {
     model: {name, megabytes, parameters},   from course.book.pages.models.page_model; a model of kind "elmo"
     word: "bank", layer: 2,                 the word of the plane, and the layer that is shown first
     uses: [{sense: "river", points: [[[x, y], [x, y]], ...]}]   uses of the word: for each layer, forward and backward
     planes: [[{centre: [...], axes: [[...], [...]]}, ...], ...] what made the points: for each layer, both halves
     examples: [{label, texts: ["...", "..."], word, cosines: [[forward, backward], ...], spots: [[[[x, y], ...]]]}]
                                             what torch found: by layer, half and then sentence
   }
   Of another word than the plane's only the distance is drawn, to the same scale. */
window.w2s.register("two-readers", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, HALVES = ["forward", "backward"], SENSES = ["river", "money", "other"];
  const hues = tools.meanings(SENSES), panels = svg("g", {}), picture = tools.picture({ class: "w2s-lanes" }, panels);
  let width = 560, tall = 250, layer = data.layer, shown = { ...data.examples[0], source: "torch" }, model = null, asked = 0;

  function panel(h, wide) {
    const spots = shown.spots[layer][h], known = data.uses.map((use) => use.points[layer][h]);
    const reach = Math.max(1e-6, ...[...known, ...spots].flat().map(Math.abs));
    const unit = Math.min(wide / 2 - 16, tall / 2 - 32) / reach;
    const at = ([x, y]) => [wide / 2 + x * unit, tall / 2 + 14 + y * unit], [one, two] = spots.map(at);
    const aside = Math.hypot(one[0] - two[0], one[1] - two[1]) < 20 ? 11 : 0;  // two marks on one spot stand side by side
    const uses = shown.word === data.word ? data.uses : [];
    return svg("g", {}, svg("rect", { class: "w2s-lane hue-grey", width: wide, height: tall, rx: 6 }),
      ...uses.map(({ sense }, n) => tools.move(svg("g", { class: "w2s-dot is-idle" }, tools.mark(hues[sense])),
        ...at(known[n]))),
      svg("line", { class: "w2s-axis", x1: one[0], y1: one[1], x2: two[0], y2: two[1] }),
      ...[one, two].map(([x, y], n) => tools.move(svg("g", { class: `w2s-box is-lit hue-${["blue", "orange"][n]}` },
        svg("rect", { x: -10, y: -10, width: 20, height: 20, rx: 10 }),
        svg("text", { y: 4.5, "text-anchor": "middle" }, String(n + 1))), x + (2 * n - 1) * aside, y)),
      svg("text", { class: "w2s-lane-count", x: 10, y: 22 }, `${HALVES[h]}: cosine ${shown.cosines[layer][h].toFixed(3)}`));
  }

  function draw() {
    const beside = width >= 460, wide = beside ? width / 2 - 6 : width;
    tall = beside ? 250 : 180;  // on a phone the layers and both halves are on one screen
    set(picture.node, { viewBox: `0 0 ${width} ${beside ? tall : 2 * tall + 8}`, width });
    panels.replaceChildren(...HALVES.map((_, h) => tools.move(panel(h, wide), beside ? h * (wide + 12) : 0,
      beside ? 0 : h * (tall + 8))));
    const { texts, word, source, cosines } = shown, [ahead, back] = cosines[layer].map((cosine) => cosine.toFixed(3));
    Object.assign(stage.dataset, { layer, source, texts: texts.join("|"), word, cosines: JSON.stringify(cosines) });
    picture.name(`Layer ${layer}, the two of “${word}”: forward cosine ${ahead}, backward ${back}.`);
    tools.say(`Layer ${layer}: the two vectors of “${word}” have a cosine of ${ahead} in the forward half and of ${back} `
      + `in the backward half. ${source === "torch" ? "As torch computed it." : "Computed in this page."}`);
  }

  /* The vectors of a word: for each layer its two halves. */
  const halvesOf = ({ data: all, shape: [count, rows, size] }, place) => Array.from({ length: count }, (_, l) =>
    [0, 1].map((h) => Array.from(all.slice((l * rows + place) * size + h * size / 2).slice(0, size / 2))));
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0), minus = (a, b) => a.map((x, i) => x - b[i]);

  /* Both sentences through the model: cosines and places of the word that they share. */
  async function read(texts) {
    const known = data.examples.find((example) => example.texts.join() === texts.join()), turn = ++asked;
    if (!model) { shown = { ...known, source: "torch" }; draw(); return; }
    const lines = texts.map((text) => text.toLowerCase().match(/[a-z]+(?:'[a-z]+)?/g) || []);
    const both = lines[0].filter((word) => lines[1].includes(word)).sort((a, b) => b.length - a.length);
    const word = both.includes(data.word) ? data.word : both[0];
    if (!word) { tools.say("The two sentences have no word in common: give them one."); return; }
    const [one, two] = await Promise.all(lines.map(async (line) => halvesOf(await model.call("layers", line),
      line.indexOf(word))));
    if (turn !== asked) return;
    const spot = (v, { centre, axes }) => axes.map((axis) => dot(axis, minus(v, centre)));
    const apart = (a, b) => { const half = Math.sqrt(dot(minus(a, b), minus(a, b))) / 2; return [[-half, 0], [half, 0]]; };
    const each = (make) => one.map((halves, l) => halves.map((a, h) => make(a, two[l][h], data.planes[l][h])));
    shown = { texts, word, source: "page", cosines: each((a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))),
      spots: each((a, b, plane) => (word === data.word ? [spot(a, plane), spot(b, plane)] : apart(a, b))) };
    draw();
  }

  const typed = () => read(fields.map(({ input }) => input.value));
  const fields = data.examples[0].texts.map((text, n) => tools.textField({ label: `Sentence ${n + 1}`, value: text,
    most: 120, oninput() { picks.set(""); typed(); } }));
  const picks = tools.choice({ legend: "Try", value: "0", options: data.examples.map(({ label }, n) => ({ key: `${n}`,
    label })), onchange(key) { fields.forEach((field, n) => field.set(data.examples[key].texts[n])); typed(); } });
  const layers = tools.choice({ legend: "Layer", value: layer, options: data.planes.map((_, l) => ({ key: l, label: `${l}` })),
    onchange(key) { layer = key; draw(); } });
  const lock = (locked) => fields.forEach(({ input }) => { input.disabled = locked; });
  const offer = tools.modelOffer(data.model, (loaded) => { model = loaded; lock(false); fields[0].input.focus(); typed(); });
  lock(true);
  stage.append(tools.bar(offer), tools.bar(...fields), tools.bar(picks, layers), picture.node,
    tools.legend(SENSES.map((label) => ({ label, ...hues[label] }))).node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
