/* Word pairs ranked twice, by people and by cosine, with a line for each pair; Spearman's rho says how much they cross.

   data = {
     pairs: [{name: "tiger, cat", people: 7.35, cosines: {svd: 0.61, ...}}, ...],   at most ten pairs
     tables: [{key: "svd", label: "SVD"}, ...],
     task: "Which ..."                                                               what the reader is to do
   } */
window.w2s.register("rank-lines", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, { pairs } = data, n = pairs.length, LINE = 26, TOP = 44, HEIGHT = TOP + n * LINE + 4;
  const rank = (values) => values.map((value) => 1 + values.filter((other) => other > value).length);
  const people = rank(pairs.map((pair) => pair.people));
  let key = data.tables[0].key, width = 560, now = people.slice(), stop = () => {};

  const heads = ["people", "cosine"].map((text, k) => svg("text", { class: "w2s-axis-label", y: 22,
    "text-anchor": k ? "start" : "end" }, text));
  const rows = pairs.map((pair) => ({ line: svg("line", { class: "w2s-line is-solid hue-blue" }),
    left: svg("text", { class: "w2s-row-label", "text-anchor": "end" }, pair.name), right: svg("text", { class: "w2s-tick" }) }));
  const picture = tools.picture({ class: "w2s-chart" }, ...heads, ...rows.flatMap((row) => [row.line, row.left, row.right]));
  const y = (place) => TOP + (place - 0.5) * LINE;

  function paint(ranks) {
    now = ranks;
    const start = Math.min(190, width * 0.46), end = width - 60;
    set(heads[0], { x: start - 10 }); set(heads[1], { x: end + 10 - 34 });
    rows.forEach(({ line, left, right }, k) => {
      set(line, { x1: start, y1: y(people[k]), x2: end, y2: y(ranks[k]) });
      set(left, { x: start - 8, y: y(people[k]) + 5 });
      set(right, { x: end + 8, y: y(ranks[k]) + 5 });
    });
  }

  function show(milliseconds) {
    stop();
    const cosines = pairs.map((pair) => pair.cosines[key]), to = rank(cosines), from = now.slice();
    const apart = people.map((one, k) => one - to[k]), rho = 1 - 6 * apart.reduce((sum, d) => sum + d * d, 0) / (n * (n * n - 1));
    const worst = apart.reduce((best, d, k) => (Math.abs(d) > Math.abs(apart[best]) ? k : best), 0);
    rows.forEach(({ line, right }, k) => {
      set(line, { class: `w2s-line is-solid hue-${k === worst ? "orange" : "blue"}` });
      right.textContent = cosines[k].toFixed(2).replace(/^-0.00$/, "0.00").replace("-", "−");
    });
    stop = tools.animate(milliseconds, (t) => paint(to.map((place, k) => from[k] + (place - from[k]) * t)));
    const { label } = data.tables.find((one) => one.key === key), text = rho.toFixed(2).replace("-", "−");
    Object.assign(stage.dataset, { table: key, rho: rho.toFixed(4) });
    picture.name(`Ranks by people and by the cosine of ${label}; rho is ${text}.`);
    tools.say(`${label}: ρ = ${text} on these ${n} pairs. Furthest apart: “${pairs[worst].name}”, rank ${people[worst]} by people and ${to[worst]} by cosine.`);
  }

  const choice = tools.choice({ legend: "Embedding", options: data.tables, value: key, onchange(next) { key = next; show(500); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(choice));
  tools.onWidth((pixels) => {
    width = pixels;
    set(picture.node, { viewBox: `0 0 ${width} ${HEIGHT}`, width });
    show(0);
  });
});
