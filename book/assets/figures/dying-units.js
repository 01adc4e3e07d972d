/* A small network that learns in the page while its units go dark: one number in, a layer of units, one number out.

   data = {
     points: [[x, y], ...]                           what it learns, x from -1 to 1, y with mean 0 and deviation 1
     start: {w: [...], b: [...], v: [...]}           a unit's weight and bias, and its weight in the output, at scale 1
     rates: [0.01, ...], slopes: [0, ...], scales: [1, ...], chosen: [2, 0, 1]     what the sliders offer, and where they stand at first
     steps: 200, momentum: 0.9, clip: 1              a longer gradient is cut to this length
     xLabel, yLabel
   }
   A unit is dark if on no point its output answers to its inner product: then no gradient reaches its weights. */
window.w2s.register("dying-units", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, { points, start, steps, momentum, clip } = data, many = start.w.length, N = points.length, ACROSS = Math.sqrt(many);
  const [rates, slopes, scales] = [data.rates, data.slopes, data.scales];
  let [rate, slope, scale] = [rates[data.chosen[0]], slopes[data.chosen[1]], scales[data.chosen[2]]], history = [], wide = 560;
  const TALL = 200, CELL = 21, axis = tools.axes({ xLabel: data.xLabel, yLabel: data.yLabel, text: (value) => String(value) });
  const dots = svg("g", {}, ...points.map(() => svg("circle", { class: "w2s-dot-on-line", r: 2.5 })));
  const chart = tools.picture({ class: "w2s-axes-picture" }, axis.node, dots);
  const cells = start.w.map((_, u) => svg("rect", { x: (u % ACROSS) * CELL + 1, y: Math.floor(u / ACROSS) * CELL + 1, width: CELL - 3, height: CELL - 3, rx: 3 }));
  const grid = tools.picture({ viewBox: `0 0 ${ACROSS * CELL} ${ACROSS * CELL}`, width: ACROSS * CELL, class: "w2s-matrix" }, ...cells);

  /* Outputs, and for each unit on how many points it is above zero. */
  function look({ w, b, v, a }) {
    const on = new Array(many).fill(0);
    const out = points.map(([x]) => {
      let sum = a;
      for (let u = 0; u < many; u++) { const z = w[u] * x + b[u]; if (z > 0) on[u] += 1; sum += v[u] * (z > 0 ? z : slope * z); }
      return sum;
    });
    return { out, on, loss: out.reduce((sum, value, n) => sum + (value - points[n][1]) ** 2, 0) / N };
  }

  function gradient({ w, b, v }, out) {
    const g = { w: new Array(many).fill(0), b: new Array(many).fill(0), v: new Array(many).fill(0), a: 0 };
    points.forEach(([x, y], n) => {
      const e = 2 * (out[n] - y) / N;
      g.a += e;
      for (let u = 0; u < many; u++) {
        const z = w[u] * x + b[u], answers = z > 0 ? 1 : slope, back = e * v[u] * answers;
        g.v[u] += e * (z > 0 ? z : slope * z);
        g.w[u] += back * x;
        g.b[u] += back;
      }
    });
    return g;
  }

  function train() {
    const now = { w: start.w.map((value) => scale * value), b: start.b.map((value) => scale * value), v: start.v.map((value) => scale * value), a: 0 };
    const speed = { w: new Array(many).fill(0), b: new Array(many).fill(0), v: new Array(many).fill(0), a: 0 };
    history = [];
    for (let step = 0; ; step++) {
      const seen = look(now);
      history.push(seen);
      if (step === steps) return;
      const g = gradient(now, seen.out), long = Math.sqrt(g.a ** 2 + ["w", "b", "v"].reduce((sum, key) => sum + g[key].reduce((total, value) => total + value * value, 0), 0));
      const cut = Math.min(1, clip / long);
      for (const key of ["w", "b", "v"]) for (let u = 0; u < many; u++) { speed[key][u] = momentum * speed[key][u] + cut * g[key][u]; now[key][u] -= rate * speed[key][u]; }
      speed.a = momentum * speed.a + cut * g.a;
      now.a -= rate * speed.a;
    }
  }

  function show(at) {
    const { out, on, loss } = history[at], asleep = on.filter((count) => count === 0).length, dead = slope > 0 ? 0 : asleep, low = Math.min(...points.map(([, y]) => y)) - 0.5;
    const x = tools.scale([-1, 1], [44, wide - 12]), y = tools.scale([low, Math.max(...points.map(([, value]) => value)) + 0.5], [TALL, 22]), inside = (value) => Math.max(low - 1, Math.min(3, value));
    set(chart.node, { viewBox: `0 0 ${wide} ${TALL + 40}`, width: wide });
    axis.show({ x, y, box: [44, 22, wide - 12, TALL], many: [4, 4], lines: [{ points: points.map(([place], n) => [place, inside(out[n])]), hue: "orange" }] });
    dots.childNodes.forEach((dot, n) => set(dot, { cx: x(points[n][0]), cy: y(points[n][1]) }));
    cells.forEach((cell, u) => { cell.style.setProperty("--level", (on[u] / N).toFixed(3)); set(cell, { class: `w2s-cell${on[u] ? " is-counted" : ""}` }); });
    grid.name(`${many} units; ${asleep} are active at no point.`);
    chart.name(`The curve and the network's output; squared error ${loss.toFixed(3)}.`);
    tools.say(`Step ${at}: ${dead} of ${many} units are dead${asleep > dead ? `, ${asleep} are negative everywhere and still learn by their slope of ${slope}` : ""}. Squared error ${loss.toFixed(3)}; `
      + `predicting the mean costs 1.`);
    Object.assign(stage.dataset, { at, dead, asleep, loss, rate, slope, scale });
  }
  const pick = (label, all, at, change) => tools.slider({ label, min: 0, max: all.length - 1, value: at, text: (n) => String(all[n]), oninput(n) { change(all[n]); train(); stepper.go(steps); } });
  const stepper = tools.stepper({ label: "Step", count: steps + 1, text: String, every: 40, show });
  stage.append(tools.bar(pick("Rate", rates, data.chosen[0], (value) => { rate = value; }), pick("Slope below zero", slopes, data.chosen[1], (value) => { slope = value; }),
    pick("Size of the start", scales, data.chosen[2], (value) => { scale = value; })), tools.bar(...stepper.nodes), grid.node, chart.node);
  train();
  tools.onWidth((width) => { wide = width; stepper.begin(); });
});
