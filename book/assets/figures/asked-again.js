/* Which tokens of a text were ever masked: with masks drawn in advance and used in turn, and with a new one in each epoch.

   data = {
     texts: [{label: "a verse", tokens: ["we", "sat", ...]}, ...],
     share: 0.15, copies: 10, most: 40       maskings in advance, epochs at most
   }
   Each masking takes the share of the tokens, rounded, at least one: reference_impl.objectives.masked_lm. */
window.w2s.register("asked-again", function (stage, data, tools) {
  "use strict";
  const { el } = tools, rows = el("div", {}), bars = tools.bars({ rows: 2, text: (share) => `${Math.round(100 * share)} %` });
  const KINDS = [["fixed", "static masks"], ["fresh", "dynamic masks"]];
  let text = data.texts[0], copies = tools.asStill ? 2 : data.copies, seed = 1, epoch = 0, drawn = { fixed: [], fresh: [] };
  function random() {  // mulberry32: the same draws on every machine
    seed = (seed + 0x6D2B79F5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  function masking() {
    const order = text.tokens.map((_, place) => [random(), place]).sort((a, b) => a[0] - b[0]);
    return order.slice(0, Math.max(1, Math.round(data.share * text.tokens.length))).map(([, place]) => place);
  }
  function begin() {
    seed = 1;
    drawn = Object.fromEntries(KINDS.map(([kind]) => [kind, Array.from({ length: data.most }, masking)]));
    show();
  }
  const used = (kind, at) => drawn[kind][kind === "fixed" ? at % copies : at];

  function show() {
    const shares = {};
    rows.replaceChildren(...KINDS.map(([kind, label]) => {
      const times = text.tokens.map(() => 0), now = used(kind, epoch);
      for (let at = 0; at <= epoch; at += 1) for (const place of used(kind, at)) times[place] += 1;
      const most = Math.max(...times), line = tools.tokenLines([text.tokens.map((token, place) => (now.includes(place) ? "[MASK]" : token))]);
      line.show({ near: now, focus: [0, -1], levels: [times.map((count) => count / most)] });
      shares[kind] = times.filter(Boolean).length / times.length;
      return el("div", { class: "w2s-cut" }, el("p", { class: "w2s-cut-name" }, label), line.node);
    }));
    bars.show(KINDS.map(([kind, label]) => ({ label, value: shares[kind], hue: kind === "fixed" ? "orange" : "blue" })), { most: 1 });
    const each = drawn.fresh[0].length / text.tokens.length, number = Math.min(copies, epoch + 1);
    const expected = (times) => `${(100 * (1 - (1 - each) ** times)).toFixed(1)} %`;
    Object.assign(stage.dataset, { epoch: epoch + 1, copies, text: text.label, ...shares });
    tools.say(`Epoch ${epoch + 1}. Ever predicted: ${Math.round(100 * shares.fixed)} % of the tokens with ${number} static ${number === 1 ? "mask" : "masks"} (${
      expected(number)} expected), ${Math.round(100 * shares.fresh)} % with a new mask in each epoch (${expected(epoch + 1)} expected).`);
  }
  const steps = tools.stepper({ label: "Epoch", count: data.most, text: (at) => `${at + 1}`, every: 500, still: 11,
    show(at) { epoch = at; show(); } });
  const ahead = tools.slider({ label: "Static masks", min: 1, max: data.copies, value: copies, oninput(value) { copies = value; show(); } });
  const texts = tools.choice({ legend: "Text", value: text.label, options: data.texts.map(({ label }) => ({ key: label, label })),
    onchange(label) { text = data.texts.find((one) => one.label === label); begin(); } });
  const field = tools.textField({ label: "Your text", most: 120, oninput(typed) {
    const tokens = typed.toLowerCase().match(/[a-z']+|[^\sa-z']/g);
    if (!tokens) return;
    text = { label: "your own", tokens };
    texts.set("");
    begin();
  } });
  stage.append(...(data.task ? [el("p", { class: "w2s-task" }, data.task)] : []), rows, bars.node, tools.bar(...steps.nodes), tools.bar(ahead), tools.bar(texts), tools.bar(field));
  drawn = Object.fromEntries(KINDS.map(([kind]) => [kind, Array.from({ length: data.most }, masking)]));
  steps.begin();
});
