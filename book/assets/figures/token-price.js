/* The same sentence in many languages: how many tokens each needs, as a multiple of English.

   data = {
     counters: [{key: "gpt2", label: "GPT-2"}, ...],     tokenizers, and bytes
     languages: [{name: "Hindi", text: "...", counts: {gpt2: 291, ...}, lost: {bert: 3}}, ...]   English first
   } */
window.w2s.register("token-price", function (stage, data, tools) {
  "use strict";
  const { el } = tools, bars = tools.bars({ rows: data.languages.length, text: (value) => `${value.toFixed(2)}×` });
  const text = el("blockquote", { class: "w2s-quoted" });
  const english = data.languages[0], dearest = Math.max(...data.counters.flatMap(({ key }) =>
    data.languages.map(({ counts }) => counts[key] / english.counts[key])));
  let key = data.counters[0].key;
  bars.node.classList.add("w2s-many");
  let { name: chosen } = data.languages.reduce((a, b) => (b.counts[key] > a.counts[key] ? b : a));

  function show() {
    const label = data.counters.find((one) => one.key === key).label;
    const one = data.languages.find(({ name }) => name === chosen), times = one.counts[key] / english.counts[key];
    bars.show(data.languages.map(({ name, counts, lost }) => ({ label: name, value: counts[key] / english.counts[key],
      hue: name === chosen ? "orange" : "blue", note: lost[key] ? `(${lost[key]} unknown)` : "" })), { most: dearest });
    text.textContent = one.text;
    Object.assign(stage.dataset, { key, language: chosen, times: times.toFixed(3) });
    tools.say(`${label}: ${one.name} needs ${one.counts[key]} where English needs ${english.counts[key]}, `
      + `${times.toFixed(2)} times as many${one.lost[key] ? `; ${one.lost[key]} of them are unknown, and their text is lost`
        : ""}.`);
  }
  const counter = tools.choice({ legend: "Counted in", value: key, options: data.counters, onchange(picked) {
    key = picked;
    show();
  } });
  const language = tools.select({ label: "Read", options: data.languages.map(({ name }) => name), value: chosen,
    onchange(name) { chosen = name; show(); } });
  stage.append(tools.bar(language, counter), bars.node, text);
  show();
});
