/* Two texts, the shingles that they share, and the probability that MinHash with bands makes them candidates.

   data = {
     texts: ["And David took ...", "And David took ..."],
     size: 3,                                words of a shingle
     bands: 20, rows: 6,                     where the sliders stand at first
     task: "Change ..."                      what the reader is to do
   }
   Shingles, similarity and probability are those of reference_impl.corpora.minhash. */
window.w2s.register("minhash-bands", function (stage, data, tools) {
  "use strict";
  const { el } = tools, texts = [...data.texts], percent = (share) => `${(100 * share).toFixed(1)} %`;
  const chart = tools.axes({ xLabel: "Jaccard similarity", yLabel: "probability", text: (value) => `${Number(value.toFixed(2))}` });
  const picture = tools.picture({ class: "w2s-chart" }, chart.node), shared = el("p", { class: "w2s-note" });
  let { bands, rows } = data, width = 560;

  function shingles(text) {
    const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [], last = Math.max(words.length - data.size, 0);
    return new Set(words.length ? Array.from({ length: last + 1 }, (_, i) => words.slice(i, i + data.size).join(" ")) : []);
  }

  function draw() {
    const [one, other] = texts.map(shingles), both = [...one].filter((run) => other.has(run)).length;
    const union = one.size + other.size - both, similarity = union ? both / union : 0;
    const chance = (s) => 1 - Math.pow(1 - Math.pow(s, rows), bands), middle = Math.pow(1 / bands, 1 / rows);
    const box = [46, 16, width - 12, 180], x = tools.scale([0, 1], [box[0], box[2]]), y = tools.scale([0, 1], [box[3], box[1]]);
    const points = Array.from({ length: 101 }, (_, i) => [i / 100, chance(i / 100)]);
    tools.set(picture.node, { viewBox: `0 0 ${width} 222`, width });
    chart.show({ x, y, box, lines: [{ points, hue: "blue" }, { points: [[middle, 0], [middle, 1]], hue: "orange", line: "dashed" }], dot: [similarity, chance(similarity)] });
    picture.name(`Probability of being compared against similarity, with ${bands} bands of ${rows} rows; the two texts at ${similarity.toFixed(2)}.`);
    shared.textContent = `${both} of ${union} shingles of ${data.size} words occur in both texts.`;
    tools.say(`Similarity ${similarity.toFixed(3)}. With ${bands * rows} hash functions in ${bands} bands of ${rows}, the pair is compared with probability ${percent(chance(similarity))}. `
      + `The curve is steep near ${middle.toFixed(2)}.`);
    Object.assign(stage.dataset, { similarity: similarity.toFixed(4), chance: chance(similarity).toFixed(4), bands, rows });
  }
  const fields = texts.map((value, i) => tools.textField({ label: i ? "Second text" : "First text", value, most: 300, oninput(next) { texts[i] = next; draw(); } }));
  const sliders = [tools.slider({ label: "Bands", min: 1, max: 40, value: bands, oninput(value) { bands = value; draw(); } }),
    tools.slider({ label: "Rows of a band", min: 1, max: 12, value: rows, oninput(value) { rows = value; draw(); } })];
  stage.append(el("p", { class: "w2s-task" }, data.task), ...fields.map((field) => tools.bar(field)), shared, picture.node, tools.bar(...sliders));
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
