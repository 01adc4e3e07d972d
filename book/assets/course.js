/* What every page does: colours, the contents on a phone, copy buttons, keyboard access to what scrolls.
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

  function menuButton() {
    const button = document.getElementById("menu-button"), nav = document.getElementById("book-nav");
    button.hidden = false;
    const set = (open) => { nav.classList.toggle("is-open", open); button.setAttribute("aria-expanded", String(open)); };
    button.addEventListener("click", () => {
      set(button.getAttribute("aria-expanded") !== "true");
      if (button.getAttribute("aria-expanded") === "true") window.scrollTo(0, 0);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || button.getAttribute("aria-expanded") !== "true") return;
      set(false);
      button.focus();
    });
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

  /* What scrolls sideways must be reachable by keyboard, and only then be a tab stop. */
  function reachScrolling() {
    document.querySelectorAll(".content pre, .table-scroll, .cell_output, div.math, .amsmath, .w2s-back, .book-nav").forEach((box) => {
      const scrolls = box.scrollWidth > box.clientWidth + 1 || (box.matches("nav") && box.scrollHeight > box.clientHeight + 1);
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

  document.addEventListener("DOMContentLoaded", () => {
    themeButton();
    menuButton();
    wrapTables();
    copyButtons();
    followReading();
    reachScrolling();
    new ResizeObserver(reachScrolling).observe(document.body);
  });
})();
