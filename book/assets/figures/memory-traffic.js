/* HBM and SRAM to scale, and what plain and flash attention move between them, load by load.

   data = {
     task: "Play both.",                                      what the reader is to do
     machine: {hbm: 40e9, sram: 20.7e6, slow: 1.5e12, fast: 19e12}    bytes, bytes a second
     tokens: 1024, width: 64, size: 2, rows: 128, columns: 128        of one head, of a number, of a tile
   }
   Bytes as in kernels.traffic: standard_attention_bytes and flash_attention_bytes. */
window.w2s.register("memory-traffic", function (stage, data, tools) {
  "use strict";
  const { svg, set } = tools, { machine, tokens: T, width: D, size, rows, columns } = data;
  const wide = 360, tall = 96, strip = Math.max(3, tall * D / T), area = 346 * 124, dot = Math.sqrt(area * machine.sram / machine.hbm);
  const matrix = T * D * size, square = T * T * size, now = { way: "plain", at: 0 };
  const places = { Q: 14, K: 34, V: 54, O: 74, S: 112, P: 232 }, parts = {};
  const label = (x, y, text, more) => svg("text", { class: "w2s-tick", x, y, "text-anchor": "middle", ...more }, text);
  const box = (x, y, width, height, more) => svg("rect", { class: "w2s-tile", x, y, width, height, rx: 3, ...more });

  const picture = tools.picture({ viewBox: `0 0 ${wide} 284`, width: 520, class: "w2s-matrix" }, box(7, 18, 346, 124),
    label(180, 13, `HBM, ${Math.round(machine.hbm / 1e9)} GB`));
  for (const [name, x] of Object.entries(places)) {
    const across = "SP".includes(name) ? tall : strip;
    parts[name] = { box: box(x, 24, across, tall), part: box(x, 24, across, 0, { class: "w2s-tile is-held" }), name: label(x + across / 2, 136, name) };
    picture.node.append(parts[name].box, parts[name].part, parts[name].name);
  }
  const held = { Q: box(110, 210, 30, 34), K: box(150, 210, 30, 34), V: box(190, 210, 30, 34), S: box(230, 210, 44, 34), O: box(284, 210, 44, 34) };
  const arrow = svg("path", { class: "w2s-line", d: "" });
  picture.node.append(box(98, 186, 254, 92, { class: "w2s-tile is-gone" }), ...Object.values(held), label(225, 203, `SRAM, ${Math.round(machine.sram / 1e6)} MB in all, ${machine.fast / 1e12} TB/s`),
    ...[["Q", 125], ["K", 165], ["V", 205], ["scores", 252], ["out", 306]].map(([name, x]) => label(x, 260, name)), arrow,
    svg("path", { class: "w2s-line is-dotted hue-grey", "stroke-width": 1, d: `M${24 + dot} 214L98 186M${24 + dot} ${214 + dot}L98 278` }), box(24, 214, dot, dot, { class: "w2s-tile is-held", rx: 0 }),
    label(32, 266, "to scale"), label(242, 168, `${(machine.slow / 1e12).toFixed(1)} TB/s`, { "text-anchor": "start", x: 168 }));

  function walk(way) {  // each stop: what moved, between which tensors, and which rows of them
    const stops = [{ read: 0, written: 0, from: {}, into: {}, says: "Nothing has moved." }], whole = [0, T];
    const add = (from, into, read, written, says) => stops.push({ from, into, read: stops.at(-1).read + read, written: stops.at(-1).written + written, says });
    if (way === "plain") {
      add({ Q: whole, K: whole }, {}, 2 * matrix, 0, "The first kernel reads Q and K.");
      add({}, { S: whole }, 0, square, "It writes the scores S.");
      add({ S: whole }, {}, square, 0, "The second kernel reads the scores for the softmax.");
      add({}, { P: whole }, 0, square, "It writes the attention weights P.");
      add({ P: whole, V: whole }, {}, square + matrix, 0, "The third kernel reads P and V.");
      add({}, { O: whole }, 0, matrix, "It writes the output O.");
      return stops;
    }
    for (let i = 0; i < T; i += rows) for (let j = 0; j < T; j += columns) {
      const query = [i, Math.min(T, i + rows)], key = [j, Math.min(T, j + columns)], last = key[1] === T, share = (query[1] - query[0]) / T;
      add({ ...(j ? {} : { Q: query }), K: key, V: key }, last ? { O: query } : {}, (j ? 0 : matrix * share) + 2 * matrix * (key[1] - key[0]) / T,
        last ? matrix * share + 4 * (query[1] - query[0]) : 0, `Queries ${i} to ${query[1] - 1} meet keys ${j} to ${key[1] - 1}${last ? ", and their output is written" : ""}.`);
    }
    return stops;
  }
  const ways = { plain: walk("plain"), flash: walk("flash") }, bars = tools.bars({ rows: 2, text: (value) => `${(value / 1e6).toFixed(2)} MB` });
  const bytes = (way, at) => ways[way][at].read + ways[way][at].written;

  function draw() {
    const here = ways[now.way][now.at], flash = now.way === "flash", most = bytes("plain", ways.plain.length - 1);
    for (const [name, { box: frame, part, name: text }] of Object.entries(parts)) {
      const [from, to] = here.from[name] || here.into[name] || [0, 0];
      set(part, { y: 24 + tall * from / T, height: tall * (to - from) / T });
      set(frame, { class: `w2s-tile${flash && "SP".includes(name) ? " is-masked" : ""}` });
      text.textContent = flash && "SP".includes(name) ? `${name}: never stored` : name;
    }
    const inside = flash ? (now.at ? "QKVSO" : "") : Object.keys(here.from).concat(Object.keys(here.into)).join("").replace("P", "S");
    for (const [name, slot] of Object.entries(held)) set(slot, { class: `w2s-tile${inside.includes(name) ? " is-held" : ""}` });
    const up = Object.keys(here.into).length, down = Object.keys(here.from).length;
    set(arrow, { class: `w2s-line hue-${up && !down ? "orange" : "blue"}`, d: `M156 145V183${down ? "M150 176l6 7 6-7" : ""}${up ? "M150 152l6-7 6 7" : ""}` });
    const other = flash ? "plain" : "flash";
    bars.show(["plain", "flash"].map((way) => ({ label: `${way} attention`, value: bytes(way, way === other ? ways[way].length - 1 : now.at),
      note: way === other ? "in all" : "so far", hue: way === other ? "grey" : "orange" })), { most });
    picture.name(`${here.says} ${(bytes(now.way, now.at) / 1e6).toFixed(2)} megabytes have moved.`);
    tools.say(`${here.says} So far ${(here.read / 1e6).toFixed(2)} MB read and ${(here.written / 1e6).toFixed(2)} MB written: ${(1e6 * bytes(now.way, now.at) / machine.slow).toFixed(1)} µs of HBM's time.`);
    Object.assign(stage.dataset, { ...now, read: here.read, written: here.written, stops: ways[now.way].length - 1 });
  }
  const holder = tools.el("div", { class: "w2s-bar" });
  let stepper;
  function begin() {
    if (stepper?.nodes[0].textContent === "Pause") stepper.nodes[0].click();
    stepper = tools.stepper({ label: "Loads and stores", count: ways[now.way].length, text: String, every: now.way === "plain" ? 900 : 130, still: now.way === "plain" ? 2 : 20, show(at) { now.at = at; draw(); } });
    holder.replaceChildren(...stepper.nodes);
    stepper.begin();
  }
  const picks = tools.choice({ legend: "Attention", value: now.way, options: [{ key: "plain", label: "plain" }, { key: "flash", label: "flash" }], onchange(key) { now.way = key; begin(); } });
  stage.append(tools.el("p", { class: "w2s-task" }, data.task), picture.node, bars.node, tools.bar(picks), holder);
  begin();
});
