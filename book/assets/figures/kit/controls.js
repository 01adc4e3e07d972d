/* What a reader works a figure with: buttons, sliders, choices, a field for words, and the row of play, step and scrub.
   All are native elements, so the keyboard comes with them. */
(function () {
  "use strict";
  const kit = window.w2s.kit, { el } = kit;
  let counter = 0;
  const fresh = () => `w2s-${++counter}`;

  /* A button. One that has nothing to do keeps its place among the stops of Tab, and the focus: see `able`. */
  kit.button = (label, onclick, attributes) => {
    const press = (event) => { if (node.getAttribute("aria-disabled") !== "true") onclick(event); };
    const node = el("button", { type: "button", onclick: press, ...attributes }, label);
    return node;
  };
  kit.able = (button, can) => kit.set(button, { "aria-disabled": String(!can) });

  /* The row that holds controls. It is left out of stills. */
  kit.bar = (...nodes) => el("div", { class: "w2s-bar" }, ...nodes.map((node) => node.node || node));

  /* A labelled range input. text(value) is shown beside it and read out as its value. */
  kit.slider = function slider({ label, min, max, step = 1, value, text = String, oninput }) {
    const id = fresh(), output = el("output", { for: id });
    const input = el("input", { type: "range", id, min, max, step });
    const show = () => {
      output.textContent = text(Number(input.value));
      input.setAttribute("aria-valuetext", text(Number(input.value)));
    };
    input.value = value;
    input.addEventListener("input", () => { show(); oninput(Number(input.value)); });
    show();
    return { node: el("div", { class: "w2s-slider" }, el("label", { for: id }, label), input, output), input,
      set(next) { input.value = next; show(); } };
  };

  /* One of a few options, as native radio buttons in a fieldset: arrow keys come with them. */
  kit.choice = function choice({ legend, options, value, onchange }) {
    const name = fresh(), inputs = new Map(), row = el("div", { class: "w2s-segments" });
    for (const option of options) {
      const input = el("input", { type: "radio", name, value: option.key, onchange: () => onchange(option.key) });
      input.checked = option.key === value;
      inputs.set(option.key, input);
      row.append(el("label", { class: "w2s-segment" }, input, el("span", {}, option.label)));
    }
    return { node: el("fieldset", { class: "w2s-choice" }, el("legend", {}, legend), row),
      set(key) { inputs.forEach((input, own) => { input.checked = own === key; }); } };
  };

  kit.select = function select({ label, options, value, onchange }) {
    const id = fresh(), input = el("select", { id, onchange: () => onchange(input.value) });
    for (const option of options) input.append(el("option", { value: option }, option));
    input.value = value;
    return { node: el("div", { class: "w2s-select" }, el("label", { for: id }, label), input),
      set(next) { input.value = next; } };
  };

  /* A field for the reader's own words. oninput(text) is called when typing has paused for a moment, and on Enter. */
  kit.textField = function textField({ label, value = "", oninput, most = 200 }) {
    const id = fresh(), input = el("input", { type: "text", id, maxlength: most, autocomplete: "off",
      autocapitalize: "off", spellcheck: "false" });
    let pending = null;
    const tell = () => { clearTimeout(pending); oninput(input.value); };
    input.value = value;
    input.addEventListener("input", () => { clearTimeout(pending); pending = setTimeout(tell, 250); });
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") tell(); });
    return { node: el("div", { class: "w2s-field" }, el("label", { for: id }, label), input), input,
      set(next) { input.value = next; } };
  };

  /* A play button that calls step() until it returns false. It never starts by itself. */
  kit.player = function player({ label = "Play", every = 900, step }) {
    let timer = null;
    const node = kit.button(label, () => (timer ? stop() : start()), { class: "w2s-play", "aria-pressed": "false" });
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
  };

  /* Play, Back, Step and a slider over stops 0 .. count - 1. show(at) draws one; go(at) moves there; `first` is the
     stop at the beginning, `still` that of the still picture, the last unless told. The first show(at) comes with `begin()`, when all is built. */
  kit.stepper = function stepper({ label, count, text, show, every = 900, first = 0, still = count - 1 }) {
    let at = kit.asStill ? still : first;
    const go = (to) => {
      at = Math.max(0, Math.min(count - 1, to));
      kit.able(back, at > 0);
      kit.able(next, at < count - 1);
      scrub.set(at);
      show(at);
    };
    const byHand = (to) => { play.stop(); go(to); };
    const play = kit.player({ every, step() { go(at === count - 1 ? 0 : at + 1); return at < count - 1; } });
    const back = kit.button("Back", () => byHand(at - 1)), next = kit.button("Step", () => byHand(at + 1));
    const scrub = kit.slider({ label, min: 0, max: count - 1, value: at, text, oninput: byHand });
    return { nodes: [play.node, back, next, scrub.node], go, at: () => at, begin: () => go(at) };
  };
})();
