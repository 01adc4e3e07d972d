/* Probe words on a line between two words, by the logarithm of the ratio of their probabilities.

   data = {
     first: "ice", second: "steam",
     probes: [{word: "solid", first: 190, second: 22, ratio: 8.9}, ...],   how often the probe occurs near either word,
                                                                           per million words, and the published ratio
     task: "Where ..."                                                     what the reader is to do
   } */
window.w2s.register("probe-ratio", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, HEIGHT = 190, reach = 3;
  const shown = new Set(tools.asStill ? data.probes.map((_, k) => k) : [0]);
  const logs = data.probes.map((probe) => Math.log(probe.ratio));
  const axis = svg("line", { class: "w2s-axis", y1: 120, y2: 120 }), zero = svg("line", { class: "w2s-grid", y1: 24, y2: 126 });
  const names = [data.second, data.first].map((word, k) => svg("text", { class: "w2s-axis-label", y: 176,
    "text-anchor": k ? "end" : "start" }, k ? `${word} →` : `← ${word}`));
  const ticks = [-2, 0, 2].map((value) => svg("text", { class: "w2s-tick", y: 142, "text-anchor": "middle" },
    String(value).replace("-", "−")));
  const title = svg("text", { class: "w2s-axis-label", y: 158, "text-anchor": "middle" }, "log ratio");
  const dots = data.probes.map((probe, k) => svg("g", {}, tools.mark({ hue: "blue", mark: k % 4 === 3 ? 4 : k % 4 }),
    svg("line", { class: "w2s-grid", y1: 8, y2: 120 - 36 - 22 * (k % 3) }),
    svg("text", { class: "w2s-word", y: -10, "text-anchor": "middle" }, probe.word)));
  const picture = tools.picture({ class: "w2s-chart" }, zero, axis, ...ticks, title, ...names, ...dots);
  let at = 0, x = null;

  function draw() {
    dots.forEach((dot, k) => set(dot, { visibility: shown.has(k) ? "visible" : "hidden" }));
    const { word, first, second, ratio } = data.probes[at], digits = ratio < 0.1 ? 3 : ratio < 2 ? 2 : 1;
    const side = Math.abs(logs[at]) < 0.5 ? "it says little about the difference"
      : `it goes with “${ratio > 1 ? data.first : data.second}”`;
    Object.assign(stage.dataset, { at, log: logs[at].toFixed(4), shown: shown.size });
    picture.name(`Log ratios: ${[...shown].map((k) => `${data.probes[k].word} ${logs[k].toFixed(2)}`).join(", ")}.`);
    tools.say(`“${word}” per million words: ${first} near “${data.first}”, ${second} near “${data.second}”. `
      + `Ratio ${ratio.toFixed(digits)}, log ${logs[at].toFixed(1).replace(/^-0.0$/, "0.0").replace("-", "−")}: ${side}.`);
  }

  const probes = tools.choice({ legend: "Probe word", value: "0", options: data.probes.map(({ word }, k) => ({ key: String(k),
    label: word })), onchange(key) { at = Number(key); shown.add(at); draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(probes));
  tools.onWidth((width) => {
    x = tools.scale([-reach, reach], [30, width - 30]);
    set(picture.node, { viewBox: `0 0 ${width} ${HEIGHT}`, width });
    set(axis, { x1: 20, x2: width - 20 }); set(zero, { x1: x(0), x2: x(0) });
    set(names[0], { x: 20 }); set(names[1], { x: width - 20 }); set(title, { x: x(0) });
    [-2, 0, 2].forEach((value, k) => set(ticks[k], { x: x(value) }));
    dots.forEach((dot, k) => tools.move(dot, x(Math.max(-reach, Math.min(reach, logs[k]))), 36 + 22 * (k % 3)));
  });
  draw();
});
