/* Texts in a cache: slots that hold a token, slots that are allocated and empty, in blocks of a size that the reader drags.

   data = { texts: ["we sat on the bank of the river", ...], longest: 16, size: 4, bytes: 23040 }
   A word stands for a token; `longest` is what a contiguous cache reserves for each text; bytes of a token's keys and values.
   The counts are those of measure.cache_bytes: at size = longest, blocks are the contiguous cache. */
window.w2s.register("cache-places", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, { longest } = data, drawing = svg("g", {}), picture = tools.picture({ class: "w2s-matrix" }, drawing), most = 6;
  const number = (n) => n.toLocaleString("en"), percent = (part, whole) => `${(100 * part / (whole || 1)).toFixed(1)} %`;
  let texts = data.texts, size = data.size, wide = 560;
  const bars = tools.bars({ rows: 3, text: (places) => `${number(places)} · ${number(Math.round(places * data.bytes / 1000))} kB` });
  const words = (text) => text.split(/\s+/).filter(Boolean).slice(0, longest);

  function draw() {
    const left = 74, gap = 4, lengths = texts.map((text) => words(text).length), blocks = lengths.map((length) => Math.ceil(length / size));
    const cell = (wide - left - gap * (longest / size)) / longest, row = 46, used = lengths.reduce((a, b) => a + b, 0);
    const tables = blocks.reduce((a, b) => a + b, 0), held = tables * size, reserved = texts.length * longest;
    drawing.replaceChildren(...texts.flatMap((text, r) => {
      const all = words(text), y = r * row, x = (p) => left + p * cell + Math.floor(p / size) * gap, end = Math.max(longest, blocks[r] * size);
      const boxes = Array.from({ length: end }, (_, p) => p).filter((p) => x(p) + cell <= wide + 1).map((p) => svg("rect", { x: x(p), y: y + 18, width: cell - 1.5, height: 20, rx: 3,
        class: `w2s-tile${p < all.length ? " is-gone" : p < blocks[r] * size ? " is-held" : ""}` }));
      const shown = all.join(" "), room = Math.floor((wide - left) / 7.4);
      return [svg("text", { class: "w2s-row-label", x: left - 8, y: y + 33 }, `${all.length} word${all.length > 1 ? "s" : ""}`),
        svg("text", { class: "w2s-tick", x: left, y: y + 12 }, shown.length > room ? `${shown.slice(0, room - 1)}…` : shown), ...boxes];
    }));
    set(picture.node, { viewBox: `0 0 ${wide} ${texts.length * row}`, width: wide });
    picture.name(`${texts.length} texts, each a row of slots: blue holds a word, orange is allocated and empty, white is free.`);
    bars.show([{ label: "contiguous", value: reserved, hue: "grey" }, { label: "in blocks", value: held, hue: "orange" }, { label: "words", value: used, hue: "blue" }], { most: Math.max(reserved, held) });
    tools.say(`${texts.length} texts, ${used} words. In blocks of ${size}: ${tables} blocks and as many entries in tables, ${held} slots, ${held - used} empty (${percent(held - used, held)}). `
      + `Contiguous, with room for ${longest}: ${reserved} slots, ${reserved - used} empty (${percent(reserved - used, reserved)}).`);
    Object.assign(stage.dataset, { size, lengths: lengths.join(" "), tables, held, reserved, used });
  }
  const field = tools.textField({ label: "Your texts, a / between them", value: texts.join(" / "), most: 400, oninput(text) {
    const typed = text.split("/").map((one) => one.trim()).filter(Boolean).slice(0, most);
    if (typed.length) texts = typed;
    draw();
  } });
  const block = tools.slider({ label: "Slots in a block", min: 1, max: longest, value: size, oninput(value) { size = value; draw(); } });
  stage.append(picture.node, tools.legend([{ label: "a word", hue: "blue", mark: 1 }, { label: "allocated, empty", hue: "orange", mark: 1 }]).node, bars.node, tools.bar(block), tools.bar(field));
  tools.onWidth((pixels) => { wide = pixels; draw(); });
});
