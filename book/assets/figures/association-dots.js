/* Words on an axis of association, one row per group, for one embedding or another. Each word takes a lane of its row
   and the side of its mark where its name touches no other.

   data = {
     left: "female words", right: "male words",               the attributes at the two ends of the axis
     groups: ["mathematics", "arts"],                          at most three, each with its hue, mark and row
     tables: [{key: "glove", label: "GloVe", words: [{word: "math", group: "mathematics", value: 0.03}, ...]}, ...],
     task: "Choose ..."                                        what the reader is to do
   } */
window.w2s.register("association-dots", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, LANES = 5, LANE = 21, ROW = LANES * LANE + 34, TOP = 34, HEIGHT = TOP + data.groups.length * ROW + 62, meaning = tools.meanings(data.groups);
  const chart = tools.axes({ grid: false, text: (value) => String(value).replace("-", "−") }), marks = svg("g", {});
  const ends = ["left", "right"].map((side, k) => svg("text", { class: "w2s-axis-label", y: HEIGHT - 10,
    "text-anchor": k ? "end" : "start" }, k ? `${data.right} →` : `← ${data.left}`));
  const heads = data.groups.map((name, g) => svg("text", { class: `w2s-lane-name hue-${meaning[name].hue}`, x: 12, y: TOP + g * ROW - 10 }, name));
  const picture = tools.picture({ class: "w2s-map" }, chart.node, ...heads, ...ends, marks);
  let table = data.tables[0], width = 560, chosen = table.words[0].word;
  const mean = (group) => {
    const values = table.words.filter((one) => one.group === group).map((one) => one.value);
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  };

  /* A lane and a side, 1 for right, for each of some words that are sorted by value. */
  function laidOut(mine, x) {
    const taken = Array.from({ length: LANES }, () => []);
    return mine.map(({ word, value }, k) => {
      const at = x(value), long = 14 + 7.5 * word.length;
      const outward = k < mine.length / 2 ? -1 : 1;  // names point away from the middle
      const tried = [outward, -outward].flatMap((side) => taken.map((_, n) => ({ side, lane: (k + n) % LANES,
        from: side > 0 ? at - 8 : at - long, to: side > 0 ? at + long : at + 8 })));
      const inside = tried.filter(({ from, to }) => from >= 0 && to <= width);
      const free = inside.find(({ lane, from, to }) => taken[lane].every((one) => to < one.from || from > one.to));
      const found = free || inside[0] || tried[0];
      taken[found.lane].push(found);
      return { word, at, ...found };
    });
  }

  function draw() {
    const [least, most] = tools.span([0, ...table.words.map(({ value }) => value)]), edge = 0.08 * (most - least);
    const x = tools.scale([least - edge, most + edge], [18, width - 18]), bottom = HEIGHT - 50;
    set(picture.node, { viewBox: `0 0 ${width} ${HEIGHT}`, width });
    chart.show({ x, y: x, box: [18, 0, width - 18, bottom], many: [width < 420 ? 4 : 7, 0] });
    set(ends[0], { x: 12 }); set(ends[1], { x: width - 12 });
    marks.replaceChildren(svg("line", { class: "w2s-grid", x1: x(0), x2: x(0), y1: 8, y2: bottom }),
      ...data.groups.map((name, g) => svg("line", { class: `w2s-line is-dashed hue-${meaning[name].hue}`, x1: x(mean(name)), x2: x(mean(name)),
        y1: TOP + g * ROW - 2, y2: TOP + g * ROW + LANES * LANE })), ...data.groups.flatMap((name, g) => {
        const mine = table.words.filter(({ group }) => group === name).sort((a, b) => a.value - b.value);
        return laidOut(mine, x).map(({ word, at, side, lane }) => {
          const label = svg("text", { class: `w2s-word${word === chosen ? " is-chosen" : ""}`, x: 11 * side, y: 5,
            "text-anchor": side < 0 ? "end" : "start", "font-weight": word === chosen ? 700 : 400 }, word);
          return tools.move(svg("g", {}, tools.mark(meaning[name]), label), at, TOP + g * ROW + 10 + lane * LANE);
        });
      }));
    const means = data.groups.map((name) => `${name} ${mean(name).toFixed(3).replace("-", "−")}`).join(", ");
    const one = table.words.find(({ word }) => word === chosen);
    Object.assign(stage.dataset, { table: table.key, word: chosen, means: data.groups.map((name) => mean(name).toFixed(4)).join(" ") });
    picture.name(`Associations in ${table.label}. Means: ${means}.`);
    tools.say(`${one ? `“${chosen}” (${one.group}): ${one.value.toFixed(3).replace("-", "−")}. ` : ""}Means in ${table.label}: ${means}.`);
  }

  const words = tools.select({ label: "Word", options: [...new Set(data.tables.flatMap((one) => one.words.map(({ word }) => word)))],
    value: chosen, onchange(word) { chosen = word; draw(); } });
  const choice = tools.choice({ legend: "Embedding", options: data.tables, value: table.key,
    onchange(key) { table = data.tables.find((one) => one.key === key); draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(words, choice));
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
