/* A window slides over sentences and the count matrix fills.

   data = {
     sentences: [["we", "sat", ...], ...],   tokens, in reading order; a window never crosses a sentence
     vocabulary: ["we", "sat", ...],         rows and columns, in this order; at most 14 keep the picture legible;
                                             a token outside it keeps its position in the window but is not counted
     window: 2,                              words on each side at the start
     largest_window: 4,                      optional, the end of the slider (default 4)
     task: "Step ..."                        optional, what the reader is to do
   }
   The counts are those of reference_impl.embeddings.counts.window_counts: a pair is counted once from each side. */
window.w2s.register("window-counts", function (stage, data, tools) {
  "use strict";
  const words = data.vocabulary;
  const places = data.sentences.flatMap((tokens, line) => tokens.map((word, i) => ({ line, i, word, tokens })));
  let reach = data.window, said = "";

  const neighbours = ({ tokens, i }) => tokens.map((_, j) => j).filter((j) => j !== i && Math.abs(j - i) <= reach);

  function countsUpTo(last) {
    const counts = words.map(() => words.map(() => 0));
    for (const place of places.slice(0, last + 1)) {
      const row = words.indexOf(place.word);
      for (const column of neighbours(place).map((j) => words.indexOf(place.tokens[j])))
        if (row >= 0 && column >= 0) counts[row][column] += 1;
    }
    return counts;
  }

  const text = tools.tokenLines(data.sentences), matrix = tools.matrix({ rows: words, columns: words });

  function show(at) {
    const place = places[at], around = neighbours(place), met = around.map((j) => place.tokens[j]);
    const values = countsUpTo(at), before = countsUpTo(at - 1), total = values.flat().reduce((sum, n) => sum + n, 0);
    text.show({ focus: [place.line, place.i], near: around });
    matrix.show({ values, most: Math.max(1, ...countsUpTo(places.length - 1).flat()), row: words.indexOf(place.word),
      columns: met.map((word) => words.indexOf(word)), fresh: (r, c) => values[r][c] > before[r][c] });
    matrix.name(`Count matrix after ${at + 1} of ${places.length} positions: ${total} pairs counted.`);
    Object.assign(stage.dataset, { counts: JSON.stringify(values), at });
    tools.say(`${said}Centre word ${at + 1} of ${places.length}: “${place.word}” meets `
      + `${met.join(", ") || "no word"}. ${total} pairs counted so far.`);
    said = "";
  }

  const steps = tools.stepper({ label: "Centre word", count: places.length,
    text: (at) => `${at + 1} of ${places.length}`, show });
  const width = tools.slider({ label: "Window", min: 1, max: data.largest_window || 4, value: reach,
    text: (value) => `${value} on each side`,
    oninput(value) { reach = value; said = `Window of ${value}. `; show(steps.at()); } });
  const task = data.task ? [tools.el("p", { class: "w2s-task" }, data.task)] : [];
  stage.append(...task, text.node, matrix.node, tools.bar(...steps.nodes, width));
  steps.begin();
});
