/* Sentences that a book judged: sought by word, verdict and chapter, unfolded to what the judge says; or guessed first.

   data = {
     rows: [{told, verdict: "holds; wrong", chapter: 8, name: "Claim 24", says: "...", code: "...", href, title}, ...]
     asked: 10                        how many are guessed; they are drawn by the number of the round, the same for all readers
   } */
window.w2s.register("judged-sentences", function (stage, data, tools) {
  "use strict";
  const { el } = tools, KINDS = ["holds", "holds with a condition", "wrong", "cannot be checked"], list = el("div", {}), ANY = "any";
  const kinds = [...new Set([...KINDS, ...data.rows.flatMap(({ verdict }) => verdict.split("; "))])].filter((kind) => data.rows.some(({ verdict }) => verdict.split("; ").includes(kind)));
  const chapters = [...new Set(data.rows.map(({ chapter }) => chapter))].sort((a, b) => a - b), PAGE = tools.asStill ? 5 : 8;
  let mode = "read", sought = "", kind = ANY, chapter = ANY, upTo = PAGE, round = 0, guesses = new Map();
  const has = (row, one) => row.verdict.split("; ").includes(one);

  function unfolded(row) {
    return [el("p", {}, row.says ? row.says : "The section shows it."), ...(row.code ? [el("pre", { tabindex: 0 }, el("code", {}, row.code))] : []),
      el("p", {}, el("a", { href: row.href }, `${row.chapter}. ${row.title}`))];
  }
  function inWords(row) { return `${row.name ? `${row.name}: ` : ""}${row.told}`; }

  function read() {
    const word = sought.trim().toLowerCase();
    const found = data.rows.filter((row) => (kind === ANY || has(row, kind)) && (chapter === ANY || String(row.chapter) === chapter)
      && (!word || `${row.name} ${row.told} ${row.says}`.toLowerCase().includes(word)));
    list.replaceChildren(...found.slice(0, upTo).map((row, n) => el("details", { open: tools.asStill && n === 0 },
      el("summary", {}, `${inWords(row)} \u2192 `, el("strong", {}, row.verdict)), ...unfolded(row))));
    if (found.length > upTo) list.append(tools.button(`Show more of ${found.length}`, () => { upTo += PAGE; show(); }));
    tools.say(`${found.length} of ${data.rows.length} sentences: ${kinds.map((one) => `${found.filter((row) => has(row, one)).length} ${one}`).join(", ")}.`);
    Object.assign(stage.dataset, { mode, matched: found.length, shown: Math.min(upTo, found.length) });
  }
  /* Rows of a round: a walk through all of them in steps that share no factor with their number. */
  function asked() {
    const judged = data.rows.filter((row) => KINDS.includes(row.verdict)), most = Math.min(data.asked, judged.length);
    const divides = (a, b) => (b ? divides(b, a % b) : a);
    let step = 7;
    while (divides(step, judged.length) !== 1) step += 2;
    return Array.from({ length: most }, (_, n) => judged[((round * most + n) * step) % judged.length]);
  }
  function guess() {
    const rows = asked(), right = rows.filter((row) => guesses.get(row) === row.verdict).length;
    list.replaceChildren(...rows.map((row, n) => {
      const own = guesses.get(row);
      return el("div", { class: "w2s-lines" }, el("p", {}, `${n + 1}. ${row.told}`), own
        ? el("p", {}, own === row.verdict ? "Right: " : `You said ${own}. Here it is: `, el("strong", {}, row.verdict), ". ", el("a", { href: row.href }, `${row.chapter}. ${row.title}`))
        : tools.bar(...KINDS.map((one) => tools.button(one, () => { guesses.set(row, one); show(); list.children[n].querySelector("a").focus(); }))));
    }));
    if (guesses.size === rows.length) list.append(tools.button("Others", () => { round += 1; guesses = new Map(); show(); list.querySelector("button").focus(); }));
    tools.say(guesses.size ? `${right} of ${guesses.size} right. Always saying "${KINDS[1]}" would be right in ${rows.filter((row) => row.verdict === KINDS[1]).length} of ${rows.length}.`
      : `${rows.length} sentences. Judge by gut: what does each come to?`);
    Object.assign(stage.dataset, { mode, right, guessed: guesses.size, asked: rows.length });
  }
  const filters = tools.bar(
    tools.textField({ label: "A word", oninput(text) { sought = text; upTo = PAGE; show(); } }),
    tools.select({ label: "Verdict", options: [ANY, ...kinds], value: ANY, onchange(one) { kind = one; upTo = PAGE; show(); } }),
    tools.select({ label: "Chapter", options: [ANY, ...chapters.map(String)], value: ANY, onchange(one) { chapter = one; upTo = PAGE; show(); } }));
  function show() {
    filters.hidden = mode !== "read";
    filters.style.display = mode === "read" ? "" : "none";
    (mode === "read" ? read : guess)();
  }
  stage.append(tools.bar(tools.choice({ legend: "Mode", value: mode, options: [{ key: "read", label: "look up" }, { key: "guess", label: "guess first" }],
    onchange(key) { mode = key; show(); } })), filters, list);
  show();
});
