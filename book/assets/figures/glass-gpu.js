/* One launch of a Triton kernel, access by access: program instances, and what each loads, stores and multiplies.

   data = {
     task: "What to try",                                       stands above the drawing
     runs: [{key, label, trace}, ...],                          traces of autograder.checks.kernels.traces
     machines: [{label: "H100", flops: 989.4e12, bandwidth: 3.35e12}, ...]      from measure.roofline
   }
   A tensor is drawn row by row, at most `ACROSS` elements of a vector in a row. Bytes are those that loads and stores ask
   for, before any cache. */
window.w2s.register("glass-gpu", function (stage, data, tools) {
  "use strict";
  const { svg, el, set } = tools, ACROSS = 32, first = data.runs[0].trace.races[0]?.event || 0, drawing = svg("g", {}), picture = tools.picture({ class: "w2s-matrix" }, drawing);
  const TENS = ["", "k", "M", "G", "T"], count = el("p", { class: "w2s-note" }), table = el("table", { class: "w2s-walk" });
  let run = data.runs[0], at = 0, wide = 560;
  const many = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
  const unit = (value) => { const step = Math.max(0, Math.min(4, Math.floor(Math.log10(value || 1) / 3))); return `${Number((value / 1000 ** step).toPrecision(3))} ${TENS[step]}`; };
  const words = (ranges) => ranges.slice(0, 3).map(([first, n]) => (n > 1 ? `${first}–${first + n - 1}` : first)).join(", ") + (ranges.length > 3 ? ", …" : "");
  const line = (kind, cells) => el("tr", {}, ...cells.map((one) => el(kind, {}, one)));
  const named = (trace, i) => { const id = trace.instances[i] || [i]; return id.length > 1 ? `(${id.join(", ")})` : String(id[0]); };
  const sums = (events) => events.reduce((sum, { op, bytes = 0, flops = 0 }) => ({ read: sum.read + (op === "load" || op === "atomic" ? bytes : 0),
    written: sum.written + (op === "store" || op === "atomic" ? bytes : 0), flops: sum.flops + flops }), { read: 0, written: 0, flops: 0 });

  function instances(trace, now, width) {   // boxes of the grid; those that race so far are framed
    const raced = new Set(trace.races.filter(({ event }) => event <= at).flatMap((race) => race.instances));
    const box = 11 + 8 * Math.max(...trace.instances.map((_, i) => named(trace, i).length)), row = Math.max(1, Math.floor(width / (box + 4))), most = 5 * row;
    const parts = [svg("text", { class: "w2s-tick", x: 0, y: 12 }, `grid (${trace.grid.join(", ")})`)];
    trace.instances.slice(0, most).forEach((_, i) => {
      const x = (i % row) * (box + 4) + 1, y = 20 + 28 * Math.floor(i / row);
      parts.push(svg("rect", { class: `w2s-tile${raced.has(i) ? " is-stray" : i === now ? " is-held" : i < now ? " is-gone" : ""}`, x, y, width: box, height: 24, rx: 3 }),
        svg("text", { class: "w2s-count", x: x + box / 2, y: y + 17, style: { "font-weight": i === now ? 700 : 400 } }, named(trace, i)));
    });
    const high = 20 + 28 * Math.ceil(Math.min(most, trace.instances.length) / row), more = trace.instances.length - most;
    if (more > 0) parts.push(svg("text", { class: "w2s-tick", x: 0, y: high + 12 }, `and ${more} more`));
    return { parts, high: high + (more > 0 ? 18 : 0) };
  }

  function tensor(trace, t, left, top, width) {   // its outline, what this instance accessed, and what is wrong
    const { name, shape, dtype } = trace.tensors[t], size = shape.reduce((a, b) => a * b, 1), event = trace.events[at], so = trace.events.slice(0, at + 1);
    const columns = Math.max(1, shape.length > 1 ? shape.at(-1) : Math.min(size, ACROSS)), rows = Math.max(1, Math.ceil(size / columns)), cell = Math.min(22, (width - 4) / columns), tall = Math.min(cell, 22, 132 / rows);
    const tile = (mark) => ([first, n]) => {
      const pieces = [];
      for (let from = first, end = first + n; from < end;) {
        const c = from % columns, whole = c === 0 ? Math.floor((end - from) / columns) : 0, length = whole ? whole * columns : Math.min(end - from, columns - c);
        pieces.push(svg("rect", { class: `w2s-tile ${mark}`, x: left + 1 + c * cell, y: top + 20 + Math.floor(from / columns) * tall, width: (whole ? columns : length) * cell, height: (whole || 1) * tall }));
        from += length;
      }
      return pieces;
    };
    const here = so.filter((one) => one.tensor === t), mine = here.filter((one) => one.instance === event.instance), outside = here.flatMap((one) => one.outside);
    const raced = new Set(trace.races.filter((race) => race.tensor === t && race.event <= at).map((race) => race.element)), seen = [...raced].map((one) => [one, 1]);
    const grid = size <= 400 && tall > 7 ? Array.from({ length: size }, (_, i) => tile("")([i, 1])[0]) : tile("")([0, size]);
    return { high: 30 + rows * tall, parts: [svg("text", { class: "w2s-tick", x: left, y: top + 12 }, `${name} (${shape.join(", ")}) ${dtype}`,
      outside.length ? svg("tspan", { style: { fill: "var(--w2s-bad)" } }, ` outside: ${words(outside)}`) : ""),
    ...grid, ...mine.flatMap((one) => one.ranges.flatMap(tile("is-gone"))), ...(event.tensor === t ? event.ranges.flatMap(tile("is-held")) : []), ...seen.flatMap(tile("is-stray"))] };
  }

  function told(trace) {
    const { instance, op, tensor: t, ranges, bytes, masked, outside, flops } = trace.events[at], race = trace.races.find(({ event }) => event === at);
    if (op === "dot") return `Instance ${named(trace, instance)} multiplies two tiles: ${many(flops, "FLOP")}.`;
    const { name } = trace.tensors[t], verb = { load: "loads", store: "stores", atomic: "changes atomically" }[op];
    return `Instance ${named(trace, instance)} ${verb} ${ranges.length ? `${name}[${words(ranges)}]` : `nothing of ${name}`}: ${many(bytes, "byte")}${masked ? `, ${many(masked, "lane")} masked off` : ""}.`
      + (outside.length ? ` Out of bounds: ${words(outside)}.` : "") + (race ? ` Data race on element ${race.element}: instance ${named(trace, race.instances[0])} ${race.does[0]}.` : "");
  }

  function draw() {
    const { trace } = run, { events } = trace, side = wide > 480 ? Math.min(150, wide * 0.26) : 0, boxes = instances(trace, events[at].instance, side || wide);
    let top = side ? 0 : boxes.high + 12;
    const parts = trace.tensors.flatMap((_, t) => { const one = tensor(trace, t, side ? side + 18 : 0, top, wide - (side ? side + 18 : 0)); top += one.high; return one.parts; });
    drawing.replaceChildren(...boxes.parts, ...parts);
    set(picture.node, { viewBox: `0 0 ${wide} ${Math.ceil(Math.max(top, boxes.high)) + 2}`, width: wide });
    const so = sums(events.slice(0, at + 1)), { read, written, flops } = trace.totals, bytes = read + written;
    count.textContent = `So far ${many(so.read, "byte")} read, ${many(so.written, "byte")} written, ${many(so.flops, "FLOP")} in products${trace.left_out ? `; ${many(trace.left_out, "event")} not recorded` : ""}.`;
    table.replaceChildren(el("thead", {}, line("th", ["whole launch", "FLOPs a byte", "ridge", "bound"])), el("tbody", {}, ...data.machines.map((machine) => line("td", [machine.label,
      (flops / bytes || 0).toFixed(2), String(Math.round(machine.flops / machine.bandwidth)), flops / bytes > machine.flops / machine.bandwidth ? `compute, ${unit(machine.flops)}FLOP/s`
        : flops ? `memory, ${unit(flops / bytes * machine.bandwidth)}FLOP/s` : `memory, ${unit(machine.bandwidth)}B/s`]))));
    picture.name(`${trace.kernel}: ${many(trace.instances.length, "program instance")} and ${many(trace.tensors.length, "tensor")}; ${many(new Set(trace.races.map((race) => `${race.tensor} ${race.element}`)).size, "element")} with a data race.`);
    tools.say(told(trace));
    tools.able(back, at > 0); tools.able(next, at < events.length - 1); scrub.input.max = events.length - 1;
    scrub.set(at);
    Object.assign(stage.dataset, { run: run.key, at, instance: events[at].instance, read: so.read, written: so.written, flops: so.flops, races: trace.races.filter(({ event }) => event <= at).length });
  }
  const go = (to) => { at = Math.max(0, Math.min(run.trace.events.length - 1, to)); draw(); }, back = tools.button("Back", () => go(at - 1)), next = tools.button("Step", () => go(at + 1));
  const scrub = tools.slider({ label: "Event", min: 0, max: run.trace.events.length - 1, value: 0, text: (n) => String(n + 1), oninput: go });
  const runs = tools.choice({ legend: "Kernel", value: run.key, options: data.runs, onchange(key) { run = data.runs.find((one) => one.key === key); go(0); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, count, tools.bar(back, next, scrub, ...(data.runs.length > 1 ? [runs] : [])), el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "Roofline" }, table));
  if (tools.asStill) at = first;
  tools.onWidth((pixels) => { wide = pixels; draw(); });
});
