/* Where the parameters of a BERT are: areas for the parts, blocks as columns, and sliders for the sizes.

   data = {
     examples: [{label: "BERT-base", words: 30522, positions: 512, segments: 2, width: 768, layers: 12, heads: 12, times: 4,
                 parameters: 109482240, added: 624188}, ...]     the encoder with its pooler, and what the two heads of
                                                                 pre-training add, counted by torch; F = times * width
   } */
window.w2s.register("encoder-sizes", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, now = { ...data.examples[0] }, TALL = 150;
  const lists = { words: [10, 1000, 2000, 8192, 30522, 50257, 250002], width: [4, 64, 128, 256, 384, 512, 768, 1024],
    layers: Array.from({ length: 24 }, (_, i) => i + 1), heads: [1, 2, 4, 6, 8, 12, 16], times: [1, 2, 3, 4, 8] };
  const HUES = { tokens: "blue", "positions, segments": "grey", attention: "orange", "feed-forward": "green", pooler: "yellow",
    "two heads": "purple" };
  const areas = svg("g", {}), picture = tools.picture({ class: "w2s-lanes" }, areas);
  const bars = tools.bars({ rows: 6, text: (value) => value.toLocaleString("en") });
  let width = 560;

  const bytes = (count) => (count < 1e6 ? `${count.toLocaleString("en")} bytes` : `${(count / 1e6).toFixed(1)} MB`);

  function parts() {
    const { words: V, positions: P, segments: S, width: C, layers: L, times } = now, F = times * C;
    return { tokens: V * C, "positions, segments": (P + S + 2) * C, attention: L * (4 * C * C + 6 * C),
      "feed-forward": L * (2 * C * F + F + 3 * C), pooler: C * C + C, "two heads": C * C + 3 * C + V + 2 * C + 2 };
  }

  function draw() {
    const found = parts(), added = found["two heads"], whole = Object.values(found).reduce((a, b) => a + b);
    const rect = (name, x, y, wide, high) => svg("rect", { class: `w2s-area hue-${HUES[name]}`, x: x.toFixed(2), y: y.toFixed(2),
      width: Math.max(wide - 1, 0.5).toFixed(2), height: Math.max(high - 1, 0.5).toFixed(2) });
    const drawn = [];
    let x = 0;
    for (const name of ["tokens", "positions, segments", "blocks", "pooler", "two heads"]) {
      const size = name === "blocks" ? found.attention + found["feed-forward"] : found[name], wide = size / whole * width;
      if (name !== "blocks") drawn.push(rect(name, x, 0, wide, TALL));
      else for (let n = 0; n < now.layers; n++) {
        const low = found["feed-forward"] / size * TALL, one = wide / now.layers;
        drawn.push(rect("feed-forward", x + n * one, 0, one, low), rect("attention", x + n * one, low, one, TALL - low));
      }
      x += wide;
    }
    set(picture.node, { viewBox: `0 0 ${width} ${TALL}`, width });
    areas.replaceChildren(...drawn);
    const share = (name) => `${Math.round(100 * found[name] / whole)} %`;
    picture.name(`Areas: token embeddings ${share("tokens")}, attention ${share("attention")}, feed-forward ${share("feed-forward")}.`);
    bars.show(Object.entries(found).map(([label, value]) => ({ label, value, hue: HUES[label] })));
    const apart = now.width % now.heads ? `${now.heads} heads do not divide ${now.width}: there is no such model. `
      : `${now.heads} heads of ${now.width / now.heads} dimensions. `;
    tools.say(`${apart}${(whole - added).toLocaleString("en")} parameters, with both pre-training heads `
      + `${whole.toLocaleString("en")}, ${bytes(4 * whole)} in float32.`);
    Object.assign(stage.dataset, { parameters: whole - added, added, heads: now.heads, layers: now.layers, width: now.width });
  }

  const slider = (label, key) => tools.slider({ label, min: 0, max: lists[key].length - 1, value: lists[key].indexOf(now[key]),
    text: (at) => lists[key][at].toLocaleString("en"), oninput(at) { now[key] = lists[key][at]; draw(); } });
  const sliders = { words: slider("Vocabulary V", "words"), width: slider("Hidden size C", "width"), layers: slider("Blocks L", "layers"),
    heads: slider("Heads H", "heads"), times: slider("F / C", "times") };
  const picks = tools.choice({ legend: "Model", value: now.label, options: data.examples.map(({ label }) => ({ key: label, label })),
    onchange(label) {
      Object.assign(now, data.examples.find((one) => one.label === label));
      for (const [key, one] of Object.entries(sliders)) one.set(lists[key].indexOf(now[key]));
      draw();
    } });
  stage.append(tools.bar(picks), tools.bar(sliders.words, sliders.width), tools.bar(sliders.layers, sliders.heads),
    tools.bar(sliders.times), picture.node,
    tools.el("p", { class: "w2s-cut-name" }, "Parameters of each part (tokens: their embeddings)"), bars.node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
