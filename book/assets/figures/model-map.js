/* A GPT from text to the next token, as a map: the whole at first, then one part after the other drawn large.

   data = {
     parts: [{key, label, text, links: [{label, href}]}]   in the order in which a token passes them; keys as in SPOTS
     tokens: ["In", " the", ...],                          a text, cut by the model's tokenizer
     cells: [[0.3, ...], ...],                             the first few dimensions of each token's embedding vector
     next: [{token: " God", share: 0.2}, ...]              the likeliest next tokens
   } */
window.w2s.register("model-map", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, W = 340, H = 490, MID = 214, count = data.tokens.length, step = 300 / count;
  const SPOTS = { tokens: [14, 10, 312, 46], embeddings: [14, 66, 312, 52], attention: [66, 148, 112, 70], cache: [8, 152, 50, 62], mlp: [66, 252, 112, 50],
    norm: [190, 128, 64, 232], logits: [66, 372, 208, 54], sampling: [14, 438, 312, 40], server: [0, 0, W, H] };
  const text = (x, y, words, size = 13, more = {}) => svg("text", { x, y, "font-size": size, "text-anchor": "middle", ...more }, words);
  const rect = (x, y, width, height, more = {}) => svg("rect", { x, y, width, height, rx: 4, ...more });
  const path = (d, name = "") => svg("path", { d, class: `w2s-map-line ${name}` });
  const fine = (...nodes) => svg("g", { class: "w2s-map-fine" }, ...nodes), tint = (level) => ({ class: "w2s-map-cell", style: { "--level": level.toFixed(2) } });
  const mid = (k) => 20 + step * (k + 0.5), most = Math.max(...data.cells.flat().map(Math.abs)), sum = (y) => svg("g", {},
    svg("circle", { cx: MID, cy: y, r: 8, class: "w2s-map-sum" }), path(`M${MID - 4} ${y}h8M${MID} ${y - 4}v8`));
  const norm = (x, y) => [rect(x, y, 30, 12, { class: "w2s-map-norm" }), text(x + 15, y + 9, "norm", 8)];

  const DRAW = {
    server: () => [rect(3, 3, W - 6, H - 6, { class: "w2s-map-frame" })],
    tokens: () => data.tokens.flatMap((token, k) => [rect(mid(k) - step / 2 + 2, 16, step - 4, 22, { class: "w2s-map-token" }),
      text(mid(k), 31, token.trim(), Math.min(12, 1.6 * step / Math.max(4, token.trim().length))), fine(text(mid(k), 48, `token ${k + 1}`, 6))]),
    embeddings: () => data.cells.flatMap((row, k) => [path(`M${mid(k)} 42v24`), ...row.map((value, i) => rect(mid(k) - step / 2 + 5,
      70 + i * 5.2, step - 10, 4.4, { rx: 1, ...tint(Math.abs(value) / most) }))]),
    norm: () => [path(`M${MID} 118V372`, "w2s-map-stream"), rect(MID - 22, 338, 44, 16, { class: "w2s-map-norm" }), text(MID, 350, "norm", 10),
      text(MID + 34, 238, "residual stream", 10, { transform: `rotate(90 ${MID + 34} 238)` })],
    attention: () => [path(`M${MID} 134H122V148M122 218v10H${MID - 8}`), ...norm(150, 128), rect(66, 148, 112, 70), text(122, 164, "Attention"), sum(228),
      ...data.tokens.flatMap((_, q) => data.tokens.map((__, k) => rect(96 + k * 52 / count, 172 + q * 38 / count, 46 / count, 32 / count,
        { rx: 0.5, ...tint(k > q ? 0 : 0.25 + 0.75 * (k + 1) / (q + 1)) }))), fine(text(80, 193, "queries", 6), text(122, 215, "keys: none after the query", 5.5))],
    cache: () => [rect(8, 152, 50, 62, { class: "w2s-map-cache" }), text(33, 164, "KV", 10), text(33, 208, "cache", 10), path("M58 186h8"),
      ...[0, 1, 2].flatMap((r) => [0, 1, 2, 3].map((c) => rect(14 + c * 10, 169 + r * 10, 8, 8, { rx: 1, ...tint(r * 4 + c < 7 ? 0.7 : 0) })))],
    mlp: () => [path(`M${MID} 242H122V252M122 302v12H${MID - 8}`), ...norm(150, 236), rect(66, 252, 112, 50), text(122, 267, "MLP"), sum(314),
      path("M104 272H140L164 283H80ZM80 286H164L140 297H104Z", "w2s-map-wide"), fine(text(122, 281, "wider", 6), text(122, 293, "and back", 6))],
    logits: () => data.next.flatMap(({ token, share }, k) => [rect(130, 376 + k * 10, 140 * share / data.next[0].share, 8, { class: "w2s-map-bar", rx: 1 }),
      text(124, 383 + k * 10, token.trim() || "␣", 9, { "text-anchor": "end" }), fine(text(134, 382 + k * 10, share.toFixed(3), 6, { "text-anchor": "start", class: "is-on" }))]),
    sampling: () => [path(`M170 428v14`), rect(130, 444, 80, 24, { class: "w2s-map-token is-new" }), text(170, 460, data.next[0].token.trim(), 12),
      path("M210 456H332V27H322m7-5-7 5 7 5"), text(262, 472, "append", 9)],
  };
  const groups = Object.fromEntries(["server", "norm", ...data.parts.map(({ key }) => key).filter((key) => !["server", "norm"].includes(key))].map((key) => {
    const [x, y, w, h] = SPOTS[key];
    return [key, svg("g", { class: "w2s-map-part", onclick: () => steps.go(1 + data.parts.findIndex((part) => part.key === key)) },
      svg("rect", { class: "w2s-map-hit", x, y, width: w, height: h, rx: 6 }), ...DRAW[key]())];
  }));
  const block = svg("g", {}, rect(60, 122, 204, 208, { class: "w2s-map-block" }), text(258, 140, "× N", 12, { "text-anchor": "end" }));
  const picture = tools.picture({ class: "w2s-map-drawing", width: W, height: H }, groups.server, block, ...Object.values(groups).slice(1));
  const title = el("p", { class: "w2s-map-title" }), words = el("p", {}), links = el("ul", {}), panel = el("div", { class: "w2s-map-panel" }, title, words, links);
  let view = [0, 0, W, H], stop = () => {};

  function show(at) {
    const part = data.parts[at - 1], [x, y, w, h] = part ? SPOTS[part.key] : SPOTS.server, wide = Math.max(w + 20, (h + 20) * W / H);
    const size = Math.min(wide, W), tall = size * H / W, within = (at, most) => Math.max(0, Math.min(most, at));  // no empty space beside the map
    const to = part && part.key !== "server" ? [within(x + w / 2 - size / 2, W - size), within(y + h / 2 - tall / 2, H - tall), size, tall] : [0, 0, W, H], from = view;
    stop();
    stop = tools.animate(600, (t) => { view = from.map((value, i) => value + t * (to[i] - value)); set(picture.node, { viewBox: view.map((v) => v.toFixed(2)).join(" ") }); });
    picture.node.classList.toggle("is-near", wide < 260 && Boolean(part));
    for (const key in groups) set(groups[key], { class: `w2s-map-part${part && part.key === key ? " is-here" : ""}` });
    title.textContent = part ? part.label : "The whole map";
    words.textContent = part ? part.text : "A text enters at the top. Every token becomes a vector, passes N blocks, and the last one predicts the next token.";
    links.replaceChildren(...(part ? part.links : []).map(({ label, href }) => el("li", {}, el("a", { href }, label))));
    Object.assign(stage.dataset, { part: part ? part.key : "all" });
    picture.name(part ? `The map, drawn large at: ${part.label}.` : "The whole map.");
    tools.say(part ? `${at} of ${data.parts.length}: ${part.label}.` : "Press a part of the map, or Step, to go into it.");
  }
  const steps = tools.stepper({ label: "Part", count: data.parts.length + 1, still: 0, every: 2600,
    text: (at) => (at ? data.parts[at - 1].label : "whole map"), show });
  stage.append(el("div", { class: "w2s-map-row" }, picture.node, panel), tools.bar(...steps.nodes));
  steps.begin();
});
