/* Which of an encoder's vectors enter which head: a row for each token, its numbers, and lines to what reads them.

   data = {
     tasks: [{key: "tags", label: "a tag a word", tokens: ["[CLS]", ...],
              vectors: [[0.1, ...], ...],                the same few numbers of each token's last vector
              heads: [{label: "tag of anna", out: "5 logits", rows: [1]}, ...],   rows: the places that it reads
              why: ["not read: ...", ...]}, ...]         what is said of each token
     most: 1.2                                           what the strongest shade stands for
   } */
window.w2s.register("task-heads", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, picture = tools.picture({ class: "w2s-axes-picture" }), tall = 24, top = 6;
  let task = data.tasks[0], chosen = 0, width = 560;

  function draw() {
    const { tokens, vectors, heads } = task, many = vectors[0].length, left = 66, wide = Math.min(150, width * 0.25);
    const cell = wide / many, far = width - Math.min(190, width * 0.42), bottom = top + tokens.length * tall;
    const middle = (row) => top + row * tall + tall / 2, read = new Set(heads.flatMap((head) => head.rows));
    const high = heads.length > 2 ? tall - 4 : 46, mean = (rows) => rows.reduce((sum, row) => sum + middle(row), 0) / rows.length;
    const spots = heads.map((head, n) => heads.length === 2 ? top + (bottom - top) * (n ? 0.68 : 0.32) : mean(head.rows));
    const parts = [svg("rect", { class: "w2s-band", x: 0, width: left + wide + 8, y: top + chosen * tall, height: tall })];
    heads.forEach((head, n) => head.rows.forEach((row) => parts.push(svg("line", { x1: left + wide + 6, y1: middle(row), x2: far - 3, y2: spots[n],
      class: `w2s-line hue-${row === chosen ? "orange" : "grey"}`, "stroke-opacity": row === chosen ? 1 : 0.45 }))));
    tokens.forEach((token, row) => {
      parts.push(svg("text", { class: "w2s-row-label", x: left - 8, y: middle(row) + 4.5, "font-weight": row === chosen ? 700 : 400 }, token));
      vectors[row].forEach((value, c) => {
        const box = svg("rect", { x: left + c * cell, y: top + row * tall + 3, width: cell - 1.5, height: tall - 6, rx: 2,
          class: `w2s-cell is-counted hue-${value < 0 ? "orange" : "blue"}`, opacity: read.has(row) ? 1 : 0.3 });
        box.style.setProperty("--w2s-level", "var(--hue)");
        box.style.setProperty("--level", Math.min(1, Math.abs(value) / data.most).toFixed(3));
        parts.push(box);
      });
      parts.push(svg("rect", { x: 0, y: top + row * tall, width: left + wide + 8, height: tall, fill: "transparent", cursor: "pointer",
        onclick: () => places.go(row) }));
    });
    heads.forEach((head, n) => {
      const lit = head.rows.includes(chosen), two = high > 30;
      parts.push(svg("g", { class: `w2s-box hue-orange${lit ? " is-lit" : ""}` },
        svg("rect", { x: far, y: spots[n] - high / 2, width: width - far - 2, height: high, rx: 5 }),
        svg("text", { x: (far + width) / 2, y: spots[n] + (two ? -3 : 4.5), "text-anchor": "middle" }, two ? head.label : `${head.label}: ${head.out}`),
        ...(two ? [svg("text", { x: (far + width) / 2, y: spots[n] + 15, "text-anchor": "middle" }, head.out)] : [])));
    });
    set(picture.node, { viewBox: `0 0 ${width} ${bottom + 6}`, width });
    picture.node.replaceChildren(picture.node.querySelector("title"), ...parts);
    picture.name(`${read.size} of ${tokens.length} vectors are read.`);
    tools.say(`${read.size} of ${tokens.length} vectors are read. “${tokens[chosen]}”: ${task.why[chosen]}`);
    Object.assign(stage.dataset, { task: task.key, place: chosen, read: [...read].sort((a, b) => a - b).join(), heads: heads.length });
  }
  const switches = tools.choice({ legend: "What is asked", value: task.key, options: data.tasks.map(({ key, label }) => ({ key, label })),
    onchange(key) { task = data.tasks.find((one) => one.key === key); build(); } });
  const holder = tools.bar();
  let places = null;
  function build() {
    places = tools.stepper({ label: "Token", count: task.tokens.length, still: Math.min(1, task.tokens.length - 1), text: (n) => task.tokens[n], every: 1200,
      show(n) { chosen = n; draw(); } });
    holder.replaceChildren(...places.nodes);
    places.begin();
  }
  stage.append(tools.bar(switches), picture.node, holder);
  build();
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
