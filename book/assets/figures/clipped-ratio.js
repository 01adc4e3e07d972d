/* PPO's clipped objective against the ratio, and a recorded run of GRPO beside it.

   data = {
     clip: 0.2, most: 2,                                    the ratio goes from 0 to `most`
     run: [{step, reward, clipped, alike}, ...],            a recorded run, by step
     tested: [{step, sampled, by_steps}, ...]               and its accuracy on held-out problems
   } */
window.w2s.register("clipped-ratio", function (stage, data, tools) {
  "use strict";
  const { el } = tools, chart = tools.axes({ xLabel: "ratio", yLabel: "objective", text: (value) => value.toFixed(1) });
  const curve = tools.axes({ xLabel: "step", yLabel: "share", text: (value) => `${Number(value.toFixed(2))}` });
  const one = tools.picture({ class: "w2s-chart" }, chart.node), two = tools.picture({ class: "w2s-chart" }, curve.node);
  let ratio = tools.asStill ? 1.5 : 1, advantage = 2, at = data.run.length, width = 560;
  const clipped = (r) => Math.min(r * advantage, Math.min(Math.max(r, 1 - data.clip), 1 + data.clip) * advantage);

  function draw() {
    const flat = advantage > 0 ? ratio > 1 + data.clip : ratio < 1 - data.clip, least = Math.min(0, data.most * advantage), highest = Math.max(0, data.most * advantage);
    const box = [46, 24, width - 12, 200], x = tools.scale([0, data.most], [box[0], box[2]]), y = tools.scale([least, highest], [box[3], box[1]]);
    const points = Array.from({ length: 81 }, (_, i) => data.most * i / 80);
    tools.set(one.node, { viewBox: `0 0 ${width} 244`, width });
    chart.show({ x, y, box, lines: [{ points: points.map((r) => [r, r * advantage]), hue: "orange", line: "dashed" }, { points: points.map((r) => [r, clipped(r)]), hue: "blue" }],
      dot: [ratio, clipped(ratio)] });
    one.name(`The clipped objective for an advantage of ${advantage}, with the unclipped as a dashed line.`);
    const steps = tools.scale([0, data.run.length], [box[0], box[2]]), shares = tools.scale([0, 1], [box[3], box[1]]), seen = data.run.slice(0, at);
    tools.set(two.node, { viewBox: `0 0 ${width} 244`, width });
    curve.show({ x: steps, y: shares, box, lines: [{ points: seen.map((row) => [row.step, row.reward]), hue: "blue" }, { points: seen.map((row) => [row.step, row.alike]), hue: "orange", line: "dashed" },
      { points: data.tested.filter(({ step }) => step <= at).map((row) => [row.step, row.sampled]), hue: "green" }] });
    two.name(`A recorded run up to step ${at}: mean reward, share of groups without a difference, held-out accuracy of a sampled chain.`);
    const now = data.run[at - 1];
    tools.say(`Ratio ${ratio.toFixed(2)}, advantage ${advantage}: the objective is ${clipped(ratio).toFixed(2)}${flat ? ", on its flat part: no gradient" : `, its slope ${advantage}`}. `
      + `Step ${now.step} of the run: reward ${now.reward.toFixed(2)}, ${Math.round(100 * now.alike)} % of the groups all alike, ${(100 * now.clipped).toFixed(1)} % of the tokens flat.`);
    Object.assign(stage.dataset, { ratio, advantage, objective: clipped(ratio).toFixed(4), flat, at });
  }
  const ratios = tools.slider({ label: "Ratio", min: 0, max: data.most, step: 0.05, value: ratio, text: (value) => value.toFixed(2), oninput(value) { ratio = value; draw(); } });
  const better = tools.choice({ legend: "Advantage", value: "2", options: ["2", "1", "-1", "-2"].map((key) => ({ key, label: key })), onchange(key) { advantage = Number(key); draw(); } });
  const steps = tools.slider({ label: "Step of the run", min: 1, max: data.run.length, value: at, oninput(value) { at = value; draw(); } });
  stage.append(tools.bar(better), tools.bar(ratios), one.node, tools.bar(steps), el("p", { class: "w2s-note" },
    "Blue: mean reward of the sampled chains. Orange, dashed: share of groups whose chains were all as good. Green: a sampled chain on held-out problems."), two.node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
