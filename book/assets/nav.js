/* Finding one's way: the contents scrolled to the page that is open, marks of what was read, suggestions below the
   search field, and sections that have moved to another page. Loaded with defer by every page. */
(function () {
  "use strict";
  const root = document.documentElement, home = root.dataset.content_root || "", here = document.body.dataset.page;
  const el = (tag, settings, ...children) => {
    const node = Object.assign(document.createElement(tag), settings);
    node.append(...children);
    return node;
  };
  const SEEN = "w2s-read", inChapter = /^\d\d-[\w-]+\//;
  function readPages() {
    try { return new Set(JSON.parse(localStorage.getItem(SEEN)) || []); } catch (error) { return new Set(); }
  }
  function keep(pages) {
    try { localStorage.setItem(SEEN, JSON.stringify([...pages])); } catch (error) { return; }
  }

  /* Each of the boxes that may scroll, without moving the page. */
  function scrollToHere() {
    const link = document.querySelector("#book-nav [aria-current='page']");
    for (const box of link ? [document.getElementById("book-nav"), document.getElementById("panels")] : []) {
      if (box.scrollHeight <= box.clientHeight + 1 || !["auto", "scroll"].includes(getComputedStyle(box).overflowY)) continue;
      box.scrollTo({ top: box.scrollTop + link.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3, behavior: "instant" });
    }
  }

  /* A tick at each link of the contents to a page that was read, and "3 of 8" at a chapter. */
  function showRead() {
    const pages = readPages();
    const note = (link, words, label) => {
      link.querySelector(".nav-read")?.remove();
      if (!words) return;
      const mark = el("span", { className: "nav-read", title: label }, words);
      mark.setAttribute("aria-label", label);
      mark.setAttribute("role", "img");
      link.append(mark);
    };
    document.querySelectorAll("#book-nav a[data-page]").forEach((link) => {
      const { page, pages: total } = link.dataset;
      if (!total) { note(link, pages.has(page) ? "✓" : "", "read"); return; }
      const count = [...pages].filter((one) => one.startsWith(page.replace(/index$/, ""))).length;
      note(link, count === 0 ? "" : count >= total ? "✓" : `${count}/${total}`, count >= total ? "all pages read" : `${count} of ${total} pages read`);
    });
    const button = document.getElementById("read-mark"), done = pages.has(here);
    if (!button) return;
    button.setAttribute("aria-pressed", String(done));
    button.textContent = done ? "✓ Read" : "Mark as read";
  }

  /* A page of a chapter counts as read when its end comes into sight; the button takes it back or does it by hand. */
  function markRead() {
    const end = document.querySelector(".downloads") || document.querySelector(".prev-next");
    if (!inChapter.test(here) || !end) return;
    const set = (done) => {
      const pages = readPages();
      if (done) pages.add(here);
      else pages.delete(here);
      keep(pages);
      showRead();
    };
    const watcher = new IntersectionObserver((entries) => {
      if (!scrollY || !entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      set(true);
    });
    const button = el("button", { type: "button", id: "read-mark", title: "Kept in this browser only" });
    button.addEventListener("click", () => { watcher.disconnect(); set(!readPages().has(here)); });
    end.before(el("p", { className: "read-mark" }, button));
    watcher.observe(end);
  }

  /* The scripts of the search, once. */
  let loading = null;
  const load = () => (loading ??= window.w2sSearch ? Promise.resolve() : ["_static/vendor/minisearch.js", "search-texts.js", "_static/search.js"]
    .reduce((before, src) => before.then(() => new Promise((resolve, reject) => {
      document.head.append(el("script", { src: home + src, onload: resolve, onerror: reject }));
    })), Promise.resolve()));

  /* Suggestions below the header's field: a combobox with a list box. Enter without a choice searches as before. */
  function suggestions() {
    const MOST = 7, field = document.getElementById("top-search"), form = field.closest("form");
    const list = el("ul", { id: "top-suggestions", className: "suggestions", hidden: true });
    const set = (node, attributes) => Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    set(list, { role: "listbox", "aria-label": "Suggestions" });
    set(field, { role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id, "aria-expanded": "false", "aria-keyshortcuts": "/ Control+K" });
    field.placeholder = "Search ( / )";
    form.append(list);
    let chosen = -1;
    const close = () => { list.hidden = true; chosen = -1; field.setAttribute("aria-expanded", "false"); field.removeAttribute("aria-activedescendant"); };
    function choose(n) {
      const items = [...list.children];
      chosen = (n + items.length + 1) % (items.length + 1) === items.length ? -1 : (n + items.length) % items.length;
      items.forEach((item, k) => item.setAttribute("aria-selected", String(k === chosen)));
      if (chosen < 0) field.removeAttribute("aria-activedescendant");
      else { field.setAttribute("aria-activedescendant", items[chosen].id); items[chosen].scrollIntoView({ block: "nearest" }); }
    }
    async function show() {
      const query = field.value.trim();
      if (query.length < 2) { close(); return; }
      try { await load(); } catch (error) { return; }
      if (query !== field.value.trim() || document.activeElement !== field) return;
      const { find, where, marked } = window.w2sSearch, { hits } = find(query);
      list.replaceChildren(...hits.slice(0, MOST).map((hit, n) => {
        const link = el("a", { href: home + hit.address, tabIndex: -1 }, marked(el("span"), hit.title, hit.terms)), item = el("li", { id: `suggestion-${n}` }, link);
        link.append(" ", el("span", { className: "where", textContent: where(hit) }));
        set(item, { role: "option", "aria-selected": "false" });
        return item;
      }));
      chosen = -1;
      list.hidden = !hits.length;
      field.setAttribute("aria-expanded", String(!list.hidden));
    }
    field.addEventListener("focus", () => { load().catch(() => {}); });
    field.addEventListener("input", show);
    field.addEventListener("blur", () => setTimeout(() => { if (!form.contains(document.activeElement)) close(); }, 150));
    list.addEventListener("pointerdown", (event) => event.preventDefault());  // the field keeps the focus until the click
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !list.hidden) { event.preventDefault(); close(); }
      else if (event.key === "Escape") field.blur();
      else if (list.hidden) return;
      else if (event.key === "ArrowDown") { event.preventDefault(); choose(chosen + 1); }
      else if (event.key === "ArrowUp") { event.preventDefault(); choose(chosen < 0 ? list.children.length - 1 : chosen - 1); }
      else if (event.key === "Enter" && chosen >= 0) { event.preventDefault(); list.children[chosen].firstChild.click(); }
    });
    document.addEventListener("keydown", (event) => {
      const writing = event.target.closest?.("input, textarea, select, [contenteditable]");
      const slash = event.key === "/" && !writing && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (!slash && !((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "k")) return;
      event.preventDefault();
      field.focus();
      field.select();
    });
  }

  /* A section that has moved to another page: the address of the old one leads on. */
  function leadOn() {
    const note = document.querySelector("[data-w2s-moved]"), asked = decodeURIComponent(location.hash.slice(1));
    const to = note && JSON.parse(note.dataset.w2sMoved)[asked];
    if (to) location.replace(to);
  }

  leadOn();
  scrollToHere();
  markRead();
  showRead();
  suggestions();
})();
