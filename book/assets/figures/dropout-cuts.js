/* Segmentations of a word under BPE-dropout, as often as each was drawn.

   data = {
     rates: [0, 0.1, ...]
     words: [{word: "riverbank", found: [[{cut: ["river", "bank"], part: 1}, ...], ...]}, ...]     for each rate, the most frequent first
     task,
     start: 0.1                                optional, the rate to begin at (default: the first)
   } */
window.w2s.register("dropout-cuts", function (stage, data, tools) {
  "use strict";
  const { el } = tools, most = Math.max(...data.words.flatMap(({ found }) => found.map((one) => one.length)));
  const bars = tools.bars({ rows: most, text: (value) => `${(100 * value).toFixed(1)} %` });
  bars.node.classList.add("w2s-wide");
  let [chosen] = data.words, at = Math.max(0, data.rates.indexOf(data.start));

  function show() {
    const found = chosen.found[at], usual = chosen.found[0][0].cut.join("|");
    bars.show(found.map(({ cut, part }) => ({ label: cut.join(" | "), value: part, hue: cut.join("|") === usual ? "orange" : "blue" })), { most: 1 });
    Object.assign(stage.dataset, { rate: String(data.rates[at]), best: JSON.stringify(found[0].cut) });
    const all = found.reduce((sum, { part }) => sum + part, 0);
    tools.say(`Dropout ${data.rates[at]}: the most frequent segmentation of ${chosen.word.trim()} is ${found[0].cut.join(" | ")}, `
      + `drawn ${(100 * found[0].part).toFixed(1)} % of the time. The bars cover ${(100 * all).toFixed(0)} % of the samples.`);
  }
  const rate = tools.slider({ label: "Dropout", min: 0, max: data.rates.length - 1, value: at,
    text: (value) => String(data.rates[Number(value)]), oninput(value) { at = Number(value); show(); } });
  const word = tools.choice({ legend: "Word", value: chosen.word, options: data.words.map(({ word: key }) => ({ key, label: key.replace(" ", "␣") })),
    onchange(picked) { chosen = data.words.find(({ word: key }) => key === picked); show(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), bars.node, tools.bar(rate, word));
  show();
});
