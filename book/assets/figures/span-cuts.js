/* Spans cut out of a text: what the encoder reads and what the decoder is to write, for any share and mean span.

   data = {
     texts: [{label: "T5's example", tokens: ["Thank", "you", ...]}, ...],
     share: 0.15, span: 3, seed: 1,         what the sliders and the draw start at
     whole: "the whole text again"          what the bar of the other target is called
   }
   The reader's own text is cut at its spaces. Counting and cutting follow reference_impl.objectives.span_corruption. */
window.w2s.register("span-cuts", function (stage, data, tools) {
  "use strict";
  const { el } = tools, bars = tools.bars({ rows: 4, text: (value) => String(value) }), SENTINELS = 100;
  const lines = ["Text", "Source, what the encoder reads", "Target, what the decoder writes"].map((name) =>
    ({ name: el("p", { class: "w2s-cut-name" }, name), row: el("p", { class: "w2s-sentence" }) }));
  let tokens = data.texts[0].tokens, draws = 0, { share, span, seed } = data;
  function random() {  // mulberry32: the same draws on every machine
    seed = (seed + 0x6D2B79F5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  function rounded(value) {  // halves to the even number, as Python rounds
    const whole = Math.floor(value + 1e-9), rest = value - whole;
    return Math.abs(rest - 0.5) < 1e-9 ? whole + (whole % 2) : Math.round(value);
  }
  function counts(length) {
    const lost = Math.min(Math.max(rounded(length * share), 1), length - 1);
    return [lost, Math.min(Math.max(rounded(lost / span), 1), length - lost)];
  }
  function cut(length, parts) {  // sizes of so many pieces, none empty: cut at places drawn at random
    const places = Array.from({ length: length - 1 }, (_, i) => [random(), i + 1]).sort((a, b) => a[0] - b[0]);
    const edges = [0, ...places.slice(0, parts - 1).map(([, place]) => place).sort((a, b) => a - b), length];
    return edges.slice(1).map((edge, i) => edge - edges[i]);
  }
  function draw() {
    const length = tokens.length;
    if (length < 2) { tools.say("A text of one word: to lose one and keep one takes two."); return; }
    const [lost, spans] = counts(length), kept = cut(length - lost, spans), gone = cut(lost, spans);
    const text = [], source = [], target = [];
    let at = 0;
    const word = (token, kind = "") => el("span", { class: `w2s-token${kind}` }, token);
    kept.forEach((size, n) => {
      const mark = spans > SENTINELS ? `<${n}>` : `<${n < 3 ? "XYZ"[n] : n}>`;
      for (const token of tokens.slice(at, at + size)) { text.push(word(token)); source.push(word(token)); }
      for (const line of [source, target]) line.push(word(mark, " is-near"));
      for (const token of tokens.slice(at + size, at + size + gone[n])) { text.push(word(token, " is-centre")); target.push(word(token, " is-centre")); }
      at += size + gone[n];
    });
    for (const line of [source, target]) line.push(word("end"));
    [text, source, target].forEach((row, n) => lines[n].row.replaceChildren(...row));
    const rows = [["text", length, "grey"], ["source", source.length, "blue"], ["target", target.length, "orange"], [data.whole, length + 1, "purple"]];
    bars.show(rows.map(([label, value, hue]) => ({ label, value, hue })), { most: Math.max(...rows.map(([, value]) => value)) });
    draws += 1;
    Object.assign(stage.dataset, { draws, length, lost, spans, share, span, source: source.length, target: target.length, kept: JSON.stringify(kept), gone: JSON.stringify(gone) });
    tools.say(`Draw ${draws}: ${length} tokens lose ${lost}, in ${spans} ${spans === 1 ? "span" : "spans"}: source ${source.length}, target ${target.length}, ends included. `
      + `The whole text again would be ${length + 1}.`);
  }
  const texts = tools.choice({ legend: "Text", value: data.texts[0].label, options: data.texts.map(({ label }) => ({ key: label, label })),
    onchange(label) { ({ tokens } = data.texts.find((one) => one.label === label)); draw(); } });
  const field = tools.textField({ label: "Your text", most: 400, oninput(asked) {
    const typed = asked.trim().split(/\s+/).filter(Boolean);
    if (!typed.length) return;
    tokens = typed;
    texts.set("");
    draw();
  } });
  stage.append(...(data.task ? [el("p", { class: "w2s-task" }, data.task)] : []), ...lines.flatMap(({ name, row }) => [name, row]), bars.node,
    tools.bar(tools.slider({ label: "removed", min: 5, max: 90, step: 5, value: Math.round(100 * share), text: (value) => `${value} %`,
      oninput(value) { share = value / 100; draw(); } }), tools.slider({ label: "mean span", min: 1, max: 10, value: span,
      oninput(value) { span = value; draw(); } })), tools.bar(texts, tools.button("Draw", draw, { class: "w2s-play" })), tools.bar(field));
  draw();
});
