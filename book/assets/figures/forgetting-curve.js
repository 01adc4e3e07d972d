/* What was left of learned lists after some time, and an exponential that the reader tries to lay through it.

   data = {
     points: [[20, 0.582], ...],        minutes, and the share of work that was saved
     law: {k: 1.84, c: 1.25},           the published curve: k / (log10(t)^c + k)
     best: {start: 0.5, half: 9000},    the exponential that comes nearest: its value at once, its half-life in minutes
     start: 0.9, half: 1440             the reader's, at first
   } */
window.w2s.register("forgetting-curve", function (stage, data, tools) {
  "use strict";
  const tall = 220, log = Math.log10, range = [1, 5], names = [[1, "10 min"], [log(60), "1 h"], [log(1440), "1 day"], [log(10080), "1 week"], [log(43200), "30 days"]];
  const axes = tools.axes({ xLabel: "time since learning", yLabel: "share saved", text: (value) => `${Math.round(100 * value)} %` });
  const picture = tools.picture({ class: "w2s-axes-picture" }, axes.node);
  const law = (t) => data.law.k / (log(t) ** data.law.c + data.law.k), fall = (one) => (t) => one.start * 2 ** (-t / one.half);
  const off = (curve) => Math.sqrt(data.points.reduce((sum, [t, share]) => sum + (curve(t) - share) ** 2, 0) / data.points.length);
  const time = (minutes) => (minutes < 90 ? `${Math.round(minutes)} minutes` : minutes < 2160 ? `${(minutes / 60).toFixed(1)} hours` : `${(minutes / 1440).toFixed(1)} days`);
  let { start, half } = data, width = 560;

  function draw() {
    const mine = { start, half }, x = tools.scale(range, [48, width - 40]), y = tools.scale([0, 1], [tall, 20]);
    const along = (curve) => Array.from({ length: 121 }, (_, n) => range[0] + n * (range[1] - range[0]) / 120).map((place) => [x(place).toFixed(1), curve(10 ** place)]);
    tools.set(picture.node, { viewBox: `0 0 ${width} ${tall + 42}`, width });
    axes.show({ x: null, y, box: [48, 20, width - 12, tall], many: [0, 5], lines: [{ points: along(law), hue: "grey", line: "dotted" }, { points: along(fall(mine)), hue: "blue" }] });
    for (const [place, name] of names) if (width > 440 || name !== "1 week") axes.node.append(tools.svg("text", { class: "w2s-tick", x: x(place), y: tall + 17, "text-anchor": "middle" }, name));
    for (const [t, share] of data.points) axes.node.append(tools.svg("circle", { class: "w2s-mark hue-orange", cx: x(log(t)), cy: y(share), r: 5 }));
    const errors = [fall(mine), fall(data.best), law].map(off), points = (error) => (100 * error).toFixed(1);
    picture.name(`Seven measured points, the published curve, and an exponential with a half-life of ${time(half)}.`);
    tools.say(`Your exponential begins at ${Math.round(100 * start)} % and halves every ${time(half)}. It misses the measurements by ${points(errors[0])} percentage points (root mean square); the best exponential by ${points(errors[1])}, the published curve by ${points(errors[2])}.`);
    Object.assign(stage.dataset, { start: start.toFixed(2), half: Math.round(half), error: errors[0].toFixed(4), best: errors[1].toFixed(4), law: errors[2].toFixed(4) });
  }
  const first = tools.slider({ label: "Begins at", min: 20, max: 100, value: Math.round(100 * start), text: (value) => `${value} %`, oninput(value) { start = Number(value) / 100; draw(); } });
  const slow = tools.slider({ label: "Halves every", min: 100, max: 600, value: Math.round(100 * log(half)), text: (value) => time(10 ** (value / 100)), oninput(value) { half = 10 ** (Number(value) / 100); draw(); } });
  const give = tools.button("Best exponential", () => { ({ start, half } = data.best); first.set(Math.round(100 * start)); slow.set(Math.round(100 * log(half))); draw(); });
  stage.append(tools.bar(first, slow), tools.bar(give), picture.node, tools.legend([{ label: "measured", mark: 0, hue: "orange" }, { label: "your exponential", line: "solid", hue: "blue" }, { label: "the published curve", line: "dotted", hue: "grey" }]).node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
