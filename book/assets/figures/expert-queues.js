/* Tokens queue at the experts that a router chose for them; what is past an expert's capacity is dropped.

   data = { task, experts: 8, tokens: ["A", "n", ...], capacities: [1, 1.25, 2], at: 0,
            routers: [{key, label, choices: [[first, second], ...]}, ...] }        choices[t] are the experts of token t
   First choices queue before second ones, as in layers.moe.within_capacity; capacity = ceil(factor * tokens * k / experts). */
window.w2s.register("expert-queues", function (stage, data, tools) {
  "use strict";
  const { svg, el, set } = tools, { experts, tokens, capacities, routers } = data, drawing = svg("g", {}), picture = tools.picture({ class: "w2s-matrix" }, drawing);
  let key = routers[0].key, factor = data.at, chosen = 0, wide = 560;
  const tall = 34, left = 26;

  function queues() {
    const { choices } = routers.find((one) => one.key === key), rows = Array.from({ length: experts }, () => []);
    choices[0].forEach((_, rank) => choices.forEach((line, t) => rows[line[rank]].push({ t, rank })));
    return { rows, even: tokens.length * choices[0].length / experts };
  }
  function draw() {
    const { rows, even } = queues(), room = Math.ceil(capacities[factor] * even), every = Math.max(...routers.map(({ choices }) => {
      const count = Array(experts).fill(0);
      choices.flat().forEach((e) => { count[e] += 1; });
      return Math.max(...count);
    }), Math.ceil(Math.max(...capacities) * even));
    const cell = Math.min(24, (wide - left - 4) / every), dropped = rows.flatMap((row) => row.slice(room)), lost = dropped.filter(({ t }, i) => dropped.findIndex((one) => one.t === t) !== i).length;
    drawing.replaceChildren(...rows.flatMap((row, e) => [svg("text", { class: "w2s-tick", x: 4, y: e * tall + 20 }, String(e)),
      ...row.map(({ t }, i) => svg("g", { class: "w2s-matrix" },
        svg("rect", { class: `w2s-tile ${i >= room ? "is-stray" : t === chosen ? "is-held" : "is-gone"}`, x: left + i * cell, y: e * tall + 4, width: cell - 1.5, height: 24, rx: 2 }),
        svg("text", { class: "w2s-count", x: left + i * cell + cell / 2 - 1, y: e * tall + 21 }, cell > 8 ? tokens[t].replace(" ", "␣") : "")))]),
      svg("line", { class: "w2s-line is-dashed hue-orange", x1: left + room * cell - 0.75, x2: left + room * cell - 0.75, y1: 0, y2: experts * tall }));
    set(picture.node, { viewBox: `0 0 ${wide} ${experts * tall}`, width: wide });
    const mine = rows.flatMap((row, e) => row.map(({ t, rank }, i) => ({ t, rank, e, fits: i < room })).filter(({ t }) => t === chosen)).sort((a, b) => a.rank - b.rank);
    picture.name(`${experts} queues of tokens; the longest has ${Math.max(...rows.map((row) => row.length))}, the shortest ${Math.min(...rows.map((row) => row.length))}, and each has room for ${room}.`);
    tools.say(`Room for ${room} tokens per expert. ${dropped.length} of ${tokens.length * mine.length} choices are dropped, and ${lost} tokens reach no expert. `
      + `Token ${chosen + 1}, “${tokens[chosen]}”: ${mine.map(({ e, fits }) => `expert ${e}${fits ? "" : ", dropped"}`).join("; ")}.`);
    Object.assign(stage.dataset, { router: key, capacity: room, dropped: dropped.length, lost, longest: Math.max(...rows.map((row) => row.length)), token: chosen, fits: mine.filter(({ fits }) => fits).length });
  }
  const ways = tools.choice({ legend: "Router", value: key, options: routers, onchange(picked) { key = picked; draw(); } });
  const sizes = tools.slider({ label: "Capacity factor", min: 0, max: capacities.length - 1, value: factor, text: (n) => String(capacities[n]), oninput(n) { factor = n; draw(); } });
  const places = tools.slider({ label: "Token", min: 0, max: tokens.length - 1, value: 0, text: (n) => `${n + 1}, “${tokens[n]}”`, oninput(n) { chosen = n; draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(ways), tools.bar(sizes, places));
  tools.onWidth((pixels) => { wide = pixels; draw(); });
});
