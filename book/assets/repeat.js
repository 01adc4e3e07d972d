/* Spaced repetition of all cards. What is due is kept in this browser only; the rule is that of course/book/review/repetition.py. */
(function () {
  "use strict";
  const host = document.querySelector('[data-w2s-review="cards"]'), bank = window.w2sBank, tools = window.w2sReview;
  if (!host || !bank || !tools) return;
  const { el, filled, read, write } = tools, KEY = "w2s-repeat", NEW_A_DAY = 10, GRADES = ["again", "hard", "good", "easy"];
  const fresh = () => ({ stability: 0, difficulty: 0, last: 0, due: 0, answers: 0, lapses: 0 });
  const today = () => tools.day(Date.now());

  /* FSRS-6 with its default parameters, in whole days. */
  const W = [0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.001, 1.8722, 0.1666, 0.796, 1.4835, 0.0614, 0.2629, 1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542];
  const FACTOR = 0.9 ** (-1 / W[20]) - 1, RETENTION = 0.9, LONGEST = 36500, [AGAIN, HARD, EASY] = [1, 2, 4];
  const limited = (difficulty) => Math.min(Math.max(difficulty, 1), 10);
  const retrievability = (days, stability) => (1 + FACTOR * days / stability) ** -W[20];
  const interval = (stability) => Math.min(Math.max(1, Math.floor(stability / FACTOR * (RETENTION ** (-1 / W[20]) - 1) + 0.5)), LONGEST);
  const firstDifficulty = (rating) => W[4] - Math.exp(W[5] * (rating - 1)) + 1;
  function nextDifficulty(difficulty, rating) {
    const moved = difficulty - W[6] * (rating - 3) * (10 - difficulty) / 9;
    return limited(W[7] * firstDifficulty(EASY) + (1 - W[7]) * moved);
  }
  function nextStability({ stability, difficulty, last }, rating, now) {
    if (now - last < 1) {
      const change = Math.exp(W[17] * (rating - 3 + W[18])) * stability ** -W[19];
      return stability * (rating === AGAIN ? change : Math.max(change, 1));
    }
    const recall = retrievability(now - last, stability);
    if (rating === AGAIN) {
      const kept = W[11] * difficulty ** -W[12] * ((stability + 1) ** W[13] - 1) * Math.exp(W[14] * (1 - recall));
      return Math.min(kept, stability / Math.exp(W[17] * W[18]));
    }
    const factor = rating === HARD ? W[15] : rating === EASY ? W[16] : 1;
    return stability * (1 + Math.exp(W[8]) * (11 - difficulty) * stability ** -W[9] * (Math.exp(W[10] * (1 - recall)) - 1) * factor);
  }
  function review(card, grade, now) {
    const rating = GRADES.indexOf(grade) + 1, first = card.stability === 0;
    const stability = first ? W[rating - 1] : nextStability(card, rating, now);
    return {
      stability: Math.max(stability, 0.001), difficulty: first ? limited(firstDifficulty(rating)) : nextDifficulty(card.difficulty, rating), last: now,
      due: now + (rating === AGAIN ? 0 : interval(stability)), answers: card.answers + 1, lapses: card.lapses + (rating === AGAIN && !first ? 1 : 0),
    };
  }

  /* A card kept by the first edition's rule, which had an interval and an ease: at 90 % the interval is the stability. */
  function converted(card) {
    if (!("interval" in card)) return card;
    const { interval: days, due, answers, lapses } = card, rating = days ? 3 : AGAIN;
    return { stability: days || W[0], difficulty: limited(firstDifficulty(rating)), last: due - (days ? Math.max(1, Math.floor(days + 0.5)) : 0), due, answers, lapses };
  }

  /* Kept are the cards that were answered, the number of new ones met on a day, and which chapters are asked. */
  let kept = { cards: {}, day: 0, met: 0, chapter: 0, ...read(KEY, {}) }, card = null, open = false, last = null;
  for (const key of Object.keys(kept.cards)) kept.cards[key] = converted(kept.cards[key]);
  const keep = () => write(KEY, kept);
  const wanted = () => bank.cards.filter((one) => !kept.chapter || one.chapter === kept.chapter);
  function queue() {
    const now = today(), met = kept.day === now ? kept.met : 0;
    const due = wanted().filter((one) => kept.cards[one.key] && kept.cards[one.key].due <= now).sort((a, b) => kept.cards[a.key].due - kept.cards[b.key].due || kept.cards[a.key].answers - kept.cards[b.key].answers);
    const unseen = wanted().filter((one) => !kept.cards[one.key]).slice(0, Math.max(0, NEW_A_DAY - met));
    return { due, unseen };
  }

  const titles = new Map(bank.chapters.map((chapter) => [chapter.number, chapter.title]));
  const select = el("select", { id: "repeat-chapter" }, el("option", { value: "0" }, "all chapters"),
    [...new Set(bank.cards.map((one) => one.chapter))].sort((a, b) => a - b).map((number) => el("option", { value: String(number) }, `${number}. ${titles.get(number)}`)));
  select.value = String(kept.chapter);
  const line = el("p", { role: "status" }), place = el("div", {}), forget = el("button", { type: "button" }, "Forget all my answers");
  let sure = false;
  host.replaceChildren(el("div", { className: "w2s-repeat" }, el("label", { htmlFor: "repeat-chapter" }, "Cards of "), select, line, place, forget));

  function show(words) {
    const { due, unseen } = queue();
    const others = due.filter((one) => one.key !== last);
    card = others[0] || unseen[0] || due[0] || null;
    open = false;
    const soon = wanted().filter((one) => kept.cards[one.key] && kept.cards[one.key].due > today()).map((one) => kept.cards[one.key].due - today());
    const rest = card ? `${due.length} due, ${unseen.length} new today.` : soon.length ? `Nothing is due. The next card comes in ${days(Math.min(...soon))}.` : "Nothing is due.";
    line.textContent = `${words || ""}${rest}`;
    forget.hidden = Object.keys(kept.cards).length === 0;
    draw();
  }
  const days = (n) => (n === 0 ? "today" : n === 1 ? "1 day" : `${n} days`);

  function draw() {
    if (!card) { place.replaceChildren(); return; }
    const front = filled(el("p", { className: "w2s-front", tabIndex: -1 }), card.front), box = el("div", { className: "w2s-repeat-card" }, front);
    box.dataset.key = card.key;
    const state = kept.cards[card.key] || fresh();
    if (!open) {
      const turn = el("button", { type: "button" }, "Show the answer");
      turn.addEventListener("click", () => { open = true; draw(); place.querySelector(".w2s-back").focus(); });
      place.replaceChildren(box, turn);
    } else {
      const back = filled(el("div", { className: "w2s-back", tabIndex: -1 }), card.back);
      box.append(back, el("p", { className: "w2s-card-chapter" }, tools.link(card.page, `Chapter ${card.chapter}, ${titles.get(card.chapter)}`)));
      place.replaceChildren(box, el("div", { className: "w2s-grades", role: "group", "aria-label": "How well did you recall it?" }, GRADES.map((grade, n) => {
        const after = review(state, grade, today()), button = el("button", { type: "button" }, `${n + 1} ${grade[0].toUpperCase()}${grade.slice(1)}: ${days(after.due - today())}`);
        button.addEventListener("click", () => answer(grade));
        return button;
      })));
    }
  }
  function answer(grade) {
    const now = today(), state = kept.cards[card.key];
    if (!state) kept = { ...kept, met: kept.day === now ? kept.met + 1 : 1, day: now };
    const after = review(state || fresh(), grade, now);
    kept.cards[card.key] = after;
    keep();
    last = card.key;
    show(`${grade === "again" ? "It comes again today" : `It comes again in ${days(after.due - now)}`}. `);
    (place.querySelector("button") || line).focus();
  }

  select.addEventListener("change", () => { kept.chapter = Number(select.value); keep(); show(); });
  host.addEventListener("keydown", (event) => {
    if (!open || event.target === select || event.ctrlKey || event.metaKey || event.altKey || !/^[1-4]$/.test(event.key)) return;
    event.preventDefault();
    answer(GRADES[Number(event.key) - 1]);
  });
  forget.addEventListener("click", () => {
    if (!sure) { sure = true; forget.textContent = "Forget them for good"; line.textContent = "Press again, and every card is new."; return; }
    kept = { cards: {}, day: 0, met: 0, chapter: kept.chapter };
    sure = false;
    forget.textContent = "Forget all my answers";
    keep();
    show("All forgotten. ");
  });
  window.w2sRepeat = { review, fresh, converted };
  line.tabIndex = -1;
  show();
})();
