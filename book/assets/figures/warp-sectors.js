/* One load of a warp: which sectors of memory its lanes touch, for a size of the numbers, a stride and an offset.

   data = {task: "Find ...", lanes: 32, sector: 32, line: 4, sizes: [2, 4], strides: [1, 2, 4, 8, 16, 32], offsets: 8, start: {size: 4, stride: 1, offset: 0}}
   `sector` is the smallest piece that moves, in bytes; `line` is how many sectors a cache line has. */
window.w2s.register("warp-sectors", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, { lanes, sector, line } = data, now = { ...data.start }, across = 16, cell = 21, left = 3, top = 6;
  const down = Math.ceil((data.offsets - 1 + (lanes - 1) * Math.max(...data.strides) + 1) * Math.max(...data.sizes) / sector / across);
  const picture = tools.picture({ viewBox: `0 0 ${across * cell + 2 * left} ${down * (cell + 2) + top + 4}`, width: 560, class: "w2s-matrix" });
  const cells = Array.from({ length: down * across }, (_, n) => {
    const x = left + (n % across) * cell, y = top + Math.floor(n / across) * (cell + 2);
    const box = svg("rect", { x: x + 1, y, width: cell - 2, height: cell - 2, rx: 2 }), text = svg("text", { class: "w2s-count", x: x + cell / 2, y: y + 15 });
    picture.node.append(box, text);
    return { box, text };
  });
  for (let n = line; n < across; n += line) picture.node.append(svg("line", { class: "w2s-grid", x1: left + n * cell, x2: left + n * cell, y1: top, y2: top + down * (cell + 2) - 4 }));
  const bars = tools.bars({ rows: 2, text: (value) => `${value.toLocaleString("en")} bytes` });

  function draw() {
    const { size, stride, offset } = now, found = new Map();
    for (let lane = 0; lane < lanes; lane += 1) {
      const at = Math.floor((offset + lane * stride) * size / sector);
      found.set(at, (found.get(at) || 0) + 1);
    }
    cells.forEach(({ box, text }, n) => { set(box, { class: `w2s-tile${found.has(n) ? " is-held" : ""}` }); text.textContent = found.get(n) || ""; });
    const asked = lanes * size, moved = found.size * sector;
    bars.show([{ label: "requested", value: asked, hue: "blue" }, { label: "moved", value: moved, hue: "orange" }], { most: lanes * sector });
    picture.name(`${found.size} of ${cells.length} sectors are touched.`);
    tools.say(`${lanes} lanes, numbers of ${size} bytes, stride ${stride}, first address ${offset * size}: ${asked} bytes are requested, ${found.size} sectors of ${sector} bytes move. ${Math.round(100 * asked / moved)} % of the traffic is used.`);
    Object.assign(stage.dataset, { ...now, sectors: found.size, asked, moved });
  }
  const pick = (key, legend, list) => tools.choice({ legend, value: String(now[key]), options: list.map((value) => ({ key: String(value), label: String(value) })), onchange(value) { now[key] = Number(value); draw(); } });
  const shift = tools.slider({ label: "Offset in numbers", min: 0, max: data.offsets - 1, value: now.offset, oninput(value) { now.offset = value; draw(); } });
  stage.append(tools.el("p", { class: "w2s-task" }, data.task), picture.node, bars.node, tools.bar(pick("stride", "Stride", data.strides)), tools.bar(pick("size", "Bytes per number", data.sizes), shift));
  if (tools.asStill) now.stride = 4;
  draw();
});
