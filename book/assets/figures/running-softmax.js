/* The online softmax over a row of scores: running maximum, sum and accumulator, tile by tile, next to the softmax of the whole row.

   data = {
     task: "Read all tiles.",                       what the reader is to do
     examples: [{key: "hand", label: "by hand", base: 2, scores: [1, 3, 4, 2], values: [15, 0, 0, 30]}, ...]    base: 2 or e
     most: 12                                       how many scores a reader may type
   }
   A typed row has the values 15, 0, 15, 0, ... The reference is kernels.softmax.online_softmax. */
window.w2s.register("running-softmax", function (stage, data, tools) {
  "use strict";
  const { el } = tools;
  let now = data.examples[0], size = 2, turned = false, forgets = false, at = 0, line = [];
  const row = el("p", { class: "w2s-sentence" }), table = el("table", { class: "w2s-walk" }), note = el("p", { class: "w2s-note" });
  const short = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(5))) : Number.isNaN(value) ? "not a number" : "none yet");
  const power = (value) => now.base ** value;

  function walk() {  // the state after each tile, the empty one first
    const order = now.scores.map((_, i) => i), tiles = [];
    for (let i = 0; i < order.length; i += size) tiles.push(order.slice(i, i + size));
    if (turned) tiles.reverse();
    let [peak, sum, mixed] = [-Infinity, 0, 0];
    line = [{ tile: [], peak, sum, mixed, shrink: 1, seen: [] }];
    for (const tile of tiles) {
      const next = Math.max(peak, ...tile.map((i) => now.scores[i])), shrink = forgets ? 1 : peak === -Infinity ? 0 : power(peak - next);
      sum = sum * shrink + tile.reduce((all, i) => all + power(now.scores[i] - next), 0);
      mixed = mixed * shrink + tile.reduce((all, i) => all + power(now.scores[i] - next) * now.values[i], 0);
      peak = next;
      line.push({ tile, peak, sum, mixed, shrink, seen: line.at(-1).seen.concat(tile) });
    }
  }
  function whole() {
    const peak = Math.max(...now.scores), weights = now.scores.map((score) => power(score - peak)), sum = weights.reduce((a, b) => a + b, 0);
    return weights.reduce((all, weight, i) => all + weight * now.values[i], 0) / sum;
  }

  function draw() {
    at = Math.min(at, line.length - 1);
    const here = line[at], right = whole(), answer = here.mixed / here.sum, done = at === line.length - 1;
    row.replaceChildren(...now.scores.map((score, i) => el("span", { class: "w2s-token" + (here.tile.includes(i) ? " is-centre" : here.seen.includes(i) ? " is-near" : "") }, `${score} → ${now.values[i]}`)));
    const cells = (tag, list, attributes) => el("tr", attributes, ...list.map((text) => el(tag, {}, text)));
    table.replaceChildren(el("thead", {}, cells("th", ["tiles", "maximum", "rescale by", "sum", "accumulator", "output"])), el("tbody", {}, ...line.slice(0, at + 1).map((one, i) =>
      cells("td", [i, short(one.peak), i ? short(one.shrink) : "", short(one.sum), short(one.mixed), i ? short(one.mixed / one.sum) : ""], { class: i === at ? "is-new" : "" }))));
    note.textContent = `Softmax of the whole row: ${short(right)}.`;
    const way = `Tiles of ${size}, the ${turned ? "last" : "first"} first${forgets ? ", and nothing is rescaled" : ""}. `;
    tools.say(way + (at === 0 ? "Nothing has been read: the sum and the accumulator are 0." : `Tile ${at} of ${line.length - 1}. The maximum is ${short(here.peak)}; sum and accumulator were multiplied by ${short(here.shrink)}. Sum ${short(here.sum)}, accumulator ${short(here.mixed)}. `
      + (done ? `The output is ${short(answer)}, the softmax of the whole row gives ${short(right)}: ${Math.abs(answer - right) < 1e-9 ? "the same" : "wrong"}.` : "")));
    Object.assign(stage.dataset, { at, tiles: line.length - 1, size, forgets, turned, peak: here.peak, sum: here.sum, mixed: here.mixed, answer, right, scores: now.scores.join(" ") });
  }
  const control = () => tools.slider({ label: "Tiles read", min: 0, max: line.length - 1, value: at, oninput(value) { at = value; draw(); } });
  const holder = el("div", { class: "w2s-slot" });
  let scrub;
  function begin() {
    walk();
    at = Math.min(at, line.length - 1);
    holder.replaceChildren((scrub = control()).node);
    draw();
  }
  function read(text) {
    const found = text.split(/[\s,;|]+/).filter(Boolean).map(Number).filter(Number.isFinite).slice(0, data.most);
    if (!found.length) return;
    now = { base: now.base, scores: found, values: found.map((_, i) => (i % 2 ? 0 : 15)) };
    picks.set("");
    begin();
  }
  const step = tools.button("Read a tile", () => { at = at === line.length - 1 ? 0 : at + 1; scrub.set(at); draw(); });
  const field = tools.textField({ label: "Your scores", value: now.scores.join(" "), most: 60, oninput: read });
  const picks = tools.choice({ legend: "Row of scores", value: now.key, options: data.examples.map(({ key, label }) => ({ key, label })),
    onchange(key) { now = data.examples.find((one) => one.key === key); field.set(now.scores.join(" ")); begin(); } });
  const wide = tools.slider({ label: "Scores in a tile", min: 1, max: 6, value: size, oninput(value) { size = value; begin(); } });
  const shrinks = tools.choice({ legend: "When the maximum increases", value: "shrink", options: [{ key: "shrink", label: "rescale" }, { key: "forget", label: "do not rescale" }],
    onchange(key) { forgets = key === "forget"; begin(); } });
  const turns = tools.choice({ legend: "Order", value: "first", options: [{ key: "first", label: "first tile first" }, { key: "last", label: "last tile first" }],
    onchange(key) { turned = key === "last"; begin(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), row, tools.bar(step, holder), el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "The running values" }, table), note, tools.bar(shrinks));
  tools.more("Other scores, tiles and orders", tools.bar(field), tools.bar(picks), tools.bar(wide, turns));
  if (tools.asStill) at = 99;
  begin();
});
