/* A router that sends a request to one of several replicas, by cached prefix and by load.

   data = {
     task: "What to try",                                     stands above the drawing
     block: 16, request: 12,                                  tokens of a block, blocks of the request's prompt
     replicas: [{name: "A", cached: 8, active: 30}, ...],     blocks of the prompt that are cached there, blocks in use by others
     weight: {start: 1, most: 4}                              of a prefill block against a decoding block
   } */
window.w2s.register("router-choice", function (stage, data, tools) {
  "use strict";
  const { svg, el } = tools, WIDTH = 352, ROW = 44, LEFT = 96, { replicas, request } = data, HEIGHT = ROW * replicas.length + 14;
  const parts = svg("g", {}), picture = tools.picture({ class: "w2s-diagram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH + 60 }, parts);
  const POLICIES = { cost: "prefix and load", load: "least load", prefix: "longest prefix" };
  let weight = data.weight.start, policy = "cost";

  const fresh = (one) => request - one.cached, cost = (one) => weight * fresh(one) + one.active;
  const rank = { cost, load: (one) => one.active, prefix: (one) => -one.cached };
  function show() {
    const best = replicas.reduce((a, b) => (rank[policy](b) < rank[policy](a) ? b : a)), long = Math.max(...replicas.map((one) => data.weight.most * fresh(one) + one.active));
    const x = (blocks) => (WIDTH - LEFT - 34) * blocks / long;
    parts.replaceChildren(...replicas.flatMap((one, r) => {
      const y = 8 + ROW * r, mine = one === best;
      return [svg("text", { class: "w2s-word", x: 4, y: y + 20, style: { "font-weight": mine ? 700 : 400 } }, `${mine ? "→ " : ""}${one.name}`),
        ...Array.from({ length: request }, (_, b) => svg("rect", { class: `w2s-share hue-${b < one.cached ? "green" : "grey"}`, x: LEFT + 8 * b, y, width: 6.5, height: 10, rx: 1, style: { opacity: b < one.cached ? 1 : 0.35 } })),
        svg("rect", { class: "w2s-share hue-orange", x: LEFT, y: y + 15, width: Math.max(1, x(weight * fresh(one))), height: 14, rx: 2 }),
        svg("rect", { class: "w2s-share hue-blue", x: LEFT + x(weight * fresh(one)), y: y + 15, width: Math.max(1, x(one.active)), height: 14, rx: 2 }),
        svg("text", { class: "w2s-tick", x: LEFT + x(cost(one)) + 5, y: y + 26 }, String(Math.round(10 * cost(one)) / 10))];
    }));
    tools.say(`By ${POLICIES[policy]} the request goes to ${best.name}: ${best.cached} of ${request} blocks are cached there, ${fresh(best)} must be prefilled (${fresh(best) * data.block} tokens), and others use ${best.active} blocks.`);
    picture.name(`Replicas with the cached part of the prompt and their load; chosen: ${best.name}.`);
    Object.assign(stage.dataset, { policy, weight, chosen: best.name });
  }
  const slider = tools.slider({ label: "Weight of a prefill block", min: 0, max: data.weight.most, step: 0.5, value: weight, text: String, oninput(value) { weight = value; show(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(tools.choice({ legend: "Policy", value: policy, options: Object.entries(POLICIES).map(([key, label]) => ({ key, label })),
    onchange(key) { policy = key; show(); } })), tools.bar(slider), tools.legend([{ label: "cached block", mark: 1, hue: "green" }, { label: "cost of prefill", mark: 1, hue: "orange" }, { label: "load", mark: 1, hue: "blue" }]).node);
  show();
});
