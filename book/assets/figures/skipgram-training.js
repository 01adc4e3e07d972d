/* Skip-gram training, one snapshot at a time: who is pulled, who is pushed, and where the vectors go.

   data = {
     words: ["bank", "river", ...],          at most 30 keep the picture legible
     groups: ["money", "river", ...],        optional, one per word; up to four names, each gets a colour and a shape
     snapshots: [{
       step: 0,                              how far training is, in the unit below
       loss: 4.16,                           mean loss there
       positions: [[x, y], ...],             one per word, all snapshots projected by the same 2-D map
       center: "bank",                       one training example of this moment ...
       contexts: ["river"],                  ... its true neighbours: pulled
       negatives: ["of", "seven", ...]       ... its noise words: pushed. Words that are not in `words` are only named.
     }, ...],
     unit: "sentences read"                  optional (default "steps")
   } */
window.w2s.register("skipgram-training", function (stage, data, tools) {
  "use strict";
  const { el, svg, button, slider, player, animate, onWidth } = tools;
  const shots = data.snapshots, unit = data.unit || "steps";
  const groups = [...new Set(data.groups || [])];
  const hues = ["blue", "orange", "green", "purple"];
  const kind = (k) => (data.groups ? groups.indexOf(data.groups[k]) : 0);
  const edge = 40, chart = 70;
  let width = 560, height = 400;

  const all = shots.flatMap((shot) => shot.positions);
  const span = (axis) => [Math.min(...all.map((p) => p[axis])), Math.max(...all.map((p) => p[axis]))];
  const [x0, x1] = span(0), [y0, y1] = span(1);
  const place = ([x, y]) => [edge + (x - x0) / (x1 - x0 || 1) * (width - 2 * edge),
    edge / 2 + (1 - (y - y0) / (y1 - y0 || 1)) * (height - edge)];
  const shape = (k) => [
    () => svg("circle", { r: 5 }), () => svg("rect", { x: -4.5, y: -4.5, width: 9, height: 9 }),
    () => svg("path", { d: "M0-6 5.5 4.5h-11Z" }), () => svg("path", { d: "M0-6.5 6 0 0 6.5-6 0Z" })][Math.max(0, k) % 4]();

  const picture = svg("svg", { class: "w2s-map", role: "img" });
  const title = svg("title", {});
  const trails = svg("g", { class: "w2s-trails" }), forces = svg("g", {}), dots = svg("g", {});
  picture.append(title, trails, forces, dots);
  const nodes = data.words.map((word, k) => {
    const trail = svg("polyline", { class: "w2s-trail" });
    trails.append(trail);
    const label = svg("text", { class: "w2s-word" }, word);
    const node = svg("g", { class: `w2s-dot hue-${hues[Math.max(0, kind(k)) % 4]}` }, shape(kind(k)), label);
    dots.append(node);
    return { node, trail, label };
  });

  const losses = shots.map((shot) => shot.loss), top = Math.max(...losses), low = Math.min(...losses);
  const lossAt = (k) => [edge + k / Math.max(1, shots.length - 1) * (width - 2 * edge),
    height + chart - 16 - (losses[k] - low) / (top - low || 1) * (chart - 34)];
  const axis = svg("line", { class: "w2s-axis" }), curve = svg("polyline", { class: "w2s-loss" });
  const name = svg("text", { class: "w2s-axis-label" });
  const cursor = svg("circle", { class: "w2s-loss-dot", r: 5 });
  picture.append(axis, curve, name, cursor);

  /* Where each label goes: above, right, left or below its mark, whichever touches least of what is already there. */
  function labels(placed) {
    const taken = placed.map(([x, y]) => [x - 7, y - 7, x + 7, y + 7]);
    const shot = shots[at], weight = (word) => (word === shot.center ? 0 : shot.contexts.includes(word) ? 1 : shot.negatives.includes(word) ? 2 : 3);
    const order = data.words.map((_, k) => k).sort((a, b) => weight(data.words[a]) - weight(data.words[b]) || a - b);
    for (const k of order) {
      const [x, y] = placed[k], long = 7.6 * data.words[k].length;
      const spots = [[0, -10, "middle", x - long / 2], [11, 5, "start", x + 11], [-11, 5, "end", x - 11 - long], [0, 20, "middle", x - long / 2]];
      const scored = spots.map(([dx, dy, anchor, left]) => {
        const box = [left, y + dy - 11, left + long, y + dy + 3];
        const touched = taken.filter((b, i) => i !== k && box[0] < b[2] && box[2] > b[0] && box[1] < b[3] && box[3] > b[1]).length;
        return { dx, dy, anchor, box, cost: touched + (box[0] < 0 || box[2] > width ? 5 : 0) };
      });
      const best = scored.reduce((a, b) => (b.cost < a.cost ? b : a));
      const hidden = best.cost > 0 && weight(data.words[k]) === 3;  // an idle word may lose its label in a crowd
      nodes[k].label.setAttribute("visibility", hidden ? "hidden" : "visible");
      if (hidden) continue;
      taken.push(best.box);
      for (const [key, value] of Object.entries({ x: best.dx, y: best.dy, "text-anchor": best.anchor })) nodes[k].label.setAttribute(key, value);
    }
  }

  let at = 0, now = shots[0].positions, stop = () => {};
  function paint(positions) {
    now = positions;
    const shot = shots[at], placed = positions.map(place);
    nodes.forEach(({ node }, k) => node.setAttribute("transform", `translate(${placed[k].map((v) => v.toFixed(1)).join(" ")})`));
    labels(placed);
    forces.replaceChildren();
    const from = data.words.indexOf(shot.center);
    if (from < 0) return;
    const draw = (words, kindOf) => {
      for (const word of words) {
        const to = data.words.indexOf(word);
        if (to < 0 || to === from) continue;
        const [ax, ay] = placed[from], [bx, by] = placed[to];
        forces.append(svg("line", { class: `w2s-force is-${kindOf}`, x1: ax, y1: ay, x2: bx, y2: by }));
      }
    };
    draw(shot.negatives, "push");
    draw(shot.contexts, "pull");
  }

  function mark() {
    const [x, y] = lossAt(at);
    cursor.setAttribute("cx", x);
    cursor.setAttribute("cy", y);
    name.textContent = `loss ${shots[at].loss.toFixed(2)}`;
    nodes.forEach(({ trail }, k) => trail.setAttribute("points", shots.slice(Math.max(0, at - 6), at + 1)
      .map((shot) => place(shot.positions[k]).map((v) => v.toFixed(1)).join()).join(" ")));
  }

  function fit(pixels) {
    width = pixels;
    height = Math.round(Math.max(300, width * 0.72));
    picture.setAttribute("viewBox", `0 0 ${width} ${height + chart}`);
    for (const [key, value] of Object.entries({ x1: edge, x2: width - edge, y1: height + chart - 8, y2: height + chart - 8 }))
      axis.setAttribute(key, value);
    curve.setAttribute("points", shots.map((_, k) => lossAt(k).join()).join(" "));
    name.setAttribute("x", edge);
    name.setAttribute("y", height + 8);
    paint(now);
    mark();
  }

  function show(to, milliseconds = 600) {
    const start = now, goal = shots[to].positions;
    at = to;
    stop();
    const shot = shots[at];
    nodes.forEach(({ node }, k) => {
      const word = data.words[k];
      node.classList.toggle("is-centre", word === shot.center);
      node.classList.toggle("is-pull", shot.contexts.includes(word));
      node.classList.toggle("is-push", shot.negatives.includes(word));
      node.classList.toggle("is-idle", word !== shot.center && !shot.contexts.includes(word) && !shot.negatives.includes(word));
    });
    stop = animate(milliseconds, (t) => paint(goal.map((p, k) => [start[k][0] + (p[0] - start[k][0]) * t, start[k][1] + (p[1] - start[k][1]) * t])));
    mark();
    pulled.textContent = shot.contexts.join(", ");
    pushed.textContent = shot.negatives.join(", ");
    centre.textContent = shot.center;
    scrub.set(at);
    back.disabled = at === 0;
    next.disabled = at === shots.length - 1;
    stage.dataset.at = at;
    title.textContent = `The vectors in two dimensions after ${shot.step.toLocaleString("en")} ${unit}; loss ${shot.loss.toFixed(2)}.`;
    tools.say(`After ${shot.step.toLocaleString("en")} ${unit}, loss ${shot.loss.toFixed(2)}: “${shot.center}” is pulled to ${shot.contexts.join(", ")} and pushed from ${shot.negatives.join(", ")}.`);
  }

  const centre = el("b", {}), pulled = el("span", {}), pushed = el("span", {});
  const legend = el("dl", { class: "w2s-pairs" },
    el("div", { class: "is-centre" }, el("dt", {}, "Centre word"), el("dd", {}, centre)),
    el("div", { class: "is-pull" }, el("dt", {}, "Pulled to"), el("dd", {}, pulled)),
    el("div", { class: "is-push" }, el("dt", {}, "Pushed from"), el("dd", {}, pushed)));
  const key = el("ul", { class: "w2s-key" }, ...groups.map((name, k) => el("li", {},
    svg("svg", { viewBox: "-8 -8 16 16", width: 14, height: 14, class: `hue-${hues[k % 4]}`, "aria-hidden": "true" }, shape(k)), name)));
  const back = button("Back", () => { play.stop(); show(at - 1); });
  const next = button("Step", () => { play.stop(); show(at + 1); });
  const play = player({ every: 1000, step() { show(at === shots.length - 1 ? 0 : at + 1); return at < shots.length - 1; } });
  const scrub = slider({ label: "Training", min: 0, max: shots.length - 1, value: 0,
    text: (value) => `${shots[value].step.toLocaleString("en")} ${unit}`, oninput: (value) => { play.stop(); show(value); } });

  stage.append(el("div", { class: "w2s-bar" }, play.node, back, next, scrub.node), legend, picture);
  if (groups.length) stage.append(key);
  show(0, 0);
  onWidth(fit);
});
