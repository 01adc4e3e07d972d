/* What all moving figures share. A classic script without dependencies: it works from file:// and under
   script-src 'self', and course/book/figures.py wraps the same text as a module for notebooks.

   A figure registers once:   window.w2s.register("window-counts", function draw(stage, data, tools) { ... });
   `draw` builds its controls and picture inside `stage`. If it throws, the still picture stays.
   `tools.say(text)` writes the line below the picture, which screen readers read out when it changes.
   `tools.onWidth(fit)` calls fit(pixels) now and whenever the stage gets wider or narrower, so that text in a
   picture keeps its size on a phone. */
(function () {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const drawings = (window.w2s && window.w2s.drawings) || {};
  let counter = 0;

  function fill(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value === true ? "" : value);
    }
    for (const child of children) node.append(child);
    return node;
  }

  /* el("p", {class: "x"}, "text", node): an HTML element; svg(...): the same for SVG. */
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  const button = (label, onclick, attributes) => el("button", { type: "button", onclick, ...attributes }, label);

  /* A labelled range input. text(value) is shown beside it and read out as its value. */
  function slider({ label, min, max, step = 1, value, text = String, oninput }) {
    const id = `w2s-${++counter}`;
    const output = el("output", { for: id });
    const input = el("input", { type: "range", id, min, max, step });
    const show = () => {
      output.textContent = text(Number(input.value));
      input.setAttribute("aria-valuetext", text(Number(input.value)));
    };
    input.value = value;
    input.addEventListener("input", () => { show(); oninput(Number(input.value)); });
    show();
    const node = el("div", { class: "w2s-slider" }, el("label", { for: id }, label), input, output);
    return { node, input, set(next) { input.value = next; show(); } };
  }

  /* One of a few options, as native radio buttons in a fieldset: arrow keys come with them. */
  function choice({ legend, options, value, onchange }) {
    const name = `w2s-${++counter}`;
    const row = el("div", { class: "w2s-segments" });
    for (const option of options) {
      const input = el("input", { type: "radio", name, value: option.key, onchange: () => onchange(option.key) });
      input.checked = option.key === value;
      row.append(el("label", { class: "w2s-segment" }, input, el("span", {}, option.label)));
    }
    return el("fieldset", { class: "w2s-choice" }, el("legend", {}, legend), row);
  }

  function select({ label, options, value, onchange }) {
    const id = `w2s-${++counter}`;
    const input = el("select", { id, onchange: () => onchange(input.value) });
    for (const option of options) input.append(el("option", { value: option }, option));
    input.value = value;
    return el("div", { class: "w2s-select" }, el("label", { for: id }, label), input);
  }

  const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  /* Call paint(t) with t from 0 to 1; at once with 1 if the reader wants no motion. Returns a function that stops it. */
  function animate(milliseconds, paint) {
    if (still() || milliseconds === 0) { paint(1); return () => {}; }
    let running = true, start = null;
    const frame = (now) => {
      if (!running) return;
      start = start === null ? now : start;
      const t = Math.min(1, (now - start) / milliseconds);
      paint(1 - Math.pow(1 - t, 3));
      if (t < 1) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    return () => { running = false; };
  }

  /* A play button that calls step() until it returns false. It never starts by itself. */
  function player({ label = "Play", every = 900, step }) {
    let timer = null;
    const node = button(label, () => (timer ? stop() : start()), { class: "w2s-play", "aria-pressed": "false" });
    const show = () => {
      node.textContent = timer ? "Pause" : label;
      node.setAttribute("aria-pressed", String(Boolean(timer)));
    };
    function stop() { clearInterval(timer); timer = null; show(); }
    function start() {
      timer = setInterval(() => { if (step() === false) stop(); }, every);
      show();
      if (step() === false) stop();
    }
    return { node, stop, playing: () => timer !== null };
  }

  function live(figure, data, draw) {
    const stage = el("div", { class: "w2s-stage" });
    const line = el("p", { class: "w2s-say", "aria-live": "polite" });
    let pending = null;
    const tools = {
      el, svg, button, slider, choice, select, animate, player, still,
      onWidth(fit) {
        let last = 0;
        const look = () => {
          const width = Math.max(280, Math.min(640, Math.round(stage.clientWidth) || 560));
          if (width !== last) fit(last = width);
        };
        look();
        new ResizeObserver(look).observe(stage);
      },
      say(text) {
        line.dataset.text = text;
        clearTimeout(pending);
        pending = setTimeout(() => { line.textContent = text; }, 60);
      },
    };
    const holder = el("div", { class: "w2s-live" }, stage, line);
    figure.querySelector("figcaption").before(holder);
    try {
      draw(stage, data, tools);
    } catch (error) {
      holder.remove();
      throw error;
    }
    figure.classList.add("w2s-is-live");
  }

  function mount(figure) {
    const draw = drawings[figure.dataset.w2sFigure];
    const data = figure.querySelector('script[type="application/json"]');
    if (!draw || !data || figure.classList.contains("w2s-is-live")) return;
    live(figure, JSON.parse(data.textContent), draw);
  }

  function register(name, draw) {
    drawings[name] = draw;
    const all = () => document.querySelectorAll(`figure[data-w2s-figure="${name}"]`).forEach(mount);
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all);
    else all();
  }

  /* In a notebook: anywidget hands over an element and the data. `caption` is HTML made by course/book/figures.py. */
  function widget(name, host, data, caption, alt) {
    const text = el("figcaption", {});
    text.innerHTML = caption;
    const figure = el("figure", { class: "w2s-figure w2s-widget", "aria-label": alt, "data-w2s-figure": name }, text);
    host.append(figure);
    live(figure, data, drawings[name]);
  }

  window.w2s = { drawings, register, mount, widget };
})();
