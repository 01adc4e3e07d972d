/* ALBERT's two changes on an encoder of BERT's shape: parameters fall, multiply-adds do not.

   data = {
     task: "Switch ...", vocabulary: 30000, positions: 514, width: 768, narrow: 128, layers: 12,
     block: 7087872                          the parameters of one block, counted by torch
   }
   A token's multiply-adds are those of its matrices: 12 width² a block, narrow * width for the projection. */
window.w2s.register("shared-blocks", function (stage, data, tools) {
  "use strict";
  const { el, svg } = tools, WIDE = 300, HIGH = 15, GAP = 3, { vocabulary, positions, width, narrow, layers, block } = data;
  const text = (value) => `${(value / 1e6).toFixed(1)} million`, bars = tools.bars({ rows: 2, text }), drawing = svg("g", {});
  const TALL = layers * (HIGH + GAP) + 46, picture = tools.picture({ class: "w2s-lanes", viewBox: `0 0 ${WIDE} ${TALL}`, width: WIDE }, drawing);
  let table = tools.asStill ? "factorized" : "full", blocks = tools.asStill ? "shared" : "own";

  function count(tableKind, blocksKind) {
    const at = tableKind === "factorized" ? narrow : width, projection = tableKind === "factorized" ? narrow * width + width : 0;
    return { parameters: (vocabulary + positions) * at + projection + (blocksKind === "shared" ? 1 : layers) * block,
      products: layers * 12 * width * width + (tableKind === "factorized" ? narrow * width : 0) };
  }
  function box(y, wide, high, hue, label, faint) {
    const words = svg("text", { x: WIDE / 2, y: y + high / 2 + 4, "text-anchor": "middle", class: "w2s-label" });
    words.textContent = label;
    drawing.append(svg("rect", { class: `w2s-area hue-${hue}`, x: (WIDE - wide) / 2, y, width: wide, height: high, rx: 3, "fill-opacity": faint ? 0.12 : 0.45 }), words);
  }
  function show() {
    drawing.replaceChildren();
    for (let layer = layers; layer >= 1; layer--) {
      const copy = blocks === "shared" && layer > 1;
      box((layers - layer) * (HIGH + GAP), 200, HIGH, copy ? "grey" : "blue", copy ? "block 1 again" : `block ${layer}`, copy);
    }
    const below = layers * (HIGH + GAP) + 3;
    if (table === "factorized") box(below, 200, 14, "green", `${narrow} × ${width}`);
    box(below + (table === "factorized" ? 17 : 0), table === "factorized" ? 120 : 200, table === "factorized" ? 22 : 38, "orange",
      `${vocabulary.toLocaleString("en")} × ${table === "factorized" ? narrow : width}`);
    const now = count(table, blocks), most = count("full", "own");
    bars.show([{ label: "parameters", value: now.parameters, hue: "blue" }, { label: "multiply-adds", value: now.products, hue: "orange" }], { most: most.parameters });
    Object.assign(stage.dataset, { table, blocks, parameters: now.parameters, products: now.products });
    picture.name(`${layers} blocks ${blocks === "shared" ? "with the same weights" : "with weights of their own"} above a ${table} embedding.`);
    const times = most.parameters / now.parameters;
    tools.say(`${text(now.parameters)} parameters${times > 1.05 ? `, ${times.toFixed(1)} times fewer than without both changes` : ""}; ${text(now.products)} multiply-adds per token.`);
  }
  const first = tools.choice({ legend: "Embedding", value: table, options: [{ key: "full", label: "full" }, { key: "factorized", label: "factorized" }],
    onchange(key) { table = key; show(); } });
  const second = tools.choice({ legend: "Blocks", value: blocks, options: [{ key: "own", label: "one per layer" }, { key: "shared", label: "shared" }],
    onchange(key) { blocks = key; show(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, bars.node, tools.bar(first, second));
  show();
});
