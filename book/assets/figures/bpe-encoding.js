/* A word is encoded by the ranks of published merges: of all neighbours the pair with the lowest rank joins, again and
   again.

   data = {
     examples: [{text: "banking", words: [[{parts: ["b", ...], ranks: [null, 16, ...], at: 1}, ...]]}, ...],
                                    for each word of the text its states, computed by the reference; ranks[i] belongs to
                                    parts i and i + 1; at is where the next join is made, -1 in the last state
     vocabularies: [{key: "gpt2", label: "GPT-2", vocabulary: {name, megabytes, tokens}}]
   } */
window.w2s.register("bpe-encoding", function (stage, data, tools) {
  "use strict";
  const { el } = tools, body = el("div", { class: "w2s-merging" }), shown = data.vocabularies[0];
  let tokenizer = null, words = data.examples[0].words, text = data.examples[0].text;

  const joins = (words) => words.reduce((sum, states) => sum + states.length - 1, 0);
  /* One state: the pieces, and between two of them the rank of their merge. */
  const row = ({ parts, ranks, at }) => el("p", { class: "w2s-sentence" }, ...parts.flatMap((part, i) => [
    el("span", { class: `w2s-token is-near${i === at || i === at + 1 && at >= 0 ? " is-centre" : ""}` }, part),
    ...(i < ranks.length ? [el("span", { class: `w2s-rank${i === at ? " is-lowest" : ""}` },
      ranks[i] === null ? "·" : ranks[i].toLocaleString("en"))] : [])]));

  function show(at) {
    let left = at;
    const states = words.map((own) => { const used = Math.min(left, own.length - 1); left -= used; return own[used]; });
    const seen = tools.asStill ? words[0] : states;  // the still shows the way there
    body.replaceChildren(...seen.map(row));
    const pieces = states.flatMap(({ parts }) => parts), next = states.find((state) => state.at >= 0);
    Object.assign(stage.dataset, { text, at, pieces: JSON.stringify(pieces), source: tokenizer ? "page" : "recorded" });
    const pair = next && `${next.parts[next.at]} + ${next.parts[next.at + 1]}`;
    tools.say(next ? `“${text}”: ${pieces.length} pieces. The lowest rank is `
      + `${next.ranks[next.at].toLocaleString("en")}, so ${pair} joins next.`
      : `“${text}” ends as ${pieces.length} token${pieces.length > 1 ? "s" : ""}: ${pieces.join(" | ")}.`);
  }

  let steps = null;
  const place = el("div", {});
  function begin() {  // a word of more letters has more merges: the stepper is made anew
    steps = tools.stepper({ label: "Merges", count: joins(words) + 1, text: (at) => `${at} of ${joins(words)}`, show });
    place.replaceChildren(tools.bar(...steps.nodes));
    steps.begin();
  }
  function answer(asked) {
    const example = data.examples.find((one) => one.text === asked);
    text = asked;
    field.set(asked);
    if (tokenizer) words = tokenizer.words(asked).map(tokenizer.steps);
    else if (example) words = example.words;
    if (words.length) begin();
    else tools.say("Type a word, with or without a space before it.");
  }

  const field = tools.textField({ label: "Your text", value: text, most: 40,
    oninput(typed) { picks.set(typed); answer(typed); } });
  field.input.disabled = true;
  const picks = tools.choice({ legend: "Try (␣ is a space)", value: text, onchange: answer,
    options: data.examples.map(({ text: key }) => ({ key, label: key.replaceAll(" ", "␣") })) });
  const offer = tools.vocabularyOffer([shown], (found) => {
    tokenizer = found[shown.key];
    field.input.disabled = false;
    field.input.focus();
    answer(text);
  });
  stage.append(tools.bar(offer), tools.bar(field, picks), place, body);
  begin();
});
