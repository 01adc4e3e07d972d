/* The figure kit's core: how a figure gets onto a page, and what it is given to draw with.

   Classic scripts without dependencies: they work from file:// and under script-src 'self', and course/book/pages/figures.py
   wraps the same text as a module for notebooks. The other files of this folder add to `w2s.kit`.

   A figure registers once:   window.w2s.register("window-counts", function draw(stage, data, tools) { ... });
   `draw` builds its controls and its picture inside `stage`;
   `tools` is the kit with three functions of this figure's own:
   say(text) writes the line below the picture, which screen readers read out when it changes; onWidth(fit) calls
   fit(pixels) now and whenever the stage gets wider or narrower, so that text in a picture keeps its size on a phone.
   more(label, node, ...) folds what the task does not need below that line; it is no part of the still.
   If `draw` throws, the still picture stays. The still is drawn by the same function, see `stillOf`. */
(function () {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg", STILL_WIDTH = 640;
  const w2s = (window.w2s = window.w2s || {}), drawings = (w2s.drawings = w2s.drawings || {});

  function fill(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (key === "style" && typeof value === "object") for (const name in value) node.style.setProperty(name,
        value[name]);
      else node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children);
    return node;
  }

  const kit = (w2s.kit = {
    asStill: false,  // true while the still is drawn: controls start at their most telling stop
    /* el("p", {class: "x"}, "text", node): an HTML element; svg(...): the same for SVG. set(node,
      {...}): attributes. */
    el: (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children),
    svg: (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children),
    set: (node, attributes) => fill(node, attributes, []),
    /* Move a group to x, y; write points as SVG wants them; the smallest and largest of some numbers. */
    move: (node, x, y) => fill(node, { transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }, []),
    points: (list) => list.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" "),
    span: (values) => [Math.min(...values), Math.max(...values)],
    reduced: () => kit.asStill || window.matchMedia("(prefers-reduced-motion: reduce)").matches,

    /* Call paint(t) with t from 0 to 1;
    at once with 1 if the reader wants no motion. Returns a function that stops it. */
    animate(milliseconds, paint) {
      if (kit.reduced() || milliseconds === 0) { paint(1); return () => {}; }
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
    },
  });

  function live(figure, data, draw) {
    const stage = kit.el("div", { class: "w2s-stage" });
    const line = kit.el("p", { class: "w2s-say", "aria-live": "polite" });
    let pending = null;
    const tools = {
      ...kit,
      onWidth(fit) {
        let last = 0;
        const look = () => {
          const width = kit.asStill ? STILL_WIDTH : Math.max(260, Math.min(STILL_WIDTH, Math.round(stage.clientWidth)
            || 560));
          if (width !== last) fit(last = width);
        };
        look();
        if (!kit.asStill) new ResizeObserver(look).observe(stage);
      },
      more(label, ...nodes) {
        const fold = kit.el("details", { class: "w2s-more" }, kit.el("summary", {}, label), ...nodes.map((node) => node.node || node));
        holder.append(fold);
        return fold;
      },
      say(text) {
        line.dataset.text = text;
        clearTimeout(pending);
        pending = setTimeout(() => { line.textContent = text; }, 60);
      },
    };
    const holder = kit.el("div", { class: "w2s-live" }, stage, line);
    const caption = figure.querySelector("figcaption");
    if (caption) caption.before(holder);
    else figure.append(holder);
    try {
      draw(stage, data, tools);
    } catch (error) {
      holder.remove();
      throw error;
    }
    figure.classList.add("w2s-is-live");
    return stage;
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

  /* In a notebook: anywidget hands over an element and the data. `caption` is HTML made by course/book/pages/figures.py. */
  function widget(name, host, data, caption, alt) {
    const text = kit.el("figcaption", {});
    text.innerHTML = caption;
    const figure = kit.el("figure", { class: "w2s-figure w2s-widget", "aria-label": alt, "data-w2s-figure": name },
      text);
    host.append(figure);
    live(figure, data, drawings[name]);
  }

  /* The still of a figure as HTML: its picture at the most telling stop, without controls, names and ids. */
  function stillOf(name, data) {
    kit.asStill = true;
    const figure = kit.el("figure", { class: "w2s-figure" });
    document.body.append(figure);
    const stage = live(figure, data, drawings[name]);
    kit.asStill = false;
    stage.querySelectorAll(".w2s-bar, title").forEach((node) => node.remove());
    stage.querySelectorAll("button").forEach((button) =>
      button.replaceWith(kit.el("span", { class: button.className }, ...button.childNodes)));
    for (const node of stage.querySelectorAll("*"))
      for (const { name: attribute } of Array.from(node.attributes))
        if (/^(id|for|role|tabindex|aria-.*|data-.*)$/.test(attribute)) node.removeAttribute(attribute);
    figure.remove();
    return stage.innerHTML;
  }

  Object.assign(w2s, { register, mount, widget, stillOf });
})();
