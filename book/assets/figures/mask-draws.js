/* Tokens selected at random and their replacements: drawn by the reader, counted over all draws.

   data = {
     texts: [{label: "a pair", tokens: ["[CLS]", "we", ...]}, ...],   tokens in square brackets are never chosen
     others: ["king", ...],                                           what a token may be replaced by
     share: 0.15, masked: 0.8, replaced: 0.1,                         what the sliders start at
     vocabularies: [{key: "bert", label: "BERT", vocabulary}]         what cuts the reader's own text into tokens
   }
   Counting and drawing follow reference_impl.objectives.masked_lm. */
window.w2s.register("mask-draws", function (stage, data, tools) {
  "use strict";
  const { el } = tools, line = el("p", { class: "w2s-sentence" }), bars = tools.bars({ rows: 4, text: (value) => value.toFixed(3) });
  let text = data.texts[0], { share, masked, replaced } = data, seed = 1, sums = null, tokenizer = null;
  function random() {  // mulberry32: the same draws on every machine
    seed = (seed + 0x6D2B79F5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  const free = () => text.tokens.flatMap((token, i) => (/^\[/.test(token) ? [] : [i]));
  function howMany(count) {
    const wanted = share * count, whole = Math.floor(wanted + 1e-9), rest = wanted - whole;
    const even = Math.abs(rest - 0.5) < 1e-9 ? whole + (whole % 2) : Math.round(wanted);
    return share > 0 && count > 0 ? Math.max(1, even) : 0;
  }

  function draw() {
    const places = free(), count = howMany(places.length), fates = new Map();
    const order = places.map((place) => [random(), place]).sort((a, b) => a[0] - b[0]);
    for (const [, place] of order.slice(0, count)) {
      const fate = random();
      fates.set(place, fate < masked ? "masked" : fate < masked + replaced ? "replaced" : "kept");
    }
    sums = sums || { draws: 0, free: 0, chosen: 0, masked: 0, replaced: 0, kept: 0 };
    sums.draws += 1;
    sums.free += places.length;
    sums.chosen += count;
    for (const name of ["masked", "replaced", "kept"]) sums[name] += [...fates.values()].filter((fate) => fate === name).length;
    return fates;
  }

  function show(times) {
    let fates = null;
    for (let k = 0; k < times; k += 1) fates = draw();
    line.replaceChildren(...text.tokens.map((token, i) => {
      const fate = fates.get(i), other = data.others[Math.floor(random() * data.others.length)];
      const shown = { masked: "[MASK]", replaced: `${other} (was ${token})`, kept: `${token} (unchanged)` }[fate] || token;
      return el("span", { class: `w2s-token${fate === "masked" ? " is-near" : fate ? " is-centre" : ""}` }, shown);
    }));
    const of = (part, whole) => (whole ? part / whole : 0);
    bars.show([{ label: "selected", value: of(sums.chosen, sums.free), hue: "blue" }, ...[["masked", "[MASK]", "orange"],
      ["replaced", "random", "purple"], ["kept", "unchanged", "green"]].map(([key, label, hue]) =>
      ({ label, value: of(sums[key], sums.chosen), hue }))], { most: 1 });
    Object.assign(stage.dataset, { ...sums, share, now: JSON.stringify([...fates]) });
    tools.say(`${sums.draws} ${sums.draws === 1 ? "draw" : "draws"}: ${sums.chosen} of ${sums.free} tokens selected; of these `
      + `${sums.masked} are [MASK], ${sums.replaced} random and ${sums.kept} unchanged.`);
  }
  const anew = () => { sums = null; show(1); };
  const slider = (label, value, most, set) => tools.slider({ label, min: 0, max: most, step: 5, value: Math.round(100 * value), text: (value) => `${value} %`,
    oninput(next) { set(next / 100); anew(); } });
  const swapped = slider("random", replaced, 100, (value) => { replaced = value; masked = Math.min(masked, 1 - value); blanked.set(Math.round(100 * masked)); });
  const blanked = slider("[MASK]", masked, 100, (value) => { masked = value; replaced = Math.min(replaced, 1 - value); swapped.set(Math.round(100 * replaced)); });
  const texts = tools.choice({ legend: "Text", value: text.label, options: data.texts.map(({ label }) => ({ key: label, label })),
    onchange(label) { text = data.texts.find((one) => one.label === label); anew(); } });
  const field = tools.textField({ label: "Your text", most: 120, oninput(asked) {
    text = { label: "", tokens: ["[CLS]", ...tokenizer.ids(asked).map((id) => tokenizer.written(id)), "[SEP]"] };
    texts.set("");
    anew();
  } });
  field.input.disabled = true;
  const offer = tools.vocabularyOffer(data.vocabularies, (found) => {
    tokenizer = found[data.vocabularies[0].key];
    stage.dataset.source = "page";
    field.input.disabled = false;
  });
  stage.append(tools.bar(offer), tools.bar(field), tools.bar(texts, tools.button("Draw", () => show(1), { class: "w2s-play" }), tools.button("Draw 100 times", () => show(100))),
    tools.bar(slider("selected", share, 100, (value) => { share = value; }), blanked, swapped), line, bars.node);
  show(tools.asStill ? 200 : 1);
});
