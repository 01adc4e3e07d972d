/* Generalized advantage estimation: the weights of the one-step errors, and the bias, standard deviation and root mean
   squared error of their sum over all values of lambda.

   data = {
     tokens: 8, answers: 64,                tokens of an answer, each adding a reward of 1 or -1 by chance; answers averaged
     critics: [{key, label, share}, ...],   the share of the reward so far that a critic has noticed: 1 is exact
     at: 0.95, critic: "half",              where the slider and the choice begin
     task: "Move ..."
   }
   The estimate is that of the first token, whose reward was 1, as a mean over the answers. With a critic V_t = c S_t, where S_t is the reward so far,
   the errors are c times the tokens' rewards, and the last one is that token's reward and (1 - c) S. */
window.w2s.register("advantage-mix", function (stage, data, tools) {
  "use strict";
  const { el, svg, set } = tools, T = data.tokens, ROOM = 78;
  const chart = tools.axes({ xLabel: "λ", text: (value) => String(Number(value.toFixed(1))) });
  const weights = svg("g", {}), title = svg("text", { class: "w2s-axis-label", x: 8, y: 14 }, "weight of each one-step error");
  const top = tools.picture({ class: "w2s-chart" }, title, weights), bottom = tools.picture({ class: "w2s-chart" }, chart.node);
  let lambda = data.at, key = data.critic, width = 560;

  function measure(at) {
    const c = data.critics.find((critic) => critic.key === key).share, end = at ** (T - 1);
    const bias = (c - 1) * (1 - end);
    let variance = end ** 2;
    for (let l = 1; l < T - 1; l++) variance += (c * at ** l + (1 - c) * end) ** 2;
    variance /= data.answers;
    return { bias, spread: Math.sqrt(variance), error: Math.sqrt(bias ** 2 + variance) };
  }

  function draw() {
    const step = (width - 16) / T, now = measure(lambda), curve = Array.from({ length: 51 }, (_, i) => i / 50);
    set(top.node, { viewBox: `0 0 ${width} ${ROOM + 42}`, width });
    weights.replaceChildren(...Array.from({ length: T }, (_, l) => {
      const weight = lambda ** l, high = Math.max(1, weight * (ROOM - 28)), x = 8 + l * step;
      return svg("g", {}, svg("rect", { class: "w2s-area hue-blue", x: x + 3, y: ROOM - high + 6, width: step - 6, height: high }),
        svg("text", { class: "w2s-tick", x: x + step / 2, y: ROOM - high, "text-anchor": "middle" }, weight.toFixed(2)),
        svg("text", { class: "w2s-axis-label", x: x + step / 2, y: ROOM + 24, "text-anchor": "middle" }, `δ${l ? "₁₂₃₄₅₆₇₈₉"[l - 1] : "₀"}`));
    }));
    const box = [34, 14, width - 12, 150], x = tools.scale([0, 1], [box[0], box[2]]), y = tools.scale([0, 1], [box[3], box[1]]);
    const line = (of, hue, kind) => ({ points: curve.map((at) => [at, of(measure(at))]), hue, line: kind });
    set(bottom.node, { viewBox: `0 0 ${width} 190`, width });
    chart.show({ x, y, box, many: [5, 4], dot: [lambda, now.error], lines: [line(({ bias }) => Math.abs(bias), "orange", "dashed"),
      line(({ spread }) => spread, "blue", "dotted"), line(({ error }) => error, "green", "solid")] });
    top.name(`Weights of the one-step errors at λ ${lambda}.`);
    bottom.name("Bias, standard deviation and root mean squared error of the advantage of the first token, over λ.");
    Object.assign(stage.dataset, { lambda, critic: key, bias: now.bias.toFixed(4), spread: now.spread.toFixed(4) });
    tools.say(`λ = ${lambda.toFixed(2)}: bias ${now.bias.toFixed(2).replace("-", "−")}, standard deviation ${now.spread.toFixed(2)}, `
      + `root mean squared error ${now.error.toFixed(2)}. True advantage: 1.`);
  }
  const slider = tools.slider({ label: "λ", min: 0, max: 1, step: 0.05, value: lambda, text: (value) => value.toFixed(2),
    oninput(value) { lambda = value; draw(); } });
  const critics = tools.choice({ legend: "The critic has noticed", value: key, options: data.critics, onchange(chosen) { key = chosen; draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), top.node, bottom.node, tools.legend([
    { label: "size of the bias", hue: "orange", line: "dashed" }, { label: "standard deviation", hue: "blue", line: "dotted" },
    { label: "root mean squared error", hue: "green", line: "solid" }]).node, tools.bar(slider), tools.bar(critics));
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
