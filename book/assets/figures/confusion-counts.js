/* Four counts of a two-class model, and the metrics that follow from them.

   data = {
     task: "Move ...",                            what the reader is to do
     counts: {tp: 6, fp: 2, fn: 1, tn: 1},        where the sliders stand at first
     most: 100                                    the largest count
   } */
window.w2s.register("confusion-counts", function (stage, data, tools) {
  "use strict";
  const { el } = tools, counts = { ...data.counts }, bars = tools.bars({ rows: 5, text: (value) => value.toFixed(2) });
  const NAMES = { tp: "true positives", fp: "false positives", fn: "false negatives", tn: "true negatives" };
  const part = (count, of) => (of ? count / of : 0);

  function metrics() {
    const { tp, fp, fn, tn } = counts, root = Math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn));
    return { accuracy: part(tp + tn, tp + fp + fn + tn), precision: part(tp, tp + fp), recall: part(tp, tp + fn),
      F1: part(2 * tp, 2 * tp + fp + fn), MCC: part(tp * tn - fp * fn, root) };
  }

  function draw() {
    const found = metrics(), { tp, fp, fn, tn } = counts;
    bars.show(Object.entries(found).map(([label, value]) => ({ label: value < 0 ? `${label} (negative)` : label, value: Math.abs(value),
      hue: label === "MCC" ? "orange" : label === "F1" ? "green" : "blue" })), { most: 1 });
    Object.assign(stage.dataset, Object.fromEntries(Object.entries(found).map(([name, value]) => [name.toLowerCase(), value.toFixed(4)])));
    tools.say(`${tp + fn} of ${tp + fp + fn + tn} examples are positive, ${tp + fp} are predicted positive. `
      + `Accuracy ${found.accuracy.toFixed(2)}, F1 ${found.F1.toFixed(2)}, MCC ${found.MCC.toFixed(2)}.`);
  }

  const sliders = Object.keys(NAMES).map((key) => tools.slider({ label: NAMES[key], min: 0, max: data.most, value: counts[key],
    oninput(value) { counts[key] = value; draw(); } }));
  stage.append(el("p", { class: "w2s-task" }, data.task), bars.node, tools.bar(...sliders.slice(0, 2)), tools.bar(...sliders.slice(2)));
  draw();
});
