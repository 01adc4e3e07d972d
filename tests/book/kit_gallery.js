/* Every part of the kit once, for the tests: what chapter 1 has no figure for must work too. */
window.w2s.register("kit-gallery", function (stage, data, tools) {
  "use strict";
  let width = 600;
  const heading = (text) => tools.el("h2", {}, text);
  const words = ["we", "sat", "on", "the", "bank"];
  const tokens = tools.tokenLines([words], { onpick(line, place) {
    tokens.show({ focus: [line, place], near: [place - 1, place + 1], levels: [words.map((_, i) => i / 4)] });
    stage.dataset.picked = words[place];
  } });
  const matrix = tools.matrix({ rows: ["query 1", "query 2"], columns: words });
  const axes = tools.axes({ xLabel: "steps", yLabel: "loss" });
  const chart = tools.picture({ class: "w2s-chart" }, axes.node);
  const bars = tools.bars({ rows: 4 });
  const timeline = tools.timeline({ rows: ["request a", "request b"], end: 8 });
  const diagram = tools.diagram({ width: 600, height: 130, onpick(key) { diagram.show({ lit: [key] });
  stage.dataset.box = key; },
    boxes: [{ key: "embed", x: 10, y: 40, width: 120, height: 50, label: "embedding" },
      { key: "block", x: 230, y: 40, width: 120, height: 50, label: "block", hue: "orange" },
      { key: "head", x: 450, y: 10, width: 120, height: 50, label: "head" }],
    arrows: [{ from: "embed", to: "block", label: "(T, C)" }, { from: "block", to: "head" }] });
  const legend = tools.legend([{ label: "river", ...tools.meanings(["river"]).river }, { label: "without a cache",
    line: "dashed", hue: "orange" }]);
  const field = tools.textField({ label: "Your text", value: "bank", oninput(text) { stage.dataset.text = text; } });

  function show(at) {
    matrix.show({ values: [words.map((_, i) => (i <= at ? 0.2 : 0)), words.map((_, i) => i / 10)], most: 0.5,
      row: at % 2, text: (v) => v.toFixed(1).slice(1) });
    axes.show({ x: tools.scale([0, 1000], [50, width - 20]), y: tools.scale([1.5, 4.2], [190, 20]), box: [50, 20, width - 20, 190],
      dot: [at * 250, 4 - at / 2],
      lines: [{ points: [0, 1, 2, 3, 4].map((n) => [n * 250, 4 - n / 2]) }, { points: [[0, 4], [1000, 3]],
        hue: "orange", line: "dashed" }] });
    bars.show([{ label: "shore", value: 0.1 * (at + 1) }, { label: "money", value: 0.3, hue: "purple",
      note: "nats" }].slice(0, at + 1), { most: 1 });
    timeline.show({ now: at, items: [{ row: 0, start: 0, end: 3, label: "prefill" }, { row: 1, start: 3, end: 3 + at,
      label: "decode", hue: "orange" }] });
    stage.dataset.at = at;
    tools.say(`Stop ${at}.`);
  }
  const steps = tools.stepper({ label: "Stop", count: 5, text: String, show });
  tokens.show({});
  chart.name("Two curves.");
  matrix.name("Two rows of weights.");
  timeline.name("Two requests over time.");
  diagram.name("Three boxes.");
  stage.append(tools.bar(...steps.nodes, field), heading("Tokens"), tokens.node, heading("Matrix"), matrix.node,
    heading("Axes"), chart.node,
    legend.node, heading("Bars"), bars.node, heading("Timeline"), timeline.node, heading("Boxes"), diagram.node);
  tools.onWidth((pixels) => {
    width = pixels;
    tools.set(chart.node, { viewBox: `0 0 ${width} 240` });
    timeline.fit(width);
    steps.begin();
  });
});
