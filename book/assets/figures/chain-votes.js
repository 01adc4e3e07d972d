/* Six digits, chains that a model writes for their sum, and a tally of where they end.

   data = {
     models: [{key: "sums", label: "after 1,000 steps", model: {name, megabytes, parameters}}, ...]
     most: 15,                                         chains of a tally
     examples: [{digits: "381904", key: "sums", temperature: 1.5, said: ["+8=1+1=2+9=1+0=1+4=5.", ...]}, ...]    by torch
   } */
window.w2s.register("chain-votes", function (stage, data, tools) {
  "use strict";
  const { el } = tools, list = el("div", {}), bars = tools.bars({ rows: 11, text: (votes) => `${votes}` });
  let loaded = null, now = data.examples[tools.asStill ? data.examples.length - 1 : 0], asked = 0, seed = 0;
  const sum = (digits) => [...digits].reduce((total, digit) => total + Number(digit), 0) % 10;
  const ending = (text) => (/\d\.$/.test(text) ? text.at(-2) : null);

  /* Steps of a chain, and for each whether it follows from what stands before it and the problem. */
  function steps(text, digits) {
    let before = Number(digits[0]);
    return (text.replace(/\.$/, "").match(/\+.?=?.?|[^+]+/g) ?? []).map((step, place) => {
      const [, digit, total] = /^\+(\d)=(\d)/.exec(step) ?? [];
      const right = digit === digits[place + 1] && Number(total) === (before + Number(digit)) % 10;
      before = Number(total);
      return { step, right };
    });
  }
  function draw() {
    const { digits, said } = now, right = String(sum(digits)), votes = new Map();
    said.forEach((text) => votes.set(ending(text), (votes.get(ending(text)) ?? 0) + 1));
    const order = [...votes].sort(([a, n], [b, m]) => (a === null) - (b === null) || m - n || said.findIndex((text) => ending(text) === a) - said.findIndex((text) => ending(text) === b));
    bars.show(order.map(([key, count]) => ({ label: key ?? "no answer", value: count, hue: key === right ? "green" : "orange" })), { most: data.most });
    const found = said.map((text) => steps(text, digits)), lines = tools.tokenLines(found.map((line) => [digits[0], ...line.map(({ step }) => step)]));
    lines.show({ levels: found.map((line) => [0, ...line.map((one) => (one.right ? 0 : 1))]) });
    list.replaceChildren(lines.node);
    const most = order.length && order[0][0], most1 = most === null ? "none" : most, share = said.filter((text) => ending(text) === right).length;
    tools.say(said.length ? `The sum of ${[...digits].join(" + ")} ends with ${right}. Of ${said.length} chains ${share} end so; the vote says ${most1}. Shaded steps are wrong.`
      : `The sum of ${[...digits].join(" + ")} ends with ${right}. Write a chain.`);
    Object.assign(stage.dataset, { digits, key: now.key, count: said.length, vote: most1, right, source: loaded ? "page" : "recorded", said: JSON.stringify(said) });
  }
  async function write(many) {
    const mine = ++asked, { digits, key, temperature } = now, place = data.models.findIndex((one) => one.key === key), tokenizer = loaded[place].tokenizer;
    const idOf = new Map(Array.from({ length: tokenizer.size }, (_, id) => [tokenizer.token(id), id]));
    for (let n = 0; n < many && now.said.length < data.most; n++) {
      const { ids } = await loaded[place].call("generate", [...`${digits}:`].map((symbol) => idOf.get(symbol)), { most: 21, temperature, seed: ++seed, stop: idOf.get(".") });
      if (mine !== asked) return;
      const text = ids.map(tokenizer.token).join("");
      now.said.push(ids.length < 21 ? `${text}.` : text);
      draw();
    }
  }
  function begin(change) { ++asked; now = { ...now, ...change, said: [] }; draw(); if (loaded && temperature.node.isConnected) write(data.most); }

  const name = (one) => `${one.digits}, ${data.models.find(({ key }) => key === one.key).label}, T = ${one.temperature}`;
  const picks = tools.select({ label: "Recorded", options: data.examples.map(name), value: name(now), onchange(text) {
    ++asked; now = { ...data.examples.find((one) => name(one) === text) }; now.said = [...now.said];
    field.set(now.digits); which.set(now.key); temperature.set(now.temperature); draw(); } });
  const field = tools.textField({ label: "Your six digits", value: now.digits, most: 6, oninput(text) {
    if (/^\d{6}$/.test(text)) begin({ digits: text }); else tools.say("Type six digits."); } });
  const which = tools.choice({ legend: "Model", value: now.key, options: data.models.map(({ key, label }) => ({ key, label })), onchange: (key) => begin({ key }) });
  const temperature = tools.slider({ label: "Temperature", min: 0.25, max: 3, step: 0.25, value: now.temperature, text: (value) => value.toFixed(2), oninput: (value) => begin({ temperature: value }) });
  const again = tools.button(`Write ${data.most} more`, () => begin({}), { disabled: true });
  const offer = tools.modelOffer(data.models.map((one) => one.model), (...models) => {
    loaded = models; field.input.disabled = again.disabled = temperature.input.disabled = false;
    which.node.disabled = false; field.input.focus(); begin({});
  });
  field.input.disabled = temperature.input.disabled = which.node.disabled = true;
  now = { ...now, said: [...now.said] };
  stage.append(tools.bar(picks), tools.bar(offer), tools.bar(field, again), tools.bar(which), tools.bar(temperature), bars.node, list);
  draw();
});
