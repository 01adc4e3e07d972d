/* Four changes to the logits of a few tokens, and the probabilities before and after.

   data = {
     task: "Make ...",
     tokens: [{text: " bank", logit: 3, prompt: 1, output: 2}, ...],     how often it occurs in the prompt and in the output
     at: 0                                                              the token that gets the bias
   }
   The order is that of generation/processors: bias, repetition, presence, frequency. */
window.w2s.register("penalised-logits", function (stage, data, tools) {
  "use strict";
  const { el } = tools, knobs = { frequency: 0, presence: 0, repetition: 1, bias: 0 }, percent = (share) => `${(100 * share).toFixed(1)} %`;
  const signed = (value) => value.toFixed(1).replace("-", "−"), bars = tools.bars({ rows: data.tokens.length, text: percent });
  let { at } = data;

  function changed({ logit, prompt, output }, place) {
    let value = logit + (place === at ? knobs.bias : 0);
    if (prompt + output) value = value > 0 ? value / knobs.repetition : value * knobs.repetition;
    return value - knobs.presence * (output > 0) - knobs.frequency * output;
  }
  function shares(logits) {
    const most = Math.max(...logits), powers = logits.map((logit) => Math.exp(logit - most)), sum = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / sum);
  }
  function draw() {
    const logits = data.tokens.map(changed), before = shares(data.tokens.map(({ logit }) => logit)), after = shares(logits);
    const first = after.indexOf(Math.max(...after));
    bars.show(data.tokens.map(({ text, prompt, output }, place) => ({ label: `${text.replace(" ", "␣")}  ${prompt} + ${output}`, value: after[place],
      hue: place === first ? "orange" : "blue", note: percent(before[place]) === percent(after[place]) ? "" : `was ${percent(before[place])}` })), { most: 1 });
    Object.assign(stage.dataset, { ...knobs, at, logits: JSON.stringify(logits), probabilities: JSON.stringify(after) });
    const { text, logit } = data.tokens[at];
    tools.say(`The most probable token is “${data.tokens[first].text.trim()}”, with ${percent(after[first])}. The logit of “${text.trim()}” went from ${signed(logit)} to ${signed(logits[at])}.`);
  }
  const knob = (key, label, min, max, step) => tools.slider({ label, min, max, step, value: knobs[key], text: signed, oninput(value) { knobs[key] = value; draw(); } });
  const sliders = [knob("frequency", "Frequency", -2, 2, 0.1), knob("presence", "Presence", -2, 2, 0.1), knob("repetition", "Repetition", 1, 2, 0.1), knob("bias", "Bias", -10, 10, 0.5)];
  const names = tools.choice({ legend: "Bias for", value: String(at), options: data.tokens.map(({ text }, place) => ({ key: String(place), label: text.trim() })),
    onchange(key) { at = Number(key); draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), el("p", { class: "w2s-note" }, "Next to each token: how often it occurs in the prompt + in the output."),
    bars.node, tools.bar(...sliders), tools.bar(names));
  draw();
});
