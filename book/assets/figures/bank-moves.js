/* A word's contextual vector, in a plane between two senses, moves while a sentence is typed.

   data = {
     model: {name, megabytes, parameters},     from page_model; a model of kind "encoder" with a list of words
     word: "bank", plane: {centre, axes},      centre (C) and two axes (C) of its vectors; the first leads from -1 to 1
     task: "One word, ...",                    what the reader is to do
     uses: [{sense: "river", text, at: [x, y]}]            sentences of known sense, and where torch puts them
     examples: [{text, path: [[x, y] or null, ...]}]       where torch puts the word after each word of the sentence
   }
   The model is loaded when the reader goes into the field; examples need none. */
window.w2s.register("bank-moves", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, SENSES = ["money", "river"], hues = tools.meanings(SENSES), REACH = [2.1, 2.9];
  const area = svg("g", {}), trail = svg("polyline", { class: "w2s-trail" }), marks = svg("g", {});
  const dot = svg("g", { class: "w2s-moving" }, svg("circle", { r: 13, class: "w2s-moving-ring" }), tools.mark({ hue: "blue", mark: 4 }),
    svg("text", { y: -20, "text-anchor": "middle" }, data.word));
  const picture = tools.picture({ class: "w2s-bank-plane" }, area, marks, trail, dot);
  let width = 640, tall = 170, at = [0, 0], passed = [], goal = [0, 0], model = null, asked = 0, stop = () => {}, timer, loading, words = [];
  const place = ([x, y]) => [width / 2 + Math.max(-1, Math.min(1, x / REACH[0])) * (width / 2 - 26),
    tall / 2 + 14 + Math.max(-1, Math.min(1, y / REACH[1])) * (tall / 2 - 34)];
  const paint = () => { tools.move(dot, ...place(at)); set(trail, { points: tools.points([...passed, at].map(place)) }); };
  function fit(pixels) {
    set(picture.node, { viewBox: `0 0 ${width = pixels} ${tall = pixels < 480 ? 138 : 170}`, width, height: tall });
    area.replaceChildren(...SENSES.flatMap((sense, n) => [
      svg("rect", { class: `w2s-side-of hue-${hues[sense].hue}`, x: n * width / 2, width: width / 2, height: tall, rx: 6 }),
      svg("text", { class: `w2s-side-name hue-${hues[sense].hue}`, x: n ? width - 14 : 14, y: 28, "text-anchor": n ? "end" : "start" }, sense)]));
    marks.replaceChildren(...data.uses.map(({ sense, text, at: spot }) =>
      tools.move(svg("g", { class: "w2s-use" }, svg("title", {}, text), tools.mark(hues[sense])), ...place(spot))));
    stage.insertBefore(examples, pixels < 480 ? picture.node.nextSibling : picture.node);
    paint();
  }
  /* Go to the word's place in the words that are there now. Where they go on from the last ones, the trail does too. */
  function go(now, to) {
    stop();
    const from = at, text = now.join(" "), last = words.join(" "), on = text.toLowerCase().startsWith(last.toLowerCase());
    [words, passed, goal] = [now, !on ? [] : text.length > last.length ? [...passed, goal].slice(-12) : passed, to];
    stop = tools.animate(420, (t) => { at = from.map((value, i) => value + t * (to[i] - value)); paint(); });
    const far = ({ at: [x, y] }) => Math.hypot(x - to[0], y - to[1]), near = data.uses.reduce((a, b) => (far(a) <= far(b) ? a : b));
    const side = Math.abs(to[0]) < 0.2 ? "between the two" : `on the ${to[0] < 0 ? "money" : "river"} side`;
    const lost = model ? model.tokenizer.lost(text) : [], unknown = lost.length ? ` Words that the model does not know, and leaves out: ${lost.join(", ")}.` : "";
    Object.assign(stage.dataset, { at: to.map((value) => value.toFixed(2)).join(), text, trail: passed.length });
    picture.name(`The vector of “${data.word}” lies ${side}.`);
    tools.say(`“${text}”: ${data.word} lies ${side}. The nearest mark is “${near.text}”.${unknown}`);
  }
  /* An example, word by word, as if it were typed. */
  function play(key) {
    const { text, path } = data.examples[key], all = text.split(" ");
    let n = tools.reduced() ? path.length - 1 : path.findIndex(Boolean);
    clearInterval(timer);
    const show = () => { go(all.slice(0, n + 1), path[n]); field.set(words.join(" ")); };
    show();
    timer = setInterval(() => { if (n + 1 < path.length) { n++; show(); } else clearInterval(timer); }, 430);
  }
  async function read(text) {
    if (!model) return load();
    const typed = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [], turn = ++asked;
    if (!typed.includes(data.word)) return tools.say(`Write a sentence with the word “${data.word}”.`);
    const ids = model.tokenizer.ids(text), spot = ids.map((id) => model.tokenizer.token(id)).indexOf(data.word);
    const { data: rows, shape: [, size] } = await model.call("hidden", ids.slice(0, model.positions));
    if (turn !== asked) return;
    const vector = Array.from(rows.slice(spot * size, (spot + 1) * size), (value, i) => value - data.plane.centre[i]);
    go(typed, data.plane.axes.map((axis) => vector.reduce((sum, value, i) => sum + value * axis[i], 0)));
  }
  function load() {
    loading ??= window.w2s.models.open(data.model.name).then((loaded) => {
      [model, state.textContent] = [loaded, ""];
      if (field.input.value !== words.join(" ")) read(field.input.value);
    }, (error) => { loading = null; state.textContent = `The model could not be loaded: ${error.message}.`; });
    if (!model) state.textContent = `Loading the model (${data.model.megabytes} MB) …`;
  }
  const field = tools.textField({ label: `Your sentence with “${data.word}”; typing loads ${data.model.megabytes} MB`, value: data.examples[0].text, most: 120,
    oninput(text) { clearInterval(timer); picks.set(""); read(text); } });
  const state = el("span", { class: "w2s-offer-state w2s-own-line", role: "status" });
  field.input.addEventListener("focus", load);
  const picks = tools.choice({ legend: "Or watch one being typed", value: "0", options: data.examples.map(({ text }, n) => ({ key: `${n}`, label: `… ${text.split(` ${data.word} `).at(-1)}` })),
    onchange: play });
  const examples = tools.bar(picks);  // below the plane where the screen is narrow
  stage.append(el("p", { class: "w2s-task" }, data.task), tools.bar(field, state), picture.node);
  tools.onWidth(fit);
  const spots = data.examples[0].path.filter(Boolean);
  [passed, goal, at] = [spots.slice(0, -2), spots.at(-2) ?? spots[0], spots.at(-1)];
  go(data.examples[0].text.split(" "), at);
});
