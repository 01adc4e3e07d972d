/* A run of the engine, step by step: who computes what, who waits, which blocks of the pool are whose; and the knobs that change it.

   data = {
     requests: [{id: "first/0", at: 0, prompt: 11, answer: 12}, ...]
     runs: {"8 4 15": [{tokens: {"first/0": 8}, drafts: {}, cached: {"same-start/0": 8}, waiting: [...], preempted: [...], finished: [...], blocks: {"first/0": [0, 1]}}, ...]}
                                     by budget, slots and blocks; recorded from engine.trace, `blocks` as they are in the step
     start: [8, 4, 15], choices: [[4, 8, 16], [2, 4], [12, 15, 30]]
   } */
window.w2s.register("trace-player", function (stage, data, tools) {
  "use strict";
  const { el } = tools, ids = data.requests.map(({ id }) => id), HUES = ["blue", "orange", "green", "purple", "yellow"];
  const area = el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "The timeline" });
  const pool = el("p", { class: "w2s-sentence", style: { "justify-content": "flex-start" } }), queue = el("p", { class: "w2s-note" }), holder = el("div", { class: "w2s-bar" });
  let [budget, slots, blocks] = data.start, rows = [], line = null, width = 560, at = 0;
  const key = () => `${budget} ${slots} ${blocks}`, name = (id) => id.replace("/0", ""), hue = (id) => HUES[ids.indexOf(id)];

  const kind = (row, id) => (row.preempted.includes(id) ? "x" : row.tokens[id] ? (row.reads.includes(id) ? "P" : "d") : row.waiting.includes(id) ? "-" : id in row.blocks ? "w" : "");
  function items() {
    return rows.flatMap((row, step) => ids.map((id, r) => ({ row: r, start: step, end: step + 1, kind: kind(row, id), count: row.tokens[id] })).filter((one) => one.kind))
      .map((one) => ({ ...one, hue: { P: "yellow", d: "blue", w: "orange", "-": "grey", x: "purple" }[one.kind], label: one.kind === "P" ? String(one.count) : one.kind === "-" ? "" : one.kind }));
  }
  function show(step) {
    at = step;
    const row = rows[step], owners = new Map();
    for (const [id, table] of Object.entries(row.blocks)) for (const block of table) owners.set(block, (owners.get(block) || []).concat(id));
    pool.replaceChildren(...Array.from({ length: blocks }, (_, block) => {
      const who = owners.get(block) || [];
      return el("span", { class: "w2s-token" + (who.length ? ` hue-${hue(who[0])}` : ""), style: who.length ? { "border-bottom-color": "var(--hue)", ...(who.length > 1 ? { "border-left": "3px solid var(--hue)" } : {}) } : {} },
        who.length ? who.map((id) => name(id)[0].toUpperCase()).join("") : "·", " ", el("sub", {}, String(block)));
    }));
    line.show({ items: items(), now: step + 0.5 });
    const read = Object.entries(row.tokens).map(([id, count]) => `${name(id)} ${count}${row.cached[id] ? ` (${row.cached[id]} cached)` : ""}`);
    queue.textContent = `Queue: ${row.waiting.map(name).join(", ") || "empty"}. Blocks, by the first letter of who holds them:`;
    const total = Object.values(row.tokens).reduce((sum, count) => sum + count, 0);
    tools.say(`Budget ${budget}, ${slots} slots, ${blocks} blocks. Step ${step} of ${rows.length - 1} computes ${total} tokens: ${read.join(", ") || "none"}.`
      + `${row.preempted.length ? ` ${row.preempted.map(name).join(", ")} is preempted.` : ""}${row.finished.length ? ` ${row.finished.map(name).join(", ")} is finished.` : ""} ${blocks - owners.size} blocks are free.`);
    Object.assign(stage.dataset, { key: key(), at: step, steps: rows.length, total, free: blocks - owners.size, kinds: ids.map((id) => kind(row, id) || "_").join("") });
  }
  function begin() {
    rows = data.runs[key()];
    line = tools.timeline({ rows: ids.map(name), end: rows.length });
    line.node.style.setProperty("min-width", `${90 + 20 * rows.length}px`);
    area.replaceChildren(line.node);
    line.fit(Math.max(width, 90 + 20 * rows.length));
    line.name(`Four requests over ${rows.length} steps of the engine.`);
    const stepper = tools.stepper({ label: "Step", count: rows.length, text: (value) => `${value} of ${rows.length - 1}`, still: Math.min(5, rows.length - 1), show });
    holder.replaceChildren(...stepper.nodes);
    if (tools.asStill) stepper.begin(); else stepper.go(Math.min(at, rows.length - 1));
  }
  const knob = (legend, options, value, take) => tools.choice({ legend, value: String(value), options: options.map((one) => ({ key: String(one), label: String(one) })), onchange(chosen) { take(Number(chosen)); begin(); } });
  stage.append(tools.bar(knob("Budget, tokens per step", data.choices[0], budget, (value) => { budget = value; }), knob("Slots", data.choices[1], slots, (value) => { slots = value; }),
    knob("Blocks in the pool", data.choices[2], blocks, (value) => { blocks = value; })), holder, area, queue, pool,
  tools.legend([{ label: "prefill, or tokens recomputed", mark: 1, hue: "yellow" }, { label: "d: decode", mark: 1, hue: "blue" }, { label: "x: preempted", mark: 1, hue: "purple" }, { label: "w: no tokens", mark: 1, hue: "orange" }, { label: "in the queue", mark: 1, hue: "grey" }]).node);
  begin();
  tools.onWidth((pixels) => { width = pixels; line.fit(Math.max(width, 90 + 20 * rows.length)); });
});
