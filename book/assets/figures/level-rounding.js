/* A weight is rounded to the nearest level of a four-bit format, under the density of a block of trained weights.

   data = {
     formats: [{key, label, levels: [-1, ..., 1]}, ...],   ascending
     spread: 0.38,                                         the standard deviation of weights divided by their block's largest
     at: 0.3, format: "nf4",                               where slider and choice begin
     task: "Compare ..."
   } */
window.w2s.register("level-rounding", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, HEIGHT = 176, BASE = 132;
  const density = (w) => Math.exp(-0.5 * (w / data.spread) ** 2);
  const curve = svg("polyline", { class: "w2s-line is-solid hue-grey" }), axis = svg("line", { class: "w2s-axis", y1: BASE, y2: BASE });
  const marks = svg("g", {}), bin = svg("rect", { class: "w2s-area hue-orange", y: 24, height: BASE - 24, opacity: 0.25 });
  const dot = svg("circle", { class: "w2s-dot-on-line", r: 5 }), arrow = svg("line", { class: "w2s-line is-solid hue-orange", y1: BASE + 14, y2: BASE + 14 });
  const ticks = [-1, -0.5, 0, 0.5, 1].map((value) => svg("text", { class: "w2s-tick", y: HEIGHT - 6, "text-anchor": "middle" }, String(value).replace("-", "−")));
  const picture = tools.picture({ class: "w2s-chart" }, bin, curve, axis, marks, arrow, dot, ...ticks);
  let weight = data.at, key = data.format, width = 560, x = null;

  /* The fraction of normally distributed weights within [low, high], by a sum over a fine grid. */
  function mass(low, high) {
    let inside = 0, all = 0;
    for (let i = -500; i <= 500; i++) {
      const d = density(i / 500);
      all += d;
      if (i / 500 >= low && i / 500 < high) inside += d;
    }
    return inside / all;
  }

  function draw() {
    const { levels, label } = data.formats.find((format) => format.key === key);
    const n = levels.reduce((best, level, i) => (Math.abs(level - weight) < Math.abs(levels[best] - weight) ? i : best), 0);
    const edge = (i) => (i < 0 ? -1 : i >= levels.length - 1 ? 1 : (levels[i] + levels[i + 1]) / 2), low = edge(n - 1), high = edge(n);
    set(curve, { points: Array.from({ length: 101 }, (_, i) => i / 50 - 1).map((w) => `${x(w).toFixed(1)},${(BASE - 96 * density(w)).toFixed(1)}`).join(" ") });
    marks.replaceChildren(...levels.map((level, i) => svg("line", { class: `w2s-line is-solid hue-${i === n ? "orange" : "blue"}`, x1: x(level), x2: x(level), y1: BASE - 10, y2: BASE + 10 })));
    set(bin, { x: x(low), width: Math.max(1, x(high) - x(low)) });
    set(arrow, { x1: x(weight), x2: x(levels[n]) }); set(dot, { cx: x(weight), cy: BASE + 14 });
    picture.name(`The levels of ${label} under the density of trained weights, and ${weight} rounded to ${levels[n].toFixed(3)}.`);
    tools.say(`${label}: ${weight.toFixed(2)} becomes ${levels[n].toFixed(3)}, `.replaceAll("-", "−")
      + `an error of ${Math.abs(levels[n] - weight).toFixed(3)}. About ${Math.round(100 * mass(low, high))} % of the weights share this level.`);
    Object.assign(stage.dataset, { weight, format: key, level: levels[n].toFixed(4) });
  }
  const slider = tools.slider({ label: "Weight, divided by its scale", min: -1, max: 1, step: 0.02, value: weight,
    text: (value) => value.toFixed(2).replace("-", "−"), oninput(value) { weight = value; draw(); } });
  const formats = tools.choice({ legend: "Format", value: key, options: data.formats, onchange(chosen) { key = chosen; draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(slider), tools.bar(formats));
  tools.onWidth((pixels) => {
    width = pixels;
    x = tools.scale([-1, 1], [22, width - 22]);
    set(picture.node, { viewBox: `0 0 ${width} ${HEIGHT}`, width }); set(axis, { x1: 12, x2: width - 12 });
    [-1, -0.5, 0, 0.5, 1].forEach((value, k) => set(ticks[k], { x: x(value) }));
    draw();
  });
});
