/* The blocks that groups of layers hold while a sequence grows: full layers keep all, layers with a window give up what lies behind it.

   data = { task, size: 4, most: 48, at: 24, groups: [{ label: "full layers", window: null }, { label: "local layers", window: 8 }, ...] }
   The rule is that of engine.block_manager: whenever a block is full, after t tokens, a window of w has given up min((t - w + 1) // B, t / B - 1) blocks. */
window.w2s.register("window-blocks", function (stage, data, tools) {
  "use strict";
  const { svg, el, set } = tools, { size, most, groups } = data, drawing = svg("g", {}), picture = tools.picture({ class: "w2s-matrix" }, drawing);
  const bars = tools.bars({ rows: 2, text: (n) => `${n} blocks` }), local = groups.filter(({ window }) => window !== null);
  let tokens = data.at, window_ = local[0].window, wide = 560;
  const blocks = (t) => Math.ceil(t / size), last = () => Math.floor(tokens / size) * size;
  const freed = (w) => (w === null ? 0 : Math.max(0, Math.min(Math.floor((last() - w + 1) / size), last() / size - 1)));
  const of = (group) => (group.window === null ? null : window_);

  function draw() {
    const count = blocks(most), gap = 3, cell = wide / count, tall = 62, all = blocks(tokens), held = groups.map((group) => all - freed(of(group)));
    drawing.replaceChildren(...groups.flatMap((group, g) => {
      const y = g * tall, gone = freed(of(group));
      return [svg("text", { class: "w2s-tick", x: 0, y: y + 14 }, `${group.label}: ${held[g]} blocks held`), ...Array.from({ length: count }, (_, b) => {
        const state = b >= all ? "" : b < gone ? " is-masked" : b === all - 1 ? " is-held" : " is-gone";
        return svg("g", {}, svg("rect", { class: `w2s-tile${state}`, x: b * cell, y: y + 22, width: cell - gap, height: 28, rx: 3 }),
          svg("text", { class: "w2s-count", x: b * cell + (cell - gap) / 2, y: y + 41, "font-size": 12 }, b < all && b >= gone ? String(b * size) : ""));
      })];
    }));
    set(picture.node, { viewBox: `0 0 ${wide} ${groups.length * tall}`, width: wide });
    const together = held.reduce((a, b) => a + b, 0), without = all * groups.length;
    bars.show([{ label: "one table", value: without, hue: "grey" }, { label: "per group", value: together, hue: "blue" }], { most: blocks(most) * groups.length });
    picture.name(`${groups.length} groups of layers after ${tokens} tokens in blocks of ${size}: ${groups.map(({ label }, g) => `${label} hold ${held[g]} blocks`).join(", ")}.`);
    tools.say(`${tokens} tokens, a window of ${window_}. The next token attends to ${Math.min(tokens + 1, window_)} tokens in local layers. ${together} blocks are held by all groups, ${without} if all layers shared one table.`);
    Object.assign(stage.dataset, { tokens, window: window_, held: held.join(" "), together, without });
  }
  const grow = tools.slider({ label: "Tokens", min: 1, max: most, value: tokens, oninput(value) { tokens = value; draw(); } });
  const sizes = tools.slider({ label: "Window", min: 1, max: most, value: window_, oninput(value) { window_ = value; draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, bars.node, tools.bar(grow, sizes));
  tools.onWidth((pixels) => { wide = pixels; draw(); });
});
