/* A plain recurrent unit next to an LSTM cell: set the gates, step, and see what each still holds.
   A gate that is moved computes the last step again, so the numbers always belong to the gates shown.

   data = {
     task: "What to try",                                  stands above the drawing
     start: 1, candidate: 0.5, weight: 1, most: 20         the state of both at first, the LSTM's new content, the RNN's weight
     gates: {forget: 0.75, input: 0.5, output: 0.5}        at first
   } */
window.w2s.register("lstm-cell", function (stage, data, tools) {
  "use strict";
  const { svg, el } = tools, gates = { ...data.gates }, NAMES = ["forget", "input", "output"], WIDTH = 336, LINE = 118;
  const layer = svg("g", {}), picture = tools.picture({ class: "w2s-diagram", viewBox: `0 0 ${WIDTH} 240`, width: WIDTH + 100 }, layer);
  const start = { h: data.start, c: data.start };
  let steps = 0, before = start;                          // the states that enter the step that is shown
  const number = (value) => value.toFixed(2).replace("-", "−"), shown = (value) => (steps ? number(value) : "");
  const after = () => (steps ? { h: Math.tanh(data.weight * before.h), c: gates.forget * before.c + gates.input * data.candidate } : start);

  const line = (points, hue, width = 2) => svg("polyline", { class: `w2s-line is-solid hue-${hue}`, points: tools.points(points),
    style: { "stroke-width": width } });
  const tip = ([x, y], [dx, dy]) => svg("polyline", { class: "w2s-arrow", points: tools.points([[x - 6 * dx - 4 * dy,
    y - 6 * dy - 4 * dx], [x, y], [x - 6 * dx + 4 * dy, y - 6 * dy + 4 * dx]]) });
  const text = (x, y, words, kind = "w2s-tick") => svg("text", { class: kind, x, y, "text-anchor": "middle" }, words);
  const box = (x, y, width, label, hue) => svg("g", { class: `w2s-box is-lit hue-${hue}` },
    svg("rect", { x: x - width / 2, y, width, height: 26, rx: 5 }), text(x, y + 18, label, ""));
  const dot = (x, y, label, hue) => svg("g", { class: `w2s-box is-lit hue-${hue}` },
    svg("circle", { class: "w2s-place", cx: x, cy: y, r: 11 }), text(x, y + 5, label, ""));
  const gate = (x, name, hue) => [line([[x, 190], [x, name === "output" ? 168 : LINE + 11]], hue, 1 + 5 * gates[name]),
    box(x, 190, 62, number(gates[name]), hue), text(x, 232, name)];

  function draw() {
    const { h, c } = after(), hidden = gates.output * Math.tanh(c), parts = [];
    parts.push(text(40, 14, "plain RNN"), line([[46, 44], [294, 44]], "grey"), tip([294, 44], [1, 0]), box(168, 31, 118, "tanh(w h + x)", "grey"),
      text(24, 49, number(before.h), "w2s-word"), text(314, 49, shown(h), "w2s-word"));
    parts.push(text(40, 88, "LSTM cell"), line([[46, LINE], [294, LINE]], "blue", 5), tip([296, LINE], [1, 0]),
      text(24, LINE + 5, number(before.c), "w2s-word"), text(314, LINE + 5, shown(c), "w2s-word"), text(314, LINE + 24, "cell c"));
    parts.push(...gate(64, "forget", "orange"), ...gate(136, "input", "green"), ...gate(278, "output", "purple"));
    parts.push(line([[206, 190], [206, 158], [147, 158]], "grey"), tip([147, 158], [-1, 0]), box(206, 190, 62, number(data.candidate), "grey"),
      text(206, 232, "candidate"), dot(136, 158, "×", "green"), dot(64, LINE, "×", "orange"), dot(136, LINE, "+", "blue"));
    parts.push(line([[244, LINE], [244, 158], [267, 158]], "blue"), text(226, 146, "tanh"), line([[289, 158], [300, 158]], "purple"),
      tip([300, 158], [1, 0]), dot(278, 158, "×", "purple"), text(318, 162, shown(hidden), "w2s-word"), text(314, 180, "hidden h"));
    layer.replaceChildren(...parts);
    const when = steps ? `After ${steps} step${steps === 1 ? "" : "s"}` : "Before the first step";
    picture.name(`${when} the plain unit holds ${number(h)} and the LSTM cell ${number(c)}.`);
    tools.say(`${when}: plain RNN ${number(h)}, LSTM cell ${number(c)}. `
      + `Gates ${NAMES.map((name) => `${name} ${number(gates[name])}`).join(", ")}.`);
    Object.assign(stage.dataset, { steps, plain: h, cell: c, hidden: steps ? hidden : "", ...gates });
    tools.able(next, steps < data.most); tools.able(again, steps > 0);
  }
  function step() { before = after(); steps += 1; draw(); }
  const next = tools.button("Step", step), again = tools.button("Start again", () => { steps = 0; before = start; draw(); });
  const sliders = NAMES.map((name) => tools.slider({ label: `${name[0].toUpperCase()}${name.slice(1)} gate`, min: 0, max: 1, step: 0.05,
    value: gates[name], text: number, oninput(value) { gates[name] = value; draw(); } }));
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(next, again), tools.bar(...sliders));
  if (tools.asStill) step(); else draw();
});
