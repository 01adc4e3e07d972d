/* Skip-gram training, one snapshot at a time: who is pulled, who is pushed, and where the vectors go.

   data = {
     words: ["bank", "river", ...],          at most 30 keep the picture legible
     groups: ["money", "river", ...],        optional, one per word; up to four names, each with its hue and mark
     snapshots: [{
       step: 0, loss: 4.16,                  how far training is, in the unit below, and the mean loss there
       positions: [[x, y], ...],             one per word, all snapshots projected by the same 2-D map
       center: "bank",                       one training example of this moment,
       contexts: ["river"],                  its true neighbours: pulled,
       negatives: ["of", "seven", ...]       its noise words: pushed. Words that are not in `words` are only named.
     }, ...],
     unit: "sentences read",                 optional (default "steps")
     at: 11,                                 optional: the snapshot shown at first (default 0)
     task: "Which ..."                       optional, what the reader is to do
   } */
window.w2s.register("skipgram-training", function (stage, data, tools) {
  "use strict";
  const { el, svg, set, span } = tools, shots = data.snapshots, unit = data.unit || "steps", edge = 40, chart = 80;
  const groups = [...new Set(data.groups || ["word"])], meaning = tools.meanings(groups);
  const all = shots.flatMap((shot) => shot.positions), losses = shots.map((shot, k) => [k, shot.loss]);
  let width = 560, height = 400, at = 0, now = shots[0].positions, stop = () => {}, x, y;

  const trails = svg("g", {}), forces = svg("g", {}), dots = svg("g", {});
  const loss = tools.axes({ yLabel: "loss", grid: false });
  const picture = tools.picture({ class: "w2s-map" }, trails, forces, dots, loss.node);
  const nodes = data.words.map((word, k) => {
    const label = svg("text", { class: "w2s-word" }, word), trail = svg("polyline", { class: "w2s-trail" });
    const node = svg("g", {}, tools.mark(meaning[(data.groups || [])[k] || "word"]), label);
    trails.append(trail);
    dots.append(node);
    return { node, label, trail };
  });
  const labels = nodes.map(({ label }) => label);
  const place = ([a, b]) => [x(a), y(b)];
  const role = (word, { center, contexts, negatives }) =>
    [[center], contexts, negatives, [word]].findIndex((words) => words.includes(word));

  const few = (words, most) => (words.length <= most + 1 ? words.join(", ")
    : `${words.slice(0, most).join(", ")} and ${words.length - most} more`);

  function paint(positions) {
    const shot = shots[at], spots = (now = positions).map(place), from = spots[data.words.indexOf(shot.center)];
    const roles = data.words.map((word) => role(word, shot));
    nodes.forEach(({ node }, k) => tools.move(node, ...spots[k]));
    tools.placeLabels(labels, spots, width, roles, 3);
    forces.replaceChildren(...spots.flatMap(([x2, y2], k) => {
      const line = ["", "is-solid hue-orange", "is-dotted hue-grey", ""][roles[k]];
      return line && from ? [svg("line", { class: `w2s-line ${line}`, x1: from[0], y1: from[1], x2, y2 })] : [];
    }));
  }

  function show(to) {
    const shot = shots[(at = to)], start = now, past = shots.slice(Math.max(0, at - 6), at + 1);
    const blend = (p, k, t) => p.map((v, axis) => start[k][axis] + (v - start[k][axis]) * t);
    stop();
    nodes.forEach(({ node, trail }, k) => {
      set(node, { class: `w2s-dot ${["is-centre", "is-near", "is-pushed", "is-idle"][role(data.words[k], shot)]}` });
      set(trail, { points: tools.points(past.map(({ positions }) => place(positions[k]))) });
    });
    stop = tools.animate(600, (t) => paint(shot.positions.map((p, k) => blend(p, k, t))));
    loss.show({ x: tools.scale([0, Math.max(1, shots.length - 1)], [edge + 8, width - 12]), lines: [{ points: losses }],
      y: tools.scale(span(losses.map(([, value]) => value)), [height + chart - 12, height + 30]), many: [0, 2],
      dot: [at, shot.loss], box: [edge, height + 24, width - 12, height + chart - 4] });
    centre.textContent = shot.center;
    pulled.textContent = few(shot.contexts, 9);
    pushed.textContent = few(shot.negatives, 9);
    stage.dataset.at = at;
    const when = `After ${shot.step.toLocaleString("en")} ${unit}, loss ${shot.loss.toFixed(2)}`;
    picture.name(`The vectors in two dimensions. ${when}.`);
    tools.say(`${when}: “${shot.center}” is pulled to ${few(shot.contexts, 4)} and pushed from ${few(shot.negatives, 4)}.`);
  }

  const [centre, pulled, pushed] = ["b", "span", "span"].map((tag) => el(tag, {}));
  const pair = (kind, name, node) => el("div", { class: kind }, el("dt", {}, name), el("dd", {}, node));
  const steps = tools.stepper({ label: "Training", count: shots.length, every: 1000, show, first: data.at || 0,
    text: (k) => `${shots[k].step.toLocaleString("en")} ${unit}` });
  if (data.task) stage.append(el("p", { class: "w2s-task" }, data.task));
  stage.append(picture.node, tools.bar(...steps.nodes), el("dl", { class: "w2s-pairs" }, pair("is-centre", "Centre word", centre),
    pair("is-near", "Pulled to", pulled), pair("is-pushed", "Pushed from", pushed)));
  if (data.groups) stage.append(tools.legend(groups.map((name) => ({ label: name, ...meaning[name] }))).node);
  tools.onWidth((pixels) => {
    [width, height] = [pixels, Math.round(Math.max(270, pixels * 0.58))];
    x = tools.scale(span(all.map((p) => p[0])), [edge, width - edge]);
    y = tools.scale(span(all.map((p) => p[1])), [height - edge / 2, edge / 2]);
    set(picture.node, { viewBox: `0 0 ${width} ${height + chart}` });
    stop();
    now = shots[steps.at()].positions;
    steps.begin();
  });
});
