/* A training stopped at some steps: its loss on held-out text beside that of counts, and what it predicts at each stop.

   data = {
     curve: [[step, nats], ...],                    of the training, measured on held-out text
     other: {label, points: [[step, nats], ...]}    a training that began otherwise
     levels: [{label: "unigram", nats}, ...]        what counts alone reach
     stages: [{step, nats, filled: [{text, fillings: [["land", 0.08], ...]}, ...]}, ...]
   } */
window.w2s.register("training-stages", function (stage, data, tools) {
  "use strict";
  const { curve, other, levels, stages } = data, texts = stages[0].filled.map(({ text }) => text), tall = 230;
  const HUES = ["purple", "green", "orange"], axis = tools.axes({ xLabel: "steps", yLabel: "MLM loss (nats)" });
  const picture = tools.picture({ class: "w2s-axes-picture" }, axis.node), bars = tools.bars({ rows: 5, text: (share) => `${(100
    * share).toFixed(1)} %` });
  const end = curve[curve.length - 1][0];
  let width = 560, text = texts[0], at = 0;

  function draw() {
    const { step, nats, filled } = stages[at], { fillings } = filled.find((one) => one.text === text);
    const all = [...curve.map(([, y]) => y), ...levels.map((one) => one.nats), ...stages.map((one) => one.nats)];
    const x = tools.scale([0, end], [44, width - 12]), y = tools.scale([Math.floor(Math.min(...all)), Math.ceil(Math.max(...all))], [tall, 22]);
    tools.set(picture.node, { viewBox: `0 0 ${width} ${tall + 40}`, width });
    axis.show({ x, y, box: [44, 22, width - 12, tall], many: [width / 110, 4], dot: [step, nats], lines: [{ points: curve },
      { points: other.points, hue: "yellow", line: "dotted" },
      ...levels.map((level, n) => ({ points: [[0, level.nats], [end, level.nats]], hue: HUES[n], line: "dashed" }))] });
    picture.name(`The loss falls from ${stages[0].nats.toFixed(2)} to ${stages[stages.length - 1].nats.toFixed(2)} nats; here ${nats.toFixed(2)}.`);
    const most = Math.max(...stages.flatMap((one) => one.filled.find((blank) => blank.text === text).fillings.map(([, share]) => share)));
    bars.show(fillings.map(([label, value]) => ({ label, value })), { most });
    const under = levels.filter((level) => nats < level.nats).map(({ label }) => label).join(", ");
    tools.say(`After ${step.toLocaleString("en")} steps: ${nats.toFixed(2)} nats, ${under ? `below ${under}` : "no better than counting words"}. `
      + `Predicted for [MASK]: ${fillings.slice(0, 3).map(([token]) => `“${token}”`).join(", ")}.`);
    Object.assign(stage.dataset, { step, nats, text, fillings: JSON.stringify(fillings) });
  }

  const steps = tools.stepper({ label: "Steps", count: stages.length, text: (n) => stages[n].step.toLocaleString("en"), every: 1400,
    show(n) { at = n; draw(); } });
  const picks = tools.choice({ legend: "Text", value: text, options: texts.map((one) => ({ key: one, label: one.replaceAll("[MASK]", "___") })),
    onchange(key) { text = key; draw(); } });
  stage.append(tools.bar(...steps.nodes), picture.node, tools.legend([{ label: "training", line: "solid", hue: "blue" },
    { label: other.label, line: "dotted", hue: "yellow" }, ...levels.map(({ label }, n) => ({ label, line: "dashed", hue: HUES[n] }))]).node,
  tools.bar(picks), bars.node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
  steps.begin();
});
