/* DPO on one pair: two log-ratios and beta give implied rewards, a probability, a loss, and how hard it pulls.

   data = {pairs: [{label, chosen: 0.0, rejected: 0.0}, ...], beta: 0.1, most: 12}
   A log-ratio is log p(answer) under the model less that under the reference, in nats. The loss is
   reference_impl.objectives.dpo.dpo_terms; each gradient is beta times the probability that the pair is still held wrong. */
window.w2s.register("preference-pull", function (stage, data, tools) {
  "use strict";
  const { most } = data, tall = 200, axis = tools.axes({ xLabel: "margin: the difference of the implied rewards", yLabel: "loss" });
  const picture = tools.picture({ class: "w2s-axes-picture" }, axis.node), bars = tools.bars({ rows: 2, text: (value) => `${(100 * value).toFixed(1)} %` });
  let { chosen, rejected } = data.pairs[0], beta = data.beta, width = 560;
  const signed = (value, digits = 2) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
  const lossAt = (margin) => Math.max(0, -margin) + Math.log1p(Math.exp(-Math.abs(margin)));

  function draw() {
    const margin = beta * (chosen - rejected), loss = lossAt(margin), held = 1 / (1 + Math.exp(-margin)), pull = beta * (1 - held);
    const x = tools.scale([-6, 6], [44, width - 12]), y = tools.scale([0, 6.2], [tall, 22]);
    tools.set(picture.node, { viewBox: `0 0 ${width} ${tall + 40}`, width });
    axis.show({ x, y, box: [44, 22, width - 12, tall], many: [6, 4], dot: [Math.max(-6, Math.min(6, margin)), Math.min(6.2, loss)],
      lines: [{ points: Array.from({ length: 97 }, (_, n) => [-6 + n / 8, lossAt(-6 + n / 8)]) },
        { points: [[0, 0], [0, 6.2]], hue: "grey", line: "dotted" }] });
    picture.name(`The loss falls with the margin; here the margin is ${margin.toFixed(2)} and the loss ${loss.toFixed(3)}.`);
    bars.show([{ label: "held right", value: held, hue: "blue" }, { label: "pull left", value: 1 - held, hue: "orange" }], { most: 1 });
    const both = chosen < 0 && rejected < 0 && chosen > rejected ? " Both answers are less likely than before, and the pair is held right all the same." : "";
    tools.say(`Implied rewards ${signed(beta * chosen)} and ${signed(beta * rejected)}, margin ${signed(margin)}: loss ${loss.toFixed(3)}. `
      + `One nat more for the chosen answer changes it by ${signed(-pull, 4)}, one more for the rejected by ${signed(pull, 4)}.${both}`);
    Object.assign(stage.dataset, { chosen, rejected, beta, margin, loss, pull });
  }
  const nats = (label, value, change) => tools.slider({ label, min: -most, max: most, step: 0.1, value, text: (now) => `${signed(now, 1)} nats`, oninput(now) { change(now); draw(); } });
  const sliders = { chosen: nats("Chosen answer", chosen, (now) => { chosen = now; }), rejected: nats("Rejected answer", rejected, (now) => { rejected = now; }) };
  const BETAS = [0.01, 0.03, 0.1, 0.3, 0.5, 1];
  const betas = tools.slider({ label: "β", min: 0, max: BETAS.length - 1, value: BETAS.indexOf(beta), text: (n) => String(BETAS[n]), oninput(n) { beta = BETAS[n]; draw(); } });
  const picks = tools.choice({ legend: "A pair", value: data.pairs[0].label, options: data.pairs.map(({ label }) => ({ key: label, label })), onchange(label) {
    ({ chosen, rejected } = data.pairs.find((one) => one.label === label));
    sliders.chosen.set(chosen);
    sliders.rejected.set(rejected);
    draw();
  } });
  stage.append(tools.bar(picks), tools.bar(sliders.chosen, sliders.rejected), tools.bar(betas), picture.node, bars.node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
