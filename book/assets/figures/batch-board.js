/* Who computes what in which step: requests in a static batch or a continuous one, a budget of tokens, prompts in pieces.

   data = {
     examples: [{key: "hand", label: "answers of 8, 4, 3, 1", slots: 2, budget: 8, requests: [{prompt: 1, answer: 8, at: 0}, ...]}, ...]
     most: 8                                            how many requests a reader may type, as "prompt+answer@step"
   }
   The step that reads a prompt's last token says the first token of the answer. First come, first served; decodes before prompts. */
window.w2s.register("batch-board", function (stage, data, tools) {
  "use strict";
  const { el } = tools, LONGEST = 120;
  const area = el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "The schedule" });
  let now = data.examples[0], asked = now.requests, slots = now.slots, budget = now.budget, manner = "continuous", pieces = "in pieces", line = null, width = 560;

  function plan() {  // per request: what it does in each step, P and how many, d, w (held up), - (in the queue)
    const all = asked.map((one) => ({ ...one, read: 0, said: 0, marks: [] })), steps = [];
    let running = [];
    for (let step = 0; step < LONGEST && all.some((one) => one.said < one.answer); step++) {
      const queue = all.filter((one) => one.at <= step && !one.said && !one.read && !running.includes(one));
      const may = manner === "continuous" || !running.length;
      const coming = may ? queue.slice(0, slots - running.length) : [];
      running = running.concat(coming);
      const whole = pieces === "whole" && running.some((one) => one.read < one.prompt);
      let left = budget - (whole ? 0 : running.filter((one) => one.read === one.prompt).length), tokens = 0;
      for (const one of running) {
        const decodes = one.read === one.prompt, count = decodes ? (whole ? 0 : 1) : whole ? one.prompt : Math.max(0, Math.min(one.prompt - one.read, left));
        if (!decodes) { one.read += count; left -= count; }
        if (count && one.read === one.prompt) one.said += 1;
        one.marks[step] = count ? (decodes ? "d" : `P${count}`) : one.read || decodes ? "w" : "-";
        tokens += count;
      }
      for (const one of all) one.marks[step] = one.marks[step] || (one.at <= step && !one.said ? "-" : " ");
      steps.push({ tokens, busy: running.length });
      running = running.filter((one) => one.said < one.answer);
    }
    return { all, steps };
  }
  function stretches(all) {  // neighbouring steps of one kind are one bar; a piece of a prompt stands alone
    const items = [];
    all.forEach((one, row) => one.marks.forEach((mark, step) => {
      if (mark === " ") return;
      const last = items.at(-1), kind = mark[0];
      if (last && last.row === row && last.end === step && last.kind === kind && kind !== "P") { last.end += 1; last.count += 1; }
      else items.push({ row, start: step, end: step + 1, kind, count: kind === "P" ? Number(mark.slice(1)) : 1 });
    }));
    const HUES = { P: "yellow", d: "blue", w: "orange", "-": "grey" };
    return items.map((item) => ({ ...item, hue: HUES[item.kind], label: item.kind === "-" ? "" : item.kind === "w" ? "·" : String(item.count) }));
  }
  function show() {
    const { all, steps } = plan(), read = steps.reduce((sum, { tokens }) => sum + tokens, 0), most = Math.max(...steps.map(({ tokens }) => tokens));
    const firsts = all.map((one) => one.marks.findIndex((mark, step) => mark[0] === "P" && !one.marks.slice(step + 1).some((next) => next[0] === "P")) + 1 - one.at);
    const gaps = all.map((one) => one.marks.filter((mark, step) => mark === "w" && one.marks.slice(0, step).some((before) => before === "d")).length);
    line = tools.timeline({ rows: all.map((one, n) => `${n + 1}: ${one.prompt}+${one.answer}`), end: steps.length });
    line.node.style.setProperty("min-width", `${Math.max(320, 90 + 18 * steps.length)}px`);
    area.replaceChildren(line.node);
    line.show({ items: stretches(all) });
    line.fit(Math.max(width, 90 + 18 * steps.length));
    line.name(`${all.length} requests over ${steps.length} steps.`);
    const places = steps.length * slots, used = steps.reduce((sum, { busy }) => sum + busy, 0), said = all.reduce((sum, { answer }) => sum + answer, 0);
    tools.say(`${manner === "static" ? "Static" : "Continuous"}, ${slots} slots, ${budget} tokens per step, prompts ${pieces}: ${steps.length} steps for ${said} tokens of answers. `
      + `${used} of ${places} slots were busy. The largest step computes ${most} tokens. First tokens come ${firsts.join(", ")} steps after their request${gaps.some(Boolean) ? `; decoding was held up for ${gaps.join(", ")} steps` : ""}.`);
    Object.assign(stage.dataset, { manner, slots, budget, pieces, steps: steps.length, busy: used, most, read, firsts: firsts.join(" "), held: gaps.join(" "), marks: all.map((one) => one.marks.map((mark) => mark[0]).join("")).join("/") });
  }
  function read(text) {
    const found = text.split(/[\s,;]+/).map((part) => part.match(/^(?:(\d{1,2})\+)?(\d{1,2})(?:@(\d{1,2}))?$/)).filter(Boolean)
      .map(([, prompt = 1, answer, at = 0]) => ({ prompt: Math.max(1, Number(prompt)), answer: Math.max(1, Number(answer)), at: Number(at) })).slice(0, data.most);
    if (found.length) { asked = found.sort((a, b) => a.at - b.at); picks.set(""); show(); }
  }
  const written = (list) => list.map(({ prompt, answer, at }) => (prompt > 1 ? `${prompt}+` : "") + answer + (at ? `@${at}` : "")).join(", ");
  const picks = tools.choice({ legend: "Requests", value: now.key, options: data.examples.map(({ key, label }) => ({ key, label })), onchange(key) {
    now = data.examples.find((one) => one.key === key);
    [asked, slots, budget] = [now.requests, now.slots, now.budget];
    places.set(slots); tokens.set(budget); field.set(written(asked)); show();
  } });
  const field = tools.textField({ label: "Your own, as prompt+answer@step", value: written(asked), most: 80, oninput: read });
  const manners = tools.choice({ legend: "Batch", value: manner, options: ["static", "continuous"].map((key) => ({ key, label: key })), onchange(key) { manner = key; show(); } });
  const cuts = tools.choice({ legend: "Prompts", value: pieces, options: ["in pieces", "whole"].map((key) => ({ key, label: key })), onchange(key) { pieces = key; show(); } });
  const places = tools.slider({ label: "Slots", min: 1, max: 6, value: slots, oninput(value) { slots = value; show(); } });
  const tokens = tools.slider({ label: "Budget", min: 6, max: 32, value: budget, text: (value) => `${value} tokens a step`, oninput(value) { budget = value; show(); } });
  stage.append(tools.bar(picks), tools.bar(field), tools.bar(manners, cuts), tools.bar(places, tokens), area,
    tools.legend([{ label: "a piece of a prompt, its tokens", mark: 1, hue: "yellow" }, { label: "tokens generated", mark: 1, hue: "blue" }, { label: "held up although it runs", mark: 1, hue: "orange" }, { label: "in the queue", mark: 1, hue: "grey" }]).node);
  show();
  tools.onWidth((pixels) => { width = pixels; show(); });
});
