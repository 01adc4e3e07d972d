/* Search over texts with a model that has next(ids): beams, and the likeliest text of all by best-first search. */
(globalThis.w2sParts ??= []).push(function searching(lib) {
  "use strict";

  /* The tokens that may follow `node`, as longer nodes: ids, score (the sum of natural logarithms), share. */
  function longer(model, given, node) {
    const shares = lib.softmax(model.next([...given, ...node.ids]).data), found = [];
    shares.forEach((share, id) => { if (share > 0) found.push({ ids: [...node.ids, id], score: node.score + Math.log(share), share }); });
    return found;
  }
  const falling = (a, b) => b.score - a.score;

  /* Beams of `length` tokens: for each step the nodes that were kept, marked so, and of what falls away the `side`
     likeliest after each beginning. Nothing ends here before its length. */
  lib.beams = function beams(model, given, { width, length, side = 2 }) {
    const levels = [];
    for (let running = [{ ids: [], score: 0 }]; levels.length < length;) {
      const groups = running.map((node) => longer(model, given, node).sort(falling).slice(0, Math.max(width, side)));
      running = groups.flat().sort(falling).slice(0, width);
      running.forEach((node) => { node.kept = true; });
      levels.push(groups.flatMap((group) => group.filter((node, n) => node.kept || n < side)));
    }
    return { levels, best: levels[length - 1].filter(({ kept }) => kept).sort(falling)[0] };
  };

  /* The likeliest text of `length` tokens. Of all beginnings the likeliest is lengthened, until it is of full length:
     no other can overtake it. `bound` is a score that some text has; null after `most` passes. */
  lib.likeliest = function likeliest(model, given, { length, bound = -Infinity, most = 2000 }) {
    const waiting = [{ ids: [], score: 0 }];
    for (let passes = 0; waiting.length; passes++) {
      const at = waiting.reduce((best, node, n) => (node.score > waiting[best].score ? n : best), 0);
      const [node] = waiting.splice(at, 1);
      if (node.ids.length === length) return { best: node, passes };
      if (passes === most) break;
      waiting.push(...longer(model, given, node).filter(({ score }) => score >= bound - 1e-4));
    }
    return { best: null, passes: most };
  };
});
