/* Three rows that are added for each token of an input: its word's, its position's, its segment's.

   data = {
     texts: [["we", "sat", ...], ["the", ...]], at: "0.4",    pieces of two texts; text and place of the one looked at first
     word: {"we": [...], ...}, position: [[...], ...], segment: [[...], [...]],   the same few columns of each table
     most: 0.2                                                what the strongest shade stands for
   } */
window.w2s.register("input-sum", function (stage, data, tools) {
  "use strict";
  const { el } = tools, holder = el("div", {}), names = ["word", "position", "segment", "sum"];
  let order = "0,1", chosen = data.at, before = null, lines = null, tokens = [];
  const strips = names.map((name) => {
    const label = el("span", { class: "w2s-strip-name" }), cells = data.segment[0].map(() => el("span", {}));
    return { node: el("div", { class: `w2s-strip is-${name}` }, label, el("div", { class: "w2s-strip-cells" }, ...cells)),
      show(text, values) {
        label.textContent = text;
        cells.forEach((cell, i) => {
          cell.className = values[i] < 0 ? "hue-orange" : "hue-blue";
          cell.style.setProperty("--level", Math.min(1, Math.abs(values[i]) / data.most).toFixed(3));
        });
      } };
  });

  function layOut() {
    const texts = order.split(",").map(Number);
    tokens = [{ key: "cls", piece: "[CLS]", segment: 0 }, ...texts.flatMap((text, segment) => [
      ...data.texts[text].map((piece, i) => ({ key: `${text}.${i}`, piece, segment })),
      { key: `sep${segment}`, piece: "[SEP]", segment }])];
    if (!tokens.some(({ key }) => key === chosen)) chosen = data.at;
    lines = tools.tokenLines([tokens.map(({ piece }) => piece)], { onpick(_, i) { chosen = tokens[i].key; show(); } });
    holder.replaceChildren(lines.node);
  }

  function show() {
    const place = tokens.findIndex(({ key }) => key === chosen), { piece, segment } = tokens[place];
    const rows = { word: data.word[piece], position: data.position[place], segment: data.segment[segment] };
    const sum = rows.word.map((value, i) => value + rows.position[i] + rows.segment[i]);
    const near = tokens.flatMap((one, i) => (one.segment === segment ? [i] : []));
    lines.show({ focus: [0, place], near });
    [`token ${piece}`, `+ position ${place}`, `+ segment ${segment}`, "= input of LayerNorm"].forEach((text, i) =>
      strips[i].show(text, i < 3 ? rows[names[i]] : sum));
    const moved = before && before.piece === piece ? names.slice(0, 3).filter((name) => before.rows[name] !== rows[name]) : null;
    const change = !moved ? "" : moved.length ? ` Changed embeddings: ${moved.join(" and ")}.` : " No embedding changed.";
    before = { piece, rows };
    Object.assign(stage.dataset, { order, token: piece, place, segment, sum: JSON.stringify(sum), moved: (moved || []).join() });
    tools.say(`“${piece}” is at position ${place}, in segment ${segment}.${change}`);
  }
  const texts = tools.choice({ legend: "Texts", value: order, options: [{ key: "0,1", label: "river, money" },
    { key: "1,0", label: "money, river" }, { key: "0", label: "river alone" }, { key: "1", label: "money alone" }],
    onchange(key) { order = key; if (!key.includes(chosen[0])) chosen = `${key}.${data.texts[key].indexOf("bank")}`; layOut(); show(); } });
  stage.append(tools.bar(texts), holder, ...strips.map(({ node }) => node));
  layOut();
  show();
});
