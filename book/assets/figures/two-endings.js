/* A beginning and two endings, the reader's own: which would the model rather have written, by the sum and by the byte?

   data = {
     model: {name, megabytes, parameters},
     examples: [{prompt: "And God said,", endings: [{text: " Let there be light", pieces: [...], nats: [...]}, {...}]}, ...]    by torch
   }                                                a line feed stands before the beginning; nats are -ln p of each piece */
window.w2s.register("two-endings", function (stage, data, tools) {
  "use strict";
  const { el } = tools, body = el("div", { class: "w2s-cuts" }), visible = (piece) => piece.replaceAll(" ", "␣").replaceAll("\n", "⏎");
  let model = null, now = { ...data.examples[0], source: "torch" }, asked = 0;
  const sum = (values) => values.reduce((total, value) => total + value, 0), bytes = (text) => new TextEncoder().encode(text).length;

  function draw() {
    const totals = now.endings.map(({ nats }) => -sum(nats)), perByte = now.endings.map(({ text }, n) => totals[n] / bytes(text));
    const first = (values) => (values[0] >= values[1] ? 0 : 1), winners = [first(totals), first(perByte)];
    body.replaceChildren(...now.endings.map(({ text, pieces, nats }, n) => {
      const line = tools.tokenLines([pieces.map(visible)]);
      line.show({ focus: [0, -1], levels: [nats.map((value) => Math.min(1, value / 8))] });
      return el("section", { class: "w2s-cut" }, el("p", { class: "w2s-cut-name" }, el("strong", {}, `Ending ${n + 1}`),
        `: ${totals[n].toFixed(1)} nats${winners[0] === n ? " (larger)" : ""}, ${bytes(text)} bytes, ${perByte[n].toFixed(2)} a byte${winners[1] === n ? " (larger)" : ""}`), line.node);
    }));
    const quoted = (n) => `“${now.endings[n].text.trim()}”`;
    tools.say(`By the sum it is ending ${winners[0] + 1}, ${quoted(winners[0])}; by the byte ${winners[0] === winners[1] ? "the same" : `ending ${winners[1] + 1}, ${quoted(winners[1])}`}.`);
    Object.assign(stage.dataset, { source: now.source, prompt: now.prompt, totals: JSON.stringify(totals), winners: winners.join(" ") });
  }

  async function read() {
    if (!model) return;
    const turn = ++asked, texts = fields.slice(1).map(({ input }) => ` ${input.value.trim()}`), prompt = fields[0].input.value.trim();
    const before = ["\n", prompt].flatMap(model.tokenizer.ids), rows = texts.map(model.tokenizer.ids);
    if (rows.some((ids) => !ids.length)) { tools.say("Each ending needs a word."); return; }
    try {
      const found = await Promise.all(rows.map((ids) => model.call("judge", before, ids)));
      if (turn !== asked) return;
      now = { prompt, source: "page", endings: texts.map((text, n) => ({ text, pieces: rows[n].map(model.tokenizer.token), nats: found[n].map(({ nats }) => nats) })) };
      draw();
    } catch (error) { tools.say(`${error.message}.`); }
  }
  function show(key) {
    now = { ...data.examples.find((one) => one.prompt === key), source: "torch" };
    [now.prompt, ...now.endings.map(({ text }) => text.trim())].forEach((text, n) => fields[n].set(text));
    draw();
    read();
  }

  const fields = [["Beginning", now.prompt], ["Ending 1", now.endings[0].text.trim()], ["Ending 2", now.endings[1].text.trim()]].map(([label, value]) =>
    tools.textField({ label, value, most: 80, oninput() { picks.set(""); read(); } }));
  const picks = tools.choice({ legend: "Try", value: now.prompt, options: data.examples.map(({ prompt }) => ({ key: prompt, label: prompt })), onchange: show });
  for (const { input } of fields) input.disabled = true;
  const offer = tools.modelOffer(data.model, (loaded) => { model = loaded; for (const { input } of fields) input.disabled = false; fields[1].input.focus(); read(); });
  stage.append(tools.bar(picks), tools.bar(offer), tools.bar(...fields), body);
  draw();
});
