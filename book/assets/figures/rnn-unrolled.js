/* A recurrent unit along a text: its hidden states forward, then the gradient of the last one backward.

   data = {
     task: "What to try",                  stands above the drawing
     words: ["we", "sat", ...],            the tokens
     input: 0.55, weight: 1.1, most: 2.5   what the first token adds (the others add nothing), the recurrent weight, its limit
   } */
window.w2s.register("rnn-unrolled", function (stage, data, tools) {
  "use strict";
  const { svg, el } = tools, { words } = data, T = words.length, WIDTH = 336, TALL = 60, TOP = 44, LOW = 190;
  const at = (t) => 26 + t * (WIDTH - 52) / (T - 1), layer = svg("g", {});
  const picture = tools.picture({ class: "w2s-diagram", viewBox: `0 0 ${WIDTH} 272`, width: WIDTH + 100 }, layer);
  let weight = data.weight, stop = 1;

  /* h_t = tanh(w h_(t-1) + x_t), and the derivative of the last state by each one. */
  function computed() {
    const states = [], gradients = Array(T).fill(1);
    for (let t = 0; t < T; t++) states.push(Math.tanh(weight * (t ? states[t - 1] : 0) + (t ? 0 : data.input)));
    for (let t = T - 2; t >= 0; t--) gradients[t] = gradients[t + 1] * weight * (1 - states[t + 1] ** 2);
    return { states, gradients };
  }
  const bar = (t, base, value, hue) => {
    const tall = Math.min(1, Math.abs(value)) * TALL;
    return [svg("rect", { class: `w2s-bar-rect hue-${hue}`, x: at(t) - 10, y: base - tall, width: 20, height: Math.max(tall, 1), rx: 2,
      style: { fill: "var(--hue)" } }),
      svg("text", { class: "w2s-tick", x: at(t), y: base - tall - 5, "text-anchor": "middle" }, value.toFixed(2))];
  };
  const arrow = (from, to, y, hue) => {
    const way = Math.sign(to - from);
    return [svg("line", { class: `w2s-line is-solid hue-${hue}`, x1: from, x2: to, y1: y, y2: y, style: { "stroke-width": 2 } }),
      svg("polyline", { class: "w2s-arrow", points: tools.points([[to - 5 * way, y - 4], [to, y], [to - 5 * way, y + 4]]) })];
  };

  function draw() {
    const { states, gradients } = computed(), seen = Math.min(stop, T), back = Math.max(0, stop - T), parts = [];
    words.forEach((word, t) => parts.push(svg("text", { class: "w2s-word", x: at(t), y: 262, "text-anchor": "middle" }, word)));
    parts.push(svg("text", { class: "w2s-tick", x: 4, y: 14 }, "hidden state, left to right"),
      svg("text", { class: "w2s-tick", x: 4, y: LOW - TALL + 8 }, "gradient of the last state, right to left"));
    for (let t = 0; t < seen; t++) {
      parts.push(...bar(t, TOP + TALL, states[t], "blue"));
      if (t) parts.push(...arrow(at(t - 1) + 6, at(t) - 6, TOP + TALL + 8, "blue"));
    }
    for (let t = T - 1; t >= T - back; t--) {
      parts.push(...bar(t, LOW + 44, gradients[t], "orange"));
      if (t < T - 1) parts.push(...arrow(at(t + 1) - 6, at(t) + 6, LOW + 52, "orange"));
    }
    layer.replaceChildren(...parts);
    picture.name(back ? `The gradient of the last state by the state at ${words[T - back]} is ${gradients[T - back].toFixed(2)}.`
      : `The hidden states of the first ${seen} words.`);
    tools.say(`Weight ${weight.toFixed(2)}. ` + (stop === 0 ? "Step: each word updates the hidden state." : back === 0 ? `After “${words[seen - 1]}”: hidden state ${states[seen - 1].toFixed(2)}.`
      : `Gradient at “${words[T - back]}”: ${gradients[T - back].toFixed(3)}.`));
    Object.assign(stage.dataset, { stop, weight, states: states.join(), gradients: gradients.join() });
    tools.able(before, stop > 0); tools.able(next, stop < 2 * T); tools.able(all, stop < 2 * T);
  }
  const go = (to) => { stop = to; draw(); };
  const before = tools.button("Back", () => go(stop - 1)), next = tools.button("Step", () => go(stop + 1));
  const all = tools.button("To the end", () => go(2 * T));
  const slider = tools.slider({ label: "Recurrent weight", min: 0, max: data.most, step: 0.05, value: weight, text: (value) => value.toFixed(2),
    oninput(value) { weight = value; draw(); } });
  if (tools.asStill) stop = 2 * T;
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(before, next, all), tools.bar(slider));
  draw();
});
