/* A sequence that comes twice, and where the heads of a small language model look at each of its tokens.

   data = {
     task: "What to try",                                  stands above the words
     tokens: ["a", "b", ...], half: 8,                     the sequence twice, `half` tokens each time
     heads: [{key: "1.2", label: "previous-token head", weights: [[...], ...]}, ...]     a row a query
     next: [{token: "b", share: 0.9}, ...]                 for each token the likeliest next one
     first: 11                                             where it opens; left out: at the first token
     right: [0.01, ...]                                    the probability of the token that does come next
   } */
window.w2s.register("induction-heads", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { tokens, half, heads } = data, lines = [tokens.slice(0, half), tokens.slice(half)];
  let head = heads[heads.length - 1], at = 0;
  const words = tools.tokenLines(lines, { onpick: (line, place) => go(line * half + place) });
  const bars = tools.bars({ rows: 2, text: (value) => `${(100 * value).toFixed(1)} %` });

  function show() {
    const row = head.weights[at], most = Math.max(...row), best = row.indexOf(most), own = [Math.floor(at / half), at % half];
    const levels = lines.map((line, l) => line.map((_, i) => Math.min(1, row[l * half + i] || 0)));
    words.show({ focus: own, levels });
    const follows = tokens[at + 1];
    bars.show([{ label: `best: ${data.next[at].token}`, value: data.next[at].share, hue: "orange" },
      ...(follows ? [{ label: `true: ${follows}`, value: data.right[at], hue: "green" }] : [])], { most: 1 });
    const place = best === at ? "itself" : best === at - 1 ? "the token before" : best === at - half + 1
      ? "the token after its earlier occurrence" : `“${tokens[best]}”`;
    tools.say(`${head.label}, “${tokens[at]}”: most weight on ${place} (${Math.round(100 * most)} %).`);
    Object.assign(stage.dataset, { at, head: head.key, best });
  }
  const steps = tools.stepper({ label: "Token", count: tokens.length - 1, text: (step) => `${step + 1} of ${tokens.length}`,
    first: data.first || 0, still: half + 2, show(to) { at = to; show(); } });
  function go(to) { steps.go(Math.min(to, tokens.length - 2)); }
  const choice = tools.choice({ legend: "Head", value: head.key, options: heads, onchange(key) {
    head = heads.find((one) => one.key === key); show(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), words.node, bars.node, tools.bar(steps.nodes[1], steps.nodes[2], steps.nodes[3]),
    tools.bar(choice));
  steps.begin();
});
