/* A tuning step made of examples of several kinds: how many of its labels each kind has, and what the step costs.

   data = {
     task: "Double the sums ...",
     kinds: [{ key: "sums", label: "sums", rows: 16, tokens: 38.9, labels: 14.0, most: 40, hue: "green", fixed: false }, ...]
   }   tokens and labels are means over the examples of a kind; `fixed` kinds have no slider; hue is a palette colour */
window.w2s.register("tuning-mix", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { kinds } = data, rows = Object.fromEntries(kinds.map((kind) => [kind.key, kind.rows]));
  const bars = tools.bars({ rows: kinds.length, text: (share) => `${Math.round(100 * share)} %` });
  const total = (name) => kinds.reduce((sum, kind) => sum + rows[kind.key] * kind[name], 0);
  const before = total("tokens");

  function draw() {
    const labels = total("labels"), tokens = total("tokens");
    const shares = kinds.map((kind) => (labels ? rows[kind.key] * kind.labels / labels : 0));
    bars.show(kinds.map((kind, n) => ({ label: kind.label, value: shares[n], hue: kind.hue })), { most: 1 });
    const first = kinds.reduce((best, kind, n) => (shares[n] > shares[best] ? n : best), 0);
    tools.say(`${Math.round(labels)} labels in ${Math.round(tokens)} tokens, ${(tokens / before).toFixed(2)} times the recipe's cost. Most labels: ${kinds[first].label}, with ${rows[kinds[first].key]} rows.`);
    Object.assign(stage.dataset, { labels: labels.toFixed(1), tokens: tokens.toFixed(1), shares: shares.map((one) => one.toFixed(3)).join(" ") });
  }
  const sliders = kinds.filter(({ fixed }) => !fixed).map((kind) => tools.slider({ label: `Rows: ${kind.label}`, min: 0, max: kind.most, value: kind.rows, oninput(value) { rows[kind.key] = Number(value); draw(); } }));
  stage.append(el("p", { class: "w2s-task" }, data.task), bars.node, tools.bar(...sliders));
  draw();
});
