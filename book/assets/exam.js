/* The mock exam. Its number stands in the address, so the same address gives the same sheet to everybody; answers and the
   time at which it began are kept in this browser, so a reload goes on where it was. Nothing is sent anywhere. */
(function () {
  "use strict";
  const host = document.querySelector('[data-w2s-review="exam"]'), bank = window.w2sBank, tools = window.w2sReview;
  if (!host || !bank || !tools) return;
  const { el, filled, read, write } = tools, KEY = "w2s-exam", RESULTS = "w2s-exam-results", LENGTH = bank.minutes * 60000;
  const items = new Map(bank.items.map((item) => [item.key, item]));
  const titles = new Map(bank.chapters.map((chapter) => [chapter.number, chapter]));
  let ticking = null, exam = null;

  /* The sheet of course/book/review/exam.py, function draw_exam. */
  function draw(seed) {
    const numbers = tools.numbers(seed), chosen = [];
    for (const [chapter, many] of Object.entries(bank.plan).map(([a, b]) => [Number(a), b]).sort((a, b) => a[0] - b[0])) {
      const here = bank.items.filter((item) => item.chapter === chapter);
      const written = numbers.some(here.filter((item) => item.written), Math.floor((many + 1) / 2));
      chosen.push(...written, ...numbers.some(here.filter((item) => !item.written), many - written.length));
    }
    return numbers.some(chosen, chosen.length).map((item) => ({ key: item.key, order: numbers.some(item.options.keys(), item.options.length),
      variant: item.variants ? numbers.below(item.variants.length) : 0 }));
  }
  const seedIn = () => { const found = location.hash.match(/^#exam=(\d{1,9})$/); return found ? Number(found[1]) : null; };
  const drawn = (node, item, asked) => {
    if (item.variants) for (const slot of node.querySelectorAll(".w2s-drawn")) slot.textContent = item.variants[asked.variant][slot.dataset.name][1];
    return node;
  };
  const text = (name, item, asked, words, settings) => drawn(filled(el(name, settings), words), item, asked);

  function right(asked, answer) {
    const item = items.get(asked.key);
    if (answer === undefined || answer === "") return false;
    if (!item.variants) return item.options[answer].right;
    const value = item.variants[asked.variant].answer[0], said = tools.typed(answer);
    return Math.abs(said - value) <= item.within * Math.abs(value) + 1e-9;
  }
  const given = (asked) => { const answer = exam.answers[asked.key]; return answer !== undefined && String(answer).trim() !== ""; };
  const save = () => write(KEY, { seed: exam.seed, began: exam.began, ended: exam.ended, answers: exam.answers, state: bank.state });

  /* Before: which number, and what waits. */
  function before(words) {
    exam = null;
    const field = el("input", { type: "text", inputMode: "numeric", id: "exam-number", autocomplete: "off", maxLength: 9,
      value: String(seedIn() ?? 1 + Math.floor(Math.random() * 9999)) });
    const said = el("p", { className: "w2s-exam-said", role: "status" }, words || "");
    const form = el("form", { className: "w2s-exam-start" },
      el("p", {}, `${bank.items.length} questions are in the bank. An exam asks ${sum(Object.values(bank.plan))} of them and takes ${bank.minutes} minutes. You pass with ${bank.pass}.`),
      el("label", { htmlFor: "exam-number" }, "Exam number "), field, " ", el("button", { type: "submit" }, "Begin"), said);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!/^\d{1,9}$/.test(field.value.trim())) { said.textContent = "Give a whole number of up to nine digits."; field.focus(); return; }
      begin({ seed: Number(field.value), began: Date.now(), ended: null, answers: {} });
      host.querySelector("input").focus({ preventScroll: true });
    });
    host.replaceChildren(form);
    const last = read(RESULTS, []).at(-1);
    if (last && !words) said.textContent = `Your last one was number ${last.seed}: ${last.right} of ${last.of}.`;
  }

  function begin(state) {
    exam = { ...state, sheet: draw(state.seed) };
    if (seedIn() !== exam.seed) history.replaceState(null, "", `#exam=${exam.seed}`);
    save();
    if (exam.ended === null && Date.now() >= exam.began + LENGTH) finish(exam.began + LENGTH);
    else if (exam.ended === null) during();
    else after();
  }

  function during() {
    const clock = el("span", { className: "w2s-clock", role: "timer" }), count = el("span", { className: "w2s-count" });
    const said = el("p", { className: "w2s-exam-said", role: "status" }), submit = el("button", { type: "button", className: "w2s-hand-in" }, "Hand in");
    const show = () => { count.textContent = `${exam.sheet.filter(given).length} of ${exam.sheet.length} answered`; };
    const list = exam.sheet.map((asked, n) => question(asked, n, () => { save(); show(); sure = false; submit.textContent = "Hand in"; }));
    let sure = false, told = 3;
    submit.addEventListener("click", () => {
      const open = exam.sheet.filter((asked) => !given(asked)).length;
      if (open && !sure) { sure = true; submit.textContent = "Hand in all the same"; said.textContent = `${open} ${open === 1 ? "is" : "are"} not answered yet. Press again to hand in all the same.`; return; }
      finish(Date.now());
    });
    const tick = () => {
      const left = exam.began + LENGTH - Date.now();
      if (left <= 0) { finish(exam.began + LENGTH); return; }
      clock.textContent = `${Math.floor(left / 60000)}:${String(Math.floor(left / 1000) % 60).padStart(2, "0")}`;
      const next = [1, 5, 15].findIndex((minutes) => left <= minutes * 60000), now = next < 0 ? 3 : next;
      if (now < told) { said.textContent = `${["One minute", "Five minutes", "Fifteen minutes"][now]} or less left.`; told = now; }
    };
    host.replaceChildren(el("div", { className: "w2s-exam-bar" }, el("span", {}, `Exam ${exam.seed}`), clock, count, submit, said), ...list);
    show();
    tick();
    if (exam && exam.ended === null) ticking = setInterval(tick, 1000);
  }

  function question(asked, n, changed) {
    const item = items.get(asked.key), name = `exam-${n}`;
    const legend = el("legend", {}, el("span", { className: "w2s-number" }, String(n + 1)), text("span", item, asked, item.question, { className: "w2s-legend" }));
    const field = el("fieldset", { className: "w2s-question", id: name }, legend);
    field.dataset.key = item.key;
    if (item.variants) {
      const input = el("input", { type: "text", inputMode: "decimal", autocomplete: "off", value: exam.answers[item.key] ?? "" });
      input.addEventListener("input", () => {
        exam.answers[item.key] = input.value;
        if (input.value.trim() && !Number.isFinite(tools.typed(input.value))) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid");
        changed();
      });
      field.append(el("div", { className: "w2s-typed" }, el("label", {}, "Your number ", input, " ", filled(el("span"), item.unit))));
    }
    for (const k of asked.order) {
      const input = el("input", { type: "radio", name, value: String(k), checked: exam.answers[item.key] === k, autocomplete: "off" });
      input.addEventListener("change", () => { exam.answers[item.key] = k; changed(); });
      field.append(el("div", { className: "w2s-option" }, el("label", {}, input, filled(el("span", { className: "w2s-option-text" }), item.options[k].text))));
    }
    return field;
  }

  function finish(moment) {
    clearInterval(ticking);
    exam.ended = moment;
    save();
    const chapters = {}, wrong = [];
    for (const asked of exam.sheet) {
      const tally = chapters[items.get(asked.key).chapter] ??= [0, 0], ok = right(asked, exam.answers[asked.key]);
      tally[0] += ok;
      tally[1] += 1;
      if (!ok) wrong.push(asked.key);
    }
    write(RESULTS, [...read(RESULTS, []), { seed: exam.seed, ended: moment, minutes: Math.round((moment - exam.began) / 60000),
      right: exam.sheet.length - wrong.length, of: exam.sheet.length, chapters, wrong }].slice(-20));
    after();
    host.querySelector("h3").focus();
  }

  /* After: the score in words, a bar for each chapter, and each question with its reasons. */
  function after() {
    const count = exam.sheet.filter((asked) => right(asked, exam.answers[asked.key])).length, passed = count >= bank.pass;
    const head = el("h3", { tabIndex: -1 }, `${count} of ${exam.sheet.length}: ${passed ? "passed" : "not passed yet"}`);
    const minutes = Math.max(1, Math.round((exam.ended - exam.began) / 60000));
    const again = el("button", { type: "button" }, "Another exam");
    again.addEventListener("click", () => { history.replaceState(null, "", location.pathname + location.search); write(KEY, null); before(" "); host.querySelector("input").focus(); });
    host.replaceChildren(head, el("p", { role: "status" }, `Exam ${exam.seed} took you ${minutes} ${minutes === 1 ? "minute" : "minutes"}. The pass mark is ${bank.pass}. ` +
      "Two questions a chapter say little of a chapter; a bar that is empty twice says more."), bars(), again, ...exam.sheet.map(judged));
  }
  function bars() {
    const rows = Object.keys(bank.plan).map(Number).sort((a, b) => a - b).map((number) => {
      const here = exam.sheet.filter((asked) => items.get(asked.key).chapter === number), ok = here.filter((asked) => right(asked, exam.answers[asked.key])).length;
      const bar = el("span", { className: "w2s-share" }, el("span", {}));
      bar.setAttribute("aria-hidden", "true");
      bar.firstChild.style.width = `${here.length ? 100 * ok / here.length : 0}%`;
      return el("tr", {}, el("th", { scope: "row" }, tools.link(`${titles.get(number).folder}/index`, `${number}. ${titles.get(number).title}`)), el("td", {}, bar), el("td", {}, `${ok} of ${here.length}`));
    });
    return el("table", { className: "w2s-bars" }, el("caption", {}, "Right answers by chapter"), el("tbody", {}, rows));
  }
  function judged(asked, n) {
    const item = items.get(asked.key), answer = exam.answers[asked.key], ok = right(asked, answer);
    const node = el("section", { className: "w2s-question" }, el("p", { className: "w2s-asked" }, el("span", { className: "w2s-number" }, String(n + 1)), text("span", item, asked, item.question, { className: "w2s-legend" })));
    node.dataset.key = item.key;
    const verdict = ok ? "Right." : given(asked) ? "Wrong." : "Not answered.";
    node.append(el("p", { className: `w2s-verdict ${ok ? "is-right" : "is-wrong"}` }, verdict));
    if (item.variants) node.append(el("p", { className: "w2s-typed" }, given(asked) ? `You typed ${answer}. ` : "", "It is ", el("strong", {}, item.variants[asked.variant].answer[1]), " ", filled(el("span"), item.unit), "."));
    for (const k of asked.order) {
      const option = item.options[k], mine = answer === k;
      node.append(el("div", { className: `w2s-option ${option.right ? "is-right" : mine ? "is-wrong" : ""}` },
        el("p", { className: "w2s-option-text" }, option.right ? "✓ " : mine ? "✗ " : "", filled(el("span"), option.text), mine ? " (your answer)" : ""), filled(el("div", { className: "w2s-why" }), option.why)));
    }
    if (item.worked) node.append(text("p", item, asked, item.worked, { className: "w2s-worked" }));
    node.append(el("p", { className: "w2s-again-at" }, "Read again: ", tools.link(item.page, item.title)));
    return node;
  }
  const sum = (values) => values.reduce((a, b) => a + b, 0);

  const kept = read(KEY, null), usable = kept && kept.state === bank.state;
  window.w2sExam = { draw };
  if (usable && (seedIn() === null || seedIn() === kept.seed)) begin(kept);
  else if (usable && kept.ended === null && Date.now() < kept.began + LENGTH) before(`Exam ${kept.seed} is under way in this browser. Beginning another one ends it.`);
  else before(kept && !usable && kept.ended === null ? "The book has changed since you began, so that exam cannot go on." : "");
  window.addEventListener("hashchange", () => { if (seedIn() !== null && (!exam || exam.seed !== seedIn()) && !ticking) before(""); });
})();
