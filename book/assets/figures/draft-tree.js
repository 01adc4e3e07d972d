/* A tree of draft tokens and the mask under which the target reads it in one pass.

   data = {
     task: "What to try",                                     stands above the drawing
     context: ["the", "bank"],                                the end of the text
     tokens: ["river", ...], parents: [-1, -1, 0, ...],       draft tokens, parents before children; -1 is the text
     paths: [{label: "river ,", accepted: [0, 2], next: "and"}, ...]
                                                              what the target may accept, and its own token after it
   } */
window.w2s.register("draft-tree", function (stage, data, tools) {
  "use strict";
  const { svg, el } = tools, { tokens, parents } = data, n = tokens.length, WIDTH = 352, CELL = 15, LEFT = 236, TOP = 66;
  const depth = (i) => (i < 0 ? 0 : 1 + depth(parents[i])), levels = Math.max(...tokens.map((_, i) => depth(i)));
  const branch = (i) => (i < 0 ? [] : [...branch(parents[i]), i]), leaves = tokens.map((_, i) => i).filter((i) => !parents.includes(i));
  const across = (i) => { const own = leaves.filter((leaf) => branch(leaf).includes(i)).map((leaf) => leaves.indexOf(leaf));
    return 26 + (own.reduce((a, b) => a + b, 0) / own.length) * (132 / Math.max(1, leaves.length - 1)); };
  const down = (i) => 34 + 62 * depth(i), HEIGHT = Math.max(60 + 62 * levels, TOP + CELL * n + 20);
  const parts = svg("g", {}), picture = tools.picture({ class: "w2s-diagram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH + 60 }, parts);
  let at = Math.min(3, n - 1), path = null;

  const line = (i, lit) => svg("line", { class: `w2s-line is-solid hue-${lit ? "orange" : "grey"}`, x1: parents[i] < 0 ? 96 : across(parents[i]),
    y1: down(parents[i]) + 8, x2: across(i), y2: down(i) - 14, style: { "stroke-width": lit ? 3 : 1.2 } });
  function node(i, hue, lit) {
    const here = svg("g", { style: { cursor: "pointer" } }, svg("rect", { class: `w2s-line is-solid hue-${hue}`, x: across(i) - 21, y: down(i) - 14, width: 42, height: 22, rx: 5,
      style: { fill: "transparent", "stroke-width": lit ? 3 : 1.3 } }), svg("text", { class: "w2s-tick", x: across(i), y: down(i) + 1, "text-anchor": "middle",
      style: { "font-weight": lit ? 700 : 400 } }, tokens[i]));
    here.addEventListener("click", () => { path = null; at = i; show(); });
    return here;
  }
  function show() {
    const seen = path ? path.accepted : branch(at), hue = (i) => (seen.includes(i) ? (path ? "green" : "orange") : "blue");
    const cells = tokens.flatMap((_, row) => tokens.map((__, column) => svg("rect", { x: LEFT + CELL * column, y: TOP + CELL * row, width: CELL - 2, height: CELL - 2, rx: 2,
      class: `w2s-share hue-${branch(row).includes(column) ? (row === at && !path ? "orange" : "blue") : "grey"}`, style: { opacity: branch(row).includes(column) ? 1 : 0.12 } })));
    parts.replaceChildren(svg("text", { class: "w2s-word", x: 96, y: 34, "text-anchor": "middle" }, `… ${data.context.join(" ")}`), ...tokens.map((_, i) => line(i, seen.includes(i))),
      ...tokens.map((_, i) => node(i, hue(i), seen.includes(i))), svg("text", { class: "w2s-tick", x: WIDTH - 2, y: TOP - 18, "text-anchor": "end" }, "who attends to whom"),
      ...tokens.map((token, row) => svg("text", { class: "w2s-tick", x: LEFT - 4, y: TOP + CELL * row + 11, "text-anchor": "end", style: { "font-size": "9px" } }, token)), ...cells);
    const words = (list) => list.map((i) => `“${tokens[i]}”`).join(", ");
    tools.say(path ? `${path.accepted.length ? `The target accepts ${words(path.accepted)}` : "The target accepts no draft token"} and adds “${path.next}” of its own: ${path.accepted.length + 1} tokens from one pass.`
      : `“${tokens[at]}” attends to the text${branch(at).length > 1 ? `, to ${words(branch(at).slice(0, -1))}` : ""} and to itself. Its position is ${depth(at)} after the text's last token.`);
    picture.name(`A tree of ${n} draft tokens, and a mask of ${n} rows: each token attends to itself and its ancestors.`);
    Object.assign(stage.dataset, { at, path: path ? path.label : "", seen: seen.length });
  }
  const go = (to) => { path = null; at = (to + n) % n; show(); };
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(tools.button("Previous token", () => go(at - 1)), tools.button("Next token", () => go(at + 1))),
    tools.bar(...data.paths.map((one) => tools.button(`Target: ${one.label} …`, () => { path = one; show(); }))));
  show();
});
