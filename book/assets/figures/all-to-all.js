/* Expert parallelism on a few GPUs: tokens at home, dispatched to their experts, and combined again.

   data = {
     task: "What to try",                                     stands above the drawing
     tokens: ["A", "n", ...], gpus: 4, experts: 8,            a token's home is GPU floor(i * gpus / tokens)
     routers: [{key, label, choices: [[2, 1], ...]}, ...]     the experts of each token; GPU g holds experts / gpus of them
   } */
window.w2s.register("all-to-all", function (stage, data, tools) {
  "use strict";
  const { svg, el } = tools, { tokens, gpus, experts } = data, WIDTH = 352, COLUMN = (WIDTH - 8) / gpus, CELL = 14, ACROSS = 5, TOP = 34, HUES = ["blue", "green", "purple", "yellow"];
  const home = (t) => Math.floor(t * gpus / tokens.length), owner = (e) => Math.floor(e * gpus / experts), PHASES = ["home", "dispatch", "combine"];
  const longest = Math.max(...data.routers.flatMap(({ choices }) => Array.from({ length: gpus }, (_, g) => choices.flat().filter((e) => owner(e) === g).length)));
  const HEIGHT = TOP + CELL * Math.ceil(longest / ACROSS) + 26, parts = svg("g", {}), picture = tools.picture({ class: "w2s-diagram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH + 60 }, parts);
  let router = data.routers[0].key, phase = 0;

  function show() {
    const { choices, label } = data.routers.find(({ key }) => key === router), copies = choices.flatMap((chosen, t) => chosen.map((e) => ({ t, at: owner(e) })));
    const list = PHASES[phase] === "dispatch" ? copies : tokens.map((_, t) => ({ t, at: home(t) })), filled = Array(gpus).fill(0);
    const loads = Array.from({ length: gpus }, (_, g) => copies.filter(({ at }) => at === g).length), away = copies.filter(({ t, at }) => at !== home(t)).length;
    parts.replaceChildren(...loads.flatMap((load, g) => [svg("rect", { class: `w2s-line is-solid hue-${HUES[g % 4]}`, x: 4 + COLUMN * g, y: 22, width: COLUMN - 6, height: HEIGHT - 44, rx: 6, style: { fill: "none", "stroke-width": 1.3 } }),
      svg("text", { class: "w2s-tick", x: 4 + COLUMN * (g + 0.5) - 3, y: 14, "text-anchor": "middle" }, `GPU ${g}`),
      svg("text", { class: "w2s-tick", x: 4 + COLUMN * (g + 0.5) - 3, y: HEIGHT - 6, "text-anchor": "middle" }, PHASES[phase] === "dispatch" ? `computes ${load}` : "")]),
    ...list.map(({ t, at }) => {
      const place = filled[at]++, x = 10 + COLUMN * at + CELL * (place % ACROSS), y = TOP + CELL * Math.floor(place / ACROSS);
      return svg("g", {}, svg("rect", { class: `w2s-share hue-${HUES[home(t) % 4]}`, x, y: y - 7, width: CELL - 1.5, height: CELL - 1.5, rx: 2, style: { opacity: 0.4 } }),
        svg("text", { class: "w2s-tick", x: x + 6, y: y + 3, "text-anchor": "middle", style: { "font-size": "10px" } }, tokens[t] === " " ? "·" : tokens[t]));
    }));
    tools.say({ home: `Each GPU has its own tokens, a hue each. The router has chosen ${choices[0].length} of ${experts} experts for every token.`,
      dispatch: `First all-to-all (${label}): ${away} of ${copies.length} vectors change GPUs. All wait for the GPU with ${Math.max(...loads)}; an even load is ${copies.length / gpus}.`,
      combine: `Second all-to-all: the ${away} results travel home and are added with the router's weights.` }[PHASES[phase]]);
    picture.name(`${gpus} GPUs with tokens, phase ${PHASES[phase]}, router: ${label}.`);
    Object.assign(stage.dataset, { phase: PHASES[phase], router, away, busiest: Math.max(...loads) });
  }
  if (tools.asStill) phase = 1;
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(tools.choice({ legend: "Moment", value: PHASES[phase], options: PHASES.map((key) => ({ key, label: key })),
    onchange(key) { phase = PHASES.indexOf(key); show(); } })), tools.bar(tools.choice({ legend: "Router", value: router, options: data.routers.map(({ key, label }) => ({ key, label })), onchange(key) { router = key; show(); } })));
  show();
});
