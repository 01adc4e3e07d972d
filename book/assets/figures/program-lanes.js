/* Program instances of a Triton kernel and their lanes over a vector: which numbers each owns, and which lanes lie past the end.

   data = {task: "Find the lengths.", most: 24, blocks: [2, 4, 8, 16], start: {length: 10, block: 4}}
   Offsets as in kernels.vector_add: program * block + lane, masked where that is not below the length. */
window.w2s.register("program-lanes", function (stage, data, tools) {
  "use strict";
  const { svg } = tools, now = { ...data.start, masked: true, program: -1 };
  const picture = tools.picture({ class: "w2s-matrix" }), formula = tools.el("p", { class: "w2s-note" });

  function draw() {
    const { length, block, masked } = now, programs = Math.ceil(length / block), strays = programs * block - length;
    const cell = Math.min(34, Math.floor(430 / block)), left = 92, row = 36, wide = left + block * cell + 6;
    now.program = Math.min(now.program < 0 ? programs - 1 : now.program, programs - 1);
    tools.set(picture.node, { viewBox: `0 0 ${wide} ${programs * row + 26}`, width: wide });
    picture.node.replaceChildren(picture.node.firstChild);
    for (let lane = 0; lane < block; lane += 1) picture.node.append(svg("text", { class: "w2s-tick", x: left + lane * cell + cell / 2, y: 14, "text-anchor": "middle" }, lane));
    for (let program = 0; program < programs; program += 1) {
      picture.node.append(svg("text", { class: "w2s-row-label" + (program === now.program ? " is-centre" : ""), x: left - 8, y: 26 + program * row + 20 }, `instance ${program}`));
      for (let lane = 0; lane < block; lane += 1) {
        const at = program * block + lane, stray = at >= length, chosen = program === now.program;
        picture.node.append(svg("rect", { class: `w2s-tile${stray ? (masked ? " is-off" : " is-stray") : chosen ? " is-held" : " is-gone"}`, x: left + lane * cell + 1, y: 26 + program * row + 1, width: cell - 2, height: row - 6, rx: 3 }),
          svg("text", { class: "w2s-count", x: left + lane * cell + cell / 2, y: 26 + program * row + 20 }, stray && masked ? "" : at));
      }
    }
    const own = Array.from({ length: block }, (_, lane) => now.program * block + lane), outside = own.filter((at) => at >= length);
    formula.textContent = `Instance ${now.program}: ${now.program} · ${block} + 0 … ${block - 1} = ${own[0]} … ${own.at(-1)}`;
    picture.name(`${programs} program instances of ${block} lanes over ${length} numbers, ${strays} lanes past the end.`);
    tools.say(`${length} numbers in blocks of ${block}: ${programs} program ${programs === 1 ? "instance" : "instances"}, ${programs * block} lanes. ${strays === 0 ? "All lie inside." : `${strays} ${strays === 1 ? "lies" : "lie"} past the end: ${masked ? "masked" : "without a mask they read and write foreign memory"}.`} `
      + `Instance ${now.program} owns ${own.filter((at) => at < length).join(", ")}${outside.length ? `${masked ? " and masks" : " and takes"} ${outside.join(", ")}` : ""}.`);
    Object.assign(stage.dataset, { ...now, programs, strays, own: JSON.stringify(own) });
    who.input.max = programs - 1;
    who.set(now.program);
  }
  const long = tools.slider({ label: "Numbers", min: 1, max: data.most, value: now.length, oninput(value) { now.length = value; draw(); } });
  const wide = tools.choice({ legend: "Block", value: String(now.block), options: data.blocks.map((block) => ({ key: String(block), label: String(block) })), onchange(key) { now.block = Number(key); draw(); } });
  const mask = tools.choice({ legend: "Mask", value: "yes", options: [{ key: "yes", label: "offsets < length" }, { key: "no", label: "none" }], onchange(key) { now.masked = key === "yes"; draw(); } });
  const who = tools.slider({ label: "Instance", min: 0, max: 2, value: 2, oninput(value) { now.program = value; draw(); } });
  stage.append(tools.el("p", { class: "w2s-task" }, data.task), picture.node, formula, tools.bar(long, who), tools.bar(wide, mask));
  if (tools.asStill) now.masked = false;
  draw();
});
