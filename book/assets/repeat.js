/* Spaced repetition of all cards. What is due is kept in this browser only; the rule is that of course/book/review/repetition.py. */
(function () {
  "use strict";
  const host = document.querySelector('[data-w2s-review="cards"]'), bank = window.w2sBank, tools = window.w2sReview;
  if (!host || !bank || !tools) return;
  const { el, filled, read, write } = tools, KEY = "w2s-repeat", NEW_A_DAY = 10, GRADES = ["again", "hard", "good", "easy"];
  const fresh = () => ({ interval: 0, ease: 2.5, due: 0, answers: 0, lapses: 0 });
  const today = () => tools.day(Date.now());

  function review(card, grade, now) {
    const first = card.interval === 0;
    const interval = { again: 0, hard: first ? 1 : card.interval * 1.2, good: first ? 1 : card.interval * card.ease, easy: first ? card.ease : card.interval * card.ease * 1.3 }[grade];
    const ease = Math.max(1.3, card.ease + { again: -0.2, hard: -0.15, good: 0, easy: 0.15 }[grade]);
    const wait = interval ? Math.max(1, Math.floor(interval + 0.5)) : 0;
    return { interval, ease, due: now + wait, answers: card.answers + 1, lapses: card.lapses + (grade === "again" && !first ? 1 : 0) };
  }

  /* Kept are the cards that were answered, the number of new ones met on a day, and which chapters are asked. */
  let kept = { cards: {}, day: 0, met: 0, chapter: 0, ...read(KEY, {}) }, card = null, open = false, last = null;
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
      place.replaceChildren(box, el("div", { className: "w2s-grades", role: "group", "aria-label": "How well did it come?" }, GRADES.map((grade, n) => {
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
  window.w2sRepeat = { review, fresh };
  line.tabIndex = -1;
  show();
})();
