/* Vectors on a circle in lists with centroids: which of them a query is compared with, and which neighbour it finds.

   data = {
     task: "Turn ...",                            what the reader is to do
     lists: [[0, 20, 40], [110, 120, 130]],       angles in degrees, a list for each centroid
     query: 72, probes: 1                         where the sliders stand at first
   }
   A centroid is the direction of its list's mean, as in reference_impl.models.vector_indexes. */
window.w2s.register("inverted-lists", function (stage, data, tools) {
  "use strict";
  const { el, svg } = tools, scene = svg("g", {}), picture = tools.picture({ viewBox: "0 0 360 300", width: 360, class: "w2s-chart" }, scene);
  const HUES = ["blue", "green", "purple", "yellow"], RADIUS = 110;
  let { query, probes } = data;

  const turn = (one, other) => { const gap = Math.abs(one - other) % 360; return Math.min(gap, 360 - gap); };
  const at = (angle, radius = RADIUS) => [180 + radius * Math.cos((angle * Math.PI) / 180), 150 - radius * Math.sin((angle * Math.PI) / 180)];
  const mean = (list) => (Math.atan2(...["sin", "cos"].map((name) => list.reduce((sum, one) => sum + Math[name]((one * Math.PI) / 180), 0))) * 180) / Math.PI;
  const centroids = data.lists.map(mean), nearest = (some) => some.reduce((best, one) => (turn(one, query) < turn(best, query) ? one : best));
  const label = (angle, text, radius) => svg("text", { x: at(angle, radius)[0], y: at(angle, radius)[1] + 4.5, "text-anchor": "middle" }, text);
  const dot = (angle, r, hue, faded) => svg("circle", { cx: at(angle)[0], cy: at(angle)[1], r, class: `w2s-dot hue-${hue}`, fill: "var(--hue)", opacity: faded ? 0.3 : 1 });
  const line = (angle, hue, dash) => { const [x1, y1] = at(query), [x2, y2] = at(angle); return svg("line", { x1, y1, x2, y2, class: `w2s-line hue-${hue}`, "stroke-dasharray": dash }); };

  function draw() {
    const order = centroids.map((_, n) => n).sort((a, b) => turn(centroids[a], query) - turn(centroids[b], query)), searched = order.slice(0, probes);
    const found = nearest(searched.flatMap((n) => data.lists[n])), exact = nearest(data.lists.flat());
    const compared = centroids.length + searched.reduce((sum, n) => sum + data.lists[n].length, 0);
    scene.replaceChildren(svg("circle", { cx: 180, cy: 150, r: RADIUS, fill: "none", stroke: "currentColor", opacity: 0.25 }),
      line(exact, "grey", "4 4"), line(found, "orange", "none"),
      ...data.lists.flatMap((list, n) => [...list.map((one) => dot(one, 7, HUES[n], !searched.includes(n))), label(centroids[n], `c${n + 1}`, RADIUS - 26)]),
      dot(query, 5, "orange", false), label(query, "query", RADIUS + 26));
    picture.name(`${data.lists.flat().length} vectors on a circle in ${data.lists.length} lists; the query at ${query}° finds the one at ${found}°.`);
    Object.assign(stage.dataset, { query, found, exact, compared, searched: searched.join() });
    tools.say(`Searched: ${searched.map((n) => `list ${n + 1}`).join(", ")}, with ${compared} comparisons. Found: ${found}°, ${turn(found, query).toFixed(0)}° away. `
      + (found === exact ? "It is the nearest vector." : `The nearest vector is ${exact}°, ${turn(exact, query).toFixed(0)}° away, in a list that was not searched.`));
  }

  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(
    tools.slider({ label: "Query", min: 0, max: 359, value: query, text: (angle) => `${angle}°`, oninput(value) { query = value; draw(); } }),
    tools.slider({ label: "n_probe", min: 1, max: data.lists.length, value: probes, oninput(value) { probes = value; draw(); } })));
  draw();
});
