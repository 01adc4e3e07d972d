/* Which words of a sentence each vector of a reader has seen: a table of vectors, and the words lit for one of them.

   data = {
     words: ["we", "sat", ...], place: 4,        the sentence, and the word whose vector is asked about first
     readers: [{key, label, columns: [{label: "2 →", name: "layer 2, from the left", step: 1, seen: [[0, 1], ...]}]}]
                                                 for each vector of a column the places that it depends on, as measured;
                                                 step: where the word lies that a language model would ask it for, 0 for none
   } */
window.w2s.register("seen-by-layer", function (stage, data, tools) {
  "use strict";
  const { el } = tools, body = el("tbody", {}), head = el("tr", {});
  let reader = data.readers[0], column = reader.columns.length - 2, place = data.place;
  const table = el("table", { class: "w2s-input" }, el("thead", {}, head), body);

  function show() {
    const one = reader.columns[column], seen = one.seen[place], next = data.words[place + one.step];
    head.replaceChildren(el("th", { scope: "col" }, "vector of"), ...reader.columns.map(({ label, name }) =>
      el("th", { scope: "col", title: name }, label)));
    body.querySelectorAll("tr").forEach((row, t) => {
      row.firstChild.firstChild.className = "w2s-token" + (seen.includes(t) ? " is-near" : "");
      row.querySelectorAll("button").forEach((button, c) => {
        const count = reader.columns[c].seen[t].length, here = t === place && c === column;
        button.textContent = String(count);
        button.className = `w2s-token${here ? " is-centre" : ""}`;
        button.setAttribute("aria-pressed", String(here));
        button.setAttribute("aria-label", `${count} words: ${data.words[t]}, ${reader.columns[c].name}`);
      });
    });
    const asked = next === undefined || !one.step ? "" : seen.includes(place + one.step)
      ? ` A language model would predict “${next}” from it, which it has read: it peeks.`
      : ` A language model predicts “${next}” from it, which it has not read.`;
    Object.assign(stage.dataset, { reader: reader.key, column, place, seen: seen.join() });
    tools.say(`“${data.words[place]}”, ${one.name}, depends on: ${seen.map((t) => data.words[t]).join(" ")}.${asked}`);
  }

  body.append(...data.words.map((word, t) => el("tr", {}, el("th", { scope: "row" }, el("span", { class: "w2s-token" }, word)),
    ...reader.columns.map((_, c) => el("td", {}, tools.button("", () => { [place, column] = [t, c]; show(); }))))));
  const readers = tools.choice({ legend: "Model", value: reader.key, options: data.readers,
    onchange(key) { reader = data.readers.find((one) => one.key === key); show(); } });
  stage.append(tools.bar(readers), el("div", { class: "w2s-scroll", tabindex: 0, role: "group", "aria-label": "Vectors" }, table));
  show();
});
