/* Encoders, decoders and encoder-decoders, under the weights' names of reference_impl/models.

   A block is a list of sublayers {norm, run}; the norm stands before each (x + run(norm(x))) or after the sum.
   Every model is an object of methods that take and give plain numbers, so that they can cross to a worker. */
(globalThis.w2sParts ??= []).push(function transformers(lib) {
  "use strict";
  const { layer, tensor, linear, lookUp, layerNorm, rmsNorm, add, activation, attentionLayer, newCache } = lib;

  function feedForward(weights, name, act) {
    const up = layer(weights, `${name}.up`), down = layer(weights, `${name}.down`), f = activation(act);
    return (x, rows) => linear(linear(x, rows, up).map(f), rows, down);
  }

  function gatedFeedForward(gate, up, down, act) {
    const f = activation(act);
    return (x, rows) => {
      const opened = linear(x, rows, gate), wide = linear(x, rows, up);
      return linear(wide.map((value, i) => f(opened[i]) * value), rows, down);
    };
  }

  const separate = (weights, name) => Object.fromEntries(
    ["query", "key", "value", "output"].map((part) => [part, layer(weights, `${name}.${part}`)]));

  function fused(weights, name) {
    const qkv = layer(weights, `${name}.qkv`), width = qkv.weight.shape[0] / 3;
    const [query, key, value] = [0, 1, 2].map((part) => lib.rowsOf(qkv, part * width, (part + 1) * width));
    return { query, key, value, output: layer(weights, `${name}.output`) };
  }

  const norm = (weights, name, eps, kind = layerNorm) => {
    const parts = layer(weights, name);
    return (x, rows) => kind(x, rows, parts, eps);
  };
  const nothing = (x) => x;

  function through(blocks, x, rows, normFirst, context) {
    blocks.forEach((sublayers, number) => sublayers.forEach(({ norm: normed, run }) => {
      x = normFirst ? add(x, run(normed(x, rows), rows, context, number))
        : normed(add(x, run(x, rows, context, number)), rows);
    }));
    return x;
  }

  const count = (number, make) => Array.from({ length: number }, (_, i) => make(i));
  const places = (start, rows) => count(rows, (i) => start + i);
  const refuse = (rows, most) => {
    if (rows > most) throw new Error(`${rows} tokens but ${most} positions: give a shorter text`);
    if (!rows) throw new Error("a text of 0 tokens: give one or more");
  };

  /* A decoder from its parts: embed(ids, start), blocks, and finish(x, rows) to logits. */
  function decoder({ vocabulary, positions, normFirst, embed, blocks, finish }) {
    let caches = blocks.map(newCache), known = [];

    function run(ids, context) {
      const start = context.caches[0].length;
      refuse(start + ids.length, positions);
      return through(blocks, embed(ids, start), ids.length, normFirst, context);
    }

    return {
      vocabulary, positions,
      /* Logits of the token after each, (T, V); with `looks` also each layer's attention. */
      logits(ids, { looks = false } = {}) {
        const context = { caches: blocks.map(newCache), looks: lib.newLooks(looks) };
        return { shape: [ids.length, vocabulary], data: finish(run(ids, context), ids.length), looks: context.looks };
      },
      /* Logits of the token after the last, (V). What these ids share with those of the call before is not computed
         again; `read` says how many tokens went through the model. With `looks` those tokens' attention, too. */
      next(ids, { cache = true, looks = false } = {}) {
        let shared = 0;
        while (cache && shared < Math.min(known.length, ids.length - 1) && known[shared] === ids[shared]) shared++;
        known = [];  // if a call fails, the next one starts anew
        caches.forEach((one) => one.cut(shared));
        const fresh = ids.slice(shared), seen = lib.newLooks(looks), x = run(fresh, { caches, looks: seen }), width = x.length / fresh.length;
        known = ids.slice();
        return { data: finish(x.subarray(x.length - width), 1), read: fresh.length, ...(seen ? { looks: seen } : {}) };
      },
    };
  }

  function gpt(config, weights, causal = true) {
    const { num_heads: heads, layer_norm_eps: eps, norm_first: normFirst } = config;
    const table = tensor(weights, "embedding.weight"), rows = tensor(weights, "position.weight");
    const last = normFirst ? norm(weights, "norm", eps) : nothing;
    return decoder({
      vocabulary: config.vocab_size, positions: config.max_position_embeddings, normFirst,
      embed: (ids, start) => add(lookUp(table, ids), lookUp(rows, places(start, ids.length))),
      blocks: count(config.num_layers, (i) => [
        { norm: norm(weights, `blocks.${i}.attention_norm`, eps),
          run: attentionLayer(fused(weights, `blocks.${i}.attention`), { heads, causal }) },
        { norm: norm(weights, `blocks.${i}.feed_forward_norm`, eps),
          run: feedForward(weights, `blocks.${i}.feed_forward`, config.hidden_act) }]),
      finish: (x, number) => linear(last(x, number), number, { weight: table }),
    });
  }

  /* GPT without its mask: a new token changes the vectors of those before it, so nothing is kept. */
  function unmasked(config, weights) {
    const open = gpt(config, weights, false);
    return { ...open, next: (ids) => open.next(ids, { cache: false }) };
  }

  /* Row `place` of Vaswani et al.'s table, number i of `width`. */
  const sinusoid = (place, i, width) => (i % 2 ? Math.cos : Math.sin)(place * 1e4 ** (-(i - i % 2) / width));

  function llama(config, weights) {
    if (config.rope_bands) throw new Error("rope_bands: rotary angles that are slowed by bands are not built here");
    const { num_heads: heads, rms_norm_eps: eps } = config, keyHeads = config.num_kv_heads ?? heads;
    const table = tensor(weights, "embedding.weight");
    const output = config.tie_word_embeddings ? { weight: table } : layer(weights, "output");
    const last = norm(weights, "norm", eps, rmsNorm);
    const rotary = { base: config.rope_theta, interpolation: config.rope_interpolation };
    const headNorms = (name) => {
      const [one, other] = ["query_norm", "key_norm"].map((part) => norm(weights, `${name}.${part}`, eps, rmsNorm));
      return (q, k, queryRows, keyRows) => [one(q, queryRows), other(k, keyRows)];
    };
    return decoder({
      vocabulary: config.vocab_size, positions: config.max_position_embeddings, normFirst: true,
      embed: (ids) => lookUp(table, ids),
      blocks: count(config.num_layers, (i) => [
        { norm: norm(weights, `blocks.${i}.attention_norm`, eps, rmsNorm),
          run: attentionLayer(separate(weights, `blocks.${i}.attention`), { heads, keyHeads, causal: true, rotary,
            window: config.sliding_window, norms: config.qk_norm ? headNorms(`blocks.${i}.attention`) : null }) },
        { norm: norm(weights, `blocks.${i}.feed_forward_norm`, eps, rmsNorm),
          run: gatedFeedForward(...["gate", "up", "down"].map((part) => layer(weights,
            `blocks.${i}.feed_forward.${part}`)), "silu") }]),
      finish: (x, number) => linear(last(x, number), number, output),
    });
  }

  /* BERT's encoder below `name`: embeddings of word, place and segment, then post-norm blocks. */
  function bertEncoder(config, weights, name) {
    const { num_heads: heads, layer_norm_eps: eps } = config;
    const [words, positions, segments] = ["word", "position", "segment"].map(
      (part) => tensor(weights, `${name}.embeddings.${part}.weight`));
    const normed = norm(weights, `${name}.embeddings.norm`, eps), widen = weights[`${name}.widen.weight`]
      && layer(weights, `${name}.widen`);
    const blocks = count(config.num_layers, (i) => [
      { norm: norm(weights, `${name}.blocks.${i}.attention_norm`, eps),
        run: attentionLayer(separate(weights, `${name}.blocks.${i}.attention`), { heads }) },
      { norm: norm(weights, `${name}.blocks.${i}.feed_forward_norm`, eps),
        run: feedForward(weights, `${name}.blocks.${i}.feed_forward`, config.hidden_act) }]);
    return (ids, sides, looks) => {
      refuse(ids.length, config.max_position_embeddings);
      const sum = add(add(lookUp(words, ids), lookUp(positions, places(0, ids.length))), lookUp(segments,
        sides ?? ids.map(() => 0)));
      const x = normed(sum, ids.length);
      return through(blocks, widen ? linear(x, ids.length, widen) : x, ids.length, false, { looks });
    };
  }

  function bert(config, weights) {
    const encode = bertEncoder(config, weights, "bert"), f = activation(config.hidden_act);
    const dense = layer(weights, "masked_lm.dense"), normed = norm(weights, "masked_lm.norm", config.layer_norm_eps);
    const output = { weight: tensor(weights, "bert.embeddings.word.weight"), bias: tensor(weights,
      "masked_lm.decoder.bias") };
    return {
      vocabulary: config.vocab_size, positions: config.max_position_embeddings,
      /* A vector for each token, (T, C). */
      hidden: (ids, segments) => ({ shape: [ids.length, config.hidden_size], data: encode(ids, segments) }),
      /* Logits of what stands at each place, (T, V); with `looks` also each layer's attention. */
      logits(ids, { segments, looks = false } = {}) {
        const seen = lib.newLooks(looks), x = linear(encode(ids, segments, seen), ids.length, dense).map(f);
        return { shape: [ids.length, config.vocab_size], looks: seen,
          data: linear(normed(x, ids.length), ids.length, output) };
      },
    };
  }

  function electra(config, weights) {
    const encode = bertEncoder(config, weights, "electra"), f = activation(config.hidden_act);
    const dense = layer(weights, "dense"), replaced = layer(weights, "replaced");
    return {
      vocabulary: config.vocab_size, positions: config.max_position_embeddings,
      /* One logit a token, (T): above zero means replaced. */
      logits: (ids, { segments } = {}) => ({ shape: [ids.length],
        data: linear(linear(encode(ids, segments), ids.length, dense).map(f), ids.length, replaced) }),
    };
  }

  /* ModernBERT's encoder; the names of its weights begin with `prefix`. */
  function modernbertEncoder(config, weights, prefix) {
    const { num_heads: heads, norm_eps: eps, intermediate_size: wide } = config;
    const table = tensor(weights, `${prefix}embedding.weight`), first = norm(weights, `${prefix}embedding_norm`, eps);
    const blocks = count(config.num_layers, (i) => {
      const name = `${prefix}blocks.${i}`, both = layer(weights, `${name}.feed_forward.gate_up`),
        local = i % config.global_every > 0;
      return [
        { norm: i ? norm(weights, `${name}.attention_norm`, eps) : nothing,
          run: attentionLayer(fused(weights, `${name}.attention`), { heads, window: local ? config.local_attention >> 1
            : null,
            rotary: { base: local ? config.local_rope_theta : config.global_rope_theta } }) },
        { norm: norm(weights, `${name}.feed_forward_norm`, eps),
          run: gatedFeedForward(lib.rowsOf(both, 0, wide), lib.rowsOf(both, wide, 2 * wide), layer(weights,
            `${name}.feed_forward.down`), "gelu") }];
    });
    const last = norm(weights, `${prefix}norm`, eps);
    return (ids, seen) => {
      refuse(ids.length, config.max_position_embeddings);
      return last(through(blocks, first(lookUp(table, ids), ids.length), ids.length, true, { looks: seen }), ids.length);
    };
  }

  function modernbert(config, weights) {
    const encode = modernbertEncoder(config, weights, "encoder."), f = activation("gelu");
    const dense = layer(weights, "dense"), normed = norm(weights, "norm", config.norm_eps);
    const output = { weight: tensor(weights, "encoder.embedding.weight"), bias: tensor(weights, "decoder.bias") };
    return {
      vocabulary: config.vocab_size, positions: config.max_position_embeddings,
      logits(ids, { looks = false } = {}) {
        const rows = ids.length, seen = lib.newLooks(looks), x = encode(ids, seen);
        return { shape: [rows, config.vocab_size], looks: seen,
          data: linear(normed(linear(x, rows, dense).map(f), rows), rows, output) };
      },
    };
  }

  /* The same without a head: a vector for each token, (T, C). */
  function encoder(config, weights) {
    const encode = modernbertEncoder(config, weights, "");
    return { vocabulary: config.vocab_size, positions: config.max_position_embeddings,
      hidden: (ids) => ({ shape: [ids.length, config.hidden_size], data: encode(ids) }) };
  }

  /* Vaswani et al.'s encoder and decoder: sinusoids, one table for both sides and for the output. */
  function transformer(config, weights) {
    const { num_heads: heads, hidden_size: width, norm_first: normFirst } = config, eps = 1e-5;
    const table = tensor(weights, "embedding.weight");
    const sublayer = (name, run) => ({ norm: norm(weights, `${name}.norm`, eps), run });
    const attention = (name, options) => sublayer(name, attentionLayer(separate(weights, `${name}.layer`),
      { heads, ...options }));
    const thought = (name) => sublayer(name, feedForward(weights, `${name}.layer`, "relu"));
    const encoder = count(config.num_layers, (i) => [attention(`encoder.${i}.attention`),
      thought(`encoder.${i}.feed_forward`)]);
    const decoders = count(config.num_layers, (i) => [attention(`decoder.${i}.attention`, { causal: true }),
      attention(`decoder.${i}.cross_attention`, { memory: true }), thought(`decoder.${i}.feed_forward`)]);
    const [encoded, decoded] = ["encoder_norm", "decoder_norm"].map((name) => (normFirst ? norm(weights, name, eps)
      : nothing));

    function embed(ids, start) {
      const x = lookUp(table, ids);
      return x.map((value, at) => {
        return value * Math.sqrt(width) + sinusoid(start + Math.floor(at / width), at % width, width);
      });
    }

    function read(source, looks) {
      refuse(source.length, Infinity);
      const x = through(encoder, embed(source, 0), source.length, normFirst, { looks });
      return { data: encoded(x, source.length), rows: source.length, known: new Map() };
    }

    function decode(ids, memory, caches, looks) {
      const x = through(decoders, embed(ids, caches[0].length), ids.length, normFirst, { memory, caches, looks });
      return linear(decoded(x, ids.length), ids.length, { weight: table });
    }

    return {
      vocabulary: config.vocab_size,
      /* Logits of the token after each of the target's, (T, V). If asked for, `reads` holds the encoder's attention
         and `looks` the decoder's, to itself and to the source in turn. */
      logits(source, target, { looks = false } = {}) {
        const reads = lib.newLooks(looks), seen = lib.newLooks(looks);
        return { shape: [target.length, config.vocab_size], reads, looks: seen,
          data: decode(target, read(source, reads), decoders.map(newCache), seen) };
      },
      /* The likeliest token at each step until `end`, which is left out,
        and what the last layer looked at: (S) each. */
      write(source, { start, end, most = 64 }) {
        const memory = read(source), caches = decoders.map(newCache), ids = [], looks = [];
        for (let previous = start; ids.length < most;) {
          const seen = [];
          previous = lib.argmax(decode([previous], memory, caches, seen));
          if (previous === end) break;
          ids.push(previous);
          const { data, shape: [, , keys] } = seen[seen.length - 1];
          looks.push(count(keys, (s) => count(heads, (h) => data[h * keys + s]).reduce((a, b) => a + b) / heads));
        }
        return { ids, looks };
      },
    };
  }

  Object.assign(lib, { decoder, norm, separate, feedForward, sinusoid });
  lib.kinds = { ...lib.kinds, gpt, unmasked, llama, bert, electra, modernbert, encoder, transformer };
});
