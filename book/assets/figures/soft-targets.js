/* A teacher's distribution over all tokens, softened by a temperature, and a student's next to it.

   data = {
     examples: [{text: "he went to the ___ .", was: "city", names: {"812": "land", ...}, teacher: [logit, ...], student: [logit, ...]}]
   }                                      logits of the whole vocabulary, computed by torch; `names` has the tokens that are shown
   The distance is reference_impl.objectives.distillation.soft_terms: KL(teacher || student) at the temperature, times its square. */
window.w2s.register("soft-targets", function (stage, data, tools) {
  "use strict";
  const { el } = tools, MOST = 6, text = (share) => (share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`);
  const rows = { teacher: tools.bars({ rows: MOST, text }), student: tools.bars({ rows: MOST, text }) };
  const HUE = { teacher: "blue", student: "orange" };
  let now = data.examples[0], temperature = tools.asStill ? 2 : 1;

  function softened(logits) {
    const high = Math.max(...logits), powers = logits.map((logit) => Math.exp((logit - high) / temperature));
    const sum = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / sum);
  }

  function show() {
    const shares = { teacher: softened(now.teacher), student: softened(now.student) };
    const order = Object.keys(now.names).map(Number).sort((a, b) => now.teacher[b] - now.teacher[a]).slice(0, MOST);
    for (const who of ["teacher", "student"])  // the longest bar is the largest share, so that the order can be seen at any temperature
      rows[who].show(order.map((id) => ({ label: now.names[id], value: shares[who][id], hue: HUE[who] })));
    const loss = shares.teacher.reduce((sum, share, id) => (share > 0 ? sum + share * Math.log(share / shares.student[id]) : sum), 0);
    const wrong = order.slice(1).reduce((sum, id) => sum + shares.teacher[id], 0), top = shares.teacher[order[0]];
    Object.assign(stage.dataset, { text: now.text, temperature, loss, top, shares: JSON.stringify(order.map((id) => shares.teacher[id])) });
    tools.say(`Temperature ${temperature}: the teacher gives “${now.names[order[0]]}” ${text(top)}, the next ${order.length - 1} answers ${
      text(wrong)} and all others ${text(Math.max(0, 1 - top - wrong))}. From teacher to student ${loss.toFixed(3)} nats; times T², ${(loss * temperature ** 2).toFixed(2)}.`);
  }
  const heat = tools.slider({ label: "Temperature", min: 0.5, max: 4, step: 0.25, value: temperature, text: (value) => value.toFixed(2),
    oninput(value) { temperature = value; show(); } });
  const picks = tools.choice({ legend: "Text", value: now.text, options: data.examples.map((one) => ({ key: one.text, label: one.text })),
    onchange(key) { now = data.examples.find((one) => one.text === key); show(); } });
  const named = (who, name) => el("div", { class: "w2s-cut" }, el("p", { class: "w2s-cut-name" }, name), rows[who].node);
  stage.append(...(data.task ? [el("p", { class: "w2s-task" }, data.task)] : []), named("teacher", "the teacher, two layers"), named("student", "the student, one layer, not yet trained"), tools.bar(heat), tools.bar(picks));
  show();
});
