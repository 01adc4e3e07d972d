/* Quiz and flashcards. The page is complete without this script: answers and backs lie in <details>.
   With it, choosing an option says at once whether and why it is right; progress stays in this browser only. */
(function () {
  "use strict";
  const read = (key) => { try { return JSON.parse(localStorage.getItem(key)) || {}; } catch (error) { return {}; } };
  const write = (key, value) => { try { localStorage.setItem(key, JSON.stringify(value)); } catch (error) { return; } };

  function quiz(host) {
    const key = `w2s-quiz:${host.dataset.key}`, questions = [...host.querySelectorAll(".w2s-question")];
    const score = host.querySelector(".w2s-score"), line = host.querySelector(".w2s-score-text");
    let first = read(key);  // question id -> was the first choice right? Later choices teach but do not count.
    host.classList.add("is-live");

    function judge(question, option) {
      const right = option.dataset.correct === "true", verdict = question.querySelector(".w2s-verdict");
      for (const other of question.querySelectorAll(".w2s-option")) {
        other.classList.remove("is-right", "is-wrong");
        other.querySelector(".w2s-why").hidden = other !== option;
      }
      option.classList.add(right ? "is-right" : "is-wrong");
      verdict.className = `w2s-verdict ${right ? "is-right" : "is-wrong"}`;
      const why = Object.assign(document.createElement("span"), { className: "visually-hidden" });
      why.append(...[...option.querySelector(".w2s-why").childNodes].map((node) => node.cloneNode(true)));
      verdict.replaceChildren(right ? "Right." : "Not this one. Read why, then choose again.", why);
      const id = question.dataset.id;
      if (!(id in first)) { first = { ...first, [id]: right }; write(key, first); }
      show();
    }
    function show() {
      const done = questions.filter((q) => q.dataset.id in first).length;
      const right = questions.filter((q) => first[q.dataset.id]).length;
      score.hidden = done === 0;
      const all = done === questions.length;
      line.textContent = all
        ? `All ${questions.length} questions answered, ${right} right at the first try.${right === questions.length ? " Nothing left to repair." : " Read again the pages of the others."}`
        : `${done} of ${questions.length} answered, ${right} right at the first try.`;
    }
    for (const question of questions)
      for (const option of question.querySelectorAll(".w2s-option"))
        option.querySelector("input").addEventListener("change", () => judge(question, option));
    host.querySelector(".w2s-again").addEventListener("click", () => {
      first = {};
      write(key, first);
      for (const question of questions) {
        question.querySelectorAll("input").forEach((input) => { input.checked = false; });
        question.querySelectorAll(".w2s-option").forEach((option) => { option.classList.remove("is-right", "is-wrong"); option.querySelector(".w2s-why").hidden = true; });
        question.querySelector(".w2s-verdict").replaceChildren();
      }
      show();
      questions[0].querySelector("input").focus();
    });
    show();
  }

  function cards(host) {
    const key = `w2s-cards:${host.dataset.key}`, deck = host.querySelector(".w2s-deck"), line = host.querySelector(".w2s-cards-text");
    const items = [...deck.children], known = read(key);
    host.querySelector(".w2s-cards-bar").hidden = false;
    const show = (said) => {
      const count = items.filter((item) => known[item.dataset.id]).length;
      line.textContent = `${said || ""}${count} of ${items.length} known.`;
    };
    for (const item of items) {
      const card = item.querySelector(".w2s-card"), button = item.querySelector(".w2s-known button");
      const mark = () => {
        button.setAttribute("aria-pressed", String(Boolean(known[item.dataset.id])));
        card.classList.toggle("is-known", Boolean(known[item.dataset.id]));
      };
      button.parentElement.hidden = false;
      button.addEventListener("click", () => {
        known[item.dataset.id] = !known[item.dataset.id];
        write(key, known);
        mark();
        show();
      });
      mark();
    }
    host.querySelector(".w2s-hide").addEventListener("click", () => {
      deck.querySelectorAll("details").forEach((card) => { card.open = false; });
      show("All closed. ");
    });
    host.querySelector(".w2s-shuffle").addEventListener("click", () => {
      for (let k = items.length - 1; k > 0; k--) {
        const other = Math.floor(Math.random() * (k + 1));
        [items[k], items[other]] = [items[other], items[k]];
      }
      items.sort((a, b) => Number(Boolean(known[a.dataset.id])) - Number(Boolean(known[b.dataset.id])));
      deck.querySelectorAll("details").forEach((card) => { card.open = false; });
      deck.append(...items);
      show("Shuffled; the ones you do not know yet come first. ");
    });
    show();
  }

  document.querySelectorAll('[data-w2s-questions="quiz"]').forEach(quiz);
  document.querySelectorAll('[data-w2s-questions="flashcards"]').forEach(cards);
})();
