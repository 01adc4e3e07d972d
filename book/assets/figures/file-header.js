/* A file of weights from its first byte to its last: where each tensor lies, what the header says of it, and its first bytes.

   data = {
     files: [{label, name, bytes, header: 2280, count: 29,      bytes of the header; how many tensors there are in all
       tensors: [{name, ours, shape: [96, 96], type: "F16", start, end, entry: "what the header says",
         first: [{bytes: "a3 2c", label: "scale", value: "0.0724"}, ...]}, ...]}, ...]    in the order of the file; those that are shown
   } */
window.w2s.register("file-header", function (stage, data, tools) {
  "use strict";
  const { el, svg } = tools, tall = 46, number = (n) => n.toLocaleString("en"), picture = tools.picture({ class: "w2s-strip" }), pick = el("div", {}), about = el("div", {});
  let file = data.files[0], at = 0, width = 560;

  function line(tensor) {
    const cell = (name) => (text) => el(name, {}, text);
    return el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "The first bytes" }, el("table", { class: "w2s-input" },
      el("tr", {}, cell("th")("bytes"), ...tensor.first.map(({ bytes }) => el("td", {}, el("code", {}, bytes)))),
      el("tr", {}, cell("th")("are"), ...tensor.first.map(({ label }) => cell("td")(label))),
      el("tr", {}, cell("th")("and say"), ...tensor.first.map(({ value }) => cell("td")(value)))));
  }

  function show() {
    const tensor = file.tensors[at], x = tools.scale([0, file.bytes], [4, width - 4]);
    tools.set(picture.node, { viewBox: `0 0 ${width} ${tall + 22}`, width });
    const stretch = (from, to, hue, lit, onclick) => svg("rect", { class: `w2s-area hue-${hue}`, x: x(from), width: Math.max(1.2, x(to) - x(from) - 0.6), y: lit ? 4 : 10,
      height: lit ? tall - 4 : tall - 16, opacity: lit ? 1 : 0.45, onclick });
    picture.node.replaceChildren(picture.node.querySelector("title"), svg("rect", { class: "w2s-band", x: 4, width: width - 8, y: 10, height: tall - 16 }),
      stretch(0, file.header, "grey", false), ...file.tensors.map((one, n) => stretch(one.start, one.end, n === at ? "orange" : "blue", n === at, () => choose(n))),
      svg("text", { class: "w2s-tick", x: 4, y: tall + 16 }, "byte 0"), svg("text", { class: "w2s-tick", x: width - 4, y: tall + 16, "text-anchor": "end" }, number(file.bytes)));
    picture.name(`${file.name}: a header of ${number(file.header)} bytes, then tensors; ${tensor.name} is at ${number(tensor.start)} to ${number(tensor.end)} of ${number(file.bytes)}.`);
    const kept = tools.select({ label: `Tensors of ${file.name}`, options: file.tensors.map(({ name }) => name), value: tensor.name,
      onchange(name) { choose(file.tensors.findIndex((one) => one.name === name)); } });
    if (pick.dataset.file !== file.label) { pick.replaceChildren(kept.node); pick.dataset.file = file.label; }
    else pick.querySelector("select").value = tensor.name;
    about.replaceChildren(el("p", { class: "w2s-cut-name" }, "The header says"), el("pre", { style: { "white-space": "pre-wrap", "overflow-wrap": "anywhere" } }, el("code", {}, tensor.entry)),
      el("p", { class: "w2s-cut-name" }, "Its first bytes"), line(tensor));
    const numbers = tensor.shape.reduce((a, b) => a * b, 1), size = tensor.end - tensor.start;
    tools.able(back, at > 0);
    tools.able(next, at < file.tensors.length - 1);
    tools.say(`${tensor.name} has ${tensor.shape.join(" × ")} values as ${tensor.type}, ${number(size)} bytes: ${(8 * size / numbers).toFixed(2).replace(/\.?0+$/, "")} bits per value. `
      + `In our model it is ${tensor.ours}. The file has ${number(file.count)} tensors, and ${number(file.header)} of its ${number(file.bytes)} bytes are header.`);
    Object.assign(stage.dataset, { file: file.label, tensor: tensor.name, size, bits: 8 * size / numbers, at });
  }
  function choose(n) { at = Math.max(0, Math.min(file.tensors.length - 1, n)); show(); }
  const back = tools.button("Back", () => choose(at - 1)), next = tools.button("Next tensor", () => choose(at + 1), { class: "w2s-play" });
  const files = tools.choice({ legend: "File", value: file.label, options: data.files.map(({ label }) => ({ key: label, label })),
    onchange(label) { file = data.files.find((one) => one.label === label); at = 0; show(); } });
  stage.append(tools.bar(files), tools.bar({ node: pick }, back, next), picture.node, about);
  if (tools.asStill) { file = data.files[data.files.length - 1]; at = 1; }
  tools.onWidth((pixels) => { width = pixels; show(); });
});
