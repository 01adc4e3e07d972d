/* A server of so many places under requests that come by a clock, or by clients who wait: who waits, and what each way shows.

   data = {
     lengths: [16, 40, ...]        tokens of the answers; each holds a place for as many steps
     gaps: [0.3, 1.7, ...]         of a Poisson process of rate 1, as many
     patience: 32                  steps to a first token that a user bears
     places: [1, 12], loads: [20, 98], clients: [1, 32]      of the sliders; loads in percent
     start: {places: 8, load: 80, clients: 8}
   }
   A step makes one token for each place that is taken. Counted as in bench/arrivals.py: a first token comes at the end of the step in which a place is taken. */
window.w2s.register("arrival-queue", function (stage, data, tools) {
  "use strict";
  const { lengths, gaps, patience } = data, now = { ...data.start, loop: "open" }, count = lengths.length;
  const mean = lengths.reduce((sum, one) => sum + one, 0) / count, axis = tools.axes({ xLabel: "step", yLabel: "requests that wait" });
  const picture = tools.picture({ class: "w2s-axes-picture" }, axis.node), waits = tools.bars({ rows: 3, text: (value) => `${value.toFixed(1)} steps` });
  const served = tools.bars({ rows: 2, text: (value) => `${value.toFixed(0)} %` });
  let width = 560;

  function serve() {  // each place is free from a step on; the next request in line takes the earliest
    const free = new Array(now.places).fill(0), back = new Array(now.clients).fill(0), seen = [], rate = now.load / 100 * now.places / mean;
    let at = 0;
    for (let n = 0; n < count; n++) {
      const client = back.indexOf(Math.min(...back)), place = free.indexOf(Math.min(...free));
      at = now.loop === "open" ? at + gaps[n] / rate : back[client];
      const begins = Math.max(Math.ceil(at), free[place]);
      free[place] = back[client] = begins + lengths[n];
      seen.push({ at, begins, first: begins + 1 - at });
    }
    return { seen, end: Math.max(...free) };
  }
  function draw() {
    const { seen, end } = serve(), sorted = seen.map((one) => one.first).sort((a, b) => a - b), first = sorted.reduce((sum, one) => sum + one, 0) / count;
    const p95 = sorted[Math.floor(0.95 * (count - 1))], busy = lengths.reduce((sum, one) => sum + one, 0) / (end * now.places), inTime = sorted.filter((one) => one <= patience).length / count;
    const events = seen.flatMap(({ at, begins }) => (begins > at ? [[at, 1], [begins, -1]] : [])).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let waiting = 0, most = 0;
    const line = [[0, 0]];
    for (const [time, change] of events) { line.push([time, waiting]); waiting += change; most = Math.max(most, waiting); line.push([time, waiting]); }
    line.push([end, 0]);
    tools.set(picture.node, { viewBox: `0 0 ${width} 210`, width });
    axis.show({ x: tools.scale([0, end], [36, width - 14]), y: tools.scale([0, Math.max(4, most)], [166, 22]), box: [36, 22, width - 14, 166], many: [width / 110, 3], lines: [{ points: line, hue: now.loop === "open" ? "blue" : "orange" }] });
    waits.show([{ label: "mean", value: first, hue: "blue" }, { label: "95 of 100 within", value: p95, hue: "orange" }, { label: "the longest", value: sorted[count - 1], hue: "grey" }]);
    served.show([{ label: "slots in use", value: 100 * busy, hue: "green" }, { label: `within ${patience} steps`, value: 100 * inTime, hue: "blue" }], { most: 100 });
    picture.name(`At most ${most} of ${count} requests wait at once.`);
    tools.say(`${now.loop === "open" ? `Open, ${now.load} % load` : `Closed, ${now.clients} ${now.clients === 1 ? "client" : "clients"}`}, ${now.places} ${now.places === 1 ? "slot" : "slots"}: first token after ${first.toFixed(1)} steps in the mean, `
      + `95 of 100 within ${p95.toFixed(1)}. ${(100 * busy).toFixed(0)} % of slots in use; ${(100 * inTime).toFixed(0)} % of users have a first token within ${patience} steps; at most ${most} wait at once.`);
    Object.assign(stage.dataset, { ...now, first, p95, busy, in: inTime, most, end });
  }
  const slider = (key, label, [min, max], text = String) => tools.slider({ label, min, max, value: now[key], text, oninput(value) { now[key] = value; draw(); } });
  const load = slider("load", "Load", data.loads, (value) => `${value} %`), clients = slider("clients", "Clients", data.clients), loop = tools.choice({ legend: "Requests come", value: now.loop,
    options: [{ key: "open", label: "by a clock (open)" }, { key: "closed", label: "after the last answer (closed)" }], onchange(key) { now.loop = key; draw(); } });
  stage.append(tools.bar(loop), tools.bar(load, clients, slider("places", "Batch slots", data.places)), picture.node, tools.el("p", { class: "w2s-cut-name" }, "Steps to the first token"), waits.node,
    tools.el("p", { class: "w2s-cut-name" }, "The operator, and the users"), served.node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
