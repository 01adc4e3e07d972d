/* One query walks over the keys of its text through a block table, alone or in splits that walk at the same time.

   data = { blocks: 8, size: 4, table: [7, 2, 5], words: ["we", ...], weights: [1.2, ...], values: [8, ...] }
   weights: e to the power of each score; values: one number of each value vector. A split keeps its sum of weights and its
   mean; splits are merged as in kernels.paged_decode, or, on request, by a plain mean. */
window.w2s.register("table-walk", function (stage, data, tools) {
  "use strict";
  const { svg, el, set } = tools, { blocks, size, table, words, weights, values } = data, T = words.length, HUES = ["blue", "orange", "green", "purple", "yellow", "grey"];
  const drawing = svg("g", {}), picture = tools.picture({ class: "w2s-matrix" }, drawing), sheet = el("table", { class: "w2s-walk" }), note = el("p", { class: "w2s-note" });
  let shares = 1, at = 0, plain = false, wide = 560;
  const long = () => Math.ceil(T / shares), parts = () => Array.from({ length: shares }, (_, s) => [s * long(), Math.min(T, (s + 1) * long())]).filter(([a, b]) => a < b);
  const add = (list) => list.reduce((a, b) => a + b, 0), number = (x) => String(Number(x.toFixed(3)));
  const mean = (list) => { const sum = add(list.map((i) => weights[i])); return { sum, mean: sum ? add(list.map((i) => weights[i] * values[i])) / sum : 0 }; };

  function draw() {
    const across = wide > 480 ? 4 : 2, gap = 12, cell = (wide - gap * (across - 1)) / across / size, tall = 66, all = parts(), right = mean(words.map((_, i) => i)).mean;
    const owner = (i) => all.findIndex(([a, b]) => i >= a && i < b), read = all.map(([a, b]) => words.map((_, i) => i).filter((i) => i >= a && i < Math.min(b, a + at)));
    drawing.replaceChildren(...Array.from({ length: blocks }, (_, b) => b).flatMap((b) => {
      const entry = table.indexOf(b), x = (b % across) * (size * cell + gap), y = Math.floor(b / across) * tall;
      return [svg("text", { class: entry < 0 ? "w2s-tick" : "is-near", x, y: y + 14 }, entry < 0 ? `${b}: other` : `${b}: entry ${entry}`), ...Array.from({ length: size }, (_, o) => {
        const i = entry * size + o, mine = entry >= 0 && i < T, seen = mine && read[owner(i)].includes(i), latest = mine && read[owner(i)].at(-1) === i;
        return svg("g", { class: mine ? `w2s-stretch hue-${HUES[owner(i)]}` : "" }, svg("rect", { class: mine && seen ? "" : "w2s-tile" + (mine ? "" : " is-masked"), x: x + o * cell, y: y + 20, width: cell - 2, height: 32, rx: 3, "stroke-width": latest ? 3 : 1 }),
          svg("text", { x: x + o * cell + cell / 2 - 1, y: y + 41, "text-anchor": "middle", "font-size": 12 }, mine ? words[i].slice(0, Math.max(1, Math.floor(cell / 7.4))) : ""));
      })];
    }));
    set(picture.node, { viewBox: `0 0 ${wide} ${Math.ceil(blocks / across) * tall}`, width: wide });
    const found = read.map(mean), total = add(found.map((one) => one.sum)), done = at >= long();
    const answer = plain ? add(found.map((one) => one.mean)) / found.length : total ? add(found.map((one) => one.sum * one.mean)) / total : 0;
    sheet.replaceChildren(el("thead", {}, el("tr", {}, ...["split", "keys read", "sum", "mean"].map((one) => el("th", {}, one)))),
      el("tbody", {}, ...found.map(({ sum, mean: own }, s) => el("tr", {}, ...[`${s + 1} (${HUES[s]})`, `${read[s].length} of ${all[s][1] - all[s][0]}`, number(sum), number(own)].map((one) => el("td", {}, one))))));
    note.textContent = done ? `Merged: ${number(answer)}. At once: ${number(right)}.` : `Round ${at} of ${long()}.`;
    picture.name(`${blocks} blocks of ${size} slots. The text's ${T} keys lie in blocks ${table.join(", ")}, in that order.`);
    tools.say(`${all.length} ${all.length > 1 ? "splits walk at the same time" : "split walks alone"}, ${long()} rounds. Round ${at}: ${add(read.map((one) => one.length))} of ${T} keys have been read. ${done ? `Merged by ${plain ? "a plain mean" : "their sums"}: ${number(answer)}; at once ${number(right)}.` : ""}`);
    Object.assign(stage.dataset, { at, shares, rounds: long(), plain, answer: done ? answer : "", right });
  }
  const holder = el("div", { class: "w2s-bar" });
  let stepper;
  function begin() {
    stepper?.nodes[0].textContent === "Pause" && stepper.nodes[0].click();
    stepper = tools.stepper({ label: "Rounds", count: long() + 1, text: String, every: 600, show(next) { at = next; draw(); } });
    holder.replaceChildren(...stepper.nodes);
    stepper.begin();
  }
  const slider = tools.slider({ label: "Splits", min: 1, max: 6, value: shares, oninput(value) { shares = value; begin(); } });
  const ways = tools.choice({ legend: "Merged by", value: "sums", options: [{ key: "sums", label: "their sums" }, { key: "mean", label: "a plain mean" }], onchange(key) { plain = key === "mean"; draw(); } });
  stage.append(tools.bar(slider, ways), holder, picture.node, el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "Splits" }, sheet), note);
  if (tools.asStill) shares = 3;
  let started = false;
  tools.onWidth((pixels) => { wide = pixels; if (started) draw(); else { started = true; begin(); } });
});
