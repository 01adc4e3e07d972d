/* A budget of operations, split between parameters and tokens: the law that was fitted to small runs, its doubts, and the runs.

   data = {
     laws: [{key: "without", label: "without the tables", law: {floor, a, b, alpha, beta}, drawn: [law, ...],
             runs: [{parameters, tokens, nats, largest: false}, ...]}, ...]      ways to count the parameters, each with a law of its own
                                  loss = floor + a / N^alpha + b / D^beta; `drawn` are fits to runs drawn again, if there are any
     budgets: {low: 13, high: 16, step: 0.1, start: 14}     powers of ten; 6 N D operations
   } */
window.w2s.register("budget-split", function (stage, data, tools) {
  "use strict";
  const { laws, budgets } = data, tall = 250, log = Math.log10;
  const axis = tools.axes({ xLabel: "parameters", yLabel: "nats a token", text: (value) => value });
  const picture = tools.picture({ class: "w2s-axes-picture" }, axis.node);
  const sizes = laws.flatMap((one) => one.runs.map((run) => log(run.parameters))), range = [Math.min(...sizes) - 0.6, Math.max(...sizes) + 0.6];
  const loss = (one, N, D) => one.floor + one.a / N ** one.alpha + one.b / D ** one.beta;
  const places = Array.from({ length: 61 }, (_, n) => range[0] + (n / 60) * (range[1] - range[0]));
  const along = (one, flops) => places.map((place) => [place, loss(one, 10 ** place, flops / 6 / 10 ** place)]);
  const best = (one, flops) => {
    const balance = (one.alpha * one.a / (one.beta * one.b)) ** (1 / (one.alpha + one.beta)), share = one.beta / (one.alpha + one.beta);
    return balance * (flops / 6) ** share;
  };
  const short = (value) => (value >= 1e6 ? `${(value / 1e6).toFixed(2)} million` : `${Math.round(value / 1000).toLocaleString("en")} thousand`);
  let power = budgets.start, width = 560, way = laws[0];

  function draw() {
    const { law, drawn, runs } = way, flops = 10 ** power, all = runs.map((run) => run.nats), x = tools.scale(range, [44, width - 12]);
    const y = tools.scale([Math.min(...all) - 0.4, Math.max(...all) + 0.5], [tall, 22]), inside = ([, nats]) => y(nats) >= 22 && y(nats) <= tall;
    tools.set(picture.node, { viewBox: `0 0 ${width} ${tall + 40}`, width });
    axis.show({ x: null, y, box: [44, 22, width - 12, tall], many: [0, 5], lines: [...drawn.map((one) => ({ points: along(one, flops).filter(inside).map(([a, b]) => [x(a).toFixed(1), b]), hue: "grey", line: "dotted" })),
      { points: along(law, flops).filter(inside).map(([a, b]) => [x(a).toFixed(1), b]), hue: "blue" }] });
    for (const value of [4, 5, 6]) if (value > range[0] && value < range[1]) axis.node.append(tools.svg("text", { class: "w2s-tick", x: x(value), y: tall + 17, "text-anchor": "middle" }, value === 6 ? "1 million" : `${10 ** value / 1000} thousand`));
    const near = runs.filter((run) => Math.abs(log(6 * run.parameters * run.tokens) - power) < 0.15);
    for (const run of runs) axis.node.append(tools.svg("circle", { class: `w2s-mark hue-${run.largest ? "orange" : "blue"}${near.includes(run) ? " is-lit" : ""}`, cx: x(log(run.parameters)), cy: y(run.nats), r: near.includes(run) ? 6 : 3 }));
    const N = best(law, flops), D = flops / 6 / N, others = drawn.map((one) => best(one, flops)).sort((a, b) => a - b);
    const [low, high] = [others[Math.floor(0.025 * others.length)], others[Math.ceil(0.975 * others.length) - 1]];
    picture.name(`Loss against parameters for a budget of ten to the power ${power.toFixed(1)} operations.`);
    tools.say(`${flops.toExponential(1)} operations: the law wants ${short(N)} parameters and ${short(D)} tokens, ${(D / N).toFixed(0)} a parameter, for ${loss(law, N, D).toFixed(2)} nats. `
      + `${drawn.length ? `Fits to runs drawn again want between ${short(low)} and ${short(high)} parameters. ` : ""}${near.length} of our runs cost about as much.`);
    Object.assign(stage.dataset, { way: way.key, power: power.toFixed(1), parameters: Math.round(N), tokens: Math.round(D), near: near.length });
  }

  const slider = tools.slider({ label: "Budget", min: budgets.low, max: budgets.high, step: budgets.step, value: power,
    text: (value) => `${(10 ** value).toExponential(1)} operations`, oninput(value) { power = Number(value); draw(); } });
  const picks = tools.choice({ legend: "Parameters counted", value: way.key, options: laws.map(({ key, label }) => ({ key, label })),
    onchange(key) { way = laws.find((one) => one.key === key); draw(); } });
  stage.append(tools.bar(slider), tools.bar(picks), picture.node, tools.legend([{ label: "the law, at this budget", line: "solid", hue: "blue" }, { label: "fits to runs drawn again", line: "dotted", hue: "grey" },
    { label: "a run; large where it cost about as much", mark: 0, hue: "blue" }, { label: "the largest", mark: 0, hue: "orange" }]).node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
