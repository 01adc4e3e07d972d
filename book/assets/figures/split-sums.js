/* One sum in several chunks: each result is rounded to a few digits, as a processor rounds to its format.

   data = {
     task: "Split ...",
     numbers: [1000, 1, ...],        at most eight
     digits: 3,                      significant digits that are kept at the start
     chunks: [1, 2, 4]               into how many parts the sum may be split
   } */
window.w2s.register("split-sums", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, drawing = svg("g", {}), picture = tools.picture({ class: "w2s-matrix" }, drawing), high = 26, gap = 30;
  let chunks = data.chunks[0], { digits } = data, width = 560;
  const rounded = (value) => (digits ? Number(value.toPrecision(digits)) : value), sum = (list) => list.reduce((total, value) => rounded(total + value));

  function tile(text, x, y, wide, kind) {
    return svg("g", {}, svg("rect", { class: `w2s-tile ${kind}`, x: x + 1, y, width: wide - 2, height: high, rx: 3 }),
      svg("text", { class: "w2s-count", x: x + wide / 2, y: y + 18, "text-anchor": "middle" }, text));
  }
  function draw() {
    const { numbers } = data, size = numbers.length / chunks, cell = width / numbers.length;
    const parts = Array.from({ length: chunks }, (_, chunk) => numbers.slice(chunk * size, (chunk + 1) * size)), partial = parts.map(sum), total = sum(partial);
    const exact = numbers.reduce((a, b) => a + b), rows = [0, high + gap, 2 * (high + gap)];
    drawing.replaceChildren(...numbers.map((number, n) => tile(String(number), n * cell, rows[0], cell, "is-gone")),
      ...partial.flatMap((value, chunk) => {
        const left = chunk * size * cell, middle = left + size * cell / 2;
        return [...parts[chunk].map((_, n) => svg("line", { class: "w2s-line hue-blue", x1: left + (n + 0.5) * cell, y1: high, x2: middle, y2: rows[1] })),
          tile(String(value), left, rows[1], size * cell, "is-held"), svg("line", { class: "w2s-line hue-orange", x1: middle, y1: rows[1] + high, x2: width / 2, y2: rows[2] })];
      }), tile(String(total), width / 4, rows[2], width / 2, "is-held"));
    set(picture.node, { viewBox: `0 0 ${width} ${rows[2] + high + 2}`, width });
    picture.name(`${numbers.length} numbers, ${chunks} partial sum${chunks > 1 ? "s" : ""} ${partial.join(", ")}, and the total ${total}.`);
    Object.assign(stage.dataset, { chunks, digits, partial: JSON.stringify(partial), total });
    tools.say(`In ${chunks} chunk${chunks > 1 ? "s" : ""}${digits ? `, with ${digits} digits kept` : ", without rounding"}, the sum is ${total}. The exact sum is ${exact}.`);
  }
  const splits = tools.choice({ legend: "Chunks", value: String(chunks), options: data.chunks.map((count) => ({ key: String(count), label: String(count) })),
    onchange(key) { chunks = Number(key); draw(); } });
  const precision = tools.choice({ legend: "Digits", value: String(digits), options: [[digits, `${digits}`], [digits + 1, `${digits + 1}`], [0, "all"]].map(([key, label]) => ({ key: String(key), label })),
    onchange(key) { digits = Number(key); draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(splits, precision));
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
