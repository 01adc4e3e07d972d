/* A window slides over sentences and the count matrix fills.

   data = {
     sentences: [["we", "sat", ...], ...],   tokens, in reading order; a window never crosses a sentence
     vocabulary: ["we", "sat", ...],         rows and columns, in this order; at most 14 keep the picture legible;
                                             a token outside it keeps its place in the window but is not counted
     window: 2,                              words on each side at the start
     largest_window: 4                       optional, the end of the slider (default 4)
   }
   The counts are those of reference_impl.embeddings.counts.window_counts: a pair is counted once from each side. */
window.w2s.register("window-counts", function (stage, data, tools) {
  "use strict";
  const { el, svg, button, slider, player } = tools;
  const words = data.vocabulary, size = words.length;
  const places = data.sentences.flatMap((tokens, s) => tokens.map((word, i) => ({ s, i, word })));
  let window_ = data.window, at = 0;

  const neighbours = (place) => {
    const tokens = data.sentences[place.s], out = [];
    for (let j = Math.max(0, place.i - window_); j <= Math.min(tokens.length - 1, place.i + window_); j++)
      if (j !== place.i) out.push(j);
    return out;
  };
  const countsUpTo = (last) => {
    const counts = words.map(() => words.map(() => 0));
    for (const place of places.slice(0, last + 1)) {
      const row = words.indexOf(place.word);
      for (const j of neighbours(place)) {
        const column = words.indexOf(data.sentences[place.s][j]);
        if (row >= 0 && column >= 0) counts[row][column] += 1;
      }
    }
    return counts;
  };

  const lines = data.sentences.map((tokens) => el("p", { class: "w2s-sentence" },
    ...tokens.map((word) => el("span", { class: "w2s-token" }, word))));
  const text = el("div", { class: "w2s-sentences" }, ...lines);

  const head = 74, cell = 26, side = head + size * cell + 4;
  const picture = svg("svg", { viewBox: `0 0 ${side} ${side}`, class: "w2s-matrix", role: "img",
    style: `max-width: ${Math.round(side * 1.1)}px` });
  const title = svg("title", {});
  picture.append(title);
  const band = { row: svg("rect", { class: "w2s-band", x: 0, width: side, height: cell }),
    column: svg("g", {}) };
  picture.append(band.row, band.column);
  words.forEach((word, k) => {
    const middle = head + k * cell + cell / 2;
    picture.append(svg("text", { class: "w2s-row-label", "data-k": k, x: head - 8, y: middle + 4 }, word));
    picture.append(svg("text", { class: "w2s-column-label", "data-k": k,
      transform: `translate(${middle + 4} ${head - 8}) rotate(-90)` }, word));
  });
  const boxes = words.map((_, r) => words.map((_, c) => {
    const x = head + c * cell, y = head + r * cell;
    const box = svg("rect", { class: "w2s-cell", x: x + 1, y: y + 1, width: cell - 2, height: cell - 2, rx: 3 });
    const number = svg("text", { class: "w2s-count", x: x + cell / 2, y: y + cell / 2 + 4.5 });
    picture.append(box, number);
    return { box, number };
  }));

  function show(said) {
    const place = places[at], around = neighbours(place), tokens = data.sentences[place.s];
    lines.forEach((line, s) => [...line.children].forEach((node, i) => {
      node.className = "w2s-token" + (s !== place.s ? "" : i === place.i ? " is-centre" : around.includes(i) ? " is-near" : "");
    }));
    const counts = countsUpTo(at), before = at > 0 ? countsUpTo(at - 1) : words.map(() => words.map(() => 0));
    const most = Math.max(1, ...countsUpTo(places.length - 1).flat());
    const row = words.indexOf(place.word);
    band.row.setAttribute("visibility", row < 0 ? "hidden" : "visible");
    band.row.setAttribute("y", head + row * cell);
    boxes.forEach((line, r) => line.forEach(({ box, number }, c) => {
      const count = counts[r][c];
      box.style.setProperty("--level", (count / most).toFixed(3));
      box.setAttribute("class", "w2s-cell" + (count ? " is-counted" : "") + (count > before[r][c] ? " is-new" : ""));
      number.textContent = count || "";
      number.setAttribute("class", "w2s-count" + (count / most > 0.5 ? " is-strong" : ""));
    }));
    picture.querySelectorAll(".w2s-row-label, .w2s-column-label").forEach((label) => {
      const k = Number(label.dataset.k), near = around.some((j) => tokens[j] === words[k]);
      label.classList.toggle("is-centre", label.classList.contains("w2s-row-label") && k === row);
      label.classList.toggle("is-near", label.classList.contains("w2s-column-label") && near);
    });
    const total = counts.flat().reduce((sum, count) => sum + count, 0);
    title.textContent = `Count matrix after ${at + 1} of ${places.length} positions: ${total} pairs counted.`;
    stage.dataset.counts = JSON.stringify(counts);
    stage.dataset.at = at;
    back.disabled = at === 0;
    next.disabled = at === places.length - 1;
    position.set(at + 1);
    const list = around.map((j) => tokens[j]).join(", ") || "no word";
    tools.say(`${said || ""}Centre word ${at + 1} of ${places.length}: “${place.word}” meets ${list}. ${total} pairs counted so far.`);
  }

  function go(to) { at = Math.max(0, Math.min(places.length - 1, to)); show(); }
  const back = button("Back", () => { play.stop(); go(at - 1); });
  const next = button("Step", () => { play.stop(); go(at + 1); });
  const play = player({ step() {
    if (at === places.length - 1) at = -1;
    go(at + 1);
    return at < places.length - 1;
  } });
  const position = slider({ label: "Centre word", min: 1, max: places.length, value: 1,
    text: (value) => `${value} of ${places.length}`, oninput: (value) => { play.stop(); go(value - 1); } });
  const width = slider({ label: "Window", min: 1, max: data.largest_window || 4, value: window_,
    text: (value) => `${value} on each side`,
    oninput: (value) => { window_ = value; show(`Window of ${value}. `); } });

  stage.append(el("div", { class: "w2s-bar" }, play.node, back, next, position.node, width.node), text, picture);
  show();
});
