/* A recorded training, scrubbed: loss beside that of counts, rate, length of the gradient, and what the model writes at that step.

   data = {
     training: [[step, loss, rate, norm], ...]     a point is the mean of the steps since the one before
     held: [[step, nats], ...], clip: 1            loss on held-out text; the gradient's limit
     levels: [{label: "3-gram", nats}, ...]        what counts of the same tokens reach on the held-out text
     stages: [{step, text, rate, loss}, ...]       what it wrote after so many steps, in their order
   } */
window.w2s.register("training-run", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { training, held, levels, stages } = data, HUES = ["green", "purple", "orange", "yellow"], end = training[training.length - 1][0];
  const parts = [{ tall: 190, name: "nats a token" }, { tall: 66, name: "learning rate, in thousandths" }, { tall: 66, name: "length of the gradient" }];
  const axes = parts.map(({ name }, n) => tools.axes({ yLabel: name, xLabel: n === 2 ? "steps, ever wider apart to the left" : "" }));
  const picture = tools.picture({ class: "w2s-axes-picture" }, ...axes.map((axis) => axis.node)), written = el("p", { class: "w2s-quoted" });
  let width = 560, at = 0;
  const spread = (step) => Math.log2(step + 20);                       // the first steps, where most happens, get room

  function draw() {
    const now = stages[at], x = tools.scale([spread(0), spread(end)], [44, width - 12]), near = training.find(([step]) => step >= now.step) || training[training.length - 1];
    const place = (list, column) => list.map((row) => [spread(row[0]), row[column]]);
    const lowest = Math.floor(Math.min(...held.map(([, nats]) => nats), ...levels.map((level) => level.nats), ...training.map((row) => row[1])));
    const limits = [[lowest, Math.ceil(training[0][1])], [0, Math.max(...training.map((row) => 1000 * row[2]))], [0, Math.min(4, Math.max(...training.map((row) => row[3])))]];
    const lines = [[{ points: place(training, 1) }, { points: place(held, 1), hue: "yellow", line: "dotted" },
      ...levels.map((level, n) => ({ points: [[spread(0), level.nats], [spread(end), level.nats]], hue: HUES[n], line: "dashed" }))],
    [{ points: place(training.map(([step, , rate]) => [step, 1000 * rate]), 1) }],
    [{ points: place(training.map(([step, , , norm]) => [step, Math.min(norm, 4)]), 1) }, { points: [[spread(0), data.clip], [spread(end), data.clip]], hue: "orange", line: "dashed" }]];
    let top = 22;
    parts.forEach(({ tall }, n) => {
      const y = tools.scale(limits[n], [top + tall, top]), shown = [near[1], 1000 * near[2], Math.min(4, near[3])][n];
      axes[n].show({ x: null, y, box: [44, top, width - 12, top + tall], many: [0, n ? 2 : 4], dot: null,
        lines: lines[n].map((line) => ({ ...line, points: line.points.map(([a, b]) => [x(a).toFixed(1), b]) })) });
      axes[n].node.append(tools.svg("line", { class: "w2s-playhead", x1: x(spread(now.step)), x2: x(spread(now.step)), y1: top, y2: top + tall }),
        tools.svg("circle", { class: "w2s-dot-on-line", cx: x(spread(near[0])), cy: y(shown), r: 4 }));
      top += tall + (n === 1 ? 34 : 36);
    });
    for (const step of [0, 100, 1000, end]) axes[2].node.append(tools.svg("text", { class: "w2s-tick", x: x(spread(step)), y: top - 18, "text-anchor": "middle" }, step.toLocaleString("en")));
    tools.set(picture.node, { viewBox: `0 0 ${width} ${top + 6}`, width });
    picture.name(`Loss, rate and gradient of a training of ${end.toLocaleString("en")} steps; marked is step ${now.step}.`);
    written.textContent = now.text;
    const heard = held.filter(([step]) => step <= now.step).pop(), under = heard ? levels.filter((level) => heard[1] < level.nats).map(({ label }) => label) : [];
    tools.say(`${now.step ? `After ${now.step.toLocaleString("en")} steps` : `Before the first step; then, to step ${near[0]}`}: loss ${near[1].toFixed(2)} in training, rate ${near[2].toFixed(5)}, gradient ${
      near[3].toFixed(2)} long${near[3] > data.clip ? ", so it is shortened" : ""}. ${heard ? `Held out ${heard[1].toFixed(2)}: ${under.length ? `lower than ${under.join(", ")}` : "no count of tokens is passed"}.` : "Not yet measured on held-out text."}`);
    Object.assign(stage.dataset, { step: now.step, loss: near[1], text: now.text });
  }

  const steps = tools.stepper({ label: "Steps", count: stages.length, text: (n) => stages[n].step.toLocaleString("en"), every: 1600, show(n) { at = n; draw(); } });
  stage.append(tools.bar(...steps.nodes), picture.node, tools.legend([{ label: "in training", line: "solid", hue: "blue" }, { label: "held out", line: "dotted", hue: "yellow" },
    ...levels.map(({ label }, n) => ({ label, line: "dashed", hue: HUES[n] }))]).node, written);
  tools.onWidth((pixels) => { width = pixels; draw(); });
  steps.begin();
});
