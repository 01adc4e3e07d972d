/* The conversation: sends it, shows the answer as it comes, and says how long its tokens took. */
import { readEvents, sentenceOf } from "./events.js";

const byId = (id) => document.getElementById(id);

export function startChat(ask, about) {
  const messages = [];
  let stopper = null;

  function turn(role, text) {
    const item = document.createElement("li"), who = document.createElement("span"), words = document.createElement("span");
    item.className = role;
    who.className = "who";
    who.textContent = role === "user" ? "You" : "Model";
    words.textContent = text;
    item.append(who, words);
    byId("turns").append(item);
    byId("turns").scrollTop = byId("turns").scrollHeight;
    return words;
  }

  function request() {
    const known = about(), limit = Math.max(1, Number(byId("limit").value) || 1);
    const common = { model: known.models[0], stream: true, max_tokens: limit };
    return known.chat ? ["v1/chat/completions", { ...common, messages }] : ["v1/completions", { ...common, prompt: messages.at(-1).content }];
  }

  function busy(is) {
    byId("send").disabled = is;
    byId("stop").disabled = !is;
  }

  /* Receives one answer into `words`; returns the times of its pieces, in milliseconds since the request. */
  async function receive(words) {
    const [path, body] = request(), begun = performance.now(), times = [];
    const response = await ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal: stopper.signal });
    if (!response.ok) throw new Error(await sentenceOf(response));
    await readEvents(response, (event) => {
      if (event.error) throw new Error(event.error.message);
      const choice = event.choices[0], piece = choice ? (choice.delta ? choice.delta.content : choice.text) : "";
      if (!piece) return;
      times.push(performance.now() - begun);
      words.textContent += piece;
      byId("turns").scrollTop = byId("turns").scrollHeight;
    });
    return times;
  }

  async function send() {
    messages.push({ role: "user", content: byId("prompt").value });
    turn("user", byId("prompt").value);
    byId("prompt").value = "";
    byId("said").textContent = "The server computes.";
    busy(true);
    stopper = new AbortController();
    const words = turn("assistant", "");
    try {
      const times = await receive(words);
      const per = times.length > 1 ? `, then ${((times.at(-1) - times[0]) / (times.length - 1)).toFixed(1)} ms per piece of text` : "";
      byId("said").textContent = times.length ? `First piece after ${times[0].toFixed(0)} ms${per}; ${times.length} pieces.` : "The answer is empty.";
      messages.push({ role: "assistant", content: words.textContent });
    } catch (error) {
      byId("said").textContent = error.name === "AbortError" ? "Stopped." : `No answer: ${error.message}`;
      if (words.textContent) messages.push({ role: "assistant", content: words.textContent });
      else { messages.pop(); words.parentElement.remove(); }
    }
    busy(false);
  }

  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!byId("send").disabled && about() && byId("prompt").value.trim()) send();
  });
  byId("prompt").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      byId("ask").requestSubmit();
    }
  });
  byId("stop").addEventListener("click", () => stopper && stopper.abort());
  byId("clear").addEventListener("click", () => {
    if (stopper) stopper.abort();
    messages.length = 0;
    byId("turns").replaceChildren();
    byId("said").textContent = "";
    byId("prompt").focus();
  });
}
