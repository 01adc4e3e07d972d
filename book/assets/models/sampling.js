/* From logits to a token: temperature, top-k, top-p, min-p, a penalty, and a generator of chance that repeats itself. */
(globalThis.w2sParts ??= []).push(function sampling(lib) {
  "use strict";

  /* Numbers from 0 up to 1 from a seed: mulberry32, a 32-bit generator of Tommy Ettinger's (public domain). */
  lib.chance = function chance(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  };

  /* The shares after the penalty for ids that were seen, temperature, top-k, top-p and min-p, in this order: that of
     generation/processors. Temperature 0 leaves the likeliest alone. With `late` the filters look before the
     temperature bends. */
  lib.shares = function shares(logits, { temperature = 1, topK = 0, topP = 1, minP = 0, penalty = 1, seen = [],
    late = false } = {}) {
    const raw = Float32Array.from(logits), kept = new Float32Array(raw.length);
    for (const id of new Set(seen)) raw[id] = raw[id] < 0 ? raw[id] * penalty : raw[id] / penalty;
    if (temperature === 0) {
      kept[lib.argmax(raw)] = 1;
      return kept;
    }
    const bent = lib.softmax(raw.map((logit) => logit / temperature)), all = late ? lib.softmax(raw) : bent;
    const order = Array.from(all.keys()).sort((a, b) => all[b] - all[a]).slice(0, topK || raw.length);
    const room = order.reduce((sum, id) => sum + all[id], 0);
    let before = 0, total = 0;
    for (const id of order) {  // the first token is always kept, and that which crosses topP
      if (before >= topP * room || all[id] < minP * all[order[0]]) break;
      kept[id] = bent[id];
      before += all[id];
    }
    for (const share of kept) total += share;
    return kept.map((share) => share / total);
  };

  /* The token on which a dart from 0 to 1 falls, the shares laid side by side. */
  lib.draw = function draw(shares, dart) {
    let sum = 0, last = 0;
    for (let id = 0; id < shares.length; id++) {
      if (!shares[id]) continue;
      sum += shares[id];
      last = id;
      if (dart < sum) return id;
    }
    return last;
  };

  /* `most` tokens after `ids` from a model with next(ids); stops at `stop` or where its positions end. */
  lib.generate = function generate(model, ids, { most = 20, seed = 0, stop = null, cache = true, ...choice } = {}) {
    const dart = lib.chance(seed), text = ids.slice();
    let read = 0;
    while (text.length < Math.min(ids.length + most, model.positions ?? Infinity)) {
      const answer = model.next(text, { cache });
      read += answer.read;
      const id = lib.draw(lib.shares(answer.data, { ...choice, seen: text }), dart());
      if (id === stop) break;
      text.push(id);
    }
    return { ids: text.slice(ids.length), read };
  };

  /* What a model with next(ids) says of a text, token by token, after `given`, which it reads first: for each its nats,
     and the `most` tokens that the model found likeliest in its place. */
  lib.judge = function judge(model, given, ids, { most = 3 } = {}) {
    const text = given.slice();
    return ids.map((id) => {
      const shares = lib.softmax(model.next(text).data);
      const order = Array.from(shares.keys()).sort((a, b) => shares[b] - shares[a]).slice(0, most);
      text.push(id);
      return { nats: -Math.log(shares[id]), best: order.map((other) => ({ id: other, share: shares[other] })) };
    });
  };
});
