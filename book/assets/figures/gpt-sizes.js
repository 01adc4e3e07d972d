/* Where the parameters of a GPT are: one stacked bar for the parts, a line of sizes with the published models, sliders.

   data = {
     examples: [{label: "GPT-2 small", words: 50257, positions: 1024, width: 768, layers: 12, tied: true, last: true,
                 parameters: 124439808}, ...]     counted by torch; `last` says whether a norm stands after the blocks
   }
   A block has 12 C^2 + 13 C numbers, its feed-forward layer being four times as wide as the vectors. */
window.w2s.register("gpt-sizes", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, now = { ...data.examples[0] }, TALL = 118;
  const lists = { words: [10, 1000, 1024, 2000, 32000, 40478, 50257, 128256, 256000], positions: [6, 64, 128, 512, 1024, 2048, 8192],
    width: [4, 64, 128, 256, 512, 768, 1024, 1280, 1600, 2048, 4096, 12288], layers: [1, 2, 4, 6, 12, 16, 24, 32, 36, 48, 96] };
  const HUES = { words: "blue", "output layer": "purple", positions: "grey", attention: "orange", "feed-forward": "green", norms: "yellow" };
  const drawing = svg("g", {}), picture = tools.picture({ class: "w2s-lanes" }, drawing);
  const bars = tools.bars({ rows: 6, text: (value) => value.toLocaleString("en") });
  let width = 560;

  function parts() {
    const { words: V, positions: P, width: C, layers: L, tied, last } = now;
    return { words: V * C, "output layer": tied ? 0 : V * C, positions: P * C, attention: L * (4 * C * C + 4 * C),
      "feed-forward": L * (8 * C * C + 5 * C), norms: L * 4 * C + (last ? 2 * C : 0) };
  }
  const short = (count) => (count < 1e6 ? `${(count / 1e3).toPrecision(3)}K` : count < 1e9 ? `${(count / 1e6).toPrecision(4)}M` : `${(count / 1e9).toPrecision(4)}B`);

  function draw() {
    const found = parts(), whole = Object.values(found).reduce((a, b) => a + b), drawn = [], left = 8, right = width - 8;
    const place = tools.scale([2, 12], [left, right]), at = (count) => place(Math.max(2, Math.min(12, Math.log10(count))));
    let x = left;
    for (const [name, size] of Object.entries(found)) {
      const wide = size / whole * (right - left);
      if (size) drawn.push(svg("rect", { class: `w2s-area hue-${HUES[name]}`, x: x.toFixed(2), y: 0, width: Math.max(wide - 1, 0.5).toFixed(2), height: 34 }));
      x += wide;
    }
    drawn.push(svg("line", { class: "w2s-axis", x1: left, x2: right, y1: 84, y2: 84 }));
    for (const [power, name] of [[3, "1K"], [6, "1M"], [9, "1B"], [12, "1T"]])
      drawn.push(svg("text", { class: "w2s-tick", x: Math.min(place(power), right - 6), y: 108, "text-anchor": power === 12 ? "end" : "middle" }, name));
    for (const { parameters } of data.examples)
      drawn.push(svg("line", { class: "w2s-axis", x1: at(parameters), x2: at(parameters), y1: 72, y2: 92 }));
    drawn.push(svg("circle", { class: "w2s-dot-on-line", cx: at(whole).toFixed(1), cy: 84, r: 6 }),
      svg("text", { class: "w2s-axis-label", x: Math.max(30, Math.min(at(whole), right - 30)).toFixed(1), y: 62, "text-anchor": "middle" }, short(whole)));
    set(picture.node, { viewBox: `0 0 ${width} ${TALL}`, width });
    drawing.replaceChildren(...drawn);
    const share = (...names) => `${Math.round(100 * names.reduce((sum, name) => sum + found[name], 0) / whole)} %`;
    picture.name(`One bar: words ${share("words")}, output layer ${share("output layer")}, positions ${share("positions")}, blocks ${
      share("attention", "feed-forward", "norms")}. Below, a line of sizes with a dot at ${short(whole)}.`);
    bars.show(Object.entries(found).map(([label, value]) => ({ label, value, hue: HUES[label] })));
    const near = data.examples.find(({ parameters }) => parameters === whole);
    tools.say(`${near ? `${near.label}: ` : ""}${whole.toLocaleString("en")} parameters, ${share("attention", "feed-forward", "norms")} of them in ${
      now.layers} ${now.layers === 1 ? "block" : "blocks"}. ${now.tied ? "The output layer is the table of words once more." : "The output layer is a table of its own."}`);
    Object.assign(stage.dataset, { parameters: whole, width: now.width, layers: now.layers, tied: now.tied });
  }

  const slider = (label, key) => tools.slider({ label, min: 0, max: lists[key].length - 1, value: lists[key].indexOf(now[key]),
    text: (at) => lists[key][at].toLocaleString("en"), oninput(at) { now[key] = lists[key][at]; draw(); } });
  const sliders = { words: slider("Words V", "words"), positions: slider("Positions P", "positions"), width: slider("Width C", "width"), layers: slider("Blocks L", "layers") };
  const tie = tools.choice({ legend: "Output layer", value: "tied", options: [{ key: "tied", label: "tied" }, { key: "own", label: "its own" }],
    onchange(key) { now.tied = key === "tied"; draw(); } });
  const picks = tools.choice({ legend: "Model", value: now.label, options: data.examples.map(({ label }) => ({ key: label, label })),
    onchange(label) {
      Object.assign(now, data.examples.find((one) => one.label === label));
      for (const [key, one] of Object.entries(sliders)) one.set(lists[key].indexOf(now[key]));
      tie.set(now.tied ? "tied" : "own");
      draw();
    } });
  stage.append(tools.bar(picks), tools.bar(sliders.words, sliders.positions), tools.bar(sliders.width, sliders.layers), tools.bar(tie), picture.node,
    tools.el("p", { class: "w2s-cut-name" }, "Parameters of each part; on the line the published models"), bars.node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
