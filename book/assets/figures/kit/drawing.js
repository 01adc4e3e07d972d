/* What figures about text are made of: rows of tokens, matrices, marks that mean something, legends, labels that keep
   out of each other's way. Each part is {node, show(...)}: built once, shown as often as its state changes. */
(function () {
  "use strict";
  const kit = window.w2s.kit, { el, svg, set } = kit;

  /* One meaning, one hue and one mark, in every figure. Blue is what is looked at and orange what it meets (see
     palette.css), so neither stands for a sense. Names that are not here take what is left, in order. */
  const MEANINGS = { river: ["green", 0], water: ["green", 0], money: ["purple", 1], finance: ["purple", 1],
    animal: ["yellow", 2], other: ["grey", 3], bank: ["blue", 4] };
  const LEFT = [["green", 0], ["purple", 1], ["yellow", 2], ["blue", 4]];
  kit.meanings = function meanings(names) {
    const taken = names.filter((name) => MEANINGS[name]).map((name) => MEANINGS[name][0]);
    const free = LEFT.filter(([hue]) => !taken.includes(hue));
    return Object.fromEntries(names.map((name) => {
      const [hue, mark] = MEANINGS[name] || free.shift() || ["grey", 3];
      return [name, { hue, mark }];
    }));
  };

  /* The mark of a meaning: circle, square, triangle, cross, diamond, about 11 pixels wide and centred on 0, 0. */
  kit.mark = ({ hue, mark }) => svg("g", { class: `w2s-mark hue-${hue}` }, [
    () => svg("circle", { r: 5.5 }), () => svg("rect", { x: -5, y: -5, width: 10, height: 10 }), () => svg("path",
      { d: "M0-6.5 6 5h-12Z" }),
    () => svg("path", { d: "M-5-5 5 5M5-5-5 5", class: "is-cross" }), () => svg("path",
      { d: "M0-7 6.5 0 0 7-6.5 0Z" })][mark % 5]());

  /* items: [{label, hue, mark} or {label, line: "solid" | "dashed" | "dotted", hue}]. */
  kit.legend = (items) => ({ node: el("ul", { class: "w2s-key" }, ...items.map((item) => el("li", {},
    svg("svg", { viewBox: "-11 -8 22 16", width: 22, height: 16, "aria-hidden": "true" }, item.line
      ? svg("line", { class: `w2s-line is-${item.line} hue-${item.hue}`, x1: -10, x2: 10, y1: 0, y2: 0 })
        : kit.mark(item)), item.label))) });

  /* A picture with a name that screen readers give; `name(text)` changes it. */
  kit.picture = function picture(attributes, ...children) {
    const title = svg("title", {}), node = svg("svg", { role: "img", ...attributes }, title, ...children);
    return { node, name(text) { title.textContent = text; } };
  };

  /* Lines of words. show({focus: [line, place], near: places,
    levels}) marks the one that is looked at and those that it
     meets in its line, and shades words by levels[line][place] from 0 to 1. With onpick(line,
       place) words are buttons. */
  kit.tokenLines = function tokenLines(lines, { onpick } = {}) {
    const words = lines.map((line, l) => line.map((word, i) => (onpick
      ? kit.button(word, () => onpick(l, i), { class: "w2s-token" }) : el("span", { class: "w2s-token" }, word))));
    const node = el("div", { class: "w2s-lines" }, ...words.map((line) => el("p", { class: "w2s-sentence" }, ...line)));
    function show({ focus = [-1, -1], near = [], levels = null }) {
      words.forEach((line, l) => line.forEach((word, i) => {
        const here = l === focus[0];
        word.className = "w2s-token" + (here && i === focus[1] ? " is-centre" : here && near.includes(i) ? " is-near"
          : "") + (levels ? " has-level" : "");
        if (levels) word.style.setProperty("--level", levels[l][i].toFixed(3));
      }));
    }
    return { node, show };
  };

  /* The positions of the tokens that together spell a word, or null: another tokenizer may split it. */
  kit.piecesOf = function piecesOf(whole, tokens) {
    const bare = tokens.map((token) => token.replace(/^##/, "").replace(/[\s␣]/g, "").toLowerCase()), wanted = whole.toLowerCase();
    for (let first = 0; first < bare.length; first++)
      for (let last = first, spelled = bare[first]; spelled && wanted.startsWith(spelled); spelled += bare[++last] ?? " ")
        if (spelled === wanted) return Array.from({ length: last - first + 1 }, (_, n) => first + n);
    return null;
  };

  /* A table of numbers as shaded cells. show({values, most, fresh, row, columns, text}): `most` is the number of the
     darkest shade, `fresh(r, c)` frames a cell, row and columns are lit, text(value) is written (nothing for 0). */
  kit.matrix = function matrix({ rows, columns, cell = 26 }) {
    const longest = (names) => Math.max(...names.map((name) => name.length));
    const left = 14 + 7.5 * longest(rows), top = 14 + 7.5 * longest(columns);
    const width = left + columns.length * cell + 4, height = top + rows.length * cell + 4;
    const band = svg("rect", { class: "w2s-band", x: 0, width, height: cell, visibility: "hidden" });
    const picture = kit.picture({ viewBox: `0 0 ${width} ${height}`, class: "w2s-matrix",
      width: Math.round(width * 1.1) }, band);
    const rowLabels = rows.map((name, r) => svg("text", { class: "w2s-row-label", x: left - 8, y: top + r * cell
      + cell / 2 + 4 }, name));
    const columnLabels = columns.map((name, c) => svg("text",
      { transform: `translate(${left + c * cell + cell / 2 + 4} ${top - 8}) rotate(-90)` }, name));
    const cells = rows.map((_, r) => columns.map((__, c) => {
      const x = left + c * cell, y = top + r * cell;
      const box = svg("rect", { x: x + 1, y: y + 1, width: cell - 2, height: cell - 2, rx: 3 });
      const number = svg("text", { x: x + cell / 2, y: y + cell / 2 + 4.5 });
      picture.node.append(box, number);
      return { box, number };
    }));
    picture.node.append(...rowLabels, ...columnLabels);
    function show({ values, most, fresh = () => false, row = -1, columns: lit = [], text = String }) {
      set(band, { visibility: row < 0 ? "hidden" : "visible", y: top + Math.max(row, 0) * cell });
      rowLabels.forEach((label, r) => set(label, { class: "w2s-row-label" + (r === row ? " is-centre" : "") }));
      columnLabels.forEach((label, c) => set(label, { class: lit.includes(c) ? "is-near" : "w2s-column-label" }));
      cells.forEach((line, r) => line.forEach(({ box, number }, c) => {
        const value = values[r][c], level = Math.min(1, value / (most || 1));
        box.style.setProperty("--level", level.toFixed(3));
        set(box, { class: "w2s-cell" + (value ? " is-counted" : "") + (fresh(r, c) ? " is-new" : "") });
        set(number, { class: "w2s-count" + (level > 0.73 ? " is-strong" : "") });
        number.textContent = value ? text(value) : "";
      }));
    }
    return { node: picture.node, show, name: picture.name };
  };

  /* Where the label of each mark goes: above, right, left or below it, whichever touches least of what is there.
     weights: 0 for those placed first; a label of weight `idle` that touches another is hidden. radii: of the marks. */
  kit.placeLabels = function placeLabels(labels, spots, width, weights, idle = Infinity, radii = spots.map(() => 7)) {
    const taken = spots.map(([x, y], k) => [x - radii[k], y - radii[k], x + radii[k], y + radii[k]]);
    const order = spots.map((_, k) => k).sort((a, b) => weights[a] - weights[b] || a - b);
    for (const k of order) {
      const [x, y] = spots[k], r = radii[k], long = 7.6 * labels[k].textContent.length;
      const tried = [[0, -r - 3, "middle", x - long / 2], [r + 4, 5, "start", x + r + 4], [-r - 4, 5, "end", x - r - 4 - long],
        [0, r + 13, "middle", x - long / 2]];
      const scored = tried.map(([dx, dy, anchor, left]) => {
        const box = [left, y + dy - 11, left + long, y + dy + 3];
        const touched = taken.filter((b, i) => i !== k && box[0] < b[2] && box[2] > b[0] && box[1] < b[3]
          && box[3] > b[1]).length;
        return { dx, dy, anchor, box, cost: touched + (box[0] < 0 || box[2] > width ? 5 : 0) };
      });
      const best = scored.reduce((a, b) => (b.cost < a.cost ? b : a)), hidden = best.cost > 0 && weights[k] >= idle;
      set(labels[k], { visibility: hidden ? "hidden" : "visible", x: best.dx, y: best.dy, "text-anchor": best.anchor });
      if (!hidden) taken.push(best.box);
    }
  };
})();
