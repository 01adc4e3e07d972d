/* Recorded trainings that differ in one setting: each seed's loss, and what it reaches on texts that were held out.

   data = {
     groups: [{key: "rate", label: "rate", settings: [{label: "0.0001", loss: [[0.69, 0.5, ...], ...], accuracy: [0.77, ...]}, ...]}, ...],
                                    a list of losses and an accuracy for each seed; a point of the loss is a mean of `every` steps
     every: 6, levels: [{label: "head alone", mean: 0.72, half: 0.04}, ...]         what else was tried on the same texts
     start: {rate: 0}               the setting that is shown first in a group, where it is not the middle one
   } */
window.w2s.register("tuned-runs", function (stage, data, tools) {
  "use strict";
  const HUES = ["blue", "green", "purple", "yellow", "grey"], tall = 200, holder = tools.bar(), percent = (share) => `${(100 * share).toFixed(1)} %`;
  const axis = tools.axes({ xLabel: "steps", yLabel: "loss in training, a line a seed" });
  const picture = tools.picture({ class: "w2s-axes-picture" }, axis.node);
  const seeds = data.groups[0].settings[0].accuracy.length, bars = tools.bars({ rows: seeds + data.levels.length, text: percent });
  let group = data.groups[0], at = 0, width = 560, steps = null;
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  function draw() {
    const { label, loss, accuracy } = group.settings[at], all = data.groups.flatMap((one) => one.settings);
    const end = data.every * Math.max(...group.settings.flatMap((one) => one.loss.map((line) => line.length)));
    const most = Math.min(2, Math.max(...all.flatMap((one) => one.loss.flat())));
    const x = tools.scale([0, end], [44, width - 12]), y = tools.scale([0, most], [tall, 22]);
    tools.set(picture.node, { viewBox: `0 0 ${width} ${tall + 40}`, width });
    axis.show({ x, y, box: [44, 22, width - 12, tall], many: [width / 110, 4], lines: [
      { points: [[0, Math.LN2], [end, Math.LN2]], hue: "orange", line: "dashed" },
      ...loss.map((line, seed) => ({ points: line.map((value, n) => [(n + 0.5) * data.every, Math.min(value, most)]), hue: HUES[seed % HUES.length] }))] });
    bars.show([...accuracy.map((value, seed) => ({ label: `seed ${seed}`, value, hue: HUES[seed % HUES.length] })),
      ...data.levels.map((level) => ({ label: level.label, value: level.mean, hue: "orange" }))], { most: 1 });
    picture.name(`The loss of ${seeds} seeds with ${group.label} ${label}.`);
    const last = mean(loss.map((line) => line[line.length - 1]));
    tools.say(`${group.label} ${label}: ${percent(mean(accuracy))} of the held-out texts on average, between ${percent(Math.min(...accuracy))} and `
      + `${percent(Math.max(...accuracy))}. The loss ends at ${last.toFixed(2)}${last > 0.67 ? ", where a coin's is" : ""}.`);
    Object.assign(stage.dataset, { group: group.key, setting: label, mean: mean(accuracy).toFixed(4) });
  }
  function build() {
    at = data.start[group.key] ?? Math.floor(group.settings.length / 2);
    const first = at;
    steps = tools.stepper({ label: group.label, count: group.settings.length, text: (n) => group.settings[n].label, every: 1500, still: first, show(n) { at = n; draw(); } });
    holder.replaceChildren(...steps.nodes);
    steps.go(first);
  }
  const picks = tools.choice({ legend: "What differs", value: group.key, options: data.groups.map(({ key, label }) => ({ key, label })),
    onchange(key) { group = data.groups.find((one) => one.key === key); build(); } });
  stage.append(tools.bar(picks), holder, picture.node, tools.legend([{ label: "a coin's loss, ln 2", line: "dashed", hue: "orange" }]).node, bars.node);
  build();
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
