/* Recorded runs of reinforcement under several rewards: what was rewarded, what was right, and how the answers were reached.

   data = {
     task: "Choose ...",
     runs: [{ key: "right", label: "right number", rows: [{ reward: 0.46, right: 0.46, worked_out: 0.52, tokens: 14.4 }, ...] }, ...],
     at: "hacked"                        the run that is shown first
   }   a row is a step: means over its sampled answers */
window.w2s.register("reward-runs", function (stage, data, tools) {
  "use strict";
  const { el } = tools, axis = tools.axes({ xLabel: "step", yLabel: "share of the sampled answers", text: (value) => `${Number(value.toFixed(1))}` });
  const picture = tools.picture({ class: "w2s-chart" }, axis.node), LINES = [["reward", "blue", "solid"], ["right", "green", "dashed"], ["worked_out", "orange", "dotted"]];
  let run = data.runs.find(({ key }) => key === data.at), at = run.rows.length, width = 560;
  const percent = (share) => `${Math.round(100 * share)} %`;

  function draw() {
    const box = [46, 24, width - 12, 220], x = tools.scale([1, run.rows.length], [box[0], box[2]]), y = tools.scale([0, 1], [box[3], box[1]]), seen = run.rows.slice(0, at), now = seen[at - 1];
    tools.set(picture.node, { viewBox: `0 0 ${width} 264`, width });
    axis.show({ x, y, box, lines: LINES.map(([name, hue, line]) => ({ points: seen.map((row, n) => [n + 1, row[name]]), hue, line })), dot: [at, now.reward] });
    picture.name(`Reward: ${run.label}. Mean reward, share of right sums and share of answers with steps, up to step ${at}.`);
    tools.say(`Step ${at}, ${run.label}: mean reward ${now.reward.toFixed(2)}, ${percent(now.right)} right, ${percent(now.worked_out)} worked out, ${now.tokens.toFixed(1)} tokens per answer.`);
    Object.assign(stage.dataset, { run: run.key, at, reward: now.reward, right: now.right, worked: now.worked_out });
  }
  const rewards = tools.choice({ legend: "Reward", value: run.key, options: data.runs.map(({ key, label }) => ({ key, label })), onchange(key) { run = data.runs.find((one) => one.key === key); draw(); } });
  const steps = tools.slider({ label: "Step", min: 1, max: run.rows.length, value: at, oninput(value) { at = Number(value); draw(); } });
  const key = tools.legend([{ label: "mean reward", line: "solid", hue: "blue" }, { label: "right", line: "dashed", hue: "green" }, { label: "worked out", line: "dotted", hue: "orange" }]);
  stage.append(el("p", { class: "w2s-task" }, data.task), tools.bar(rewards), picture.node, key.node, tools.bar(steps));
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
