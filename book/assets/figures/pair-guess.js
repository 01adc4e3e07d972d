/* Pairs of texts: does the second follow the first? The reader guesses, and so does a rule that sees shared words only.

   data = {
     tasks: [{key: "next", label: "next sentence", yes: "follows", no: "from elsewhere",
              pairs: [{first: ["and", ...], second: [...], label: 0, overlap: 0.12, says: 1}, ...]}, ...]
                             label and says: 0 for yes, 1 for no; says is the rule's answer
   } */
window.w2s.register("pair-guess", function (stage, data, tools) {
  "use strict";
  const { el } = tools, holder = el("div", {}), answers = el("div", { class: "w2s-bar" });
  const bars = tools.bars({ rows: 2, text: String }), guesses = new Map();
  let task = data.tasks[0], at = 0;
  const key = (k) => `${task.key} ${k}`;

  function show() {
    const pair = task.pairs[at], guess = guesses.get(key(at)), known = guess !== undefined;
    const shared = new Set(pair.first.filter((word) => pair.second.includes(word)));
    holder.replaceChildren(...["first", "second"].map((name) => {
      const near = pair[name].flatMap((word, i) => (shared.has(word) ? [i] : [])), line = tools.tokenLines([pair[name]]);
      line.show({ focus: [0, -1], near });
      return el("div", { class: "w2s-cut" }, el("p", { class: "w2s-cut-name" }, `the ${name}`), line.node);
    }));
    yes.textContent = task.yes;
    no.textContent = task.no;
    [yes, no].forEach((button, label) => button.setAttribute("aria-pressed", String(guess === label)));
    const done = task.pairs.filter((_, k) => guesses.has(key(k)));
    const right = { you: 0, rule: 0 };
    task.pairs.forEach((one, k) => {
      if (!guesses.has(key(k))) return;
      right.you += Number(guesses.get(key(k)) === one.label);
      right.rule += Number(one.says === one.label);
    });
    bars.show([{ label: "you", value: right.you, hue: "blue", note: `of ${done.length} correct` },
      { label: "shared words", value: right.rule, hue: "orange", note: `of ${done.length} correct` }], { most: task.pairs.length });
    Object.assign(stage.dataset, { task: task.key, at, shared: [...shared].join(), guess: known ? guess : "", you: right.you, rule: right.rule });
    const name = (label) => (label ? task.no : task.yes), judged = (answer) => `${name(answer)} (${answer === pair.label ? "correct" : "wrong"})`;
    tools.say(known
      ? `The label is: ${name(pair.label)}. Your guess: ${judged(guess)}. The rule: ${judged(pair.says)}; the overlap is ${pair.overlap.toFixed(2)}.`
      : `Pair ${at + 1} of ${task.pairs.length}. ${shared.size} ${shared.size === 1 ? "word is" : "words are"} shared. Your guess?`);
  }
  const say = (label) => { if (!guesses.has(key(at))) guesses.set(key(at), label); show(); };
  const yes = tools.button("", () => say(0), { class: "w2s-play" }), no = tools.button("", () => say(1), { class: "w2s-play" });
  const next = tools.button("Next pair", () => { at = (at + 1) % task.pairs.length; show(); });
  const tasks = tools.choice({ legend: "Task", value: task.key, options: data.tasks, onchange(chosen) {
    task = data.tasks.find((one) => one.key === chosen);
    at = 0;
    show();
  } });
  answers.append(yes, no, next);
  stage.append(tools.bar(tasks), holder, answers, bars.node);
  show();
});
