/* The life of one request: the parts of a server that it passes, and the loop that it goes round once a step.

   data = {
     task: "What to try",                                     stands above the drawing
     prompt: 9,                                               tokens of the prompt
     moments: [{at: "queue", computed: 0, known: 9, blocks: 0, text: "..."}, ...]
                                                              where the request is, tokens whose keys and values are
                                                              cached, tokens of the text so far, blocks that it holds
   } */
window.w2s.register("request-life", function (stage, data, tools) {
  "use strict";
  const { svg, el } = tools, WIDTH = 352, HEIGHT = 250, W = 78, H = 36;
  const PARTS = { client: ["Client", 2, 14], server: ["Server", 92, 14], tokenizer: ["Tokenizer", 182, 14], queue: ["Queue", 272, 14],
    scheduler: ["Scheduler", 272, 84], model: ["Model", 272, 154], sampler: ["Sampler", 182, 154], text: ["Detokenizer", 182, 84],
    stream: ["Stream", 92, 84], cache: ["KV cache", 2, 154] };
  const side = (key, dx, dy) => [PARTS[key][1] + W * dx, PARTS[key][2] + H * dy];
  const ARROWS = [["client", 1, 0.5, "server", 0, 0.5], ["server", 1, 0.5, "tokenizer", 0, 0.5], ["tokenizer", 1, 0.5, "queue", 0, 0.5],
    ["queue", 0.5, 1, "scheduler", 0.5, 0], ["scheduler", 0.5, 1, "model", 0.5, 0], ["model", 0, 0.5, "sampler", 1, 0.5],
    ["sampler", 0.5, 0, "text", 0.5, 1], ["text", 1, 0.5, "scheduler", 0, 0.5], ["text", 0, 0.5, "stream", 1, 0.5], ["stream", 0, 0.3, "client", 0.5, 1]];
  const parts = svg("g", {}), picture = tools.picture({ class: "w2s-diagram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH + 60 }, parts);

  function arrow([from, fx, fy, to, tx, ty], lit) {
    const [x1, y1] = side(from, fx, fy), [x2, y2] = side(to, tx, ty), angle = Math.atan2(y2 - y1, x2 - x1);
    const tip = (turn) => `${x2 - 7 * Math.cos(angle + turn)},${y2 - 7 * Math.sin(angle + turn)}`;
    return svg("polyline", { class: `w2s-line is-solid hue-${lit ? "orange" : "grey"}`, fill: "none",
      points: `${x1},${y1} ${x2},${y2} ${tip(0.5)} ${x2},${y2} ${tip(-0.5)}`, style: { "stroke-width": lit ? 2.5 : 1.3, fill: "none" } });
  }
  function box(key, lit) {
    const [label, x, y] = PARTS[key];
    return [svg("rect", { class: `w2s-line is-solid hue-${lit ? "orange" : "blue"}`, x, y, width: W, height: H, rx: 6, style: { fill: "none", "stroke-width": lit ? 3.5 : 1.3 } }),
      svg("text", { class: "w2s-tick", x: x + W / 2, y: y + H / 2 + 4, "text-anchor": "middle", style: { "font-weight": lit ? 700 : 400, "font-size": "11px" } }, label)];
  }
  function tokens({ computed, known }) {
    return Array.from({ length: known }, (_, i) => svg("rect", { x: 4 + 15 * i, y: 222, width: 12, height: 12, rx: 2,
      class: `w2s-share hue-${i < computed ? "green" : i < data.prompt ? "blue" : "orange"}`, style: { opacity: i < computed ? 1 : 0.55 } }));
  }
  function show(at) {
    const now = data.moments[at], before = at ? data.moments[at - 1].at : "", held = now.blocks;
    parts.replaceChildren(...ARROWS.map((one) => arrow(one, one[0] === before && one[3] === now.at)), ...Object.keys(PARTS).flatMap((key) => box(key, key === now.at)),
      ...Array.from({ length: held }, (_, i) => svg("rect", { class: "w2s-share hue-green", x: 88 + 13 * i, y: 160, width: 10, height: 24, rx: 2 })),
      svg("text", { class: "w2s-tick", x: 4, y: 214 }, "Tokens: green cached, blue prompt, orange generated"));
    parts.append(...tokens(now));
    tools.say(now.text);
    picture.name(`The request is at: ${PARTS[now.at][0]}. ${now.computed} of ${now.known} tokens are cached, in ${held} blocks.`);
    Object.assign(stage.dataset, { at, part: now.at, computed: now.computed, known: now.known });
  }
  const stepper = tools.stepper({ label: "Moment", count: data.moments.length, text: (value) => `${value + 1} of ${data.moments.length}`,
    still: Math.min(5, data.moments.length - 1), show });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(...stepper.nodes));
  stepper.begin();
});
