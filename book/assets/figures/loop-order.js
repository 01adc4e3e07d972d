/* Which loop is outside: how many thread blocks there are for the multiprocessors of a GPU, and what each version moves.

   data = {
     task: "Fill the GPU.",                                what the reader is to do
     multiprocessors: 132, width: 128, columns: 128        of the GPU; of a head; of a tile
     sequences: [0, 6], heads: [0, 5], length: [8, 15], rows: [5, 8]     the powers of two that the sliders reach
     start: {sequences: 0, heads: 3, length: 12, rows: 7}
   }
   Version 1: a thread block for each head of a sequence, keys outside; for each tile of keys it reads Q and reads and writes O (Dao et
   al. 2022, algorithm 1). Version 2: a thread block for each tile of queries too. Numbers of Q, K, V, O, without peaks and sums. */
window.w2s.register("loop-order", function (stage, data, tools) {
  "use strict";
  const { svg } = tools, { multiprocessors: many, width: D } = data, now = { ...data.start, version: "1" };
  const across = 22, cell = 24, picture = tools.picture({ viewBox: `0 0 ${across * cell} ${Math.ceil(many / across) * cell}`, width: across * cell, class: "w2s-matrix" });
  const boxes = Array.from({ length: many }, (_, n) => svg("rect", { x: (n % across) * cell + 1, y: Math.floor(n / across) * cell + 1, width: cell - 2, height: cell - 2, rx: 3 }));
  picture.node.append(...boxes);
  const busy = tools.bars({ rows: 2, text: (value) => `${value.toLocaleString("en")} thread blocks` }), moved = tools.bars({ rows: 2, text: (value) => `${(value / 1e6).toFixed(1)} million numbers` });

  function ways() {
    const [B, H, T, rows] = [2 ** now.sequences, 2 ** now.heads, 2 ** now.length, 2 ** now.rows], columns = Math.min(data.columns, T), keys = Math.ceil(T / columns), queries = Math.ceil(T / rows);
    return { 1: { programs: B * H, numbers: B * H * (2 * T * D + 3 * keys * T * D) }, 2: { programs: B * H * queries, numbers: B * H * (2 * T * D + 2 * queries * T * D) } };
  }
  function draw() {
    const both = ways(), { programs, numbers } = both[now.version], rounds = Math.ceil(programs / many), share = programs / (rounds * many), first = Math.min(programs, many);
    boxes.forEach((box, n) => tools.set(box, { class: `w2s-tile${n < first ? " is-held" : ""}` }));
    busy.show([1, 2].map((version) => ({ label: `version ${version}`, value: both[version].programs, hue: String(version) === now.version ? "orange" : "grey" })));
    moved.show([1, 2].map((version) => ({ label: `version ${version}`, value: both[version].numbers, hue: String(version) === now.version ? "orange" : "grey" })));
    picture.name(`${first} of ${many} multiprocessors have a thread block in the first wave.`);
    tools.say(`Version ${now.version}: ${programs.toLocaleString("en")} thread blocks for ${many} multiprocessors. ${first} are busy in the first wave; ${rounds} ${rounds === 1 ? "wave" : "waves"}, ${(100 * share).toFixed(0)} % of the slots used. `
      + `Both compute the same; version 1 moves ${(both[1].numbers / both[2].numbers).toFixed(2)} times the numbers of version 2.`);
    Object.assign(stage.dataset, { ...now, programs, rounds, share, numbers, one: both[1].numbers, two: both[2].numbers });
  }
  const power = (key, label) => tools.slider({ label, min: data[key][0], max: data[key][1], value: now[key], text: (value) => (2 ** value).toLocaleString("en"), oninput(value) { now[key] = value; draw(); } });
  const picks = tools.choice({ legend: "Version", value: now.version, options: [{ key: "1", label: "1: keys outside" }, { key: "2", label: "2: queries outside" }], onchange(key) { now.version = key; draw(); } });
  const sliders = tools.bar(power("sequences", "Sequences"), power("heads", "Heads"), power("length", "Tokens"), power("rows", "Queries in a tile"));
  stage.append(tools.el("p", { class: "w2s-task" }, data.task), tools.el("p", { class: "w2s-cut-name" }, `The ${many} multiprocessors of an H100, first wave`), picture.node,
    tools.el("p", { class: "w2s-cut-name" }, "Thread blocks"), busy.node, tools.el("p", { class: "w2s-cut-name" }, "Numbers of Q, K, V and O that move"), moved.node, tools.bar(picks), sliders);
  if (tools.asStill) now.version = "2";
  draw();
});
