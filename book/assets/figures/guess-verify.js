/* Guess and verify on a few tokens: what is kept of a guess, what takes its place, and 1,000 draws by the right rule or another.

   data = {
     examples: [{key: "hand", label: "by hand", p: [0.5, 0.25, 0.25], q: [0.25, 0.5, 0.25]}, ...]
     rules: [{key: "right", label: "the rule"}, ...]                right, again (p after a refusal), likeliest, equal
     most: 8, cost: [0, 0.25, 1]                                     largest k; least, first and largest cost of a guess beside a pass
   } */
window.w2s.register("guess-verify", function (stage, data, tools) {
  "use strict";
  const { el } = tools, DRAWS = 1000, NAMES = data.names || ["the", "bank", "river", "money"];
  let now = data.examples[0], [p, q] = [now.p, now.q], rule = "right", k = 3, cost = data.cost[1], counts = null, kept = 0, seed = 1;
  const bars = tools.bars({ rows: 16, text: (value) => value.toFixed(3) }), note = el("p", { class: "w2s-note" });
  const random = () => { seed = (seed * 48271) % 2147483647; return seed / 2147483647; };
  const pick = (shares) => { let left = random() * shares.reduce((a, b) => a + b); const at = shares.findIndex((one) => (left -= one) < 0); return at < 0 ? shares.length - 1 : at; };
  const alpha = () => p.reduce((sum, one, i) => sum + Math.min(one, q[i]), 0), rest = () => p.map((one, i) => Math.max(one - q[i], 0));
  const best = () => q.indexOf(Math.max(...q));

  function draw() {  // [what is said, whether the guess was kept]
    const guess = rule === "likeliest" ? best() : pick(q);
    if (rule === "equal") { const own = pick(p); return [own, own === guess]; }
    if (random() * q[guess] < p[guess]) return [guess, true];
    return [pick(rule === "again" || !rest().some((one) => one > 1e-12) ? p : rest()), false];
  }
  function expected() {  // what comes out in the long run, and the share of guesses that is kept
    const a = alpha(), left = rest(), over = left.reduce((x, y) => x + y, 0);
    if (rule === "right") return [p, a];
    if (rule === "again") return [p.map((one, i) => Math.min(one, q[i]) + (1 - a) * one), a];
    if (rule === "equal") return [p, p.reduce((sum, one, i) => sum + one * q[i], 0)];
    const stays = Math.min(1, p[best()] / q[best()]);
    return [p.map((_, i) => (i === best() ? stays : 0) + (1 - stays) * (over > 1e-12 ? left[i] / over : p[i])), stays];
  }
  function show() {
    const [comes, share] = expected(), wrong = Math.max(...comes.map((one, i) => Math.abs(one - p[i]))) > 1e-9;
    bars.show(p.flatMap((one, i) => [{ label: `${NAMES[i]}: target p`, value: one, hue: "blue" }, { label: "draft q", value: q[i], hue: "orange" }, { label: "both: accepted", value: Math.min(one, q[i]), hue: "green" },
      { label: "output", value: counts ? counts[i] / DRAWS : comes[i], hue: "purple" }]), { most: 1 });
    const tokens = share < 1 ? (1 - share ** (k + 1)) / (1 - share) : k + 1, speed = tokens / (1 + k * cost);
    note.textContent = `${counts ? "Output: of 1,000 draws." : "Output: in the long run."} With ${k} ${k > 1 ? "draft tokens" : "draft token"} of this kind, ${tokens.toFixed(2)} tokens per pass. If a draft token costs ${cost.toFixed(2)} of a pass: ${speed.toFixed(2)} times as fast as without.`;
    tools.say(`${data.rules.find(({ key }) => key === rule).label}: ${(100 * share).toFixed(1)} % of the draft tokens are accepted. Output in the long run ${comes.map((one) => one.toFixed(3)).join(", ")}, wanted ${p.map((one) => one.toFixed(3)).join(", ")}: ${wrong ? "not the same" : "the same"}.`
      + (counts ? ` In 1,000 draws ${counts.map((one) => (one / DRAWS).toFixed(3)).join(", ")}, ${kept} accepted.` : ""));
    Object.assign(stage.dataset, { rule, p: p.map((one) => one.toFixed(4)).join(" "), q: q.map((one) => one.toFixed(4)).join(" "), share: share.toFixed(4), comes: comes.map((one) => one.toFixed(4)).join(" "), counts: counts ? counts.join(" ") : "", tokens: tokens.toFixed(3), speed: speed.toFixed(3) });
  }
  const fresh = () => { counts = null; show(); };
  const first = (shares, share) => { const others = shares.slice(1).reduce((a, b) => a + b, 0); return shares.map((one, i) => (i ? (others > 1e-9 ? one / others : 1 / (shares.length - 1)) * (1 - share) : share)); };
  const percent = (value) => `${value} %`;
  const wanted = tools.slider({ label: `The target's probability of "${NAMES[0]}"`, min: 0, max: 100, step: 5, value: 100 * p[0], text: percent, oninput(value) { p = first(p, value / 100); fresh(); } });
  const guessed = tools.slider({ label: "The draft's probability of it", min: 0, max: 100, step: 5, value: 100 * q[0], text: percent, oninput(value) { q = first(q, value / 100); fresh(); } });
  const many = tools.slider({ label: "Guesses a pass", min: 1, max: data.most, value: k, oninput(value) { k = value; show(); } });
  const price = tools.slider({ label: "A draft token costs", min: data.cost[0], max: data.cost[2], step: 0.05, value: cost, text: (value) => `${value.toFixed(2)} of a pass`, oninput(value) { cost = value; show(); } });
  stage.append(tools.bar(tools.choice({ legend: "Distributions", value: now.key, options: data.examples.map(({ key, label }) => ({ key, label })), onchange(key) {
    now = data.examples.find((one) => one.key === key); [p, q] = [now.p, now.q]; wanted.set(100 * p[0]); guessed.set(100 * q[0]); fresh();
  } })), tools.bar(wanted, guessed), tools.bar(tools.choice({ legend: "What is done", value: rule, options: data.rules, onchange(key) { rule = key; fresh(); } })), tools.bar(many, price),
  tools.bar(tools.button("Draw 1,000", () => {
    [counts, kept] = [p.map(() => 0), 0];
    for (let n = 0; n < DRAWS; n++) { const [said, was] = draw(); counts[said] += 1; kept += was; }
    show();
  })), bars.node, note);
  show();
});
