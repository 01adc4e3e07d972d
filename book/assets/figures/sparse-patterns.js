/* The attention pattern of one layer of a sparse encoder, and its receptive field after several: a grid of queries and keys.

   data = {
     tokens: ["[CLS]", "we", ...],
     windows: [["1100...", ...], ...]      windows[side][query][key], "1" where seen: layers.masks.window_mask
     random: [["0100...", ...], ...]       random[how many][query][key]: models.bigbird.random_blocks, a token a block
     presets: [{key: "window", label: "window", side: 2, random: 0, global: [0]}, ...]
   }
   A global token sees all and is seen by all. */
window.w2s.register("sparse-patterns", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { tokens } = data, count = tokens.length, places = tokens.map((_, i) => i);
  let now = { ...data.presets[0] }, layers = 1, row = count - 1;
  const words = tools.tokenLines([tokens], { onpick(_, i) {
    const chosen = new Set(now.global);
    if (!chosen.delete(i)) chosen.add(i);
    now = { ...now, global: [...chosen].sort((a, b) => a - b) };
    presets.set("");
    draw();
  } });
  const matrix = tools.matrix({ rows: tokens, columns: tokens, cell: 24 });

  function seen() {
    const open = new Set(now.global);
    return places.map((query) => places.map((key) => data.windows[now.side][query][key] === "1"
      || data.random[now.random][query][key] === "1" || open.has(query) || open.has(key)));
  }
  function steps(mask) {  // after how many layers a query has something of a key: breadth first, Infinity for never
    return places.map((query) => {
      const far = places.map(() => Infinity);
      let edge = [query];
      far[query] = 0;
      for (let layer = 1; edge.length; layer += 1) {
        const next = places.filter((key) => far[key] === Infinity && edge.some((one) => mask[one][key]));
        for (const key of next) far[key] = layer;
        edge = next;
      }
      return far.map((value, key) => (key === query ? (mask[query][query] ? 1 : 0) : value));
    });
  }

  function draw() {
    const mask = seen(), far = steps(mask), pairs = mask.flat().filter(Boolean).length, hops = far[count - 1][0];
    const all = Math.max(...far.flat()), met = far.flat().filter((value) => value <= layers).length;
    matrix.show({ values: far.map((line) => line.map((value) => (value > layers ? 0 : value <= 1 ? 1 : 0.45))), most: 1, row,
      columns: [0], text: (value) => (value === 1 ? "" : "·") });
    matrix.name(`Rows ask, columns are looked at: ${pairs} of ${count * count} pairs are seen directly.`);
    words.show({ focus: [-1, -1], levels: [places.map((i) => (now.global.includes(i) ? 1 : 0))] });
    for (const [i, node] of words.node.querySelectorAll("button").entries())
      node.setAttribute("aria-pressed", String(now.global.includes(i)));
    side.set(now.side);
    random.set(now.random);
    Object.assign(stage.dataset, { pairs, hops, all, layers, met, side: now.side, random: now.random, global: JSON.stringify(now.global) });
    tools.say(`${pairs} of ${count * count} pairs in one layer. The last token has something of the first after `
      + `${Number.isFinite(hops) ? `${hops} ${hops === 1 ? "layer" : "layers"}` : "no number of layers"}`
      + `${Number.isFinite(all) ? `, each of each other after ${all}` : ""}. ${layers === 1 ? "" : `After ${layers} layers: ${met} pairs (paler ones through others).`}`);
  }
  const presets = tools.choice({ legend: "Pattern", value: now.key, options: data.presets,
    onchange(key) { now = { ...data.presets.find((one) => one.key === key) }; draw(); } });
  const changed = (change) => { now = { ...now, ...change }; presets.set(""); draw(); };
  const side = tools.slider({ label: "window, to each side", min: 0, max: count - 1, value: now.side, oninput: (value) => changed({ side: value }) });
  const random = tools.slider({ label: "random", min: 0, max: data.random.length - 1, value: now.random, oninput: (value) => changed({ random: value }) });
  const deep = tools.slider({ label: "layers", min: 1, max: 8, value: 1, oninput(value) { layers = value; draw(); } });
  stage.append(...(data.task ? [el("p", { class: "w2s-task" }, data.task)] : []), el("p", { class: "w2s-cut-name" }, "Press a token to make it global"), words.node,
    el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "Attention pattern" }, matrix.node),
    tools.bar(presets), tools.bar(side, random, deep));
  if (tools.asStill) now = { ...data.presets.find(({ key }) => key === "global") || now };
  draw();
});
