/* What every page does: colours, the contents on a phone, copy buttons, notes, keyboard access to what scrolls.
   It is loaded in the head without defer, so that the chosen colours are there before the first paint. */
(function () {
  "use strict";
  try {
    window.localStorage.getItem("w2s-theme");
  } catch (error) {  // switched off: Sphinx's highlighting would throw, so it gets a store that forgets
    Object.defineProperty(window, "localStorage", { value: { getItem: () => null, setItem() {}, removeItem() {} } });
  }
  const root = document.documentElement, names = { auto: "Auto", light: "Light", dark: "Dark" };
  const store = {  // localStorage throws where it is switched off, and then nothing is remembered
    get(key) { try { return localStorage.getItem(key); } catch (error) { return null; } },
    set(key, value) { try { localStorage.setItem(key, value); } catch (error) { return; } },
  };
  root.classList.add("has-script");
  let theme = names[store.get("w2s-theme")] ? store.get("w2s-theme") : "auto";
  root.dataset.theme = theme;

  function themeButton() {
    const button = document.getElementById("theme-button"), label = button.querySelector(".theme-name");
    const show = () => { label.textContent = names[theme]; button.title = `Colours: ${names[theme].toLowerCase()}`; };
    button.hidden = false;
    button.addEventListener("click", () => {
      const order = Object.keys(names);
      theme = order[(order.indexOf(theme) + 1) % order.length];
      root.dataset.theme = theme;
      store.set("w2s-theme", theme);
      show();
    });
    show();
  }

  /* On a phone the contents lie over the page, which stays where it was and out of reach until they close. */
  function menuButton() {
    const button = document.getElementById("menu-button"), panels = document.getElementById("panels");
    const behind = [document.getElementById("content"), document.querySelector(".bottom")];
    button.hidden = false;
    const isOpen = () => button.getAttribute("aria-expanded") === "true";
    const set = (open) => {
      root.classList.toggle("menu-open", open);
      button.setAttribute("aria-expanded", String(open));
      behind.forEach((part) => { part.inert = open; });
      const here = open && panels.querySelector("#book-nav [aria-current='page']");
      if (here) panels.scrollTop += here.getBoundingClientRect().top - innerHeight / 2;  // scrollIntoView would move the page too
    };
    button.addEventListener("click", () => set(!isOpen()));
    panels.addEventListener("click", (event) => { if (isOpen() && event.target.closest("a")) set(false); });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !isOpen()) return;
      set(false);
      button.focus();
    });
    matchMedia("(min-width: 56.01rem)").addEventListener("change", () => set(false));
  }

  function copyButtons() {
    if (!navigator.clipboard) return;
    document.querySelectorAll(".cell_input div.highlight, div[class*='highlight-']:not(.cell_output *) > div.highlight").forEach((block) => {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: "Copy" });
      button.addEventListener("click", async () => {
        try { await navigator.clipboard.writeText(block.querySelector("pre").textContent); button.textContent = "Copied"; }
        catch (error) { button.textContent = "Select and copy"; }
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
      block.parentElement.append(button);
    });
  }

  function wrapTables() {
    document.querySelectorAll(".content table").forEach((table) => {
      if (table.parentElement.classList.contains("table-scroll")) return;
      const box = Object.assign(document.createElement("div"), { className: "table-scroll" });
      table.replaceWith(box);
      box.append(table);
    });
  }

  /* A formula a little wider than the text is drawn smaller; one that would fall below SMALLEST of its size scrolls. */
  function fitFormulas() {
    const SMALLEST = 0.75;
    document.querySelectorAll(".katex-display > .katex").forEach((formula) => {
      formula.style.removeProperty("--fit");
      const frame = formula.closest("div.math"), room = frame.clientWidth, wide = frame.scrollWidth;
      if (wide > room && room / wide >= SMALLEST) formula.style.setProperty("--fit", room / wide - 0.005);
    });
  }

  /* What scrolls sideways must be reachable by keyboard, and only then be a tab stop. */
  function reachScrolling() {
    document.querySelectorAll(".content pre, .table-scroll, .cell_output, div.math, .amsmath, .w2s-picture > div, .w2s-back, .book-nav, .on-page, .panels").forEach((box) => {
      const scrolls = box.scrollWidth > box.clientWidth + 1 || (box.matches("nav, .panels") && getComputedStyle(box).overflowY === "auto" && box.scrollHeight > box.clientHeight + 1);
      if (scrolls) box.tabIndex = 0;
      else if (box.tabIndex === 0) box.removeAttribute("tabindex");
    });
  }

  function followReading() {
    const links = [...document.querySelectorAll(".on-page a")];
    const targets = new Map(links.map((link) => [document.getElementById(decodeURIComponent(link.hash.slice(1))), link]));
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        links.forEach((link) => link.removeAttribute("aria-current"));
        targets.get(entry.target).setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-15% 0px -70% 0px" });
    targets.forEach((link, target) => target && watcher.observe(target));
  }

  /* A glossary term or a citation shows its entry while the pointer or the keyboard rests on it; Escape closes it,
     and the pointer may move onto it. On a touch screen the first tap shows the entry and the second follows the link. */
  function notes() {
    const home = new URL(root.dataset.content_root || "./", location.href);
    const links = [...document.querySelectorAll("#content a[href*='#']")].filter((link) => /#(term-|id\d+$)/.test(link.href)
      && link.pathname !== location.pathname);
    if (!links.length) return;
    const box = Object.assign(document.createElement("div"), { className: "note", id: "note", hidden: true });
    box.setAttribute("role", "tooltip");
    document.body.append(box);
    let shown = null, timer = 0, loading = null;
    const load = () => { loading ??= new Promise((done) => {
      document.head.append(Object.assign(document.createElement("script"), { src: new URL("notes.js", home), onload: done, onerror: done }));
    }); return loading; };
    const hide = () => {
      clearTimeout(timer);
      shown?.removeAttribute("aria-describedby");
      shown = null;
      box.hidden = true;
    };
    async function show(link, hint) {
      await load();
      const text = window.w2sNotes?.[link.href.slice(home.href.length)];
      if (!text) return;
      hide();
      shown = link;
      box.innerHTML = text + (hint ? `<p class="hint">${hint}</p>` : "");
      box.hidden = false;
      link.setAttribute("aria-describedby", "note");
      const at = link.getClientRects()[0] || link.getBoundingClientRect(), size = box.getBoundingClientRect();
      const above = at.bottom + size.height + 12 > innerHeight && at.top > size.height + 80;
      box.style.left = `${Math.max(12, Math.min(at.left, root.clientWidth - size.width - 12)) + scrollX}px`;
      box.style.top = `${(above ? at.top - size.height - 6 : at.bottom + 6) + scrollY}px`;
    }
    const later = (wait, act) => { clearTimeout(timer); timer = setTimeout(act, wait); };
    for (const link of links) {
      link.removeAttribute("title");  // the same words, in the browser's own tooltip
      link.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") later(150, () => show(link)); });
      link.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") later(250, hide); });
      link.addEventListener("focus", () => { if (link.matches(":focus-visible")) show(link); });
      link.addEventListener("blur", hide);
      link.addEventListener("click", (event) => {
        if (event.pointerType !== "touch" || shown === link) return;
        event.preventDefault();
        show(link, "Tap again to go there.");
      });
    }
    box.addEventListener("pointerenter", () => clearTimeout(timer));
    box.addEventListener("pointerleave", () => later(250, hide));
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
    document.addEventListener("pointerdown", (event) => { if (shown && !box.contains(event.target) && event.target.closest("a") !== shown) hide(); });
  }

  /* The mark at a sentence opens what is checked there, below the paragraph; Escape or the mark closes it.
     Without this script the mark leads to the list below the title. */
  function checkMarks() {
    document.querySelectorAll(".check-mark").forEach((mark, number) => {
      let box = null;
      mark.setAttribute("role", "button");
      mark.setAttribute("aria-expanded", "false");
      const close = () => {
        if (box) box.remove();
        box = null;
        mark.setAttribute("aria-expanded", "false");
        mark.removeAttribute("aria-controls");
      };
      mark.addEventListener("click", (event) => {
        event.preventDefault();
        if (box) { close(); return; }
        box = checkBox(mark, `check-box-${number}`);
        mark.setAttribute("aria-expanded", "true");
        mark.setAttribute("aria-controls", box.id);
        box.addEventListener("keydown", (key) => { if (key.key === "Escape") { close(); mark.focus(); } });
        box.querySelector(".check-all a").addEventListener("click", close);
      });
      mark.addEventListener("keydown", (event) => {
        if (event.key === "Escape") close();
        if (event.key === " ") { event.preventDefault(); mark.click(); }
      });
    });
  }

  function checkBox(mark, id) {
    const box = Object.assign(document.createElement("div"), { className: "check-box", id });
    const list = document.createElement("ul");
    for (const name of mark.dataset.checks.split(" ")) {
      const entry = document.getElementById(name).cloneNode(true);
      entry.removeAttribute("id");
      list.append(entry);
    }
    const all = Object.assign(document.createElement("p"), { className: "check-all" });
    all.append(Object.assign(document.createElement("a"), { href: "#checks", textContent: document.querySelector(".checks > summary").textContent + " on this page" }));
    box.append(list, all);
    const table = mark.closest(".table-scroll"), item = mark.closest("li, dd, figcaption");
    if (table) table.after(box);
    else if (item) item.append(box);
    else (mark.closest("p") || mark).after(box);
    return box;
  }

  /* A link to something inside folded parts opens them. */
  function openTarget() {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch (error) { return; }
    if (!target) return;
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    if (target.closest("details")) target.scrollIntoView();
  }

  document.addEventListener("DOMContentLoaded", () => {
    themeButton();
    menuButton();
    wrapTables();
    copyButtons();
    followReading();
    notes();
    checkMarks();
    openTarget();
    window.addEventListener("hashchange", openTarget);
    const settle = () => { fitFormulas(); reachScrolling(); };
    settle();
    document.fonts.ready.then(settle);
    new ResizeObserver(settle).observe(document.body);
  });
})();
