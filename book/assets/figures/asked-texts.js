/* A question that the reader types ranks a hundred texts: by shared words, by shared letters, by a trained encoder.

   data = {
     model: {name, megabytes, parameters},                          of kind "encoder": the mean of its rows is a text's vector
     width: 128, longest: 32,                                       numbers in a vector; pieces of a question
     sets: [{key: "code", label: "functions", texts: ["def ...", ...], asks: ["Return ...", ...],   asks[n] belongs to texts[n]
             vectors: "base64", step: 0.01,                         the texts' unit vectors as signed bytes, times `step`
             first: {encoder: [[[12, 0.53], ...], ...], minilm: ...}}, ...]   by torch: for each of `asks` its best five
   }
   Shared words and letters are tf-idf as scikit-learn has it, with the logarithm of counts. */
window.w2s.register("asked-texts", function (stage, data, tools) {
  "use strict";
  const { el } = tools, SHOWN = 5, list = tools.bars({ rows: SHOWN, text: (value) => value.toFixed(2) });
  const body = el("pre", { class: "w2s-scroll", tabindex: 0, "aria-label": "The text that comes first" });
  const WAYS = [["words", "shared words"], ["letters", "shared letters"], ["encoder", "ModernBERT's form"], ["minilm", "MiniLM (recorded)"]];
  let set = data.sets[0], way = "words", at = 0, model = null, turn = 0;
  list.node.classList.add("w2s-wide");

  const PARTS = {
    words: (text) => text.toLowerCase().match(/[a-z]+|[0-9]+/g) || [],
    letters: (text) => text.toLowerCase().trim().split(/\s+/).filter(Boolean).flatMap((word) => {
      const padded = ` ${word} `, found = [];
      for (let n = 3; n <= 5; n++) {
        if (padded.length <= n) { found.push(padded); break; }  // a short word counts once
        for (let i = 0; i + n <= padded.length; i++) found.push(padded.slice(i, i + n));
      }
      return found;
    }),
  };
  const weighed = (parts, rarity) => {
    const counts = new Map(), found = new Map();
    parts.forEach((part) => rarity.has(part) && counts.set(part, (counts.get(part) || 0) + 1));
    counts.forEach((count, part) => found.set(part, (1 + Math.log(count)) * rarity.get(part)));
    const length = Math.hypot(...found.values()) || 1;
    found.forEach((value, part) => found.set(part, value / length));
    return found;
  };
  const tables = new Map();
  function table(key) {  // of one set and one way: how rare each part is, and each text's weights
    const name = `${set.key} ${key}`;
    if (!tables.has(name)) {
      const texts = set.texts.map(PARTS[key]), holds = new Map();
      texts.forEach((parts) => new Set(parts).forEach((part) => holds.set(part, (holds.get(part) || 0) + 1)));
      const rarity = new Map(Array.from(holds, ([part, count]) => [part, Math.log((1 + texts.length) / (1 + count)) + 1]));
      tables.set(name, { rarity, texts: texts.map((parts) => weighed(parts, rarity)) });
    }
    return tables.get(name);
  }
  const best = (scores) => scores.map((score, n) => [n, score]).sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, SHOWN);
  function bySharing(text) {
    const { rarity, texts } = table(way), asked = weighed(PARTS[way](text), rarity);
    return best(texts.map((one) => { let sum = 0; asked.forEach((value, part) => { sum += value * (one.get(part) || 0); }); return sum; }));
  }
  async function byModel(text) {
    const ids = model.tokenizer.ids(`[CLS] ${text} [SEP]`), cut = ids.length > data.longest ? [...ids.slice(0, data.longest - 1), ids.at(-1)] : ids;
    const { data: rows } = await model.call("hidden", cut), { width } = data, bytes = atob(set.vectors);
    const mean = Array.from({ length: width }, (_, c) => { let sum = 0; for (let t = c; t < rows.length; t += width) sum += rows[t]; return sum; });
    const length = Math.hypot(...mean) || 1;
    return best(set.texts.map((_, n) => mean.reduce((sum, value, c) => sum + value / length * set.step * (bytes.charCodeAt(n * width + c) << 24 >> 24), 0)));
  }

  async function show() {
    const mine = ++turn, text = field.input.value, known = set.asks.indexOf(text), name = WAYS.find(([key]) => key === way)[1];
    const recorded = known >= 0 && set.first[way] && set.first[way][known];
    const found = way in PARTS ? bySharing(text) : way === "encoder" && model ? await byModel(text) : recorded;
    if (mine !== turn) return;
    list.show(found ? found.map(([n, value], k) => ({ label: `${k + 1}. ${set.texts[n].split("\n")[0].replace(/^(async )?def /, "").slice(0, 50)}`, value, hue: n === known ? "orange" : "blue",
      note: n === known ? "right" : "" })) : [], { most: 1 });
    body.textContent = found && found[0][1] > 0 ? set.texts[found[0][0]] : "";
    Object.assign(stage.dataset, { source: way === "encoder" && model ? "page" : "recorded", set: set.key, way, text, first: JSON.stringify(found || []), known });
    const rank = found ? found.findIndex(([n]) => n === known) + 1 : 0;
    tools.say(!found ? (way === "encoder" ? "Load the model for a question of your own." : "MiniLM is too large for this page: it was asked the questions above only.")
      : found[0][1] <= 0 ? `${name}: no part of the question occurs in any text.`
        : `${name}: first of ${set.texts.length} at ${found[0][1].toFixed(2)}. ${known < 0 ? "Nobody judged this question." : rank ? `The right one is at rank ${rank}.` : `The right one is not among the first ${SHOWN}.`}`);
  }
  const options = () => set.asks.slice(0, 24), go = (by) => { at = (at + by + options().length) % options().length; field.set(options()[at]); show(); };
  const sets = tools.choice({ legend: "Search in", value: set.key, options: data.sets, onchange(key) { set = data.sets.find((one) => one.key === key); at = 0; go(0); } });
  const field = tools.textField({ label: "Your question", value: set.asks[0], most: 160, oninput: show });
  const ways = tools.choice({ legend: "Ranked by", value: way, options: WAYS.map(([key, label]) => ({ key, label })), onchange(key) { way = key; show(); } });
  const offer = tools.modelOffer(data.model, (loaded) => { model = loaded; ways.set(way = "encoder"); show(); });
  stage.append(tools.bar(sets, tools.button("Back", () => go(-1)), tools.button("Next", () => go(1), { class: "w2s-play" })), tools.bar(field), tools.bar(ways), tools.bar(offer), list.node, body);
  show();
});
