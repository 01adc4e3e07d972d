/* Bytes cut into patches where a small model finds the next byte uncertain.

   data = {
     texts: [{label: "verse", bytes: ["A", "n", "d", "␣", ...], entropies: [3.1, ...]}, ...]    one entry a byte
     threshold: 1.5, most: 5                       bits: where the slider is at first, and where it ends
     task
   } */
window.w2s.register("byte-patches", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, tall = 120, name = el("p", { class: "w2s-cut-name" });
  const bars = svg("g", {}), line = svg("line", { class: "w2s-axis" }), labels = svg("g", {});
  const chart = tools.picture({ class: "w2s-axes-picture" }, bars, line, labels);
  const row = el("p", { class: "w2s-cut-pieces" });
  let chosen = data.texts[0], { threshold } = data;

  function show() {
    const { bytes, entropies } = chosen, step = 12, wide = step * bytes.length + 8;
    const y = (bits) => tall - Math.min(bits, data.most) / data.most * (tall - 8);
    const begins = entropies.map((bits, n) => n === 0 || bits > threshold);
    set(chart.node, { viewBox: `0 0 ${wide} ${tall + 22}`, width: wide });
    bars.replaceChildren(...entropies.map((bits, n) => svg("rect", { class: `w2s-area hue-${begins[n] ? "orange" : "blue"}`,
      x: 4 + n * step, y: y(bits), width: step - 2, height: tall - y(bits) })));
    set(line, { x1: 0, x2: wide, y1: y(threshold), y2: y(threshold) });
    labels.replaceChildren(...bytes.map((byte, n) => svg("text", { class: "w2s-tick", x: 4 + n * step + step / 2 - 1, y: tall + 15,
      "text-anchor": "middle" }, byte)));
    const found = [];
    bytes.forEach((byte, n) => { if (begins[n]) found.push(byte); else found[found.length - 1] += byte; });
    row.replaceChildren(...found.map((patch) => el("span", { class: "w2s-piece" }, patch)));
    name.textContent = `${found.length} patches`;
    chart.name(`The entropy of each of ${bytes.length} bytes, and the threshold.`);
    Object.assign(stage.dataset, { patches: JSON.stringify(found), threshold: String(threshold) });
    tools.say(`${bytes.length} bytes in ${found.length} patches, ${(bytes.length / found.length).toFixed(1)} bytes each, `
      + `at a threshold of ${threshold.toFixed(1)} bits.`);
  }
  const slider = tools.slider({ label: "Threshold", min: 0, max: data.most, step: 0.1, value: threshold,
    text: (value) => `${Number(value).toFixed(1)} bits`, oninput(value) { threshold = Number(value); show(); } });
  const picks = tools.choice({ legend: "Text", value: chosen.label, options: data.texts.map(({ label }) => ({ key: label, label })),
    onchange(label) { chosen = data.texts.find((one) => one.label === label); show(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "Entropy of each byte" }, chart.node), name, row, tools.bar(slider, picks));
  show();
});
