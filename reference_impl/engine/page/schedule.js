/* Draws the schedule and the blocks: two canvases, and the same step as a table for those who cannot see them. */
const CELL = 18, ROW = 20, LEFT = 52, MOST_ROWS = 64, MOST_BLOCKS = 1024;

/* A canvas of that many CSS pixels, sharp on any display. Returns its context. */
function prepare(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  return context;
}

/* What a request does in a step: {kind, count, blocks}, or null if it is not there. */
export function deed(step, label) {
  const computed = step.tokens.find((one) => one[0] === label), held = step.blocks.find((one) => one[0] === label);
  const blocks = held ? held[1] : 0;
  if (step.preempted.includes(label)) return { kind: "preempted", count: 0, blocks };
  if (computed) return { kind: computed[3], count: computed[1], drafts: computed[2], blocks, ends: step.finished.includes(label) };
  if (step.waiting.includes(label)) return { kind: "waiting", count: 0, blocks };
  return held ? { kind: "idle", count: 0, blocks } : null;
}

const labelsOf = (step) => [...step.tokens.map((one) => one[0]), ...step.preempted, ...step.blocks.map((one) => one[0]), ...step.waiting];
const inOrder = (labels) => [...new Set(labels)].sort((a, b) => Number(a) - Number(b));
const WORDS = { prefill: "prefill", decode: "decode", preempted: "preempted", waiting: "waiting", idle: "runs, no tokens" };

export class Schedule {
  constructor(parts) {
    this.parts = parts;
    this.table = "";
  }

  show(about, steps, at, tables, free) {
    const style = getComputedStyle(document.documentElement);
    this.color = (name) => style.getPropertyValue(`--${name}`).trim();
    this.timeline(steps, at);
    this.details(steps[at]);
    this.blocks(about, tables, free);
  }

  timeline(steps, at) {
    const canvas = this.parts.timeline, room = canvas.parentElement.clientWidth;
    const columns = Math.max(1, Math.floor((room - LEFT - 4) / CELL)), from = Math.max(0, Math.min(at - columns + 1, steps.length - columns));
    const window_ = steps.slice(from, from + columns), labels = inOrder(window_.flatMap(labelsOf)).slice(-MOST_ROWS);
    const context = prepare(canvas, room, Math.max(2, labels.length) * ROW + 22);
    labels.forEach((label, row) => {
      context.fillStyle = this.color("ink");
      context.textAlign = "right";
      context.fillText(`#${label}`, LEFT - 6, row * ROW + ROW / 2);
      window_.forEach((step, column) => this.cell(context, deed(step, label), LEFT + column * CELL, row * ROW));
    });
    context.fillStyle = this.color("soft");
    context.textAlign = "left";
    if (window_.length) context.fillText(`step ${window_[0].step} to ${window_.at(-1).step}`, LEFT, labels.length * ROW + 12);
    context.strokeStyle = this.color("ink");
    context.lineWidth = 2;
    if (at >= from) context.strokeRect(LEFT + (at - from) * CELL + 1, 1, CELL - 2, labels.length * ROW - 1);
    canvas.setAttribute("aria-label", window_.length ? `${labels.length} requests over steps ${window_[0].step} to ${window_.at(-1).step}` : "No steps yet");
  }

  cell(context, what, x, y) {
    if (!what) return;
    context.fillStyle = this.color(what.kind);
    context.fillRect(x + 1, y + 2, CELL - 2, ROW - 4);
    const text = what.kind === "prefill" ? String(what.count) : what.kind === "preempted" ? "x" : what.ends ? "." : "";
    context.fillStyle = this.color("on-color");
    context.textAlign = "center";
    if (text) context.fillText(text, x + CELL / 2, y + ROW / 2, CELL - 2);
  }

  details(step) {
    if (!step) {
      this.parts.step.textContent = "No step yet: the engine waits for a request.";
      this.parts.rows.replaceChildren();
      return;
    }
    const total = step.tokens.reduce((sum, one) => sum + one[1], 0);
    const hits = step.cached.filter((one) => one[1]).map(([label, count]) => `#${label} found ${count} tokens in the cache`);
    this.parts.step.textContent = `Step ${step.step}: ${total} tokens for ${step.tokens.length} requests; ${step.waiting.length} wait. ${hits.join("; ")}`;
    this.parts.step.dataset.step = step.step;
    this.parts.rows.replaceChildren(...inOrder(labelsOf(step)).slice(0, MOST_ROWS).map((label) => {
      const what = deed(step, label), row = document.createElement("tr");
      for (const text of [`#${label}`, WORDS[what.kind] + (what.ends ? ", finished" : ""), what.count || "", what.blocks || ""]) {
        const cell = document.createElement("td");
        cell.textContent = String(text);
        row.append(cell);
      }
      return row;
    }));
  }

  blocks(about, tables, free) {
    const canvas = this.parts.blocks, room = canvas.parentElement.clientWidth - 30, count = Math.min(about.num_blocks, MOST_BLOCKS);
    const size = count > 2000 ? 6 : count > 600 ? 9 : 14, columns = Math.max(1, Math.floor(room / size));
    const context = prepare(canvas, room, Math.ceil(count / columns) * size + 2), owners = new Map();
    for (const [label, table] of Object.entries(tables || {})) for (const block of table) owners.set(block, owners.has(block) ? "shared" : label);
    for (let block = 0; block < count; block++) {
      const owner = owners.get(block);
      const x = (block % columns) * size, y = Math.floor(block / columns) * size;
      context.fillStyle = owner === undefined ? this.color("ground") : owner === "shared" ? this.color("ink") : `hsl(${(Number(owner) * 137.5) % 360} 60% 55%)`;
      context.fillRect(x, y, size - 1, size - 1);
      if (owner === undefined) { context.strokeStyle = this.color("line"); context.lineWidth = 1; context.strokeRect(x + 0.5, y + 0.5, size - 2, size - 2); }
    }
    const held = about.num_blocks - free, shared = [...owners.values()].filter((one) => one === "shared").length;
    this.parts.held.textContent = tables
      ? `${held} of ${about.num_blocks} blocks are held${shared ? `, ${shared} of them by several requests (dark)` : ""}. One color per request.${count < about.num_blocks ? ` The first ${count} are drawn.` : ""}`
      : `${held} of ${about.num_blocks} blocks are held. Which ones is known for the last step of each update only.`;
    canvas.setAttribute("aria-label", `${held} of ${about.num_blocks} blocks are held`);
  }
}
