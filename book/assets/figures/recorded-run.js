/* A recorded run of a server: the reader predicts its next step, then serves the same requests under another policy.

   data = {
     task: "Which requests ...?"
     lines: [{kind: "engine", ...}, {kind: "request", ...}, {kind: "step", ...}]   of `course serve --trace FILE`, see replay.js
     budgets: [8, 16, 32]                       tokens per step that a reader may choose
   }
   A reader may open a file of their own; it stays in the browser. */
window.w2s.register("recorded-run", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { read, open, serve, measure, known, describe, kindOf } = window.w2s.replay;
  const COLUMNS = 48, MOST_ROWS = 16, NAMES = { recorded: "as recorded", fcfs: "first come", sjf: "shortest prompt", lpm: "longest cached prefix" };
  const HUES = { P: "yellow", d: "blue", x: "purple", w: "orange", "-": "grey" };
  const task = el("p", { class: "w2s-note" }, data.task), area = el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "The steps so far" });
  const fields = el("div", { class: "w2s-predicted" }), table = el("div", { class: "w2s-scroll", tabindex: 0, role: "region", "aria-label": "Recorded and replayed" });
  let run = read(data.lines), steps = run.steps, policy = "recorded", budget = run.limits.max_num_batched_tokens, at = 0, right = 0, asked = 0, inputs = [], width = 560, verdict = "";
  function ask() {
    const alive = known(run, steps, at).slice(0, MOST_ROWS);
    inputs = alive.map(({ id }) => ({ id, input: el("input", { type: "number", min: 0, max: 1e6, value: 0, "aria-label": `Tokens of request ${id} in step ${at}` }) }));
    fields.replaceChildren(...alive.map((one, n) => el("label", {}, el("span", {}, describe(run, one)), inputs[n].input)));
  }
  function reveal() {
    if (at >= steps.length) return;
    const step = steps[at], wrong = inputs.filter(({ id, input }) => Number(input.value) !== (step.tokens[id] || 0));
    [asked, right] = [asked + 1, right + (wrong.length ? 0 : 1)];
    verdict = wrong.length ? `Not quite: ${wrong.map(({ id }) => `#${id} gets ${step.tokens[id] || 0}`).join(", ")}. ` : "Right. ";
    at += 1;
    show();
  }
  function skip(to) { verdict = ""; at = Math.max(0, Math.min(steps.length, to)); show(); }
  function draw() {
    const from = Math.max(0, at - COLUMNS), seen = steps.slice(from, at);
    const ids = run.requests.map(({ id }) => id).filter((id) => seen.some((step) => kindOf(step, id))).slice(-MOST_ROWS), end = Math.max(8, tools.asStill ? seen.length : Math.min(COLUMNS, steps.length - from));
    const line = tools.timeline({ rows: ids.length ? ids.map((id) => `#${id}`) : ["#0"], end, row: 26, label: from ? `steps after ${from}` : "step" }), long = Math.max(width, 70 + 20 * end);
    const items = seen.flatMap((step, column) => ids.map((id, row) => ({ row, start: column, end: column + 1, kind: kindOf(step, id), count: step.tokens[id] })));
    line.node.style.setProperty("min-width", `${long}px`);
    area.replaceChildren(line.node);
    line.show({ items: items.filter((one) => one.kind).map((one) => ({ ...one, hue: HUES[one.kind], label: one.kind === "P" ? String(one.count) : one.kind === "-" ? "" : one.kind })), now: at - from });
    line.fit(long);
    line.name(`${ids.length} requests over the first ${at} of ${steps.length} steps.`);
  }
  function compare() {
    const rows = [["recorded", measure(run, run.steps)], ...(policy === "recorded" ? [] : [[`${NAMES[policy]}, ${budget} tokens per step`, measure(run, steps)]])];
    const lines = [["steps", "steps"], ["mean", "steps to the first token, mean"], ["most", "steps to the first token, longest"], ["gap", "steps between two tokens, most"], ["cached", "tokens from the cache"], ["preempted", "preemptions"]];
    const cells = ([key, name]) => el("tr", {}, el("th", { scope: "row" }, name), ...rows.map(([, one]) => el("td", {}, key === "mean" ? one.mean.toFixed(1) : String(one[key]))));
    table.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, el("td", {}), ...rows.map(([name]) => el("th", { scope: "col" }, name)))), el("tbody", {}, ...lines.map(cells))));
    return rows.at(-1)[1];
  }
  function show() {
    const done = at >= steps.length, numbers = compare();
    draw();
    if (!tools.asStill) ask();
    tools.able(next, !done);
    const total = at ? Object.values(steps[at - 1].tokens).reduce((sum, one) => sum + one, 0) : 0;
    tools.say(`${policy === "recorded" ? "" : `${NAMES[policy]}, ${budget} tokens per step. `}${verdict}${at ? `Step ${at - 1} computed ${total} tokens of at most ${policy === "recorded" ? run.limits.max_num_batched_tokens : budget}. ` : ""}`
      + `${done ? `All ${steps.length} steps are shown.` : `Type the tokens that each request gets in step ${at}, 0 for none.`} ${asked ? `${right} of ${asked} steps predicted.` : ""}`);
    Object.assign(stage.dataset, { policy, budget, at, steps: steps.length, right, asked, mean: numbers.mean.toFixed(3), cached: numbers.cached, requests: run.requests.length });
  }
  function begin() {
    try {
      steps = policy === "recorded" ? run.steps : serve(run, { policy, max_num_batched_tokens: budget });
    } catch (error) {
      return tools.say(error.message);
    }
    [at, right, asked, verdict] = [tools.asStill ? Math.min(12, steps.length) : 0, 0, 0, ""];
    return show();
  }
  function load(file) {
    return open(file).then((found) => {
      [run, policy, budget] = [found, "recorded", found.limits.max_num_batched_tokens];
      policies.set(NAMES[policy]);
      budgets.set(String(data.budgets.includes(budget) ? budget : data.budgets[0]));
      notes.textContent = `${file.name}: ${run.requests.length} requests, ${run.steps.length} steps.${run.notes.length ? ` Note: ${run.notes.join("; ")}.` : ""}`;
      begin();
    }, (error) => tools.say(error.message));
  }
  const keyOf = (label) => Object.keys(NAMES).find((key) => NAMES[key] === label);
  const policies = tools.select({ label: "Policy", options: Object.values(NAMES), value: NAMES[policy], onchange(label) { policy = keyOf(label); begin(); } });
  const budgets = tools.select({ label: "Tokens per step", options: data.budgets.map(String), value: String(budget), onchange(value) { budget = Number(value); if (policy === "recorded") { policy = run.limits.policy; policies.set(NAMES[policy]); } begin(); } });
  const next = tools.button("Reveal the step", reveal), all = tools.button("Show all", () => skip(steps.length)), back = tools.button("From the start", () => begin());
  const file = el("input", { type: "file", style: { "max-width": "100%" }, accept: ".jsonl,.json,.trace,text/plain", "aria-label": "A file of course serve --trace", onchange() { if (file.files[0]) load(file.files[0]); } }), notes = el("p", { class: "w2s-note" });
  stage.append(task, tools.bar(policies, budgets), area, fields, tools.bar(next, all, back), table,
    tools.legend([{ label: "prefill, its tokens", mark: 1, hue: "yellow" }, { label: "d: decode", mark: 1, hue: "blue" }, { label: "x: preempted", mark: 1, hue: "purple" }, { label: "w: no tokens", mark: 1, hue: "orange" }, { label: "waiting", mark: 1, hue: "grey" }]).node);
  tools.more("Open your own run", el("p", {}, "End ", el("code", {}, "course serve --trace run.jsonl"), " with Ctrl-C and open the file here. It stays in your browser."), file, notes);
  tools.onWidth((pixels) => { width = pixels; if (at || tools.asStill) draw(); });
  begin();
});
