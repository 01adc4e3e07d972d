/* Two lanes of time: what the CPU does for three decoding steps, and when the GPU computes.

   data = {
     task: "What to try",                                     stands above the drawing
     kernels: 8,                                              kernels that a step launches
     start: {host: 12, launch: 4, kernel: 2},                 microseconds of host work a step, of a launch, of a kernel
     most: {host: 30, launch: 8, kernel: 8}
   } */
window.w2s.register("host-device", function (stage, data, tools) {
  "use strict";
  const { svg, el } = tools, WIDTH = 352, HEIGHT = 132, STEPS = 3, HUES = ["blue", "green", "purple"], now = { ...data.start };
  const WAYS = { eager: "launch by launch", graph: "CUDA graph", both: "graph and overlap" };
  const parts = svg("g", {}), picture = tools.picture({ class: "w2s-diagram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH + 80 }, parts);
  let way = "eager";

  function run(how) {
    const host = [], device = [];
    let cpu = 0, gpu = 0;
    for (let step = 0; step < STEPS; step++) {
      if (how !== "both") cpu = Math.max(cpu, gpu);
      host.push([cpu, cpu += now.host, step]);
      for (let kernel = 0; kernel < (how === "eager" ? data.kernels : 1); kernel++) {
        host.push([cpu, cpu += now.launch, step, true]);
        const long = how === "eager" ? now.kernel : data.kernels * now.kernel, from = Math.max(cpu, gpu);
        device.push([from, gpu = from + long, step]);
      }
      if (how === "both" && step) cpu = Math.max(cpu, device.filter((one) => one[2] === step - 1).at(-1)[1]);
    }
    return { host, device, end: gpu, busy: STEPS * data.kernels * now.kernel / gpu };
  }
  function show() {
    const runs = Object.fromEntries(Object.keys(WAYS).map((key) => [key, run(key)])), mine = runs[way], long = Math.max(...Object.values(runs).map(({ end }) => end));
    const x = (at) => 40 + (WIDTH - 48) * at / long;
    const boxes = (list, y) => list.map(([from, to, step, launch]) => svg("rect", { class: `w2s-share hue-${HUES[step]}`, x: x(from), y, width: Math.max(0.8, x(to) - x(from) - 0.8),
      height: 34, rx: 2, style: { opacity: launch ? 0.5 : 1 } }));
    parts.replaceChildren(svg("text", { class: "w2s-word", x: 2, y: 36 }, "CPU"), svg("text", { class: "w2s-word", x: 2, y: 86 }, "GPU"),
      svg("line", { class: "w2s-line is-solid hue-grey", x1: 40, x2: x(long), y1: 102, y2: 102, style: { "stroke-width": 1 } }), ...boxes(mine.host, 14), ...boxes(mine.device, 64),
      ...[0, 0.5, 1].map((part) => svg("text", { class: "w2s-tick", x: x(part * long), y: 118, "text-anchor": part === 1 ? "end" : "middle" }, `${Math.round(part * long)} µs`)));
    const percent = (one) => `${Math.round(100 * one.busy)} %`;
    tools.say(`${STEPS} steps take ${Math.round(mine.end)} µs with “${WAYS[way]}”; the GPU computes ${percent(mine)} of the time. ${Object.keys(WAYS).filter((key) => key !== way)
      .map((key) => `With “${WAYS[key]}”: ${Math.round(runs[key].end)} µs, ${percent(runs[key])}`).join(". ")}.`);
    picture.name(`Two lanes, CPU and GPU, over three steps: ${WAYS[way]}.`);
    Object.assign(stage.dataset, { way, end: Math.round(mine.end), busy: mine.busy.toFixed(2) });
  }
  const slider = (key, label) => tools.slider({ label, min: 1, max: data.most[key], value: now[key], text: (value) => `${value} µs`, oninput(value) { now[key] = value; show(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(tools.choice({ legend: "Launching", value: way, options: Object.entries(WAYS).map(([key, label]) => ({ key, label })),
    onchange(key) { way = key; show(); } })), tools.bar(slider("host", "Host work per step"), slider("launch", "One launch"), slider("kernel", "One kernel")),
  tools.legend([{ label: "host work or kernels, one hue per step", mark: 1, hue: "blue" }]).node);
  show();
});
