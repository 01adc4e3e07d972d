/* Reads the stream of the server's steps and hands it to the parts of the page.

   Every word that comes from the server or a model is set as text, never as HTML. */
import { startChat } from "./chat.js";
import { readEvents, sentenceOf } from "./events.js";
import { Schedule } from "./schedule.js";

const KEPT = 500, RETRY = 2000;
const byId = (id) => document.getElementById(id);

/* fetch with the key that the reader typed. */
function ask(path, options = {}) {
  const key = byId("key").value.trim(), headers = { ...options.headers };
  if (key) headers.Authorization = `Bearer ${key}`;
  return fetch(path, { ...options, headers });
}

const schedule = new Schedule({ timeline: byId("timeline"), blocks: byId("blocks"), rows: byId("rows"), step: byId("step"), held: byId("held") });
const steps = [];
let about = null, first = null, shown = -1, paused = false, lastState = null, drawn = false;

function counters(state) {
  const per = (name) => (state[`${name}_count`] > first[`${name}_count`]
    ? (1000 * (state[`${name}_sum`] - first[`${name}_sum`]) / (state[`${name}_count`] - first[`${name}_count`])).toFixed(name === "ttft" ? 0 : 1) + " ms" : "none yet");
  const queries = state.prefix_queries - first.prefix_queries, hits = state.prefix_hits - first.prefix_hits;
  const seconds = (performance.now() - first.now) / 1000;
  const values = {
    "Running": `${state.running} of ${about.max_num_seqs}`,
    "Waiting": state.waiting,
    "Blocks held": `${about.num_blocks - state.free} of ${about.num_blocks}`,
    "TTFT, mean": per("ttft"),
    "TPOT, mean": per("tpot"),
    "Cache hits": queries ? `${(100 * hits / queries).toFixed(0)} % of ${queries} tokens` : "none yet",
    "Preemptions": state.preemptions - first.preemptions,
    "Tokens generated": state.generated - first.generated,
    "Tokens per second": seconds > 1 ? ((state.generated - first.generated) / seconds).toFixed(1) : "none yet",
  };
  const list = byId("counters");
  if (!list.children.length)
    for (const name of Object.keys(values)) {
      const term = document.createElement("dt"), value = document.createElement("dd"), pair = document.createElement("div");
      term.textContent = name;
      value.dataset.counter = name;
      pair.append(term, value);
      list.append(pair);
    }
  for (const value of list.querySelectorAll("dd")) value.textContent = String(values[value.dataset.counter]);
}

function draw() {
  drawn = false;
  if (!about || !lastState) return;
  const at = paused ? shown : steps.length - 1;
  byId("back").disabled = at <= 0;
  byId("next").disabled = !paused || at >= steps.length - 1;
  schedule.show(about, steps, at, paused ? steps[at]?.tables : lastState.tables, paused ? steps[at]?.free : lastState.free);
  counters(lastState);
}

function soon() {
  if (!drawn) requestAnimationFrame(draw);
  drawn = true;
}

function take(event) {
  if (event.about) {
    about = event.about;
    byId("about").textContent = `${about.models.join(", ")}: ${about.num_blocks} blocks of ${about.block_size} tokens, at most ${about.max_num_seqs} requests at once and ${about.max_num_batched_tokens} tokens per step, policy ${about.policy}.`;
    return;
  }
  first = first || { ...event, now: performance.now() };
  lastState = event;
  for (const step of event.steps) steps.push(step);
  if (event.steps.length) steps.at(-1).tables = event.tables;
  const over = steps.length - KEPT;
  if (over > 0) { steps.splice(0, over); shown = Math.max(0, shown - over); }
  soon();
}

async function watch() {
  for (;;) {
    try {
      const response = await ask("watch");
      if (response.ok) await readEvents(response, take);
      else byId("about").textContent = `No steps are shown: ${await sentenceOf(response)}`;
      if (response.status === 401) byId("key-fold").open = true;
      if (response.ok) byId("about").textContent = "The server has ended. This page tries again.";
    } catch {
      byId("about").textContent = "The server cannot be reached. This page tries again.";
    }
    first = null;
    await new Promise((resolve) => setTimeout(resolve, RETRY));
  }
}

function pause(to) {
  paused = to;
  shown = steps.length - 1;
  byId("pause").textContent = paused ? "Live" : "Pause";
  byId("pause").setAttribute("aria-pressed", String(paused));
  soon();
}

function move(by) {
  if (!paused) pause(true);
  shown = Math.max(0, Math.min(steps.length - 1, shown + by));
  soon();
}

byId("pause").addEventListener("click", () => pause(!paused));
byId("back").addEventListener("click", () => move(-1));
byId("next").addEventListener("click", () => move(1));
window.addEventListener("resize", soon);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
startChat(ask, () => about);
watch();
