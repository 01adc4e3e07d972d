/* Charts: scales and axes, lines, bars, a timeline, boxes with arrows. Parts are {node, show(...)}. */
(function () {
  "use strict";
  const kit = window.w2s.kit, { el, svg, set } = kit;

  /* A number from one range to another; `ticks` gives about `many` round numbers within the first. */
  kit.scale = function scale([from, to], [left, right]) {
    const place = (value) => left + (value - from) / (to - from || 1) * (right - left);
    place.ticks = (many = 5) => {
      const rough = (to - from || 1) / many, ten = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= rough * 0.999);
      const first = Math.ceil(from / step - 1e-9), found = [];
      for (let n = first; n * step <= to + step * 1e-9; n++) found.push(Number((n * step).toPrecision(12)));
      return found;
    };
    return place;
  };

  /* Axes with ticks in a group that is drawn anew by show({x, y, box: [left, top, right, bottom], ...}), x and y being
     scales into the box. lines: [{points: [[x, y]], hue, line}], dot: [x, y] marks a place on them. */
  kit.axes = function axes({ xLabel = "", yLabel = "", text = (value) => String(value).replace("-", "−"), grid = true }) {
    const node = svg("g", { class: "w2s-axes" });
    function show({ x, y, box: [left, top, right, bottom], lines = [], dot = null, many = [5, 4] }) {
      node.replaceChildren(svg("line", { class: "w2s-axis", x1: left, x2: right, y1: bottom, y2: bottom }));
      for (const value of x && many[0] ? x.ticks(many[0]) : [])
        node.append(svg("text", { class: "w2s-tick", x: x(value), y: bottom + 17, "text-anchor": "middle" },
          text(value)));
      for (const value of many[1] ? y.ticks(many[1]) : []) {
        if (grid) node.append(svg("line", { class: "w2s-grid", x1: left, x2: right, y1: y(value), y2: y(value) }));
        node.append(svg("text", { class: "w2s-tick", x: left - 6, y: y(value) + 4, "text-anchor": "end" },
          text(value)));
      }
      if (xLabel) node.append(svg("text", { class: "w2s-axis-label", x: right, y: bottom + 34, "text-anchor": "end" },
        xLabel));
      if (yLabel) node.append(svg("text", { class: "w2s-axis-label", x: left, y: top - 8 }, yLabel));
      for (const { points, hue = "blue", line = "solid" } of lines)
        node.append(svg("polyline", { class: `w2s-line is-${line} hue-${hue}`,
          points: points.map(([a, b]) => `${x ? x(a).toFixed(1) : a},${y(b).toFixed(1)}`).join(" ") }));
      if (dot) node.append(svg("circle", { class: "w2s-dot-on-line", cx: x(dot[0]), cy: y(dot[1]), r: 5 }));
    }
    return { node, show, name(text_) { const label = node.querySelector(".w2s-axis-label");
    if (label) label.textContent = text_; } };
  };

  /* Bars that lie beside their names. show(items, {most}): items [{label, value, hue, note}],
    at most `rows` of them. */
  kit.bars = function bars({ rows, text = (value) => value.toFixed(2) }) {
    const lines = Array.from({ length: rows }, () => {
      const label = el("span", { class: "w2s-bar-label" }), fill = el("span", { class: "w2s-bar-fill" }),
        value = el("span", { class: "w2s-bar-value" });
      return { node: el("li", {}, label, el("span", { class: "w2s-bar-track" }, fill), value), label, fill, value };
    });
    function show(items, { most = Math.max(...items.map((item) => item.value), 1e-9) } = {}) {
      lines.forEach(({ node, label, fill, value }, k) => {
        const item = items[k];
        node.hidden = !item;
        if (!item) return;
        label.textContent = item.label;
        value.textContent = text(item.value) + (item.note ? ` ${item.note}` : "");
        fill.className = `w2s-bar-fill hue-${item.hue || "blue"}`;
        fill.style.setProperty("--share", Math.max(0, Math.min(1, item.value / most)).toFixed(4));
      });
    }
    return { node: el("ol", { class: "w2s-bars" }, ...lines.map(({ node }) => node)), show };
  };

  /* Rows over time. show({items: [{row, start, end, label, hue}], now}): a bar for each stretch, and where `now` is.
     fit(width) draws it anew at another width: give it to onWidth. */
  kit.timeline = function timeline({ rows, end, label = "step", row = 30 }) {
    const left = 16 + 7.5 * Math.max(...rows.map((name) => name.length)), bottom = rows.length * row + 6;
    const axis = kit.axes({ xLabel: label, grid: false }), bars = svg("g", {});
    const head = svg("line", { class: "w2s-playhead" }), middleOf = (r) => r * row + row / 2 + 5;
    const names = rows.map((name, r) => svg("text", { class: "w2s-row-label", x: left - 8, y: middleOf(r) }, name));
    const picture = kit.picture({ class: "w2s-timeline" }, ...names, axis.node, bars, head);
    let x = null, state = { items: [] };
    function show(next) {
      const { items, now = null } = (state = next);
      if (!x) return;
      bars.replaceChildren(...items.map(({ row: r, start, end: stop, label: text, hue = "blue" }) => {
        const long = Math.max(2, x(stop) - x(start) - 2);
        const box = { x: x(start) + 1, y: r * row + 3, width: long, height: row - 6, rx: 3 };
        const middle = { x: (x(start) + x(stop)) / 2, y: middleOf(r), "text-anchor": "middle" };
        return svg("g", { class: `w2s-stretch hue-${hue}` }, svg("rect", box), svg("text", middle, text || ""));
      }));
      const place = { x1: x(now ?? 0), x2: x(now ?? 0), y1: 2, y2: bottom };
      set(head, { ...place, visibility: now === null ? "hidden" : "visible" });
    }
    function fit(width) {
      x = kit.scale([0, end], [left, width - 10]);
      set(picture.node, { viewBox: `0 0 ${width} ${bottom + 40}`, width });
      axis.show({ x, y: x, box: [left, 0, width - 10, bottom], many: [Math.min(end, width / 60), 0] });
      show(state);
    }
    return { node: picture.node, show, fit, name: picture.name };
  };

  /* Boxes and arrows. boxes: [{key, x, y, width, height, label, hue}], arrows: [{from, to, label}] from edge to edge.
     show({lit: keys}) lights some; with onpick(key) each box is a button for mouse and keyboard. */
  kit.diagram = function diagram({ width, height, boxes, arrows = [], onpick }) {
    const picture = kit.picture({ viewBox: `0 0 ${width} ${height}`, class: "w2s-diagram", width, role: onpick
      ? "group" : "img" });
    const byKey = new Map(boxes.map((box) => [box.key, box]));
    const edge = (box, towards) => {  // where the line between two centres leaves a box
      const [cx, cy] = [box.x + box.width / 2, box.y + box.height / 2];
      const dx = towards.x + towards.width / 2 - cx, dy = towards.y + towards.height / 2 - cy;
      const reach = 1 / Math.max(Math.abs(dx) / (box.width / 2), Math.abs(dy) / (box.height / 2), 1e-9);
      return [cx + dx * reach, cy + dy * reach];
    };
    for (const { from, to, label } of arrows) {
      const [one, other] = [byKey.get(from), byKey.get(to)], start = edge(one, other), end = edge(other, one);
      const turn = Math.atan2(end[1] - start[1], end[0] - start[0]);
      const barb = (by) => [end[0] - 9 * Math.cos(turn + by), end[1] - 9 * Math.sin(turn + by)];
      picture.node.append(svg("polyline", { class: "w2s-arrow", points: kit.points([start, end]) }),
        svg("polyline", { class: "w2s-arrow", points: kit.points([barb(0.45), end, barb(-0.45)]) }));
      const middle = { x: (start[0] + end[0]) / 2, y: (start[1] + end[1]) / 2 - 6, "text-anchor": "middle" };
      if (label) picture.node.append(svg("text", { class: "w2s-tick", ...middle }, label));
    }
    const nodes = new Map(boxes.map((box) => {
      const pick = onpick && { tabindex: 0, role: "button", "aria-label": box.label, onclick: () => onpick(box.key),
        onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault();
        onpick(box.key); } } };
      const node = svg("g", { class: "w2s-box", ...pick },
        svg("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: 5 }),
        svg("text", { x: box.x + box.width / 2, y: box.y + box.height / 2 + 5, "text-anchor": "middle" }, box.label));
      picture.node.append(node);
      return [box.key, { node, hue: box.hue || "blue" }];
    }));
    const show = ({ lit = [] }) => nodes.forEach(({ node, hue }, key) => set(node, { class: `w2s-box hue-${hue}`
      + (lit.includes(key) ? " is-lit" : "") }));
    show({});
    // on a phone a wide drawing is scrolled, not shrunk until its words cannot be read
    const node = el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "Diagram" }, picture.node);
    picture.node.style.setProperty("min-width", `${Math.min(width, 480)}px`);
    return { node, show, name: picture.name };
  };
})();
