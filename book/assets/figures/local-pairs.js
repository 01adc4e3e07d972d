/* Attention patterns of local and global layers: a mask that is dragged, and pairs counted over all layers.

   data = {
     most: 24,                                       the longest text whose mask is drawn token by token
     known: [{label: "by hand", tokens: 8, window: 2, every: 3, layers: 22}, ...]     the first is shown at first;
                                                     half of a window lies to each side, one layer in `every` is global
   } */
window.w2s.register("local-pairs", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, SIZE = 288, LENGTHS = [...Array.from({ length: data.most }, (_, i) => i + 1), 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
    WINDOWS = [0, 2, 4, 8, 16, 32, 64, 128, 256, 512], whole = (value) => value.toLocaleString("en");
  let now = { ...data.known[0] }, kind = "local", row = 0, dragging = false;
  const band = (count, side) => (side >= count ? count * count : count * (2 * side + 1) - side * (side + 1));
  const areas = svg("g", {}), picture = tools.picture({ class: "w2s-lanes", viewBox: `0 0 ${SIZE + 4} ${SIZE + 4}`, width: SIZE + 4, style: "touch-action: none" }, areas);
  const bars = tools.bars({ rows: 3, text: whole }), layers = el("div", { class: "w2s-lines" });

  function mask(side) {
    const { tokens } = now, cell = SIZE / tokens, rects = [];
    if (tokens <= data.most)
      for (let q = 0; q < tokens; q++)
        for (let k = 0; k < tokens; k++)
          rects.push(svg("rect", { class: `w2s-area hue-${Math.abs(q - k) > side ? "grey" : q === row ? "orange" : "blue"}`, x: (2 + k * cell).toFixed(1), y: (2 + q * cell).toFixed(1),
            width: (cell - 1).toFixed(1), height: (cell - 1).toFixed(1), "fill-opacity": Math.abs(q - k) > side ? 0.15 : 1 }));
    else {
      const s = Math.min(side, tokens) * cell, end = SIZE + 2, corners = [[2, 2], [2 + s, 2], [end, end - s], [end, end], [end - s, end], [2, 2 + s]];
      rects.push(svg("rect", { class: "w2s-area hue-grey", x: 2, y: 2, width: SIZE, height: SIZE, "fill-opacity": 0.15 }),
        s >= SIZE ? svg("rect", { class: "w2s-area hue-blue", x: 2, y: 2, width: SIZE, height: SIZE })
          : svg("polygon", { class: "w2s-area hue-blue", points: tools.points(corners) }));
    }
    areas.replaceChildren(...rects);
  }
  function draw() {
    const { tokens, window: wide, every, layers: many } = now, side = kind === "global" ? tokens : wide >> 1;
    row = Math.min(row, tokens - 1);
    const globals = Math.ceil(many / every), all = tokens * tokens, near = band(tokens, wide >> 1), mixed = globals * all + (many - globals) * near;
    mask(side);
    const seen = Math.min(tokens - 1, row + side) - Math.max(0, row - side) + 1, shown = kind === "global" ? all : near;
    picture.name(`The mask of a ${kind} layer over ${whole(tokens)} tokens: ${whole(shown)} of ${whole(all)} pairs.`);
    bars.show([["all layers global", many * all, "grey"], [`one global in ${every}`, mixed, "blue"], ["all layers local", many * near, "green"]].map(
      ([label, value, hue]) => ({ label, value, hue })));
    layers.replaceChildren(el("p", { class: "w2s-cut-name" }, Array.from({ length: many }, (_, i) => (i % every ? "L" : "G")).join(" ")));
    Object.entries(sliders).forEach(([key, slider]) => slider.set(lists[key] ? lists[key].indexOf(now[key]) : now[key]));
    Object.assign(stage.dataset, { ...now, kind, row, pairs: shown, mixed, all: many * all });
    tools.say(`${kind === "local" ? "A local" : "A global"} layer: ${whole(shown)} of ${whole(all)} pairs. ${tokens <= data.most ? `Token ${row + 1} sees ${seen}. ` : ""}`
      + `${globals} of ${many} layers are global: ${whole(mixed)} pairs in all, ${(many * all / mixed).toFixed(2)} times fewer than with all global.`);
  }
  const changed = (change) => { now = { ...now, ...change }; presets.set(""); draw(); };
  const lists = { tokens: LENGTHS, window: WINDOWS };
  const slider = (label, key, text = whole) => tools.slider({ label, min: 0, max: lists[key].length - 1, value: 0, text: (at) => text(lists[key][at]),
    oninput: (at) => changed({ [key]: lists[key][at] }) });
  const sliders = { tokens: slider("Tokens T", "tokens"), window: slider("Window", "window", (value) => `${value}: ${value / 2} to each side`),
    every: tools.slider({ label: "One global in", min: 1, max: 11, value: 3, oninput: (value) => changed({ every: value }) }) };
  const presets = tools.choice({ legend: "Try", value: now.label, options: data.known.map(({ label }) => ({ key: label, label })),
    onchange(label) { now = { ...data.known.find((one) => one.label === label) }; draw(); } });
  const which = tools.choice({ legend: "Mask of a layer that is", value: kind, options: ["local", "global"].map((key) => ({ key, label: key })),
    onchange(key) { kind = key; draw(); } });
  const rows = tools.slider({ label: "Query", min: 1, max: data.most, value: 1, oninput(to) { row = to - 1; draw(); } });
  function drag(event) {  // down and up: which token asks; away from the diagonal: how wide the window is
    const box = picture.node.getBoundingClientRect(), at = (part, from, size) => (part - from) / size * now.tokens;
    const [k, q] = [at(event.clientX, box.left, box.width), at(event.clientY, box.top, box.height)], side = Math.abs(Math.floor(k) - Math.floor(q));
    row = Math.max(0, Math.min(now.tokens - 1, Math.floor(q)));
    rows.set(row + 1);
    changed({ window: WINDOWS.reduce((best, one) => (Math.abs(one / 2 - side) < Math.abs(best / 2 - side) ? one : best)) });
  }
  picture.node.addEventListener("pointerdown", (event) => { dragging = true; drag(event); });
  picture.node.addEventListener("pointermove", (event) => { if (dragging) drag(event); });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) picture.node.addEventListener(end, () => { dragging = false; });
  stage.append(tools.bar(presets, which), tools.bar(sliders.tokens, sliders.window), tools.bar(sliders.every, rows), picture.node, layers, bars.node);
  set(picture.node, { tabindex: null });
  draw();
});
