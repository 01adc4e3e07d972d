/* Attention with grouped heads, rotary positions or a bias for distances, windows and a cache of keys and values.

   The models here run one sequence at a time, so that there is no padding and no mask for it. */
(globalThis.w2sParts ??= []).push(function attention(lib) {
  "use strict";

  /* Keys and values of one layer for the tokens before. It grows by doubling and can be cut back. */
  function newCache() {
    return {
      length: 0, k: new Float32Array(0), v: new Float32Array(0),
      append(k, v, rows) {
        const width = k.length / rows, end = (this.length + rows) * width;
        if (end > this.k.length)
          for (const name of ["k", "v"]) {
            const grown = new Float32Array(Math.max(2 * this[name].length, end));
            grown.set(this[name].subarray(0, this.length * width));
            this[name] = grown;
          }
        this.k.set(k, this.length * width);
        this.v.set(v, this.length * width);
        this.length += rows;
      },
      cut(length) { this.length = Math.min(this.length, length); },
    };
  }

  /* Turn number i of each head with number i + D/2, by position / interpolation * base^(-2i / D). */
  function rotate(x, rows, heads, size, start, { base, interpolation = 1 }) {
    const half = size / 2;
    for (let r = 0; r < rows; r++)
      for (let i = 0; i < half; i++) {
        const angle = (start + r) * (base ** (-2 * i / size) / interpolation), cos = Math.cos(angle),
          sin = Math.sin(angle);
        for (let h = 0; h < heads; h++) {
          const at = (r * heads + h) * size + i, a = x[at], b = x[at + half];
          x[at] = a * cos - b * sin;
          x[at + half] = a * sin + b * cos;
        }
      }
  }

  /* Query t of q (T, H D) sees the keys from..to of k and v (S, K D) that `sight(t)` names. A group of H / K query
     heads shares a head of keys. `bias(h, distance)` is added to a score. Returns (T, H D), and in `looks`, if given,
     the weights (T, H, S); if `looks.raw` is set, the scores before the softmax too. */
  function attend(q, k, v, { queries, keys, heads, keyHeads, size, sight, bias, start = 0, looks }) {
    const y = new Float32Array(queries * heads * size), width = keyHeads * size, scale = 1 / Math.sqrt(size);
    const seen = looks && new Float32Array(queries * heads * keys), raw = looks && looks.raw && seen.slice();
    for (let t = 0; t < queries; t++) {
      const [from, to] = sight(t), scores = new Float32Array(to - from);
      for (let h = 0; h < heads; h++) {
        const mine = (t * heads + h) * size, theirs = Math.floor(h * keyHeads / heads) * size;
        for (let s = from; s < to; s++) {
          let dot = 0;
          for (let i = 0; i < size; i++) dot += q[mine + i] * k[s * width + theirs + i];
          scores[s - from] = dot * scale + (bias ? bias(h, start + t - s) : 0);
        }
        const shares = lib.softmax(scores);
        for (let s = from; s < to; s++) {
          const share = shares[s - from];
          for (let i = 0; i < size; i++) y[mine + i] += share * v[s * width + theirs + i];
        }
        if (seen) seen.set(shares, (t * heads + h) * keys + from);
        if (raw) raw.set(scores, (t * heads + h) * keys + from);
      }
    }
    if (looks) looks.push({ data: seen, shape: [queries, heads, keys], ...(raw ? { scores: raw } : {}) });
    return y;
  }

  /* An attention layer as a function of its input. parts: query, key, value, output. With `memory` in the context it
     looks there, whose keys and values are made once; else at x, and with a cache at what came before. */
  function attentionLayer(parts, { heads, keyHeads = heads, causal = false, window = null, rotary = null, bias = null,
    norms = null, memory = false }) {
    const size = parts.query.weight.shape[0] / heads;

    function sight(start, keys) {
      return (t) => {
        const here = start + t;
        if (causal) return [window === null ? 0 : Math.max(0, here - window + 1), here + 1];
        return window === null ? [0, keys] : [Math.max(0, here - window), Math.min(keys, here + window + 1)];
      };
    }

    return function run(x, rows, context, number) {
      const q = lib.linear(x, rows, parts.query), options = { queries: rows, heads, keyHeads, size,
        looks: context.looks };
      if (memory) {
        const { data, rows: keys, known } = context.memory;
        if (!known.has(parts)) known.set(parts, [lib.linear(data, keys, parts.key), lib.linear(data, keys,
          parts.value)]);
        const [k, v] = known.get(parts);
        return lib.linear(attend(q, k, v, { ...options, keys, sight: () => [0, keys] }), rows, parts.output);
      }
      let k = lib.linear(x, rows, parts.key), v = lib.linear(x, rows, parts.value), keys = rows;
      const cache = context.caches && context.caches[number], start = cache ? cache.length : 0;
      const turned = norms ? norms(q, k, rows * heads, rows * keyHeads) : [q, k];
      if (rotary) {
        rotate(turned[0], rows, heads, size, start, rotary);
        rotate(turned[1], rows, keyHeads, size, start, rotary);
      }
      k = turned[1];
      if (cache) {
        cache.append(k, v, rows);
        [k, v, keys] = [cache.k, cache.v, cache.length];
      }
      return lib.linear(attend(turned[0], k, v, { ...options, keys, sight: sight(start, keys), bias, start }), rows,
        parts.output);
    };
  }

  /* Where layers put what they look at: for logits(ids, {looks: true}), with scores for {looks: "scores"}. */
  const newLooks = (looks) => (looks ? Object.assign([], { raw: looks === "scores" }) : undefined);

  Object.assign(lib, { newCache, newLooks, attentionLayer });
});
