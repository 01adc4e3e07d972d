/* The engine's scheduler in the page: reads a recorded run, and serves the same requests under another policy.

   window.w2s.replay.read(lines)            a run from the lines of `course serve --trace FILE`; an Error says what is wrong
   window.w2s.replay.serve(run, changes)    its requests under `run.limits` with these changed: a list of steps
   window.w2s.replay.measure(run, steps)    what the requests waited for, in steps
   window.w2s.replay.open(file)             a run from a reader's file
   known, describe, kindOf                  what a reader sees of a request before and in a step

   A port of reference_impl/engine/scheduler.py and block_manager.py for requests with one answer each, without draft
   tokens, swapping and sliding windows. A test holds its steps equal to theirs. */
(function () {
  "use strict";
  const MOST_STEPS = 20000, MOST_REQUESTS = 5000, MOST_BYTES = 20e6, POLICIES = ["fcfs", "sjf", "lpm"], LONGEST_MATCHED_QUEUE = 128;
  const LIMITS = ["num_blocks", "block_size", "watermark_blocks", "max_num_seqs", "max_num_batched_tokens", "patience"];

  const whole = (value, least) => Number.isSafeInteger(value) && value >= least;
  const wrong = (line, what) => new Error(`Line ${line}: ${what}. Open a file that course serve --trace wrote.`);

  function readEngine(line) {
    if (!line || line.kind !== "engine") throw wrong(1, "there is no engine");
    if (line.version !== 1) throw wrong(1, `the version is ${String(line.version).slice(0, 20)}, and this page reads 1`);
    for (const name of LIMITS) if (!whole(line[name], name === "watermark_blocks" ? 0 : 1)) throw wrong(1, `${name} is ${String(line[name]).slice(0, 20)}`);
    if (!POLICIES.includes(line.policy)) throw wrong(1, `the policy is ${String(line.policy).slice(0, 20)}`);
    if (line.num_blocks > 1e6 || line.max_num_seqs > line.max_num_batched_tokens) throw wrong(1, "the limits do not go together");
    return line;
  }
  function readRequest(line, number) {
    if (typeof line.id !== "string" || !/^\d{1,9}(\.\d{1,3})?$/.test(line.id)) throw wrong(number, "the request has no number");
    for (const name of ["arrived", "answer"]) if (!whole(line[name], 0)) throw wrong(number, `${name} is ${String(line[name]).slice(0, 20)}`);
    if (!whole(line.prompt, 1) || line.prompt + line.answer > 1e7) throw wrong(number, "the lengths are no lengths");
    if (!Array.isArray(line.keys) || !line.keys.every((key) => whole(key, 0))) throw wrong(number, "keys is no list of numbers");
    const [arrival, index = 0] = line.id.split(".").map(Number);
    return { id: line.id, arrival, index, at: line.arrived, prompt: line.prompt, answer: line.answer, keys: line.keys, priority: whole(line.priority, -1e6) ? line.priority : 0, looks: line.looks_up !== false };
  }
  function readStep(line, number) {
    for (const name of ["tokens", "cached", "preempted", "finished", "waiting", "blocks"]) if (!Array.isArray(line[name])) throw wrong(number, `${name} is no list`);
    const counts = (pairs) => Object.fromEntries(pairs.map((pair) => {
      if (!Array.isArray(pair) || typeof pair[0] !== "string" || !whole(pair[1], 0)) throw wrong(number, "a request has no count");
      return [pair[0], pair[1]];
    }));
    return { step: line.step, tokens: counts(line.tokens), kinds: Object.fromEntries(line.tokens.map((one) => [one[0], one[3] === "decode" ? "d" : "P"])), cached: counts(line.cached),
      blocks: counts(line.blocks), preempted: line.preempted.map(String), finished: line.finished.map(String), waiting: line.waiting.map(String), free: whole(line.free, 0) ? line.free : 0 };
  }

  function read(lines) {
    const limits = readEngine(lines[0]), requests = [], steps = [];
    lines.forEach((line, n) => {
      if (n === 0) return;
      if (line && line.kind === "request") requests.push(readRequest(line, n + 1));
      else if (line && line.kind === "step") steps.push(readStep(line, n + 1));
      else throw wrong(n + 1, "it is neither a request nor a step");
    });
    if (!steps.length || !requests.length) throw new Error("The file has no steps: send the server a request before you end it.");
    if (requests.length > MOST_REQUESTS || steps.length > MOST_STEPS) throw new Error(`The file has ${requests.length} requests and ${steps.length} steps; this page opens ${MOST_REQUESTS} and ${MOST_STEPS}.`);
    const first = whole(steps[0].step, 0) ? steps[0].step : 0;
    for (const one of requests) one.at = Math.max(0, one.at - first);
    requests.sort((a, b) => a.arrival - b.arrival || a.index - b.index);
    return { limits, requests, steps, notes: notesOf(limits, requests) };
  }
  function notesOf(limits, requests) {
    const notes = [];
    if (limits.dropped) notes.push(`${limits.dropped} earlier steps are not in the file`);
    if (limits.speculative) notes.push("a replay has no draft tokens");
    if (limits.num_host_blocks) notes.push("a replay computes preempted requests again");
    if (limits.window) notes.push("a replay keeps blocks behind the sliding window");
    if (requests.some((one) => one.index)) notes.push("further answers of one request are replayed as requests");
    if (requests.some((one) => !one.answer)) notes.push("requests without an answer are left out of a replay");
    return notes;
  }

  /* Free blocks, the next to go first: a doubly linked list over the block numbers. */
  class FreeList {
    constructor(count) {
      this.end = count;  // the list's head and tail
      this.after = Int32Array.from({ length: count + 1 }, (_, n) => (n + 1) % (count + 1));
      this.before = Int32Array.from({ length: count + 1 }, (_, n) => (n + count) % (count + 1));
      this.size = count;
    }
    link(block, before, after) {
      this.before[block] = before; this.after[block] = after;
      this.after[before] = this.before[after] = block;
      this.size += 1;
    }
    append(block) { this.link(block, this.before[this.end], this.end); }
    prepend(block) { this.link(block, this.end, this.after[this.end]); }
    remove(block) {
      this.after[this.before[block]] = this.after[block];
      this.before[this.after[block]] = this.before[block];
      this.size -= 1;
    }
    first() { return this.after[this.end]; }
  }

  class Blocks {
    constructor({ num_blocks, block_size, prefix_caching }) {
      this.size = block_size; this.caching = prefix_caching !== false;
      this.references = new Int32Array(num_blocks);
      this.free = new FreeList(num_blocks);
      this.blockOf = new Map(); this.keyOf = new Map();
    }
    prefixOf(one) {
      const found = [], most = this.caching && one.looks ? Math.floor((one.length - 1) / this.size) : 0;
      while (found.length < Math.min(most, one.keys.length) && this.blockOf.has(one.keys[found.length])) found.push(this.blockOf.get(one.keys[found.length]));
      return found;
    }
    needed(one, count) { return Math.ceil((one.computed + count) / this.size) - one.table.length; }
    hasRoom(one) {
      const entry = Math.floor(one.computed / this.size);
      return entry < one.table.length && this.references[one.table[entry]] === 1;
    }
    canAdmit(one, budget, spare) {
      const prefix = this.prefixOf(one), revived = prefix.filter((block) => this.references[block] === 0).length;
      const chunk = Math.min(budget, one.length - prefix.length * this.size);
      return this.free.size - revived - Math.ceil(chunk / this.size) >= spare;
    }
    admit(one) {
      one.table = this.prefixOf(one);
      for (const block of one.table) { if (this.references[block] === 0) this.free.remove(block); this.references[block] += 1; }
      one.computed = one.cached = one.table.length * this.size;
    }
    grow(one, count) { for (let n = this.needed(one, count); n > 0; n--) one.table.push(this.take()); }
    take() {
      const block = this.free.first(), key = this.keyOf.get(block);
      this.free.remove(block);
      this.keyOf.delete(block);
      if (key !== undefined && this.blockOf.get(key) === block) this.blockOf.delete(key);
      this.references[block] = 1;
      return block;
    }
    commit(one, count) {
      const from = Math.floor(one.computed / this.size);
      one.computed += count;
      const to = Math.floor(one.computed / this.size);
      if (this.caching) for (let entry = from; entry < Math.min(to, one.keys.length); entry++) {
        this.keyOf.set(one.table[entry], one.keys[entry]);
        if (!this.blockOf.has(one.keys[entry])) this.blockOf.set(one.keys[entry], one.table[entry]);
      }
    }
    release(one) {
      for (const block of one.table.reverse()) {
        this.references[block] -= 1;
        if (this.references[block]) continue;
        if (this.blockOf.get(this.keyOf.get(block)) === block) this.free.append(block);
        else this.free.prepend(block);  // its content cannot be found: it goes first
      }
      one.table = []; one.computed = 0;
    }
  }

  class Scheduler {
    constructor(limits) {
      this.limits = limits; this.blocks = new Blocks(limits);
      this.waiting = []; this.running = []; this.came = false;
    }
    schedule() {
      const step = { scheduled: [], cached: {}, preempted: [] };
      if (this.came) { this.running.sort(this.order(() => 0)); this.came = false; }
      this.serveRunning(step);
      if (this.waiting.length && !step.preempted.length) this.admit(step);
      for (const one of this.waiting) one.waited += 1;
      return step;
    }
    /* By level, then by `within`, then who came first. */
    order(within) {
      const level = (one) => -(one.priority + Math.floor(one.waited / this.limits.patience));
      const keys = new Map();
      const key = (one) => { if (!keys.has(one)) keys.set(one, [level(one), within(one), one.arrival, one.index]); return keys.get(one); };
      return (a, b) => { const [x, y] = [key(a), key(b)]; const n = x.findIndex((value, i) => value !== y[i]); return n < 0 ? 0 : x[n] - y[n]; };
    }
    admissionOrder() {
      if (this.limits.policy === "sjf") return this.order((one) => one.length - one.computed);
      if (this.limits.policy === "lpm" && this.waiting.length <= LONGEST_MATCHED_QUEUE) return this.order((one) => -this.blocks.prefixOf(one).length);
      return this.order(() => 0);
    }
    serveRunning(step) {
      const uncomputed = this.running.map((one) => one.length - one.computed);
      let budget = this.limits.max_num_batched_tokens, promised = uncomputed.filter((count) => count === 1).length;
      for (let position = 0; position < this.running.length; position++) {
        const one = this.running[position], decodes = uncomputed[position] === 1;
        promised -= decodes ? 1 : 0;
        if (decodes && this.blocks.hasRoom(one)) { step.scheduled.push([one, 1]); budget -= 1; continue; }
        const count = Math.min(one.length - one.computed, budget - promised);
        if (count < 1) continue;
        while (this.blocks.needed(one, count) > this.blocks.free.size) {
          const victim = this.running.at(-1);
          if (victim !== one && victim.length - victim.computed === 1) promised -= 1;
          this.preempt(victim, step);
          if (victim === one) return;
        }
        this.take(step, one, count);
        budget -= count;
      }
    }
    admit(step) {
      let budget = this.limits.max_num_batched_tokens - step.scheduled.reduce((sum, [, count]) => sum + count, 0);
      this.waiting.sort(this.admissionOrder());
      while (this.waiting.length && budget > 0) {
        const one = this.waiting[0], spare = this.running.length ? this.limits.watermark_blocks : 0;
        if (this.running.length + 1 > this.limits.max_num_seqs || !this.blocks.canAdmit(one, budget, spare)) break;
        this.blocks.admit(one);
        this.running.push(this.waiting.shift());
        this.came = true;
        step.cached[one.id] = one.cached;
        const count = Math.min(one.length - one.computed, budget);
        this.take(step, one, count);
        budget -= count;
      }
    }
    take(step, one, count) { this.blocks.grow(one, count); step.scheduled.push([one, count]); }
    preempt(one, step) {
      this.running.splice(this.running.indexOf(one), 1);
      step.preempted.push(one.id);
      this.blocks.release(one);
      this.waiting.push(one);
    }
    /* Compute what was scheduled: who has reached its last token samples one, and leaves with its last. */
    compute(step) {
      const sampling = [], kinds = {}, finished = [];
      for (const [one, count] of step.scheduled) {
        const samples = count === one.length - one.computed;
        kinds[one.id] = samples && count === 1 && one.said ? "d" : "P";
        this.blocks.commit(one, count);
        if (samples) sampling.push(one);
      }
      for (const one of sampling) {
        one.length += 1; one.said += 1;
        if (one.said < one.answer) continue;
        this.running.splice(this.running.indexOf(one), 1);
        this.blocks.release(one);
        finished.push(one.id);
      }
      return { tokens: Object.fromEntries(step.scheduled.map(([one, count]) => [one.id, count])), kinds, finished, cached: step.cached, preempted: step.preempted,
        waiting: this.waiting.map(({ id }) => id), blocks: Object.fromEntries(this.running.map(({ id, table }) => [id, table.length])), free: this.blocks.free.size };
    }
  }

  function serve(run, changes = {}) {
    const limits = { ...run.limits, ...changes };
    if (limits.max_num_seqs > limits.max_num_batched_tokens) throw new Error(`Every running request needs a token of each step: ${limits.max_num_batched_tokens} tokens are fewer than ${limits.max_num_seqs} slots.`);
    const scheduler = new Scheduler(limits), steps = [];
    const left = run.requests.filter((one) => one.answer).map((one) => ({ ...one, length: one.prompt, computed: 0, cached: 0, said: 0, waited: 0, table: [] }));
    left.sort((a, b) => a.at - b.at || a.arrival - b.arrival || a.index - b.index);
    const longest = Math.max(0, ...left.map((one) => Math.ceil((one.prompt + one.answer) / limits.block_size)));
    if (longest > limits.num_blocks) throw new Error(`A request needs ${longest} blocks, and there are ${limits.num_blocks}.`);
    for (let clock = 0; left.length || scheduler.waiting.length || scheduler.running.length; clock++) {
      while (left.length && left[0].at <= clock) scheduler.waiting.push(left.shift());
      if (!scheduler.waiting.length && !scheduler.running.length) { clock = left[0].at - 1; continue; }
      if (steps.length >= 4 * MOST_STEPS) throw new Error(`The replay is not finished after ${steps.length} steps.`);
      steps.push({ clock, ...scheduler.compute(scheduler.schedule()) });
    }
    return steps;
  }

  /* Steps from a request's arrival to its first token, the mean and the longest, and the longest gap between two tokens. */
  function measure(run, steps) {
    const first = new Map(), last = new Map(), computed = new Map(), said = new Map();
    let gap = 0, cached = 0, preempted = 0, tokens = 0;
    steps.forEach((step, n) => {
      const clock = step.clock ?? n;
      for (const id of step.preempted) computed.set(id, 0);
      for (const [id, count] of Object.entries(step.cached)) { computed.set(id, count); cached += count; }
      for (const [id, count] of Object.entries(step.tokens)) {
        const request = run.byId.get(id), reached = (computed.get(id) || 0) + count;
        computed.set(id, reached);
        tokens += count;
        if (!request || reached < request.prompt + (said.get(id) || 0)) continue;
        said.set(id, reached - request.prompt + 1);
        if (!first.has(id)) first.set(id, clock + 1 - request.at);
        else gap = Math.max(gap, clock - last.get(id));
        last.set(id, clock);
      }
      preempted += step.preempted.length;
    });
    const waits = [...first.values()];
    return { steps: steps.length, tokens, cached, preempted, gap, mean: waits.length ? waits.reduce((sum, one) => sum + one, 0) / waits.length : 0, most: Math.max(0, ...waits) };
  }

  const prepared = (lines) => { const run = read(lines); run.byId = new Map(run.requests.map((one) => [one.id, one])); return run; };
  /* What is known before step `at`: who is there, how much of it is computed and sampled, and whether it runs. */
  function known(run, steps, at) {
    const computed = new Map(), said = new Map(), running = new Set(), gone = new Set();
    const clock = at < steps.length ? steps[at].clock ?? at : Infinity;
    for (const step of steps.slice(0, at)) {
      for (const id of step.preempted) { computed.set(id, 0); running.delete(id); }
      for (const [id, count] of Object.entries(step.cached)) { computed.set(id, count); running.add(id); }
      for (const [id, count] of Object.entries(step.tokens)) {
        const request = run.byId.get(id), reached = (computed.get(id) || 0) + count;
        computed.set(id, reached);
        if (request && reached >= request.prompt + (said.get(id) || 0)) said.set(id, reached - request.prompt + 1);
      }
      for (const id of step.finished) gone.add(id);
    }
    return run.requests.filter((one) => one.at <= clock && one.answer && !gone.has(one.id)).map((one) => ({ ...one, computed: computed.get(one.id) || 0, said: said.get(one.id) || 0, runs: running.has(one.id) }));
  }
  /* The blocks that a request shares with one that came before it. */
  function shared(run, one) {
    let most = 0, whose = null;
    for (const other of run.requests) {
      if (other.arrival >= one.arrival) break;
      let same = 0;
      while (same < one.keys.length && same * run.limits.block_size < one.prompt && one.keys[same] === other.keys[same]) same += 1;
      if (same > most) { most = same; whose = other.id; }
    }
    return most ? `, first ${most} ${most === 1 ? "block" : "blocks"} as #${whose}` : "";
  }
  /* A request of `known` in words. */
  function describe(run, one) {
    if (!one.runs) return `#${one.id} waits, ${one.prompt + one.said} tokens${shared(run, one)}`;
    return `#${one.id} ${one.said ? "decodes" : `${one.computed} of ${one.prompt} computed`}`;
  }
  /* What a step did with a request: P prefill, d decode, x preempted, w no tokens, - waiting; "" without it. */
  function kindOf(step, id) {
    if (step.preempted.includes(id)) return "x";
    if (step.tokens[id]) return step.kinds[id] || "P";
    return step.waiting.includes(id) ? "-" : id in step.blocks ? "w" : "";
  }
  /* The run in a file that a reader chose; an Error says what is wrong. */
  async function open(file) {
    if (file.size > MOST_BYTES) throw new Error(`The file has ${file.size} bytes; this page opens ${MOST_BYTES}.`);
    return prepared((await file.text()).split("\n").filter((line) => line.trim()).map((line, n) => {
      try { return JSON.parse(line); } catch { throw new Error(`Line ${n + 1} is no JSON. Open a file that course serve --trace wrote.`); }
    }));
  }
  window.w2s.replay = { read: prepared, open, serve, measure, known, describe, kindOf, POLICIES };
})();
