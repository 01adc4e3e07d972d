/* XLNet's factorization order: the text stays as it is, the order of prediction is changed, and the mask follows.

   data = {
     tokens: ["we", "sat", ...],
     orders: [{key: "left", label: "left to right", order: [0, 1, 2, ...], visible: ["0000...", ...]}, ...]
   }
   order[turn] is the place said then; visible[place][seen] is "1" where seen: objectives.permutation.visible.
   The figure makes the mask of any order, and says whether that of a named one is the recorded one. */
window.w2s.register("spoken-order", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { tokens } = data, count = tokens.length, row = el("p", { class: "w2s-sentence" });
  const matrix = tools.matrix({ rows: tokens, columns: tokens, cell: 30 });
  let order = [...data.orders[0].order], turn = 0, seed = 5, view = "order", sums = null, draws = 0;
  function random() {  // mulberry32: the same draws on every machine
    seed = (seed + 0x6D2B79F5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  const shuffled = () => tokens.map((_, place) => [random(), place]).sort((a, b) => a[0] - b[0]).map(([, place]) => place);
  const maskOf = (one) => tokens.map((_, place) => tokens.map((__, seen) => one.indexOf(seen) < one.indexOf(place)));

  function show() {
    const mask = maskOf(order), place = order[turn], sees = order.slice(0, turn).sort((a, b) => a - b);
    row.replaceChildren(...order.map((one, n) => tools.button(`${n + 1} ${tokens[one]}`, () => { turn = n; steps.go(turn); },
      { class: `w2s-token${n === turn ? " is-centre" : n < turn ? " is-near" : ""}`, "aria-pressed": String(n === turn) })));
    if (view === "order") {
      matrix.show({ values: mask.map((line) => line.map(Number)), most: 1, row: place, columns: sees, text: () => "" });
      matrix.name(`Rows are positions, columns what they attend to: ${tokens[place]} attends to ${sees.length}.`);
    } else {
      matrix.show({ values: sums, most: draws, row: -1, columns: [], text: (value) => `${Math.round(100 * value / draws)}` });
      matrix.name(`In how many percent of ${draws} orders one position attends to another.`);
    }
    const named = data.orders.find((one) => one.order.every((value, n) => value === order[n]));
    Object.assign(stage.dataset, { order: JSON.stringify(order), turn, view, draws, seen: sees.length,
      same: named ? String(named.visible.every((line, a) => [...line].every((one, b) => (one === "1") === mask[a][b]))) : "" });
    tools.say(view === "order" ? `Turn ${turn + 1} of ${count}: “${tokens[place]}” at position ${place + 1} is predicted. It attends to `
      + `${sees.length ? sees.map((one) => `“${tokens[one]}” (${one + 1})`).join(", ") : "nothing"}. The text has not moved.`
      : `${draws} orders: each position attends to each other one in about half of them; in any single order, one of two positions attends to the other.`);
  }
  const steps = tools.stepper({ label: "Turn", count, text: (value) => `${value + 1} of ${count}`, still: count - 1,
    show(value) { turn = value; view = "order"; show(); } });
  const move = (by) => {
    const to = turn + by;
    if (to < 0 || to >= count) return;
    [order[turn], order[to]] = [order[to], order[turn]];
    names.set("");
    steps.go(to);
  };
  const names = tools.choice({ legend: "Order", value: data.orders[0].key, options: data.orders, onchange(key) {
    order = [...data.orders.find((one) => one.key === key).order];
    steps.go(turn);
  } });
  const many = tools.button("Count over 100 orders", () => {
    sums = sums || tokens.map(() => tokens.map(() => 0));
    for (let n = 0; n < 100; n += 1) maskOf(shuffled()).forEach((line, a) => line.forEach((seen, b) => { sums[a][b] += seen; }));
    draws += 100;
    view = "counts";
    show();
  });
  stage.append(...(data.task ? [el("p", { class: "w2s-task" }, data.task)] : []), el("p", { class: "w2s-cut-name" }, "Factorization order"), row,
    el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "Attention mask" }, matrix.node),
    tools.bar(...steps.nodes), tools.bar(names, tools.button("Shuffle", () => { order = shuffled(); names.set(""); steps.go(turn); })),
    tools.bar(tools.button("Predict it earlier", () => move(-1)), tools.button("Predict it later", () => move(1)), many));
  if (tools.asStill) { order = [...data.orders.at(-1).order]; }
  steps.begin();
});
