/* How many query heads share a key head, and what a token then costs in the cache.

   data = {
     sizes: [{key, label, layers, heads, kvHeads, headDim}], gigabytes: 80, bits: 16
     tokens: [1024, ...], at: 2                  lengths of a user's text, and the one at first
   }
   A token's bytes are 2 (keys and values) * layers * key heads * head size * bits / 8. */
window.w2s.register("key-heads", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, { sizes: models, tokens, gigabytes, bits } = data, HUES = ["blue", "orange"];
  const drawing = svg("g", {}), picture = tools.picture({ class: "w2s-lanes" }, drawing), holder = tools.el("div", {});
  let model = models[0], kept = model.kvHeads, length = tokens[data.at], wide = 560, slider = null;
  const divisors = ({ heads }) => Array.from({ length: heads }, (_, n) => n + 1).filter((n) => heads % n === 0);
  const bytes = () => 2 * model.layers * kept * model.headDim * bits / 8;
  const kib = (value) => `${(value / 1024).toLocaleString("en", { maximumFractionDigits: 1 })} KiB`;
  const bars = tools.bars({ rows: 3, text: kib });

  function draw() {
    const { heads } = model, group = heads / kept, fit = Math.floor(wide / 17), across = heads <= fit ? heads : 2 ** Math.floor(Math.log2(fit)), cell = Math.min(30, (wide - 8) / across), lines = Math.ceil(heads / across);
    const row = 2 * cell + 26, perToken = bytes(), users = Math.floor(gigabytes * 1e9 / (perToken * length)), place = (h) => [(h % across) * cell + 4, Math.floor(h / across) * row];
    drawing.replaceChildren(...Array.from({ length: heads }, (_, h) => {
      const [x, y] = place(h), hue = HUES[Math.floor(h / group) % 2], first = h % group === 0 || h % across === 0;
      return svg("g", { class: `w2s-stretch hue-${hue}` }, svg("rect", { x: x + 1, y: y + 2, width: cell - 3, height: cell - 3, rx: 3 }),
        svg("line", { class: `w2s-line is-solid hue-${hue}`, x1: x + cell / 2, x2: x + cell / 2, y1: y + cell, y2: y + cell + 8 }),
        ...(first ? [svg("rect", { x: x + 1, y: y + cell + 8, width: Math.min(group - h % group, across - h % across) * cell - 3, height: cell / 2, rx: 3 })] : []),
        ...(cell >= 24 ? [svg("text", { x: x + cell / 2 - 1, y: y + cell / 2 + 5, "text-anchor": "middle" }, String(h))] : []));
    }));
    set(picture.node, { viewBox: `0 0 ${wide} ${lines * row}`, width: wide });
    picture.name(`${heads} query heads above, ${kept} KV heads below; ${group} query heads share one.`);
    const all = (heads_) => 2 * model.layers * heads_ * model.headDim * bits / 8;
    bars.show([{ label: "one each", value: all(heads), hue: "grey" }, { label: "here", value: perToken, hue: "blue" }, { label: "one for all", value: all(1), hue: "grey" }], { most: all(heads) });
    tools.say(`${model.label}: ${heads} query heads, ${kept} KV ${kept === 1 ? "head" : "heads"}${kept === model.kvHeads ? ", as published" : ""}. ${kib(perToken)} per token, `
      + `${(perToken * length / 1e9).toFixed(2)} GB for ${length.toLocaleString("en")} tokens; ${users.toLocaleString("en")} such users in ${gigabytes} GB.`);
    Object.assign(stage.dataset, { model: model.key, kept, bytes: perToken, users, length });
  }
  function choose() {
    const many = divisors(model);
    kept = model.kvHeads;
    slider = tools.slider({ label: "KV heads", min: 0, max: many.length - 1, value: many.indexOf(kept), text: (n) => String(many[n]), oninput(n) { kept = many[n]; draw(); } });
    holder.replaceChildren(tools.bar(slider));
  }
  const picks = tools.choice({ legend: "Model", value: model.key, options: models, onchange(key) { model = models.find((one) => one.key === key); choose(); draw(); } });
  const lengths = tools.slider({ label: "Tokens per user", min: 0, max: tokens.length - 1, value: data.at, text: (n) => tokens[n].toLocaleString("en"), oninput(n) { length = tokens[n]; draw(); } });
  choose();
  stage.append(tools.bar(picks), holder, tools.bar(lengths), picture.node, bars.node);
  tools.onWidth((width) => { wide = width; draw(); });
});
