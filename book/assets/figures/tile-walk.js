/* FlashAttention's loops over tiles of scores: the tile in SRAM, the running maximum and sum of each query, and the bytes that move.

   data = {
     task: "Find the size of tile.",                            what the reader is to do
     words: ["we", "sat", ...], scores: [[1.4, ...], ...]     a square of real scores, rows ask
     width: 32, size: 4                                        numbers of a query, bytes of a number
   }
   Bytes as kernels.traffic counts them in flash_forward_twin: with queries outside Q and O once, K and V once for each tile of
   rows that needs them; with keys outside K and V once, and for each tile of keys Q is read, and O with the
   peaks and sums of its rows (float32) is read and written, as algorithm 1 of Dao et al. 2022 has it. */
window.w2s.register("tile-walk", function (stage, data, tools) {
  "use strict";
  const { el, svg } = tools, { words, scores, width: D, size } = data, T = words.length, now = { rows: 2, columns: 2, causal: false, outer: "queries" };
  let at = 0, stops = [];
  const cell = 30, left = 62, top = 62, wide = left + T * cell + 6;
  const picture = tools.picture({ viewBox: `0 0 ${wide} ${wide}`, width: wide, class: "w2s-matrix" }), table = el("table", { class: "w2s-walk" });
  const bars = tools.bars({ rows: 3, text: (value) => `${value.toLocaleString("en")} bytes` }), note = el("p", { class: "w2s-note" });
  const spans = (step) => Array.from({ length: Math.ceil(T / step) }, (_, n) => [n * step, Math.min(T, (n + 1) * step)]);
  const plain = size * (4 * T * D + 4 * T * T), seen = (row, key) => !now.causal || key <= row;

  function walk() {  // the tiles in their order, with what has moved and what each row holds after each
    const tall = spans(now.rows), across = spans(now.columns), row = { peak: Array(T).fill(-Infinity), sum: Array(T).fill(0) };
    const needed = ([a, b], [c]) => !now.causal || c < b;
    const order = now.outer === "queries" ? tall.flatMap((r) => across.filter((c) => needed(r, c)).map((c) => [r, c]))
      : across.flatMap((c) => tall.filter((r) => needed(r, c)).map((r) => [r, c]));
    let [read, written] = [0, 0];
    stops = [{ tile: null, read, written, ...structuredClone(row) }];
    order.forEach(([[a, b], [c, d]], n) => {
      const before = order[n - 1], after = order[n + 1], new_ = (k) => !before || before[k][0] !== order[n][k][0];
      const vectors = (count) => count * D * size, carried = now.outer === "keys";
      if (!carried && new_(0)) read += vectors(b - a);
      if (carried ? new_(1) : true) read += 2 * vectors(d - c);
      if (carried) [read, written] = [read + vectors(b - a) + vectors(b - a) + 8 * (b - a), written + vectors(b - a) + 8 * (b - a)];
      for (let r = a; r < b; r += 1) {
        const list = scores[r].slice(c, d).filter((_, k) => seen(r, c + k));
        if (!list.length) continue;
        const peak = Math.max(row.peak[r], ...list), shrink = row.peak[r] === -Infinity ? 0 : Math.exp(row.peak[r] - peak);
        row.sum[r] = row.sum[r] * shrink + list.reduce((all, score) => all + Math.exp(score - peak), 0);
        row.peak[r] = peak;
      }
      if (!carried && (!after || after[0][0] !== a)) written += vectors(b - a) + 4 * (b - a);
      stops.push({ tile: [a, b, c, d], read, written, ...structuredClone(row) });
    });
  }

  function draw() {
    const here = stops[at], done = stops.slice(1, at + 1).map((one) => one.tile), [a, b, c, d] = here.tile || [0, 0, 0, 0];
    const name = (list) => `“${words.slice(...list).join(" ")}”`, inside = (r, k, [e, f, g, h]) => r >= e && r < f && k >= g && k < h;
    picture.node.replaceChildren(picture.node.firstChild);
    for (let r = 0; r < T; r += 1) {
      picture.node.append(svg("text", { class: "w2s-row-label" + (r >= a && r < b ? " is-centre" : ""), x: left - 8, y: top + r * cell + 20 }, words[r]),
        svg("text", { class: r >= c && r < d ? "is-near" : "w2s-column-label", transform: `translate(${left + r * cell + 19} ${top - 8}) rotate(-90)` }, words[r]));
      for (let k = 0; k < T; k += 1) {
        const held = here.tile && inside(r, k, here.tile), gone = !held && done.some((tile) => inside(r, k, tile)), hidden = !seen(r, k);
        picture.node.append(svg("rect", { class: `w2s-tile${held ? " is-held" : gone ? " is-gone" : ""}${hidden ? " is-masked" : ""}`, x: left + k * cell + 1, y: top + r * cell + 1, width: cell - 2, height: cell - 2, rx: 3 }));
        if (held && !hidden) picture.node.append(svg("text", { class: "w2s-count", x: left + k * cell + cell / 2, y: top + r * cell + 20 }, scores[r][k].toFixed(1)));
      }
    }
    const text = (value) => (Number.isFinite(value) ? value.toFixed(2) : "−∞"), line = (tag, list, attributes) => el("tr", attributes, ...list.map((one) => el(tag, {}, one)));
    table.replaceChildren(el("thead", {}, line("th", ["query", "maximum", "sum"])), el("tbody", {}, ...words.map((word, r) => line("td", [word, text(here.peak[r]), here.sum[r].toFixed(2)], { class: r >= a && r < b ? "is-new" : "" }))));
    bars.show([{ label: "plain attention", value: plain, hue: "grey" }, { label: "tiles, read", value: here.read, hue: "blue" }, { label: "tiles, written", value: here.written, hue: "orange" }], { most: Math.max(plain, stops.at(-1).read) });
    note.textContent = here.tile ? `In SRAM: queries of ${name([a, b])}; keys and values of ${name([c, d])}; ${(b - a) * (d - c)} scores.` : "SRAM is empty.";
    picture.name(here.tile ? `Scores of ${name([a, b])} with ${name([c, d])}.` : "No tile has been computed.");
    tools.say(`${stops.length - 1} tiles of ${now.rows} by ${now.columns}, outer loop over ${now.outer}${now.causal ? ", causal" : ""}. ${here.tile ? `Tile ${at}: ${name([a, b])} attends to ${name([c, d])}. ` : ""}So far ${(here.read + here.written).toLocaleString("en")} bytes, in the end ${(stops.at(-1).read + stops.at(-1).written).toLocaleString("en")}; plain attention moves ${plain.toLocaleString("en")}.`);
    Object.assign(stage.dataset, { ...now, at, tiles: stops.length - 1, plain, read: stops.at(-1).read, written: stops.at(-1).written,
      lse: JSON.stringify(stops.at(-1).sum.map((sum, r) => Number((stops.at(-1).peak[r] + Math.log(sum)).toFixed(4)))) });
  }
  const holder = el("div", { class: "w2s-bar" });
  let stepper;
  function begin() {
    walk();
    stepper?.nodes[0].textContent === "Pause" && stepper.nodes[0].click();
    stepper = tools.stepper({ label: "Tiles", count: stops.length, text: String, every: 700, still: Math.min(6, stops.length - 1), show(next) { at = next; draw(); } });
    holder.replaceChildren(...stepper.nodes);
    stepper.begin();
  }
  const side = (key, label) => tools.slider({ label, min: 1, max: T, value: now[key], oninput(value) { now[key] = value; begin(); } });
  const loops = tools.choice({ legend: "Outer loop", value: now.outer, options: [{ key: "queries", label: "queries (version 2)" }, { key: "keys", label: "keys (version 1)" }], onchange(key) { now.outer = key; begin(); } });
  const mask = tools.choice({ legend: "Mask", value: "all", options: [{ key: "all", label: "none" }, { key: "causal", label: "causal" }], onchange(key) { now.causal = key === "causal"; begin(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), el("div", { class: "w2s-side" }, picture.node, table), note, bars.node, holder, tools.bar(side("rows", "Queries in a tile"), side("columns", "Keys in a tile")), tools.bar(mask, loops));
  begin();
});
