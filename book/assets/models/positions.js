/* Decoders that differ in how they are told where a token stands, under the weights' names of
   reference_impl/models/placed_decoder.py. */
(globalThis.w2sParts ??= []).push(function positions(lib) {
  "use strict";
  const { tensor, linear, lookUp, attentionLayer, decoder, norm, separate, feedForward, sinusoid } = lib;

  /* T5's bucket of keys that stand `distance` before the query: 16 of one distance each, then wider by the logarithm.
     In single precision, as the released program: elsewhere a distance at an edge would fall on its other side. */
  function bucket(distance) {
    if (distance < 16) return distance;
    const share = Math.fround(Math.fround(Math.log(distance / 16)) / Math.fround(Math.log(8)));
    return Math.min(31, 16 + Math.floor(Math.fround(share * 16)));
  }

  /* Decoders of GPT-2's block that differ in how they are told places: logits(kind, ids) of one of them. */
  function placed(config, weights) {
    const { num_heads: heads, hidden_size: width, sinusoids_times: times } = config, eps = 1e-5;
    const made = Object.fromEntries(config.kinds.map((kind) => {
      const table = tensor(weights, `${kind}.embedding.weight`), last = norm(weights, `${kind}.norm`, eps);
      const own = weights[`${kind}.position.weight`], buckets = weights[`${kind}.position.table.weight`];
      const biases = { T5: (h, distance) => buckets.data[bucket(distance) * heads + h],
        ALiBi: (h, distance) => -distance * 2 ** (-8 * (h + 1) / heads) };
      const options = { heads, causal: true, bias: biases[kind], rotary: kind === "RoPE" ? { base: 1e4 } : null };
      const embed = (ids) => lookUp(table, ids).map((value, at) => value + (own ? own.data[at] : kind === "sinusoidal"
        ? times * sinusoid(Math.floor(at / width), at % width, width) : 0));
      return [kind, decoder({ vocabulary: config.vocab_size, positions: config.max_positions, normFirst: true, embed,
        blocks: Array.from({ length: config.num_layers }, (_, i) => [
          { norm: norm(weights, `${kind}.blocks.${i}.attention_norm`, eps),
            run: attentionLayer(separate(weights, `${kind}.blocks.${i}.attention`), options) },
          { norm: norm(weights, `${kind}.blocks.${i}.feed_forward_norm`, eps),
            run: feedForward(weights, `${kind}.blocks.${i}.feed_forward`, "gelu") }]),
        finish: (x, number) => linear(last(x, number), number, { weight: table }) })];
    }));
    return {
      vocabulary: config.vocab_size, positions: config.max_positions,
      logits: (kind, ids, options) => made[kind].logits(ids, options),
      /* The nats of ids[from] and all after it, and how the last token's heads in the first layer share their weight out
         over the last `most` tokens, (H, most). */
      read(kind, ids, from, most) {
        const { data, shape: [, wide], looks: [{ data: seen }] } = made[kind].logits(ids, { looks: true }), keys = ids.length;
        const row = (t) => lib.softmax(data.slice(t * wide, (t + 1) * wide)), end = (h) => ((keys - 1) * heads + h + 1) * keys;
        return { nats: ids.slice(from).map((id, n) => -Math.log(row(from + n - 1)[id])),
          looks: Array.from({ length: heads }, (_, h) => Array.from(seen.slice(end(h) - most, end(h)))) };
      },
    };
  }

  lib.kinds = { ...lib.kinds, placed };
});
