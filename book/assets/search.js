/* Search: MiniSearch over search-texts.js, the book's sections and glossary entries, also from file://. Every page loads
   this with the first key in the header's field (nav.js), the search page at once. A result is a section with its own
   words only, so that no two results show the same text.

   w2sSearch.find(query) gives {hits, all}: the best first, and whether each has all words. Before MiniSearch's own score
   counts how exactly a title or a text has what was asked: see `exactness`. */
(function () {
  "use strict";
  const MOST = 40, AROUND = 110;
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const cut = (text) => text.split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
  const whole = (text) => ` ${cut(plain(text)).join(" ")} `;
  const texts = window.w2sTexts.map(([address, title, page, text], id) => ({ id, address, title, page, text }));
  const index = new window.MiniSearch({ fields: ["title", "text"], processTerm: plain, tokenize: cut });
  index.addAll(texts);

  /* 6: the title of a page; 5: a glossary entry; 4: the title of a section; 3: words of the title of a page; 2: words of
     another title; 1: words of the text. */
  function exactness({ address, title, page, text }, asked) {
    const names = page === "Glossary" ? title.split(", ").map(whole) : [whole(title.replace(/^.*?: /, "")), whole(title)];
    if (names.includes(asked)) return page === "Glossary" ? 5 : address.includes("#") ? 4 : 6;
    if (whole(title).includes(asked)) return address.includes("#") ? 2 : 3;
    return whole(text).includes(asked) ? 1 : 0;
  }

  function find(query) {
    const settings = { boost: { title: 4 }, prefix: (term) => term.length > 2, fuzzy: (term) => (term.length > 5 ? 0.15 : 0),
      weights: { fuzzy: 0.2, prefix: 0.5 }, boostDocument: (id) => (texts[id].page === "Glossary" ? 1.5 : 1) };
    const all = index.search(query, { ...settings, combineWith: "AND" }), asked = whole(query);
    const hits = (all.length ? all : index.search(query, { ...settings, combineWith: "OR" }))
      .map((hit) => ({ ...texts[hit.id], terms: new Set(hit.terms), score: hit.score, exact: exactness(texts[hit.id], asked) }));
    return { hits: hits.sort((a, b) => b.exact - a.exact || b.score - a.score), all: all.length > 0 };
  }

  /* Where a result stands: its chapter, and its page if that is not the title already. */
  function where({ address, title, page, text }) {
    const number = Number((address.match(/^(\d\d)-/) || text.match(/\(chapter (\d+)\)$/) || [])[1]);
    return [number ? `Chapter ${number}` : "", page === title ? "" : page].filter(Boolean).join(" · ");
  }

  /* Appends `text` to `box` with every word that matched in <mark>; other text stays text. */
  function marked(box, text, terms) {
    for (const part of text.split(/([^\p{L}\p{N}_]+)/u)) {
      if (!terms.has(plain(part))) box.append(part);
      else box.append(Object.assign(document.createElement("mark"), { textContent: part }));
    }
    return box;
  }
  window.w2sSearch = { find, where, marked };

  const field = document.getElementById("search-input"), list = document.getElementById("search-results");
  if (!field) return;
  const root = document.documentElement.dataset.content_root || "", status = document.getElementById("search-progress");

  function excerpt(text, terms) {
    const word = [...text.matchAll(/[\p{L}\p{N}_]+/gu)].find((match) => terms.has(plain(match[0])));
    let from = Math.max(0, (word ? word.index : 0) - AROUND), to = Math.min(text.length, (word ? word.index : 0) + 2 * AROUND);
    if (from > 0) from = text.indexOf(" ", from) + 1;
    if (to < text.length) to = Math.max(text.lastIndexOf(" ", to), from);
    return (from > 0 ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
  }

  function show(hit) {
    const { address, title, text, terms } = hit, item = document.createElement("li"), place = where(hit);
    item.append(marked(Object.assign(document.createElement("a"), { href: root + address }), title, terms));
    if (place) item.append(Object.assign(document.createElement("span"), { className: "where", textContent: place }));
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
