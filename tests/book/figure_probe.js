/* What a test asks of the figures of a page: their controls, what they show, and what a reader could not see or reach. */
(() => {
  "use strict";
  const CONTROLS = "button, input, select, summary, [role=slider], [role=button]";
  const SAMPLED = 3;  // of many buttons alike, such as the words of a sentence, the first, one in the middle and the last
  const known = new Map(), ids = new WeakMap();
  const idOf = (node) => {
    if (!ids.has(node)) { ids.set(node, known.size); known.set(known.size, node); }
    return ids.get(node);
  };
  const live = (f) => document.querySelectorAll(".w2s-live")[f];
  const seen = (node) => node.checkVisibility({ visibilityProperty: true }) && node.getClientRects().length > 0;
  const off = (node) => node.disabled || node.getAttribute("aria-disabled") === "true";
  const box = (node) => { const { left, top, width, height } = node.getBoundingClientRect(); return { left, top, width, height }; };

  function kind(node) {
    if (node.matches("[role=slider]")) return "handle";
    if (node.tagName === "INPUT") return { range: "range", radio: "radio", checkbox: "check" }[node.type] || "text";
    return { SELECT: "select", SUMMARY: "fold" }[node.tagName] || "button";
  }
  const target = (node) => node.closest("label") || node;
  const shown = (node) => (node.type === "radio" || node.type === "checkbox" ? node.nextElementSibling || node : node);
  function name(node) {
    const label = node.getAttribute("aria-label") || (node.labels && node.labels[0]?.textContent) || node.textContent;
    return node.matches(".w2s-play[aria-pressed]") ? "Play" : label.trim().slice(0, 40);
  }
  /* How far along a slider or a list is, from 0 to 1. */
  const share = (node) => (node.options ? node.selectedIndex / (node.options.length - 1)
    : node.type === "range" ? (node.value - node.min) / (node.max - node.min || 1) : 0);
  /* A name that stays when a control is made anew: its kind, what it is called, and the number among those alike. */
  function controls(f) {
    const alike = new Map(), found = [...live(f).querySelectorAll(CONTROLS)].filter(seen).map((node) => {
      const many = node.matches("button.w2s-token, g[role=button], td button");
      const called = many ? "one of many" : `${kind(node)} ${name(node)}`, n = alike.get(called) || 0;
      alike.set(called, n + 1);
      return { id: idOf(node), kind: kind(node), name: many ? `${called} ${n}` : n ? `${called} (${n + 1})` : called, many, n,
        share: share(node), group: node.type === "radio" ? document.getElementsByName(node.name).length : 0,
        off: off(node), checked: Boolean(node.checked), value: String(node.value ?? ""), label: name(node) };
    });
    const all = alike.get("one of many") || 0, picked = [0, all >> 1, all - 1].slice(0, SAMPLED);
    return found.filter(({ many, n }) => !many || picked.includes(n));
  }

  /* What a figure shows: its drawing and its words, without its controls. What chooses for another control is seen there. */
  function look(f, chooses) {
    const settings = chooses ? [...live(f).querySelectorAll("output")].map((node) => node.textContent).join() : "", copy = live(f).cloneNode(true), said = copy.querySelector(".w2s-say").dataset.text;
    const states = [...copy.querySelectorAll(".w2s-offer-state")].map((node) => node.textContent).join();
    copy.querySelectorAll(".w2s-bar, .w2s-say").forEach((node) => node.remove());
    copy.querySelectorAll(".w2s-stage").forEach((node) => Object.keys(node.dataset).forEach((key) => delete node.dataset[key]));
    return `${copy.innerHTML}${said}${states}${settings}`;
  }
  const before = [];
  const remember = (f, chooses) => { before[f] = [chooses, look(f, chooses)]; };
  async function changed(f, milliseconds) {
    const end = performance.now() + milliseconds;
    const [chooses, old] = before[f];
    while (look(f, chooses) === old) {
      if (performance.now() > end) return false;
      await new Promise((done) => setTimeout(done, 15));
    }
    return true;
  }

  /* Where to press a control, once it is on the screen, and whether something lies over it. */
  function aim(id) {
    const node = known.get(id), where = node.querySelector(".w2s-grip") || target(node);
    if (!node.isConnected || !seen(node)) return null;
    where.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    const at = box(where), hit = document.elementFromPoint(at.left + at.width / 2, at.top + at.height / 2);
    return { ...at, covered: !(hit && (where.contains(hit) || hit.contains(where) || node.contains(hit))) };
  }

  /* Colours as the screen has them, whatever space they are written in. */
  const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const mixes = new Map();
  function mixed(colour, under) {
    const key = `${colour} ${under}`;
    if (!mixes.has(key)) mixes.set(key, painted(colour, under));
    return mixes.get(key);
  }
  function painted(colour, under) {
    brush.fillStyle = `rgb(${under.join(" ")})`;
    brush.fillRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  }
  const light = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  function ground(node) {
    const layers = [];
    for (let one = node; one; one = one.parentElement) layers.unshift(getComputedStyle(one).backgroundColor);
    return layers.reduce((under, colour) => mixed(colour, under), [255, 255, 255]);
  }

  /* What is wrong with how the focused control shows that it has the focus. */
  function ring() {
    const node = document.activeElement, ringed = shown(node), style = getComputedStyle(ringed), faults = [];
    if (!node.matches(":focus-visible")) return ["has lost the focus"];
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) return ["shows no focus ring"];
    const reach = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset), own = ringed.getBoundingClientRect();
    const under = ground(ringed.parentElement), ratio = contrast(mixed(style.outlineColor, under), under);
    if (ratio < 3) faults.push(`has a pale focus ring (${ratio.toFixed(1)})`);
    for (let one = ringed.parentElement; one && !one.matches("figure"); one = one.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(one), clip = one.getBoundingClientRect();
      const sides = [...(overflowX === "visible" ? [] : [clip.left - own.left + reach, own.right + reach - clip.right]),
        ...(overflowY === "visible" ? [] : [clip.top - own.top + reach, own.bottom + reach - clip.bottom])];
      if (sides.length && !one.matches("svg") && Math.max(...sides) > 0.6) faults.push(`has its focus ring cut by ${Math.max(...sides).toFixed(1)} pixels`);
    }
    if (own.bottom < 0 || own.top > innerHeight) faults.push("has the focus outside the screen");
    return faults;
  }
  const focused = (f) => (live(f).contains(document.activeElement) ? idOf(document.activeElement) : null);
  /* The next Tab enters the figure. */
  function enter(f) {
    const start = live(f);
    start.tabIndex = -1;
    start.focus({ preventScroll: true });
  }

  const drawn = (f) => [...live(f).querySelectorAll("*")].filter((node) => seen(node)
    && !node.closest("title, option, .w2s-live > .w2s-more:not([open]) > :not(summary)"));
  const texts = (f) => drawn(f).filter((node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
  const said = (node) => `“${node.textContent.trim().slice(0, 30)}”`;
  const scrolled = (node) => { const holder = node.parentElement.closest(".w2s-scroll"); return holder && holder.scrollWidth > holder.clientWidth; };

  /* Text that leaves the figure or is cut, a page that can be moved sideways, words that lie on words. */
  function cut(f) {
    const frame = live(f).parentElement.getBoundingClientRect(), found = [], { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) found.push(`the page is ${scrollWidth - clientWidth} pixels too wide`);
    for (const node of drawn(f)) {
      const style = getComputedStyle(node), at = node.getBoundingClientRect();
      if (node.matches("svg *")) { if (!node.matches("text")) continue; }
      else if (style.overflowX !== "visible" && !node.matches(".w2s-scroll, svg, input, select") && node.scrollWidth > node.clientWidth + 1) found.push(`cut: ${said(node)}`);
      if (at.width && (at.left < frame.left - 0.5 || at.right > frame.right + 0.5) && !scrolled(node)) found.push(`outside: ${node.tagName} ${said(node)}`);
    }
    return [...new Set(found)];
  }
  function overlapping(f) {
    const all = texts(f).filter((node) => node.matches("svg text")).map((node) => [node, node.getBoundingClientRect()]);
    const found = [];
    all.forEach(([one, a], n) => all.slice(n + 1).forEach(([other, b]) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && tall > 5) found.push(`${said(one)} on ${said(other)}`);
    }));
    return found;
  }
  /* What lies below a word of a drawing: the shapes there, over the paper of the figure. axe does not ask. */
  function drawnUnder(node, paper) {
    const at = node.getBoundingClientRect(), style = getComputedStyle(node);
    if (style.stroke !== "none" && style.paintOrder.startsWith("stroke")) return mixed(style.stroke, paper);  // its own ground
    if (at.top < 0 || at.bottom > innerHeight) node.scrollIntoView({ block: "center", behavior: "instant" });
    const { left, top, width, height } = node.getBoundingClientRect();
    let under = paper;
    for (const one of document.elementsFromPoint(left + width / 2, top + height / 2).reverse()) {
      if (!one.matches("svg :is(rect, circle, path, polygon)")) continue;
      const { fill, fillOpacity, opacity } = getComputedStyle(one), share = Number(opacity) * Number(fillOpacity);
      if (fill !== "none") under = faded(mixed(fill, under), under, share);
    }
    return under;
  }
  const faded = (full, under, share) => full.map((c, i) => Math.round(under[i] + share * (c - under[i])));
  function pale(f) {
    const found = [], paper = ground(live(f));
    for (const node of texts(f)) {
      if (off(node) || node.matches("option")) continue;
      const inside = node.matches("svg *"), style = getComputedStyle(node), under = inside ? drawnUnder(node, paper) : ground(node);
      let share = 1;
      for (let one = node; one !== live(f); one = one.parentElement) share *= Number(getComputedStyle(one).opacity);
      const ratio = contrast(faded(mixed(inside ? style.fill : style.color, under), under, share), under);
      if (ratio < 4.5 && share > 0) found.push(`${said(node)} has a contrast of ${ratio.toFixed(2)}`);
    }
    return [...new Set(found)];
  }
  const small = (f) => [...live(f).querySelectorAll(CONTROLS)].filter(seen).flatMap((node) => {
    const { width, height } = box(node.querySelector(".w2s-grip") || target(node));
    return width < 23.5 || height < 23.5 ? [`${kind(node)} “${name(node)}” is ${width.toFixed(0)} × ${height.toFixed(0)} pixels`] : [];
  });
  const loading = () => [...document.querySelectorAll(".w2s-offer-state")].some((node) => node.textContent.startsWith("Loading"));
  /* How tall what a reader sees at once is: from the task to the answer. */
  function height(f) {
    const stage = live(f).querySelector(".w2s-stage").getBoundingClientRect(), line = live(f).querySelector(".w2s-say").getBoundingClientRect();
    return line.bottom - stage.top;
  }
  const node = (id) => known.get(id);
  /* The names of the figures, once what they are folded in is open. */
  const figures = () => [...document.querySelectorAll(".w2s-live")].map((node) => {
    for (let one = node.parentElement.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
    return node.parentElement.id.replace("figure-", "");
  });
  window.figureProbe = { figures, controls, remember, changed, aim, ring, focused, enter, cut, overlapping, pale, height, look, small, loading, node };
})();
