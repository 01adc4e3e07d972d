/* Words are clicked through O, B and I of a kind; the share of right tags and the F1 of entities move with them.

   data = {
     kinds: ["PER", "LOC", "ORG"],
     sentences: [{label: "by hand", words: ["last", ...], true: ["O", ...],
                  said: [{label: "all O", tags: ["O", ...]}, ...]}, ...]     what can be started from; the first is
   }
   Entities are read as reference_impl.measure.spans reads them: an I after O, or after another kind, begins one. */
window.w2s.register("tags-by-hand", function (stage, data, tools) {
  "use strict";
  const { el } = tools, line = el("p", { class: "w2s-sentence" }), from = el("div", {});
  const bars = tools.bars({ rows: 4, text: (value) => value.toFixed(2) });
  let at = 0, kind = data.kinds[0], tags = [...data.sentences[0].said[0].tags], truth = tools.asStill;

  function entities(row) {
    const found = [];
    let start = 0, open = "";
    [...row, "O"].forEach((tag, place) => {
      const [mark, own = ""] = tag.split("-");
      if (mark === "I" && own === open) return;
      if (open) found.push(`${open} ${start} ${place}`);
      [start, open] = [place, own];
    });
    return found;
  }
  const named = (key) => { const [own, start, end] = key.split(" "); return `${own} ${data.sentences[at].words.slice(start, end).join(" ")}`; };

  function show() {
    const sentence = data.sentences[at], said = entities(tags), wanted = entities(sentence.true);
    const right = said.filter((key) => wanted.includes(key)), share = (part, whole) => (whole ? part / whole : 0);
    const same = tags.filter((tag, i) => tag === sentence.true[i]).length;
    line.replaceChildren(...sentence.words.map((word, i) => tools.button([word, ...(tags[i] === "O" ? [] : [` ${tags[i]}`]),
      ...(truth && tags[i] !== sentence.true[i] ? [` (${sentence.true[i]})`] : [])].join(""), () => turn(i),
      { class: `w2s-token${tags[i] === "O" ? "" : " is-near"}${truth && tags[i] !== sentence.true[i] ? " is-centre" : ""}` })));
    const f1 = share(2 * right.length, said.length + wanted.length);
    bars.show([["tags right", same / tags.length, "grey"], ["precision", share(right.length, said.length), "blue"],
      ["recall", share(right.length, wanted.length), "blue"], ["entity F1", f1, "orange"]].map(([label, value, hue]) => ({ label, value, hue })), { most: 1 });
    Object.assign(stage.dataset, { at, tags: tags.join(" "), accuracy: (same / tags.length).toFixed(4), f1: f1.toFixed(4), said: said.join(",") });
    const list = (some) => some.map(named).join("; ") || "none";
    tools.say(`${same} of ${tags.length} tags are right. Found: ${list(right)}. Named and wrong: ${list(said.filter((key) => !wanted.includes(key)))}. `
      + `Missed: ${list(wanted.filter((key) => !said.includes(key)))}.`);
  }
  function turn(i) {
    const ring = ["O", `B-${kind}`, `I-${kind}`];
    tags[i] = ring.includes(tags[i]) ? ring[(ring.indexOf(tags[i]) + 1) % ring.length] : ring[1];  // of another kind: begin anew
    show();
    line.children[i].focus();
  }
  function begin() {
    const { said } = data.sentences[at];
    tags = [...said[0].tags];
    from.replaceChildren(tools.bar(...said.map(({ label, tags: given }) => tools.button(label, () => { tags = [...given]; show(); }))));
    show();
  }
  const sentences = tools.choice({ legend: "Sentence", value: data.sentences[0].label, options: data.sentences.map(({ label }) => ({ key: label, label })),
    onchange(label) { at = data.sentences.findIndex((one) => one.label === label); begin(); } });
  const kinds = tools.choice({ legend: "A click gives", value: kind, options: data.kinds.map((key) => ({ key, label: key })), onchange(key) { kind = key; } });
  const shown = tools.choice({ legend: "The truth", value: truth ? "on" : "off", options: [{ key: "off", label: "hidden" }, { key: "on", label: "shown" }],
    onchange(key) { truth = key === "on"; show(); } });
  stage.append(tools.bar(sentences, kinds, shown), from, line, bars.node);
  begin();
});
