/* A chat laid out for training: which tokens are learned, and what becomes of brackets that somebody typed.

   data = {
     vocabularies: [{key, label, vocabulary: {name, megabytes, tokens}}]       one, of a published chat model
     start: "<|im_start|>", end: "<|im_end|>"
     examples: [{label, messages: [{role, content}, ...], laid: {apart: [{text, learned, bracket}, ...], joined: [...]}}]
   }   `apart`: contents are cut by themselves and brackets put between as ids; `joined`: one text, cut with its brackets.
       By Python; the fields hold the first user's and the first assistant's message. */
window.w2s.register("chat-labels", function (stage, data, tools) {
  "use strict";
  const { el } = tools, { start, end } = data, body = el("div", {}), note = el("p", { class: "w2s-note" });
  let tokenizer = null, now = data.examples[0], way = "apart";
  const visible = (piece) => piece.replaceAll(" ", "␣").replaceAll("\n", "⏎");
  const cut = (text) => tokenizer.encode(text).map(({ text: piece }) => ({ text: piece }));
  const bracket = (text) => ({ text, bracket: true });

  /* As reference_impl.objectives.supervised.ChatML does: no character of a content can become a bracket. */
  const apart = (messages) => messages.flatMap(({ role, content }) => [
    ...[bracket(start), ...cut(role), ...cut("\n")].map((token) => ({ ...token, learned: false })),
    ...[...cut(content), bracket(end)].map((token) => ({ ...token, learned: role === "assistant" })),
    ...cut("\n").map((token) => ({ ...token, learned: false }))]);

  /* One text, whose brackets are looked for afterwards: whoever wrote them. A turn of the assistant is learned. */
  function joined(messages) {
    const text = messages.map(({ role, content }) => `${start}${role}\n${content}${end}\n`).join("");
    let learned = false;
    return text.split(start).slice(1).flatMap((turn) => {
      const [said, ...rest] = turn.split(end), line = said.indexOf("\n"), mine = said.slice(0, line) === "assistant";
      learned = mine;
      return [{ ...bracket(start), learned: false }, ...cut(said.slice(0, line + 1)).map((token) => ({ ...token, learned: false })),
        ...cut(said.slice(line + 1)).map((token) => ({ ...token, learned })),
        ...rest.flatMap((more) => [{ ...bracket(end), learned }, ...cut(more).map((token) => ({ ...token, learned: false }))])];
    });
  }

  function show() {
    const tokens = now.laid[way], line = tools.tokenLines([tokens.map(({ text }) => visible(text))]);
    line.show({ levels: [tokens.map(({ learned }) => (learned ? 0.75 : 0))] });
    line.node.querySelectorAll(".w2s-token").forEach((node, n) => { if (tokens[n].bracket && !tokens[n].learned) node.classList.add("is-near"); });
    body.replaceChildren(line.node);
    const learned = tokens.filter((token) => token.learned), turns = tokens.filter(({ text, bracket: is }) => is && text === start).length;
    note.textContent = `${tokens.length} tokens in ${turns} turns, ${learned.length} with a label: ${learned.map(({ text }) => visible(text)).join(" ")}`;
    tools.say(`Brackets ${way === "apart" ? "put between" : "found in the text"}: ${tokens.length} tokens, ${turns} turns, ${learned.length} learned.`);
    Object.assign(stage.dataset, { way, tokens: JSON.stringify(tokens.map(({ text }) => text)), learned: JSON.stringify(tokens.map((token) => (token.learned ? 1 : 0))) });
  }

  function lay() {
    if (!tokenizer) return;
    const said = { user: user.input.value, assistant: answer.input.value }, first = {};  // "\\n" is how a new line is typed
    const messages = now.messages.map((message) => {
      if (!(message.role in said) || first[message.role]) return message;
      first[message.role] = true;
      return { role: message.role, content: said[message.role].replaceAll("\\n", "\n") || " " };
    });
    now = { ...now, messages, laid: { apart: apart(messages), joined: joined(messages) } };
    show();
  }
  const of = (role) => now.messages.find((message) => message.role === role).content.replaceAll("\n", "\\n");
  const user = tools.textField({ label: "The user says", value: of("user"), most: 120, oninput: lay });
  const answer = tools.textField({ label: "The assistant says", value: of("assistant"), most: 120, oninput: lay });
  const picks = tools.choice({ legend: "Chat", value: now.label, options: data.examples.map(({ label }) => ({ key: label, label })),
    onchange(label) { now = data.examples.find((one) => one.label === label); user.set(of("user")); answer.set(of("assistant")); show(); } });
  const ways = tools.choice({ legend: "Brackets", value: way, options: [{ key: "apart", label: "put between as ids" }, { key: "joined", label: "written into one text" }],
    onchange(key) { way = key; show(); } });
  user.input.disabled = answer.input.disabled = true;
  const offer = tools.vocabularyOffer(data.vocabularies, (found) => {
    tokenizer = found[data.vocabularies[0].key];
    user.input.disabled = answer.input.disabled = false;
    user.input.focus();
    stage.dataset.source = "page";
    lay();
  });
  stage.append(tools.bar(picks), tools.bar(ways), tools.bar(offer), tools.bar(user, answer), body, note);
  show();
});
