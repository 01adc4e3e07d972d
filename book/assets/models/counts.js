/* N-gram tables in back-off form (reference_impl/models/ngram_table.py), and tables of word vectors. */
(globalThis.w2sParts ??= []).push(function counts(lib) {
  "use strict";

  /* tokens.0 and logs.0 hold the distribution after no context; for longer ones, contexts, backoff, offsets, tokens
     and logs. START, -1, stands before a text. */
  function ngram(config, weights) {
    const { vocab_size: vocabulary, order } = config;
    const levels = Array.from({ length: order - 1 }, (_, i) => {
      const length = i + 1, at = new Map(), contexts = weights[`contexts.${length}`].data;
      const parts = Object.fromEntries(["backoff", "offsets", "tokens", "logs"].map((part) => [part,
        weights[`${part}.${length}`].data]));
      for (let row = 0; row * length < contexts.length; row++) at.set(contexts.subarray(row * length,
        (row + 1) * length).join(), row);
      return { length, at, ...parts };
    });
    const alone = weights["logs.0"].data;

    /* p(. | context) of all tokens, from the shortest context to the longest that the table has. */
    function distribution(context) {
      const padded = [...Array(order - 1).fill(-1), ...context], shares = alone.map(Math.exp);
      for (const { length, at, backoff, offsets, tokens, logs } of levels) {
        const row = at.get(padded.slice(padded.length - length).join());
        if (row === undefined) continue;
        for (let i = 0; i < vocabulary; i++) shares[i] *= backoff[row];
        for (let n = offsets[row]; n < offsets[row + 1]; n++) shares[tokens[n]] = Math.exp(logs[n]);
      }
      const total = shares.reduce((a, b) => a + b, 0);
      return shares.map((share) => share / total);
    }

    return {
      vocabulary,
      distribution: (context) => ({ data: distribution(context) }),
      next: (ids) => ({ data: distribution(ids).map(Math.log), read: Math.min(ids.length, order - 1) }),
    };
  }

  /* Word vectors: row i of `matrix` is that of word i of the symbols. */
  function vectors(config, weights) {
    const { data, shape: [size, width] } = weights.matrix;
    const lengths = Float32Array.from({ length: size }, (_, r) => Math.hypot(...data.subarray(r * width,
      (r + 1) * width)));
    const row = (id) => data.subarray(id * width, (id + 1) * width);

    /* The sum of these words' vectors, each first brought to length 1 and taken as often as its weight says. */
    function mix(ids, weightsOf) {
      const sum = new Float32Array(width);
      ids.forEach((id, n) => row(id).forEach((value, i) => { sum[i] += weightsOf[n] * value / (lengths[id] || 1); }));
      return sum;
    }

    /* The cosine of every word with that mixture, 0 where a vector is zero. */
    function cosines(ids, weightsOf = ids.map(() => 1)) {
      const target = mix(ids, weightsOf), length = Math.hypot(...target) || 1;
      return Float32Array.from({ length: size }, (_, r) => {
        let dot = 0;
        for (let i = 0; i < width; i++) dot += data[r * width + i] * target[i];
        return dot / (length * (lengths[r] || 1));
      });
    }

    return {
      vocabulary: size,
      cosines: (ids, weightsOf) => ({ data: cosines(ids, weightsOf) }),
      /* The `most` words nearest to the mixture, those of `ids` left out, the nearest first. */
      nearest(ids, { most = 10, weights: weightsOf } = {}) {
        const all = cosines(ids, weightsOf), order = Array.from(all.keys()).filter((r) => !ids.includes(r));
        return order.sort((a, b) => all[b] - all[a]).slice(0, most).map((id) => ({ id, cosine: all[id] }));
      },
    };
  }

  lib.kinds = { ...lib.kinds, ngram, vectors };
});
