/* A real model with one wrong line: what it loses on real text, and how it goes on.

   data = {
     lines: [{key, part: "norm", label, right: "x / rms(x) * w", wrong: "x / rms(x)", loss: 15.17, written: [text, ...] or null}, ...]   the first is right
     prompts: ["We sat on the bank of the", ...], uniform: 10.8            what guessing among all tokens loses, in nats
   }
   A loss of null is no number; a text of null could not be written. */
window.w2s.register("wrong-line", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { lines, prompts, uniform } = data, right = lines[0], parts = [...new Set(lines.slice(1).map(({ part }) => part))];
  const bars = tools.bars({ rows: 3, text: (value) => value.toFixed(2) }), code = el("div", { class: "w2s-cuts" }), texts = el("div", { class: "w2s-cuts" });
  const most = Math.max(uniform, ...lines.map(({ loss }) => loss || 0));
  let part = parts[0], line = lines.find((one) => one.part === part), prompt = 0, picks = null;
  const bar = el("div", {});

  const block = (name, ...body) => el("section", { class: "w2s-cut" }, el("p", { class: "w2s-cut-name" }, el("strong", {}, name)), ...body);
  const quote = (written) => el("p", { class: "w2s-quoted" }, el("strong", {}, prompts[prompt]),
    written ? written[prompt].replaceAll("\n", " ⏎ ") || " (it ends at once)" : " (no token can be chosen: no logit is a number)");
  const told = (loss) => (loss === null ? "no number" : `${loss.toFixed(2)} nats per token`);

  function draw() {
    code.replaceChildren(block("right", el("p", { class: "w2s-quoted" }, el("code", {}, line.right))), block("wrong", el("p", { class: "w2s-quoted" }, el("code", {}, line.wrong))));
    bars.show([{ label: "right", value: right.loss, hue: "blue" }, ...(line.loss === null ? [] : [{ label: "wrong", value: line.loss, hue: "orange" }]),
      { label: "uniform distribution", value: uniform, hue: "grey" }], { most });
    texts.replaceChildren(block("right", quote(right.written)), block("wrong", quote(line.written)));
    const than = line.loss === null ? "" : line.loss > uniform ? " Worse than a uniform distribution: it is confident of wrong tokens."
      : line.loss - right.loss < 0.1 ? " Less than a tenth of a nat more: you would not see it in the text." : "";
    tools.say(`${line.label}: ${told(line.loss)}; right: ${told(right.loss)}.${than}`);
    Object.assign(stage.dataset, { line: line.key, loss: String(line.loss), prompt, part });
  }
  function choose() {
    const some = lines.filter((one) => one.part === part);
    [line] = some;
    picks = tools.choice({ legend: "What is wrong", value: line.key, options: some, onchange(key) { line = lines.find((one) => one.key === key); draw(); } });
    bar.replaceChildren(tools.bar(picks));
  }
  const places = tools.choice({ legend: "Where", value: part, options: parts.map((key) => ({ key, label: key })), onchange(key) { part = key; choose(); draw(); } });
  const starts = tools.choice({ legend: "Prompt", value: "0", options: prompts.map((label, n) => ({ key: String(n), label })), onchange(key) { prompt = Number(key); draw(); } });
  choose();
  stage.append(tools.bar(places), bar, code, bars.node, tools.bar(starts), texts);
  draw();
});
