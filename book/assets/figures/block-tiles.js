/* Which tiles of a packed row's mask a kernel skips, computes under the mask, or computes whole.

   data = { task, lengths: [100, 60, 72, 24], sides: [0, 8, 32, 64], sizes: [8, 16, 32, 64], start: {rule, side, size} }
   A tile is `size` queries by `size` keys. Rules: the texts (block-diagonal), the window (|q - k| <= side), or both. */
window.w2s.register("block-tiles", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, SIDE = 300, total = data.lengths.reduce((a, b) => a + b, 0), RULES = { texts: "texts", window: "window", both: "texts and window" };
  const text = data.lengths.flatMap((length, n) => Array(length).fill(n)), whole = (value) => value.toLocaleString("en");
  const cells = svg("g", {}), borders = svg("g", {}), picture = tools.picture({ class: "w2s-lanes", viewBox: `0 0 ${SIDE + 4} ${SIDE + 4}`, width: SIDE + 4 }, cells, borders);
  const bars = tools.bars({ rows: 3, text: whole });
  let { rule, side, size } = data.start;
  const visible = (q, k) => (rule === "window" || text[q] === text[k]) && (rule === "texts" || Math.abs(q - k) <= side);

  function tiles() {  // for each tile how many of its pairs are visible, and how many pairs it has
    const count = Math.ceil(total / size), found = [];
    for (let i = 0; i < count; i++)
      for (let j = 0; j < count; j++) {
        let seen = 0, pairs = 0;
        for (let q = i * size; q < Math.min(total, (i + 1) * size); q++)
          for (let k = j * size; k < Math.min(total, (j + 1) * size); k++) { pairs += 1; seen += visible(q, k); }
        found.push({ i, j, seen, pairs });
      }
    return found;
  }
  function draw() {
    const found = tiles(), scale = SIDE / total, kinds = { skipped: 0, partial: 0, full: 0 };
    const kind = ({ seen, pairs }) => (seen === 0 ? "skipped" : seen === pairs ? "full" : "partial");
    found.forEach((tile) => { kinds[kind(tile)] += 1; });
    cells.replaceChildren(...found.map((tile) => svg("rect", { class: `w2s-area hue-${{ skipped: "grey", partial: "orange", full: "blue" }[kind(tile)]}`,
      x: (2 + tile.j * size * scale).toFixed(1), y: (2 + tile.i * size * scale).toFixed(1), "fill-opacity": kind(tile) === "skipped" ? 0.15 : 1,
      width: (Math.min(size, total - tile.j * size) * scale - 1).toFixed(1), height: (Math.min(size, total - tile.i * size) * scale - 1).toFixed(1) })));
    let at = 0;
    borders.replaceChildren(...data.lengths.slice(0, -1).flatMap((length) => {
      at += length;
      const place = 2 + at * scale;
      return [svg("line", { class: "w2s-line is-dashed hue-purple", x1: place, x2: place, y1: 2, y2: SIDE + 2 }), svg("line", { class: "w2s-line is-dashed hue-purple", x1: 2, x2: SIDE + 2, y1: place, y2: place })];
    }));
    const wanted = found.reduce((sum, { seen }) => sum + seen, 0), computed = found.reduce((sum, { seen, pairs }) => sum + (seen ? pairs : 0), 0);
    bars.show([["all pairs", total * total, "grey"], ["pairs computed", computed, "orange"], ["pairs visible", wanted, "blue"]].map(([label, value, hue]) => ({ label, value, hue })));
    picture.name(`${found.length} tiles of ${size} by ${size}: ${kinds.skipped} skipped, ${kinds.partial} computed under the mask, ${kinds.full} computed whole.`);
    Object.assign(stage.dataset, { rule, side, size, ...kinds, wanted, computed });
    tools.say(`${found.length} tiles: ${kinds.skipped} skipped, ${kinds.partial} partial, ${kinds.full} full. The kernel computes ${whole(computed)} pairs for ${whole(wanted)} visible ones.`);
  }
  const rules = tools.choice({ legend: "Mask", value: rule, options: Object.entries(RULES).map(([key, label]) => ({ key, label })), onchange(key) { rule = key; draw(); } });
  const pick = (label, key, values, value, take) => tools.slider({ label, min: 0, max: values.length - 1, value: values.indexOf(value), text: (n) => String(values[n]), oninput(n) { take(values[n]); draw(); } });
  const sliders = [pick("Window, tokens to each side", "side", data.sides, side, (value) => { side = value; }), pick("Tile size", "size", data.sizes, size, (value) => { size = value; })];
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(rules), tools.bar(...sliders), bars.node);
  draw();
});
