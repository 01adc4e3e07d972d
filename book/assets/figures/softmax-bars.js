/* A softmax over a few words whose logits the reader changes, one at a time or all at once.

   data = {
     words: ["river", ...], scores: [1.4, ...],   at most six words, with their logits at the start
     at: 0,                                       the word whose logit the slider changes at first
     task: "Add ..."                              what the reader is to do
   } */
window.w2s.register("softmax-bars", function (stage, data, tools) {
  "use strict";
  const { el } = tools, scores = data.scores.slice(), number = (value) => value.toFixed(2).replace("-", "−");
  const bars = tools.bars({ rows: data.words.length, text: (value) => `${(100 * value).toFixed(1)} %` });
  let at = data.at, shift = 0;

  function draw() {
    const logits = scores.map((score) => score + shift), most = Math.max(...logits);
    const powers = logits.map((logit) => Math.exp(logit - most)), sum = powers.reduce((a, b) => a + b);
    const shares = powers.map((power) => power / sum), first = shares.indexOf(Math.max(...shares));
    bars.show(shares.map((value, k) => ({ label: `${data.words[k]}  ${number(logits[k])}`, value,
      hue: k === at ? "orange" : "blue" })), { most: 1 });
    Object.assign(stage.dataset, { at, shift, probabilities: JSON.stringify(shares) });
    tools.say(`“${data.words[first]}” is the most probable word, with ${(100 * shares[first]).toFixed(1)} %. `
      + `“${data.words[at]}” has the logit ${number(logits[at])} and ${(100 * shares[at]).toFixed(1)} %.`);
  }

  const words = tools.choice({ legend: "Change", value: String(at),
    options: data.words.map((label, k) => ({ key: String(k), label })),
    onchange(key) { at = Number(key); one.set(scores[at]); draw(); } });
  const one = tools.slider({ label: "Its logit", min: -4, max: 6, step: 0.01, value: scores[at], text: number,
    oninput(value) { scores[at] = value; draw(); } });
  const all = tools.slider({ label: "Add to all", min: -5, max: 5, step: 1, value: 0, text: number,
    oninput(value) { shift = value; draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), bars.node, tools.bar(words), tools.bar(one, all));
  draw();
});
