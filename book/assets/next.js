/* Self-assessment: all that this browser remembers of the reader's answers, added up. Nothing is sent anywhere. */
(function () {
  "use strict";
  const host = document.querySelector('[data-w2s-review="next"]'), bank = window.w2sBank, tools = window.w2sReview;
  if (!host || !bank || !tools) return;
  const { el, link, read, write } = tools, KEY = "w2s-exercises", CLOSE = 0.1, SURE = [[0.5, "a guess"], [0.8, "fairly sure"], [0.95, "sure"]];

  const heldRight = (one) => (one.kind === "choice" ? one.said === one.value : Number(one.said) === Number(one.value)
    || (Number(one.value) !== 0 && Math.abs((Number(one.said) - Number(one.value)) / Number(one.value)) <= CLOSE));
  const percent = (share) => `${Math.round(100 * share)} %`;
  /* Laplace's rule: what to expect of the next answer after `right` of `of`. */
  const expected = (right, of) => (right + 1) / (of + 2);

  /* For each chapter what was asked and what came of it; `open` lists pages with something wrong. */
  function gather() {
    const said = read("w2s-predictions", {}), exams = read("w2s-exam-results", []), repeat = read("w2s-repeat", {}).cards || {}, done = read(KEY, {}), now = tools.day(Date.now());
    return bank.chapters.map((chapter) => {
      const sum = { ...chapter, quiz: [0, 0, 0], predicted: [0, 0, 0], exam: [0, 0], due: 0, lapsed: [], met: 0, cards: 0, wrong: [], open: [], judged: [] };
      for (const page of chapter.pages) {
        const first = read(`w2s-quiz:${page.page.replaceAll("/", "-")}`, {}), missed = page.quiz.filter((id) => first[id] === false);
        sum.quiz[2] += page.quiz.length;
        sum.quiz[1] += page.quiz.filter((id) => id in first).length;
        sum.quiz[0] += page.quiz.filter((id) => first[id]).length;
        let off = 0;
        for (const name of Object.keys(page.predictions)) {
          const one = said[`${page.page}#${name}`];
          sum.predicted[2] += 1;
          if (!one) continue;
          const right = heldRight(one);
          sum.predicted[1] += 1;
          sum.predicted[0] += right;
          off += !right;
          sum.judged.push([one.sure, right]);
        }
        if (missed.length || off) sum.wrong.push({ page, missed, off });
        for (const key of page.cards) {
          sum.cards += 1;
          if (!repeat[key]) continue;
          sum.met += 1;
          sum.due += repeat[key].due <= now;
          if (repeat[key].lapses) sum.lapsed.push(key);
        }
      }
      for (const exam of exams) {
        const here = exam.chapters[chapter.number];
        if (here) { sum.exam[0] += here[0]; sum.exam[1] += here[1]; }
      }
      sum.open = chapter.exercises.filter((one) => !(done[one.id] >= one.points));
      sum.right = sum.quiz[0] + sum.predicted[0] + sum.exam[0];
      sum.of = sum.quiz[1] + sum.predicted[1] + sum.exam[1];
      return sum;
    });
  }

  function first(chapters) {
    const ranked = chapters.filter((one) => one.of).sort((a, b) => expected(a.right, a.of) - expected(b.right, b.of) || a.number - b.number).slice(0, 3);
    const box = el("div", { className: "w2s-next-first" }, el("h3", {}, "Begin here"));
    if (!ranked.length) return append(box, el("p", {}, "This browser remembers no answers yet. Answer a quiz, predict, or take the ", el("a", { href: "exam.html" }, "exam"), ", then come back."));
    return append(box, el("ol", {}, ranked.map((one) => el("li", {}, link(`${one.folder}/index`, `${one.number}. ${one.title}`), `: ${one.right} of ${one.of} right; expect ${percent(expected(one.right, one.of))} of the next ones.`,
      one.wrong.length ? el("span", {}, " Read again ", join(one.wrong.map(({ page }) => link(page.page, page.title))), ".") : null))));
  }
  const append = (node, ...children) => { node.append(...children); return node; };
  const join = (nodes) => nodes.flatMap((node, n) => [n === 0 ? "" : n === nodes.length - 1 ? " and " : ", ", node]);

  function calibration(chapters) {
    const all = chapters.flatMap((one) => one.judged), waiting = sum(chapters.map((one) => one.predicted[2] - one.predicted[1]));
    const box = el("section", {}, el("h3", {}, "How well you judge yourself"));
    if (!all.length) return append(box, el("p", {}, `You have not predicted anything yet; ${waiting} predictions wait.`));
    const rows = SURE.map(([sure, words]) => {
      const here = all.filter(([said]) => said === sure), right = here.filter(([, ok]) => ok).length;
      return el("tr", {}, el("th", { scope: "row" }, `"${words}"`), bar(here.length ? right / here.length : 0), el("td", {}, here.length ? `${right} of ${here.length} right` : "none"), el("td", {}, here.length ? `about ${(sure * here.length).toFixed(1)} expected` : ""));
    });
    const score = all.reduce((total, [sure, ok]) => total + (sure - (ok ? 1 : 0)) ** 2, 0) / all.length, flat = all.filter(([, ok]) => ok).length / all.length;
    const over = sum(all.map(([sure]) => sure)) - sum(all.map(([, ok]) => Number(ok))), far = 2 * Math.sqrt(sum(all.map(([sure]) => sure * (1 - sure))));
    const words = Math.abs(over) <= far ? "That is within chance of well calibrated." : over > 0 ? "You were surer than you were right." : "You were right more often than you were sure.";
    return append(box, el("table", { className: "w2s-bars" }, el("caption", {}, "Predictions of all chapters, by how sure you were"), el("tbody", {}, rows)),
      el("p", {}, `${all.length} predictions, ${percent(flat)} right. ${words} Your Brier score is ${score.toFixed(3)}; somebody who said ${percent(flat)} each time would have ${(flat * (1 - flat)).toFixed(3)}. ${waiting} predictions wait.`));
  }
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  function bar(share) {
    const node = el("span", { className: "w2s-share" }, el("span", {}));
    node.setAttribute("aria-hidden", "true");
    node.firstChild.style.width = `${100 * share}%`;
    return el("td", {}, node);
  }

  function table(chapters) {
    const rows = chapters.filter((one) => one.pages.length).map((one) => el("tr", {}, el("th", { scope: "row" }, link(`${one.folder}/index`, `${one.number}. ${one.title}`)), bar(one.of ? one.right / one.of : 0),
      el("td", {}, `${one.quiz[0]} of ${one.quiz[1]}`), el("td", {}, `${one.exam[0]} of ${one.exam[1]}`), el("td", {}, String(one.due)), el("td", {}, one.exercises.length ? `${one.open.length} of ${one.exercises.length}` : "none")));
    const head = ["chapter", "right", "quiz", "exam", "cards due", "exercises open"].map((words) => el("th", { scope: "col" }, words));
    return el("section", {}, el("h3", {}, "All chapters"), el("div", { className: "table-scroll", tabIndex: 0, role: "region", "aria-label": "All chapters" }, el("table", { className: "w2s-bars w2s-all" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows))));
  }

  /* A notebook's own outputs: the number that check(...) returned, in the cell with the grade_id NAME-check. */
  function points(notebook, chapter) {
    const found = {};
    for (const cell of notebook.cells || []) {
      const id = cell.metadata && cell.metadata.nbgrader && cell.metadata.nbgrader.grade_id || "", text = (cell.outputs || []).map((output) => output.data && output.data["text/plain"]).filter(Boolean).at(-1);
      if (!id.endsWith("-check") || text === undefined) continue;
      const earned = Number(Array.isArray(text) ? text.join("") : text);
      if (Number.isFinite(earned)) found[`${chapter}.${id.slice(0, -"-check".length)}`] = earned;
    }
    return found;
  }
  function exercises(chapters) {
    const field = el("input", { type: "file", id: "next-notebooks", accept: ".ipynb", multiple: true }), status = el("p", { role: "status" }), known = new Set(bank.chapters.flatMap((one) => one.exercises.map(({ id }) => id)));
    field.addEventListener("change", async () => {
      let count = 0;
      const refused = [], done = { ...read(KEY, {}) };
      for (const file of field.files) {
        const chapter = (file.name.match(/^(\d\d)-/) || [])[1];
        let found = {};
        try { found = points(JSON.parse(await file.text()), chapter); } catch (error) { found = {}; }
        const names = Object.keys(found).filter((id) => known.has(id));
        if (!names.length) refused.push(file.name);
        for (const id of names) { done[id] = found[id]; count += 1; }
      }
      write(KEY, done);
      show(`Read ${count} results.${refused.length ? ` Nothing was found in ${refused.join(", ")}: give a notebook of this course under its own name, with its checks run and saved.` : ""}`);
    });
    const open = chapters.filter((one) => one.open.length).map((one) => el("li", {}, `${one.number}. ${one.title}: `, join(one.open.map((exercise) => el("a", { href: `../${one.folder}/exercises.html#${exercise.row}` }, el("code", {}, exercise.id))))));
    const many = sum(chapters.map((one) => one.open.length)), details = el("details", {}, el("summary", {}, `${many} open exercises`), el("ul", {}, open));
    return el("section", {}, el("h3", {}, "Open exercises"), el("label", { htmlFor: "next-notebooks" }, "Your notebooks, read here and sent nowhere: "), field, status, many ? details : el("p", {}, "Every exercise has full points."));
  }

  function cards(chapters) {
    const due = sum(chapters.map((one) => one.due)), met = sum(chapters.map((one) => one.met)), many = sum(chapters.map((one) => one.cards)), lapsed = chapters.flatMap((one) => one.lapsed);
    const hard = bank.cards.filter((card) => lapsed.includes(card.key)).map((card) => el("li", {}, tools.filled(el("span", {}), card.front), " ", link(card.page, "(card)")));
    return el("section", {}, el("h3", {}, "Cards"), el("p", {}, `${met} of ${many} cards met, ${due} due. `, el("a", { href: "cards.html" }, "Repeat them"), "."), hard.length ? el("details", {}, el("summary", {}, `${hard.length} that you forgot once you knew them`), el("ul", {}, hard)) : "");
  }

  function show(words) {
    const chapters = gather(), list = exercises(chapters);
    host.replaceChildren(first(chapters), table(chapters), calibration(chapters), cards(chapters), list);
    list.querySelector('[role="status"]').textContent = words || "";
  }
  show();
})();
