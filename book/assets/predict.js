/* Predictions. Without this script question and output are both visible.
   With it, the output of the cell that answers a question waits behind a curtain until the reader has said what it
   will be, or asks to see it. Answers stay in this browser; where storage is refused they last as long as the page. */
(function () {
  "use strict";
  const STORE = "w2s-predictions", CLOSE = 0.1;
  let memory = {};
  const all = () => { try { return JSON.parse(localStorage.getItem(STORE)) || memory; } catch (error) { return memory; } };
  const keep = (answers) => { memory = answers; try { localStorage.setItem(STORE, JSON.stringify(answers)); } catch (error) { return; } };
  const number = (text) => { const value = Number(text.trim().replace(/[\s,_]/g, "").replace(/^−/, "-")); return text.trim() === "" ? NaN : value; };
  const shown = (value) => Number(Number(value).toPrecision(6)).toLocaleString("en");

  /* How an answer compares: right (a choice that holds, a number within a tenth) and a sentence. */
  function judge(answer) {
    if (answer.kind === "choice") {
      const right = answer.said === answer.value;
      return { right, text: right ? `You chose "${answer.said}". That is right.` : `You chose "${answer.said}". It is "${answer.value}".` };
    }
    const said = Number(answer.said), value = Number(answer.value), off = said - value;
    if (off === 0) return { right: true, text: `You said ${shown(said)}. Exactly right.` };
    const share = value === 0 ? Infinity : Math.abs(off / value), right = share <= CLOSE;
    const percent = share === Infinity ? "" : share < 0.01 ? ", less than 1 %" : `, ${shown(Math.round(share * 100))} %`;
    return { right, text: `You said ${shown(said)}. It is ${shown(value)}: you are ${shown(Math.abs(off))} ${off > 0 ? "above" : "below"}${percent}.${right ? " Close enough." : ""}` };
  }

  function question(host) {
    const name = host.dataset.w2sPredict, key = host.dataset.key, form = host.querySelector("form");
    const answer = document.querySelector(`[data-w2s-revealed="${name}"]`), cell = answer && answer.closest(".cell");
    if (!cell) return;
    const output = cell.querySelector(".cell_output"), line = host.querySelector(".w2s-said");
    const choice = host.dataset.kind === "choice";
    const value = answer.dataset.value;
    const source = cell.querySelector(".cell-source.is-answer"), unfold = source && !cell.matches(".tag_hide-input");
    function reveal(text, right) {
      cell.classList.remove("w2s-curtain");
      output.classList.remove("w2s-curtain");
      if (unfold) source.open = true;
      form.hidden = true;
      line.textContent = text;
      line.classList.toggle("is-right", right === true);
    }
    const before = all()[key];
    if (before && before.value === value) { reveal(judge(before).text, judge(before).right); return; }
    if (before) line.textContent = "The computed answer has changed since you last predicted it. Try again.";
    form.hidden = false;
    cell.classList.add("w2s-curtain");
    output.classList.add("w2s-curtain");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const field = form.elements[`predict-${name}`], said = choice ? field.value : number(field.value);
      if (!choice && !Number.isFinite(said)) {
        line.textContent = "Type a number, for example 1,200 or 0.5.";
        field.setAttribute("aria-invalid", "true");
        field.focus();
        return;
      }
      const given = { kind: host.dataset.kind, said, value, sure: Number(form.elements.sure.value) };
      keep({ ...all(), [key]: given });
      reveal(judge(given).text, judge(given).right);
      focusOn(line);
    });
    form.querySelector(".w2s-peek").addEventListener("click", () => { reveal("Shown without a prediction."); focusOn(line); });
  }

  /* The form is gone, so the keyboard goes on from the result. */
  function focusOn(line) { line.tabIndex = -1; line.focus({ preventScroll: true }); }

  function calibration(host) {
    const button = host.querySelector("button"), line = host.querySelector(".w2s-calibrated");
    const rows = [...host.querySelectorAll("li")];
    function show() {
      const answers = all(), groups = new Map();
      let done = 0, hits = 0;
      for (const row of rows) {
        const answer = answers[row.dataset.key], own = row.querySelector(".w2s-own");
        own.textContent = answer ? ` ${judge(answer).text}` : " Not predicted yet.";
        if (!answer) continue;
        const right = judge(answer).right, group = groups.get(answer.sure) || { done: 0, right: 0 };
        groups.set(answer.sure, { done: group.done + 1, right: group.right + right });
        done += 1;
        hits += right;
      }
      const words = { 0.5: "a guess", 0.8: "fairly sure", 0.95: "sure" };
      const parts = [...groups].sort((a, b) => b[0] - a[0]).map(([sure, group]) => `Of ${group.done} you called "${words[sure] || sure}", ${group.right} ${group.right === 1 ? "was" : "were"} right; well calibrated would be about ${shown(Math.round(group.done * sure * 10) / 10)}.`);
      line.textContent = done ? `You predicted ${done} of ${rows.length}; ${hits} right, a number counting as right within ${CLOSE * 100} %. ${parts.join(" ")}` : `You have not predicted anything yet: ${rows.length} are waiting.`;
      button.hidden = done === 0;
    }
    button.addEventListener("click", () => {
      const answers = { ...all() };
      rows.forEach((row) => { delete answers[row.dataset.key]; });
      keep(answers);
      show();
      focusOn(line);
    });
    show();
  }

  document.querySelectorAll("section[data-w2s-predict]").forEach(question);
  document.querySelectorAll('[data-w2s-predict="calibration"]').forEach(calibration);
})();
