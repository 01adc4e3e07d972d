/* The states of a linear recurrence, computed one token at a time or in rounds that double the reach.

   data = {
     task: "What to try",                         stands above the drawing
     decay: [0.5, ...], added: [8, ...]           of each token: h_t = decay_t h_(t-1) + added_t
   } */
window.w2s.register("scan-rounds", function (stage, data, tools) {
  "use strict";
  const { svg, el } = tools, T = data.decay.length, WIDTH = 336, at = (t) => 22 + t * (WIDTH - 44) / (T - 1);
  const layer = svg("g", {}), picture = tools.picture({ class: "w2s-diagram", viewBox: `0 0 ${WIDTH} 196`, width: WIDTH + 100 }, layer);
  const short = (value) => String(Number(value.toPrecision(3)));
  let kind = "loop", stop = 0;

  /* Every stop: [decay, added, from] of each token, `from` being the one that it was combined with just now. */
  function stops() {
    const all = [data.decay.map((decay, t) => [decay, data.added[t], -1])], count = kind === "loop" ? T - 1 : Math.ceil(Math.log2(T));
    for (let n = 0; n < count; n++) {
      const old = all[n], reach = 2 ** n, pairs = kind === "loop" ? (t) => (t === n + 1 ? n : -1) : (t) => t - reach;
      all.push(old.map(([decay, added], t) => {
        const from = Math.max(-1, pairs(t));
        return from < 0 ? [decay, added, -1] : [decay * old[from][0], decay * old[from][1] + added, from];
      }));
    }
    return all;
  }
  const done = (t) => (kind === "loop" ? t <= stop : t < 2 ** stop);
  function draw() {
    const all = stops(), now = all[stop], parts = [];
    for (const [y, words] of [[14, "added by the token"], [132, "state computed so far"]]) parts.push(svg("text", { class: "w2s-tick", x: 4, y }, words));
    now.forEach(([, added, from], t) => {
      parts.push(svg("text", { class: "w2s-word", x: at(t), y: 38, "text-anchor": "middle" }, short(data.added[t])),
        svg("g", { class: `w2s-box hue-${done(t) ? "green" : "grey"}${done(t) ? " is-lit" : ""}` },
          svg("rect", { x: at(t) - 19, y: 142, width: 38, height: 26, rx: 5 }),
          svg("text", { x: at(t), y: 160, "text-anchor": "middle" }, short(added))),
        svg("text", { class: "w2s-tick", x: at(t), y: 186, "text-anchor": "middle" }, String(t + 1)));
      parts.push(svg("line", { class: "w2s-line is-dotted hue-grey", x1: at(t), x2: at(t), y1: 46, y2: 110, style: { "stroke-width": 1 } }));
      if (from >= 0) parts.push(svg("line", { class: "w2s-line is-solid hue-orange", x1: at(from), x2: at(t), y1: 56, y2: 108,
        style: { "stroke-width": 2 } }), svg("polyline", { class: "w2s-arrow", points: tools.points([[at(t) - 8, 102], [at(t), 108], [at(t) - 9, 109]]) }));
    });
    layer.replaceChildren(...parts);
    const ready = now.filter((_, t) => done(t)).length;
    picture.name(`After ${stop} of ${all.length - 1} steps ${ready} of ${T} states are done.`);
    tools.say(`${kind === "loop" ? "Step" : "Round"} ${stop} of ${all.length - 1}: ${ready} of ${T} states are done.`);
    Object.assign(stage.dataset, { kind, stop, steps: all.length - 1, values: now.map(([, added]) => added).join() });
    tools.able(back, stop > 0); tools.able(next, stop < all.length - 1);
  }
  const go = (to) => { stop = to; draw(); };
  const back = tools.button("Back", () => go(stop - 1)), next = tools.button("Step", () => go(stop + 1));
  const way = tools.choice({ legend: "Computed", value: kind, options: [{ key: "loop", label: "in a loop" }, { key: "scan", label: "by a parallel scan" }],
    onchange(key) { kind = key; go(0); } });
  if (tools.asStill) { kind = "scan"; stop = 2; }
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(back, next, way));
  draw();
});
