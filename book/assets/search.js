/* The search page: MiniSearch over search-texts.js, the book's sections and glossary entries, also from file://.
   A result is a section with its own words only, so that no two results show the same text. */
(function () {
  "use strict";
  const ROOT = document.documentElement.dataset.content_root || "", MOST = 40, AROUND = 110;
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const field = document.getElementById("search-input"), list = document.getElementById("search-results");
  const status = document.getElementById("search-progress");
  const texts = window.w2sTexts.map(([address, title, page, text], id) => ({ id, address, title, page, text }));
  const index = new window.MiniSearch({ fields: ["title", "text"], processTerm: plain,
    tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u).filter(Boolean) });
  index.addAll(texts);

  function find(query) {
    const settings = { boost: { title: 4 }, prefix: (term) => term.length > 2, fuzzy: (term) => (term.length > 5 ? 0.15 : 0),
      weights: { fuzzy: 0.2, prefix: 0.5 }, boostDocument: (id) => (texts[id].page === "Glossary" ? 1.5 : 1) };
    const all = index.search(query, { ...settings, combineWith: "AND" });
    return { hits: all.length ? all : index.search(query, { ...settings, combineWith: "OR" }), all: all.length > 0 };
  }

  /* Appends `text` to `box` with every word that matched in <mark>; other text stays text. */
  function marked(box, text, terms) {
    for (const part of text.split(/([^\p{L}\p{N}_]+)/u)) {
      if (!terms.has(plain(part))) box.append(part);
      else box.append(Object.assign(document.createElement("mark"), { textContent: part }));
    }
    return box;
  }

  function excerpt(text, terms) {
    const word = [...text.matchAll(/[\p{L}\p{N}_]+/gu)].find((match) => terms.has(plain(match[0])));
    let from = Math.max(0, (word ? word.index : 0) - AROUND), to = Math.min(text.length, (word ? word.index : 0) + 2 * AROUND);
    if (from > 0) from = text.indexOf(" ", from) + 1;
    if (to < text.length) to = Math.max(text.lastIndexOf(" ", to), from);
    return (from > 0 ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
  }

  function show(hit) {
    const { address, title, page, text } = texts[hit.id], terms = new Set(hit.terms), item = document.createElement("li");
    const link = Object.assign(document.createElement("a"), { href: ROOT + address });
    item.append(marked(link, title, terms));
    if (page !== title) item.append(Object.assign(document.createElement("span"), { className: "where", textContent: page }));
    if (text) item.append(marked(Object.assign(document.createElement("p"), { className: "excerpt" }), excerpt(text, terms), terms));
    return item;
  }

  function search() {
    const query = field.value.trim();
    history.replaceState(null, "", query ? `?q=${encodeURIComponent(query)}` : location.pathname);
    if (!query) {
      list.replaceChildren();
      status.textContent = "";
      return;
    }
    const { hits, all } = find(query);
    list.replaceChildren(...hits.slice(0, MOST).map(show));
    const count = `${hits.length} ${hits.length === 1 ? "place" : "places"}`;
    status.textContent = hits.length === 0 ? `Nothing found for “${query}”. Try fewer letters of one word.`
      : (all ? count : `No place has all these words; ${count} ${hits.length === 1 ? "has" : "have"} some of them`)
        + (hits.length > MOST ? `, the best ${MOST} shown` : "");
  }

  field.value = new URLSearchParams(location.search).get("q") || "";
  document.getElementById("search-page").addEventListener("submit", (event) => { event.preventDefault(); search(); });
  field.addEventListener("input", search);
  search();
  if (!field.value) field.focus();
})();
