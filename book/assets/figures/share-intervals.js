/* Two measured shares with their Wilson intervals: how many questions it takes to tell them apart.

   data = {
     task: "Move the number of questions ...",
     first: { label: "before", share: 0.5 }, second: { label: "after", share: 0.6 },
     sizes: [30, 60, 100, 300, 1000], at: 2
   } */
window.w2s.register("share-intervals", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, Z = 1.96, drawing = svg("g", {}), picture = tools.picture({ class: "w2s-chart" }, drawing);
  const shares = [data.first.share, data.second.share], HUES = ["orange", "blue"];
  let asked = data.sizes[data.at], width = 560;
  function wilson(right) {
    const share = right / asked, spread = Z * Z / asked, centre = (share + spread / 2) / (1 + spread);
    const half = Z * Math.sqrt(share * (1 - share) / asked + spread / asked / 4) / (1 + spread);
    return [Math.max(0, centre - half), Math.min(1, centre + half)];
  }
  function draw() {
    const x = tools.scale([0, 1], [16, width - 16]), rows = shares.map((share) => Math.round(share * asked)), found = rows.map(wilson);
    const ticks = x.ticks(5).map((value) => svg("text", { class: "w2s-tick", x: x(value), y: 128, "text-anchor": "middle" }, value.toFixed(1)));
    drawing.replaceChildren(svg("line", { class: "w2s-axis", x1: 16, x2: width - 16, y1: 110, y2: 110 }), ...ticks, ...rows.flatMap((right, n) => {
      const y = 40 + 46 * n, [low, high] = found[n];
      return [svg("text", { class: "w2s-tick", x: 16, y: y - 12 }, `${[data.first, data.second][n].label}: ${right} of ${asked}, ${low.toFixed(2)} to ${high.toFixed(2)}`),
        svg("line", { class: `w2s-line hue-${HUES[n]}`, x1: x(low), x2: x(high), y1: y, y2: y, "stroke-width": 6 }), svg("circle", { class: `w2s-mark hue-${HUES[n]}`, cx: x(right / asked), cy: y, r: 5 })];
    }));
    set(picture.node, { viewBox: `0 0 ${width} 136`, width });
    const apart = found[0][1] < found[1][0] || found[1][1] < found[0][0];
    picture.name(`Two shares of ${asked} questions each, with their 95 % Wilson intervals.`);
    tools.say(`${asked} questions: the intervals ${apart ? "are apart" : "overlap"}. ${apart ? "The difference is larger than chance explains." : "Ask more questions, or claim nothing."}`);
    Object.assign(stage.dataset, { asked, apart, lows: found.map(([low]) => low.toFixed(3)).join(" ") });
  }
  const two = [data.first, data.second].map((one, n) => tools.slider({ label: `Right ${one.label}`, min: 0, max: 100, value: Math.round(100 * one.share), text: (value) => `${value} %`, oninput(value) { shares[n] = Number(value) / 100; draw(); } }));
  const size = tools.slider({ label: "Questions", min: 0, max: data.sizes.length - 1, value: data.at, text: (value) => `${data.sizes[value]}`, oninput(value) { asked = data.sizes[Number(value)]; draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(...two), tools.bar(size));
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
