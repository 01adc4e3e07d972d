/* Beam search as a tree: what is kept at each step, what falls away, and where the most probable text of all is.

   data = {
     model: {name, megabytes, parameters},
     tables: [{label, length, of: 20, words: ["bank", ...], shares: {"": {"bank": 8, ...}, "bank": {"of": 4, ...}}}, ...]
     examples: ["We sat on the bank of the", ...]                                                                 for the model
   }
   lib.beams and lib.likeliest of assets/models/searching.js search; a score is a sum of natural logarithms. */
window.w2s.register("beam-tree", function (stage, data, tools) {
  "use strict";
  const { el, svg } = tools, row = 30, tableOf = (label) => data.tables.find((one) => one.label === label);
  const asReader = ({ words, shares }) => ({ tokenizer: { token: (id) => words[id] }, call: (method, ...rest) => window.w2s.models.lib[method](
    { next: (ids) => ({ data: words.map((word) => Math.log((shares[ids.map((id) => words[id]).join(" ")] || {})[word] || 0)) }) }, ...rest) });
  let loaded = null, text = data.tables[0].label, table = data.tables[0], width = 1, length = table.length, found = null, truth = null, asked = 0, pixels = 560;
  const visible = (piece) => piece.replaceAll(" ", "␣").replaceAll("\n", "⏎"), picture = tools.picture({ class: "w2s-tree" });
  const reader = () => (table ? asReader(table) : loaded), given = () => (table ? [] : ["\n", text].flatMap(loaded.tokenizer.ids));
  const said = (ids) => ids.map((id) => reader().tokenizer.token(id)).join(table ? " " : ""), shown = (ids) => (table ? said(ids) : visible(said(ids)));
  const worth = (score) => (table ? `${Math.round(table.of * Math.exp(score))} of ${table.of}` : `${score.toFixed(2)} nats`);

  function ask(method, options, use) {  // the table answers at once, a model when it has it
    const turn = ++asked, answer = reader().call(method, given(), options);
    if (answer.then) answer.then((value) => { if (turn === asked) use(value); });
    else use(answer);
  }
  const run = () => ask("beams", { width, length, side: width < 4 ? 3 : 1 }, (value) => { [found, truth] = [value, null]; show(); });
  const search = () => { tools.say("Searching …"); ask("likeliest", { length, bound: found.best.score }, (value) => { truth = value; show(); }); };

  function draw() {
    const starts = (ids, n) => ids.slice(0, n).join(), best = found.best.ids, real = truth && truth.best ? truth.best.ids : [];
    const levels = found.levels.map((level, depth) => (real.length && !level.some(({ ids }) => ids.join() === starts(real, depth + 1))
      ? [...level, { ids: real.slice(0, depth + 1) }] : level));
    const tall = row * Math.max(...levels.map((level) => level.length)), wide = Math.max(pixels, 105 * length + 40), step = (wide - 110) / length;
    const spots = new Map([["", [10, tall / 2]]]), edges = [], marks = [];
    levels.forEach((level, depth) => level.forEach(({ ids, share, kept }, n) => {
      const [x, y] = [10 + step * (depth + 1), (n + 0.5) * tall / level.length], way = ids.join();
      const chosen = way === starts(best, depth + 1), true_ = way === starts(real, depth + 1), hue = chosen ? "orange" : true_ ? "green" : kept ? "blue" : "grey";
      spots.set(way, [x, y]);
      edges.push(svg("polyline", { class: `w2s-line hue-${hue} is-${true_ ? "dashed" : kept ? "solid" : "dotted"}`, points: tools.points([spots.get(starts(ids, depth)) || spots.get(""), [x, y]]) }));
      const mark = svg("g", {}, tools.mark({ hue, mark: chosen ? 4 : true_ ? 2 : kept ? 0 : 3 }));
      marks.push(tools.move(mark, x, y), svg("text", { class: "w2s-word", x: x + 6, y: y - 8, "font-weight": chosen || true_ ? 700 : 400 },
        visible(said(ids.slice(-1))) + (share === undefined ? "" : ` ${share.toFixed(2)}`)));
    }));
    tools.set(picture.node, { viewBox: `0 -8 ${wide} ${tall + 8}`, width: wide });
    picture.node.style.setProperty("min-width", `${wide * 0.9}px`);
    picture.node.replaceChildren(picture.node.firstChild, ...edges, ...marks);
    picture.name(`A tree of ${length} steps; ${width} beginnings are kept at each.`);
  }

  function show() {
    draw();
    const { ids, score } = found.best, real = truth && truth.best, missed = real && real.score > score + 1e-6;
    Object.assign(stage.dataset, { text, width, length, best: said(ids), score, truth: real ? said(real.ids) : "", missed: real ? String(missed) : "", source: loaded ? "page" : "recorded" });
    const more = !truth ? "" : !real ? ` ${truth.passes} beginnings were extended, and it is still not certain which text is the most probable.`
      : missed ? ` The most probable text of all is “${shown(real.ids)}” (${worth(real.score)}), found by extending ${truth.passes} beginnings: the beam missed it.`
        : ` It is the most probable of all: ${truth.passes} beginnings were extended to be sure.`;
    tools.say(`Width ${width} ends with “${shown(ids)}” (${worth(score)}).${more}`);
  }
  function pick(key) {
    if (!tableOf(key) && !loaded) { picks.set(text); tools.say("Load the model first: this beginning needs it."); return; }
    [text, table] = [key, tableOf(key)];
    length = table ? table.length : Math.max(3, length);
    lengths.set(length);
    run();
  }
  const widths = tools.slider({ label: "Width", min: 1, max: 8, value: width, oninput(value) { width = value; run(); } });
  const lengths = tools.slider({ label: "Tokens", min: 2, max: 5, value: length, oninput(value) { length = table ? table.length : value; lengths.set(length); run(); } });
  const field = tools.textField({ label: "Your text", value: "", most: 60, oninput(typed) { if (typed) { picks.set(typed); pick(typed); } } });
  const picks = tools.choice({ legend: "Start", value: text, options: [...data.tables.map(({ label }) => label), ...data.examples].map((one) => ({ key: one, label: one })), onchange: pick });
  const offer = tools.modelOffer(data.model, (model) => { loaded = model; field.input.disabled = false; run(); });
  field.input.disabled = true;
  stage.append(tools.bar(offer), tools.bar(field), tools.bar(widths, lengths, tools.button("Find the best of all", search)), tools.bar(picks),
    el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "The tree" }, picture.node),
    tools.legend([{ label: "best of the beam", hue: "orange", mark: 4 }, { label: "kept", hue: "blue", mark: 0 }, { label: "dropped", hue: "grey", mark: 3 }, { label: "best of all", hue: "green", mark: 2 }]).node);
  tools.onWidth((fit) => { pixels = fit; if (found) draw(); });
  if (tools.asStill) width = 2;
  run();
  if (tools.asStill) search();
});
