/* All cuts of a word as ways through a lattice; each piece costs bits, and the reader changes what one of them costs.

   data = {
     pieces: [{key, label, mark: "", words: ["banks"], pieces: "ban 3 bank 4 ..."}]
                        pieces with their cost in bits, minus the logarithm to base two of their probability;
                        mark is put before each word ("▁" where pieces know where words begin)
   } */
window.w2s.register("unigram-lattice", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, top = 150, height = 232, most = 16;
  const models = new Map(data.pieces.map(({ key, pieces }) => {
    const parts = pieces.split(" "), costs = new Map();
    for (let i = 0; i < parts.length; i += 2) costs.set(parts[i], Number(parts[i + 1]));
    return [key, costs];
  }));
  let { key, words: [word], mark } = data.pieces[0], own = new Map(), picked = "", width = 600;
  const lines = svg("g", {}), picture = tools.picture({ class: "w2s-lattice" }, lines), dials = el("div", {});
  const cost = (piece) => own.get(piece) ?? models.get(key).get(piece);

  /* Edges of the lattice, for each place the cheapest way to it, and the share of each edge over all cuts. */
  function solve() {
    const letters = Array.from(mark + word), n = letters.length, edges = [];
    for (let start = 0; start < n; start++)
      for (let end = start + 1; end <= Math.min(n, start + most); end++) {
        const piece = letters.slice(start, end).join("");
        if (cost(piece) !== undefined) edges.push({ start, end, piece, bits: cost(piece) });
      }
    const best = Array(n + 1).fill(Infinity), from = [], ahead = Array(n + 1).fill(0), back = Array(n + 1).fill(0);
    [best[0], ahead[0], back[n]] = [0, 1, 1];
    for (const edge of edges) {
      ahead[edge.end] += ahead[edge.start] * 2 ** -edge.bits;
      if (best[edge.start] + edge.bits < best[edge.end]) [best[edge.end], from[edge.end]] = [best[edge.start] + edge.bits,
        edge];
    }
    for (const edge of [...edges].reverse()) back[edge.start] += 2 ** -edge.bits * back[edge.end];
    for (const edge of edges) edge.share = ahead[edge.start] * 2 ** -edge.bits * back[edge.end] / (ahead[n] || 1);
    const path = [];
    for (let end = n; from[end]; end = from[end].start) path.unshift(from[end]);
    return { letters, edges, path, bits: best[n] };
  }

  function show() {
    const { letters, edges, path, bits } = solve(), n = letters.length, x = tools.scale([0, n], [14, width - 14]);
    lines.replaceChildren(...letters.map((letter, i) => svg("text", { class: "w2s-letter", x: (x(i) + x(i + 1)) / 2,
      y: top + 24, "text-anchor": "middle" }, letter)));
    for (const edge of [...edges].sort((a, b) => path.includes(a) - path.includes(b))) {
      const [a, b] = [x(edge.start), x(edge.end)], reach = edge.end - edge.start, rise = Math.min(top - 14, 26 * reach + 8);
      const arc = svg("path", { d: `M${a} ${top} Q${(a + b) / 2} ${top - 2 * rise + 26} ${b} ${top}`,
        class: `w2s-edge${path.includes(edge) ? " is-best" : ""}` });
      arc.style.setProperty("stroke-width", (1 + 5 * edge.share).toFixed(2));
      lines.append(arc);
    }
    for (let i = 0; i <= n; i++) lines.append(svg("circle", { class: "w2s-place", cx: x(i), cy: top, r: 4 }));
    path.forEach(({ start, end, piece, bits: own_ }) => lines.append(svg("text", { class: "w2s-edge-label", y: top + 52,
      x: (x(start) + x(end)) / 2, "text-anchor": "middle" }, piece), svg("text", { class: "w2s-tick", y: top + 70,
      x: (x(start) + x(end)) / 2, "text-anchor": "middle" }, own_.toFixed(1))));
    const cut = path.map(({ piece }) => piece);
    picture.name(`Lattice of ${word} with ${edges.length} pieces; the best cut is ${cut.join(", ") || "none"}.`);
    Object.assign(stage.dataset, { word, key, cut: JSON.stringify(cut), bits: bits.toFixed(3) });
    const doubt = path.length ? Math.min(...path.map(({ share }) => share)) : 0;
    tools.say(path.length ? `The best of all cuts of “${word}” is ${cut.join(" | ")}: ${bits.toFixed(1)} bits. Its least `
      + `certain piece is in ${(100 * doubt).toFixed(0)} % of all cuts by weight.` : `“${word}” has no cut into these pieces.`);
    return edges;
  }
  function begin() {  // the pieces that can stand in this word, one of which the reader makes dearer or cheaper
    const pieces = [...new Set(show().map(({ piece }) => piece))].sort((a, b) => b.length - a.length || cost(a) - cost(b));
    if (!pieces.includes(picked)) [picked] = pieces;
    if (!pieces.length) { dials.replaceChildren(); return; }
    const dial = tools.slider({ label: "costs", min: 0.5, max: 24, step: 0.5, value: cost(picked),
      text: (value) => `${value} bits`, oninput(value) { own.set(picked, value); show(); } });
    dials.replaceChildren(tools.bar(tools.select({ label: "Piece", options: pieces, value: picked,
      onchange(piece) { picked = piece; dial.set(cost(piece)); } }), dial));
  }
  const ask = (typed) => { word = typed.toLowerCase().split(/\s+/)[0]; own = new Map(); field.set(typed); begin(); };
  const field = tools.textField({ label: "Your word", value: word, most: 20, oninput: ask });
  const picks = tools.choice({ legend: "Pieces", value: key, options: data.pieces, onchange(chosen) {
    ({ key, mark, words: [word] } = data.pieces.find((one) => one.key === chosen));
    ask(word);
  } });
  stage.append(tools.bar(field, picks), dials, picture.node);
  tools.onWidth((pixels) => { width = pixels; set(picture.node, { viewBox: `0 0 ${width} ${height}` }); begin(); });
});
