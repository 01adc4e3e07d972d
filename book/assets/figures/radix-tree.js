/* Prompts that are inserted into a radix tree, one after the other; edges split where two prompts part.

   data = { task, size: 2, prompts: ["the bank lends ...", ...] }            a word is a token, a block has `size` words at first
   The tree is that of engine.prefix_index.RadixTree without evictions: runs of full blocks, compared word by word. */
window.w2s.register("radix-tree", function (stage, data, tools) {
  "use strict";
  const { svg, el, set } = tools, drawing = svg("g", {}), picture = tools.picture({ class: "w2s-matrix" }, drawing), most = 9;
  let prompts = [...data.prompts], size = data.size, at = 0, wide = 560;
  const words = (text) => text.split(/\s+/).filter(Boolean), cut = (text) => Array.from({ length: Math.floor(words(text).length / size) }, (_, b) => words(text).slice(b * size, (b + 1) * size).join(" "));

  function grow(count) {
    const root = { run: [], children: [] };
    let latest = { path: [], matched: 0, total: 0 }, computed = 0;
    prompts.slice(0, count).forEach((text, p) => {
      let node = root, taken = 0, matched = 0;
      const blocks = cut(text), path = [];
      for (const block of blocks) {
        if (taken < node.run.length && node.run[taken].words !== block) {                      // split
          node.children = [{ run: node.run.splice(taken), children: node.children }];
        }
        if (taken === node.run.length) {
          const child = node.children.find((one) => one.run[0].words === block);
          if (child) [node, taken] = [child, 0];
          else if (node === root || node.children.length) { node.children.push({ run: [{ words: block, by: p }], children: [] }); [node, taken] = [node.children.at(-1), 0]; }
          else node.run.push({ words: block, by: p });
        }
        matched += node.run[taken].by < p ? 1 : 0;
        path.push(node.run[taken]);
        taken += 1;
      }
      computed += blocks.length - matched;
      latest = { path, matched, total: blocks.length, text };
    });
    return { root, latest, computed };
  }
  const plain = (node) => [node.run.map((one) => one.words), node.children.map(plain)];

  function draw() {
    const { root, latest, computed } = grow(at), parts = [], tall = 30, indent = Math.min(34, wide / 14);
    let y = 6;
    (function show(node, depth, top) {
      let x = 10 + depth * indent;
      if (node.run.length) {
        const from = y;
        node.run.forEach((one) => {
          const need = Math.max(46, one.words.length * 7.3 + 14), here = latest.path.includes(one);
          if (x + need > wide && x > 10 + depth * indent) { x = 10 + depth * indent; y += tall; }
          parts.push(svg("rect", { class: `w2s-tile${here ? (one.by < at - 1 ? " is-gone" : " is-held") : ""}`, x, y, width: need - 4, height: 24, rx: 4 }),
            svg("text", { class: "w2s-count", x: x + need / 2 - 2, y: y + 17, "font-size": 13 }, one.words));
          x += need;
        });
        if (depth) parts.push(svg("path", { class: "w2s-edge", fill: "none", stroke: "currentColor", "stroke-opacity": 0.5, d: `M${10 + (depth - 1) * indent + 8} ${top}V${from + 12}H${10 + depth * indent - 2}` }));
        y += tall;
      }
      const below = y - tall + 24;
      node.children.forEach((child) => show(child, node === root ? 0 : depth + 1, below));
    })(root, 0, 0);
    drawing.replaceChildren(...parts);
    set(picture.node, { viewBox: `0 0 ${wide} ${Math.max(6 * tall, y)}`, width: wide });
    const sent = prompts.slice(0, at).reduce((all, text) => all + cut(text).length, 0);
    picture.name(`A radix tree of ${at} prompts with ${computed} blocks; ${latest.matched} of the latest prompt's ${latest.total} blocks were matched.`);
    tools.say(at ? `“${latest.text}”: ${latest.matched} of ${latest.total} blocks are matched. The tree has ${computed} blocks, of ${sent} that were sent.` : "The tree is empty.");
    tools.able(next, at < prompts.length); tools.able(back, at > 0);
    Object.assign(stage.dataset, { at, matched: latest.matched, computed, sent, tree: JSON.stringify(plain(root)[1]) });
  }
  const next = tools.button("Step", () => { at += 1; draw(); }, { class: "w2s-play" }), back = tools.button("Back", () => { at -= 1; draw(); });
  const field = tools.textField({ label: "A prompt of your own", value: "we sat on the bank and rowed", most: 60, oninput() {} });
  const add = tools.button("Insert", () => { if (cut(field.input.value).length && prompts.length < most) { prompts = [...prompts.slice(0, at), field.input.value]; at = prompts.length; draw(); } });
  const sizes = tools.slider({ label: "Words in a block", min: 1, max: 4, value: size, oninput(value) { size = value; draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(back, next, sizes), tools.bar(field, add));
  if (tools.asStill) at = prompts.length;
  tools.onWidth((pixels) => { wide = pixels; draw(); });
});
