/* The order in which program instances take the tiles of a matrix product, and the bands of A and B that those which run together need.

   data = {task: "Which ...", size: 9, together: 9, groups: [1, 3, 9], start: {group: 1, wave: 0}}
   Tiles down and across, instances at a time; the order is kernels.textbook_triton.grouped_tile. */
window.w2s.register("tile-order", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, { size: N, together } = data, now = { ...data.start }, cell = 30, edge = 46, wide = edge + N * cell + 6, waves = Math.ceil(N * N / together);
  const picture = tools.picture({ viewBox: `0 0 ${wide} ${wide}`, width: wide, class: "w2s-matrix" }), box = (x, y, width, height) => svg("rect", { class: "w2s-tile", x, y, width, height, rx: 3 });
  const a = Array.from({ length: N }, (_, r) => box(6, edge + r * cell + 1, 26, cell - 2)), b = Array.from({ length: N }, (_, c) => box(edge + c * cell + 1, 6, cell - 2, 26));
  const tiles = Array.from({ length: N * N }, (_, n) => ({ box: box(edge + (n % N) * cell + 1, edge + Math.floor(n / N) * cell + 1, cell - 2, cell - 2),
    text: svg("text", { class: "w2s-count", x: edge + (n % N) * cell + cell / 2, y: edge + Math.floor(n / N) * cell + 20 }) }));
  picture.node.append(...a, ...b, ...tiles.flatMap((tile) => [tile.box, tile.text]), svg("text", { class: "w2s-tick", x: 19, y: edge - 6, "text-anchor": "middle" }, "A"), svg("text", { class: "w2s-tick", x: edge - 9, y: 24, "text-anchor": "middle" }, "B"));
  const bars = tools.bars({ rows: data.groups.length, text: String });
  function tileOf(number, group) {  // row and column of the tile of an instance
    const first = Math.floor(number / (group * N)) * group, height = Math.min(group, N - first), inside = number % (group * N);
    return [first + inside % height, Math.floor(inside / height)];
  }
  function bands(group) {
    const found = [];
    for (let n = now.wave * together; n < Math.min(N * N, (now.wave + 1) * together); n += 1) found.push(tileOf(n, group));
    return { rows: new Set(found.map(([r]) => r)), columns: new Set(found.map(([, c]) => c)) };
  }
  const bandsOf = (count) => `${count} ${count === 1 ? "band" : "bands"}`;
  const loads = (group) => N * (bands(group).rows.size + bands(group).columns.size);

  function draw() {
    const here = bands(now.group);
    for (let n = 0; n < N * N; n += 1) {
      const [r, c] = tileOf(n, now.group), { box: frame, text } = tiles[r * N + c], wave = Math.floor(n / together);
      set(frame, { class: `w2s-tile${wave === now.wave ? " is-held" : wave < now.wave ? " is-gone" : ""}` });
      text.textContent = n;
    }
    a.forEach((band, r) => set(band, { class: `w2s-tile${here.rows.has(r) ? " is-held" : ""}` }));
    b.forEach((band, c) => set(band, { class: `w2s-tile${here.columns.has(c) ? " is-held" : ""}` }));
    bars.show(data.groups.map((group) => ({ label: `groups of ${group}`, value: loads(group), hue: group === now.group ? "orange" : "grey" })), { most: N * (together + 1) });
    picture.name(`${bandsOf(here.rows.size)} of A and ${bandsOf(here.columns.size)} of B are read.`);
    tools.say(`Groups of ${now.group}, instances ${now.wave * together} to ${Math.min(N * N, (now.wave + 1) * together) - 1}: ${bandsOf(here.rows.size)} of A and ${bandsOf(here.columns.size)} of B, ${loads(now.group)} tiles.`);
    Object.assign(stage.dataset, { ...now, loads: loads(now.group) });
  }
  const picks = tools.choice({ legend: "Tile rows in a group", value: String(now.group), options: data.groups.map((group) => ({ key: String(group), label: String(group) })), onchange(key) { now.group = Number(key); draw(); } });
  const scrub = tools.slider({ label: "Running together", min: 0, max: waves - 1, value: 0, text: (value) => `${value * together} to ${Math.min(N * N, (value + 1) * together) - 1}`, oninput(value) { now.wave = value; draw(); } });
  stage.append(tools.el("p", { class: "w2s-task" }, data.task), picture.node, tools.el("p", { class: "w2s-cut-name" }, "Tiles of A and B that are read"), bars.node, tools.bar(picks), tools.bar(scrub));
  if (tools.asStill) now.group = data.groups[1];
  draw();
});
