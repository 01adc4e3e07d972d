/* The probability of recalling one card over the days, and what each answer does to it, by FSRS-6.

   data = {
     task: "What to try",                      stands above the drawing
     w: [0.212, ...],                          the 21 parameters
     goal: 0.9,                                the recall at which a card is due, at first
     start: ["good", "good"],                  the answers given at first; each is given when the card is due
     most: 8                                   answers at most
   } */
window.w2s.register("memory-curve", function (stage, data, tools) {
  "use strict";
  const { el, svg } = tools, w = data.w, GRADES = ["again", "hard", "good", "easy"], tall = 216, FACTOR = 0.9 ** (-1 / w[20]) - 1;
  const axes = tools.axes({ xLabel: "days since the first answer", yLabel: "probability of recall", text: (value) => `${Math.round(100 * value)} %` });
  const picture = tools.picture({ class: "w2s-axes-picture" }, axes.node), limited = (d) => Math.min(Math.max(d, 1), 10);
  const recall = (days, stability) => (1 + FACTOR * days / stability) ** -w[20], first = (rating) => w[4] - Math.exp(w[5] * (rating - 1)) + 1;
  let goal = data.goal, answers = [...data.start], width = 560;

  /* Stability and difficulty after an answer so many days after the last one; null: the first answer. */
  function after(card, rating, days) {
    if (!card) return { s: w[rating - 1], d: limited(first(rating)) };
    const { s, d } = card, r = recall(days, s), moved = d - w[6] * (rating - 3) * (10 - d) / 9;
    const change = Math.exp(w[17] * (rating - 3 + w[18])) * s ** -w[19];
    const same = s * (rating === 1 ? change : Math.max(change, 1));
    const lapse = Math.min(w[11] * d ** -w[12] * ((s + 1) ** w[13] - 1) * Math.exp(w[14] * (1 - r)), s / Math.exp(w[17] * w[18]));
    const gain = Math.exp(w[8]) * (11 - d) * s ** -w[9] * (Math.exp(w[10] * (1 - r)) - 1) * (rating === 2 ? w[15] : rating === 4 ? w[16] : 1);
    return { s: days < 1 ? same : rating === 1 ? lapse : s * (1 + gain), d: limited(w[7] * first(4) + (1 - w[7]) * moved) };
  }
  const wait = (card, rating) => (rating === 1 ? 0 : Math.min(Math.max(1, Math.floor(card.s / FACTOR * (goal ** (-1 / w[20]) - 1) + 0.5)), 36500));
  /* The state after each answer: [{day, rating, s, d, due}]. */
  function course() {
    const found = [];
    for (const grade of answers) {
      const last = found.at(-1), day = last ? last.due : 0, rating = GRADES.indexOf(grade) + 1;
      const card = after(last, rating, last ? day - last.day : 0);
      found.push({ day, rating, ...card, due: day + wait(card, rating) });
    }
    return found;
  }
  const days = (n) => (n === 0 ? "today" : n === 1 ? "1 day" : `${n} days`);

  function draw() {
    const all = course(), last = all.at(-1), now = last ? last.due : 0, end = Math.max(14, now + Math.max(3, 0.12 * now));
    const x = tools.scale([0, end], [48, width - 14]), y = tools.scale([0.5, 1], [tall, 20]);
    const lines = all.map((one, n) => {
      const until = n + 1 < all.length ? one.due : end;
      return { hue: n + 1 < all.length ? "blue" : "orange", points: Array.from({ length: 41 }, (_, k) => [one.day + k * (until - one.day) / 40, Math.max(0.5, recall(k * (until - one.day) / 40, one.s))]) };
    });
    tools.set(picture.node, { viewBox: `0 0 ${width} ${tall + 42}`, width });
    axes.show({ x: null, y, box: [48, 20, width - 14, tall], many: [0, 5], lines: lines.map(({ hue, points }) => ({ hue, points: points.map(([a, b]) => [x(a), b]) })) });
    for (const value of x.ticks(width > 440 ? 6 : 4)) axes.node.append(svg("text", { class: "w2s-tick", x: x(value), y: tall + 17, "text-anchor": "middle" }, String(value)));
    axes.node.append(svg("line", { class: "w2s-line is-dotted hue-grey", x1: 48, x2: width - 14, y1: y(goal), y2: y(goal) }));
    all.forEach(({ day, rating }, n) => axes.node.append(svg("circle", { class: `w2s-mark hue-${rating === 1 ? "orange" : "green"}`, cx: x(day), cy: y(1), r: 4 + (n + 1 === all.length) })));
    if (last) axes.node.append(svg("circle", { class: "w2s-mark hue-grey", cx: x(now), cy: y(Math.max(0.5, recall(now - last.day, last.s))), r: 5 }));
    GRADES.forEach((grade, n) => {
      const card = after(last, n + 1, last ? now - last.day : 0);
      buttons[n].textContent = `${grade[0].toUpperCase()}${grade.slice(1)}: ${days(wait(card, n + 1))}`;
      tools.able(buttons[n], all.length < data.most);
    });
    tools.able(undo, all.length > 0);
    picture.name(`${all.length} answers; the card is due on day ${now}.`);
    tools.say(last ? `Answer ${all.length}, ${GRADES[last.rating - 1]}, on day ${last.day}: stability ${last.s.toFixed(1)} days, difficulty ${last.d.toFixed(1)}. Due ${last.due === last.day ? "again today" : `on day ${now}`}.` : "A new card. Give the first answer.");
    Object.assign(stage.dataset, { answers: answers.join(), due: now, stability: last ? last.s.toFixed(4) : "", goal: goal.toFixed(2) });
  }
  const buttons = GRADES.map((grade) => tools.button(grade, () => { answers.push(grade); draw(); }));
  const undo = tools.button("Undo", () => { answers.pop(); draw(); });
  const wanted = tools.slider({ label: "Due at", min: 70, max: 97, value: Math.round(100 * goal), text: (value) => `${value} %`, oninput(value) { goal = value / 100; draw(); } });
  stage.append(el("p", { class: "w2s-task" }, data.task), picture.node, tools.bar(...buttons, undo), tools.bar(wanted),
    tools.legend([{ label: "between answers", line: "solid", hue: "blue" }, { label: "after the last answer", line: "solid", hue: "orange" }, { label: "due at", line: "dotted", hue: "grey" }]).node);
  tools.onWidth((pixels) => { width = pixels; draw(); });
});
