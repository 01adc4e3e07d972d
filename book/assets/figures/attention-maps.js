/* What each head of a trained encoder looks at: a map of weights, and for one word the scores that made them.

   data = {
     examples: [{label, tokens: ["[CLS]", "we", ...], at: 5, scores: [layer][head][query][key]}]
                                       recorded from the model, before the softmax; `at`: the word asked about first
     layer: 0, head: 4                 which map is shown first
   } */
window.w2s.register("attention-maps", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { examples } = data, words = el("div", {}), picture = el("div", { class: "w2s-scroll", tabindex: 0,
    role: "group", "aria-label": "Map" }), title = el("p", { class: "w2s-cut-name" });
  const longest = Math.max(...examples.map(({ tokens }) => tokens.length));
  const bars = tools.bars({ rows: longest, text: (share) => `${(100 * share).toFixed(1)} %` });
  let now = examples[0], { layer, head } = data, at = now.at, line = null, map = null;

  function begin() {
    at = now.at;
    line = tools.tokenLines([now.tokens], { onpick(_, place) { at = place; draw(); } });
    map = tools.matrix({ rows: now.tokens, columns: now.tokens, cell: 30 });
    words.replaceChildren(line.node);
    picture.replaceChildren(map.node);
    draw();
  }

  function softmax(scores) {
    const high = Math.max(...scores), powers = scores.map((score) => Math.exp(score - high));
    const sum = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / sum);
  }

  function draw() {
    const { tokens } = now, scores = now.scores[layer][head], weights = scores.map(softmax), row = weights[at];
    const most = row.indexOf(Math.max(...row));
    line.show({ focus: [0, at], levels: [row] });
    map.show({ values: weights, most: 1, row: at, columns: [most], text: (share) => (share < 0.05 ? ""
      : `${Math.round(100 * share)}`) });
    map.name(`Weights in percent of layer ${layer + 1}, head ${head + 1}: a row for each word that asks.`);
    title.textContent = `What ${tokens[at]} asks: each key's score, and its weight`;
    bars.show(tokens.map((token, s) => ({ label: `${token}: ${scores[at][s].toFixed(2)}`, value: row[s], hue: s === most
      ? "orange" : "grey" })), { most: 1 });
    Object.assign(stage.dataset, { layer, head, at, label: now.label, weights: JSON.stringify(row) });
    tools.say(`Layer ${layer + 1}, head ${head + 1}: “${tokens[at]}” looks most at “${tokens[most]}”, with ${(100
      * row[most]).toFixed(0)} % of the weight.`);
  }

  const of = (name, count, value, oninput) => tools.slider({ label: name, min: 1, max: count, value: value + 1,
    text: (number) => `${number} of ${count}`, oninput(number) { oninput(number - 1); draw(); } });
  const layers = of("Layer", now.scores.length, layer, (number) => { layer = number; });
  const heads = of("Head", now.scores[0].length, head, (number) => { head = number; });
  const picks = tools.choice({ legend: "Sentence", value: now.label, options: examples.map(({ label }) => ({ key: label,
    label })), onchange(key) { now = examples.find(({ label }) => label === key); begin(); } });
  stage.append(tools.bar(picks), tools.bar(layers, heads), words, picture, title, bars.node);
  begin();
});
