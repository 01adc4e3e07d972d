/* LSTMs: a language model, ELMo's readers (Peters et al. 2018), and a reader and writer with additive attention
   (Bahdanau et al. 2015). */
(globalThis.w2sParts ??= []).push(function recurrent(lib) {
  "use strict";
  const { layer, tensor, linear, lookUp, sigmoid } = lib;

  /* One cell below `name`: from an input and a state {shown, kept} to the next state, with the gates that made it. */
  function cell(weights, name) {
    const input = layer(weights, `${name}.input`), recurrent = layer(weights, `${name}.recurrent`);
    const narrower = weights[`${name}.projection.weight`] && layer(weights, `${name}.projection`);
    const size = recurrent.weight.shape[0] / 4, width = recurrent.weight.shape[1];
    return {
      size: width,
      start: () => ({ shown: new Float32Array(width), kept: new Float32Array(size) }),
      /* `forced` may hold a number for write, keep or show: every unit's gate then stands there. */
      step(x, { shown, kept }, forced = {}) {
        const sum = lib.add(linear(x, 1, input), linear(shown, 1, recurrent));
        const gate = (name, n) => sum.slice(n * size, (n + 1) * size).map((value) => forced[name] ?? sigmoid(value));
        const write = gate("write", 0), keep = gate("keep", 1), show = gate("show", 3);
        const content = sum.slice(2 * size, 3 * size).map(Math.tanh);
        const next = kept.map((value, i) => keep[i] * value + write[i] * content[i]);
        const shown_ = next.map((value, i) => show[i] * Math.tanh(value));
        return { shown: narrower ? linear(shown_, 1, narrower) : shown_, kept: next, gates: { write, keep, show } };
      },
    };
  }

  /* What a cell shows at each of the rows (T, D), and its states there; backward it begins with the last row. */
  function along(one, x, rows, backward, forced) {
    const width = x.length / rows, shown = new Float32Array(rows * one.size), states = [];
    let state = one.start();
    for (let n = 0; n < rows; n++) {
      const place = backward ? rows - 1 - n : n;
      states[place] = state = one.step(x.subarray(place * width, (place + 1) * width), state, forced);
      shown.set(state.shown, place * one.size);
    }
    return { shown, states, state };
  }

  /* Layers of cells below `name`, in one direction or two, over rows (T, D). */
  function lstm(weights, name) {
    const layers = [];
    while (weights[`${name}.layers.${layers.length}.0.input.weight`]) {
      const both = [0, 1].filter((d) => weights[`${name}.layers.${layers.length}.${d}.input.weight`]);
      layers.push(both.map((d) => cell(weights, `${name}.layers.${layers.length}.${d}`)));
    }
    /* The top layer's rows, the last state of each cell, and the states of every step of each. */
    const read = (x, rows, forced) => {
      const last = [], steps = [];
      for (const cells of layers) {
        const outputs = cells.map((one, backward) => {
          const { shown, states, state } = along(one, x, rows, backward, forced);
          last.push(state);
          steps.push(states);
          return shown;
        });
        x = outputs.length > 1 ? lib.beside(outputs[0], outputs[1], rows) : outputs[0];
      }
      return { data: x, last, steps };
    };
    return Object.assign(read, { layers });
  }

  function languageModel(config, weights) {
    const table = tensor(weights, "embedding.weight"), read = lstm(weights, "lstm"), output = layer(weights, "output");
    const known = { ids: [], states: [] };  // each layer's state after each token of the text that was read last
    return {
      vocabulary: config.vocab_size,
      /* Logits of the token after each, (T, V), and the top layer's gates at each step, some of them `forced`. */
      logits(ids, { forced = {} } = {}) {
        const { data, steps } = read(lookUp(table, ids), ids.length, forced);
        return { shape: [ids.length, config.vocab_size], data: linear(data, ids.length, output),
          gates: steps[steps.length - 1].map((state) => state.gates) };
      },
      /* Logits of the token after the last; `read` says how many tokens were new. */
      next(ids, { cache = true } = {}) {
        if (!ids.length) throw new Error("a text of 0 tokens: give one or more");
        let same = 0;
        while (cache && same < ids.length - 1 && same < known.ids.length && known.ids[same] === ids[same]) same++;
        known.ids.length = known.states.length = same;
        for (let t = same; t < ids.length; t++) {
          let x = lookUp(table, [ids[t]]);
          known.states.push(read.layers.map(([one], l) => {
            const state = one.step(x, t ? known.states[t - 1][l] : one.start());
            x = state.shown;
            return state;
          }));
          known.ids.push(ids[t]);
        }
        return { data: linear(known.states.at(-1).at(-1).shown, 1, output), read: ids.length - same };
      },
    };
  }

  /* A word's vector from its bytes between two marks: for each filter the largest value over its places. */
  function characterEncoder(config, weights) {
    const START = 256, END = 257, PADDING = 258, most = config.max_characters;
    const table = tensor(weights, "words.embedding.weight"), projection = layer(weights, "words.projection");
    const filters = config.filters.map(([width], n) => ({ width, ...layer(weights, `words.filters.${n}`) }));
    const highways = Array.from({ length: config.num_highway }, (_, n) => ["change", "gate"].map((part) => layer(weights,
      `words.highways.${n}.${part}`)));

    function patterns(word) {
      const bytes = Array.from(new TextEncoder().encode(word)).slice(0, most - 2);
      const ids = [START, ...bytes, END, ...Array(most - 2 - bytes.length).fill(PADDING)];
      const x = lookUp(table, ids), size = config.character_size;
      return filters.flatMap((filter) => {
        const places = most - filter.width + 1, found = new Float32Array(filter.weight.shape[0]);
        for (let p = 0; p < places; p++)
          linear(x.subarray(p * size, (p + filter.width) * size), 1, filter).forEach((value, f) => {
            found[f] = Math.max(found[f], value);
          });
        return Array.from(found);
      });
    }

    return (word) => {
      let x = Float32Array.from(patterns(word));
      for (const [change, gate] of highways) {
        const open = linear(x, 1, gate).map(sigmoid), fresh = linear(x, 1, change);
        x = x.map((value, i) => open[i] * Math.max(fresh[i], 0) + (1 - open[i]) * value);
      }
      return linear(x, 1, projection);
    };
  }

  function elmo(config, weights) {
    const encode = characterEncoder(config, weights), width = config.word_size;
    const both = ["forwards", "backwards"].map((side) => Array.from({ length: config.num_layers }, (_, n) => cell(weights,
      `${side}.${n}`)));
    return {
      vocabulary: config.vocab_size,
      /* The word vectors twice, and each layer's forward vectors beside its backward ones: (L, T, 2 C). */
      layers(words) {
        const rows = words.length, first = new Float32Array(rows * width);
        if (!rows || words.some((word) => !word)) throw new Error("an empty text or word: leave it out");
        words.forEach((word, t) => first.set(encode(word), t * width));
        const stacks = both.map((cells, backward) => cells.reduce((stack, one, n) => {
          const { shown } = along(one, stack[n], rows, backward);
          return [...stack, n ? lib.add(shown, stack[n]) : shown];
        }, [first]));
        const data = new Float32Array(stacks[0].length * rows * 2 * width);
        stacks[0].forEach((ahead, n) => data.set(lib.beside(ahead, stacks[1][n], rows), n * rows * 2 * width));
        return { shape: [stacks[0].length, rows, 2 * width], data };
      },
    };
  }

  function seq2seq(config, weights) {
    const sources = tensor(weights, "source_embedding.weight"), targets = tensor(weights, "target_embedding.weight");
    const read = lstm(weights, "encoder"), decoder = cell(weights, "decoder"), width = config.hidden_size;
    const [first, query, key, score, mix, output] = ["first_state", "attention.query", "attention.key",
      "attention.score",
      "mix", "output"].map((name) => layer(weights, name));

    function encode(source) {
      if (!source.length) throw new Error("a source of 0 tokens: give one or more");
      const rows = source.length, { data, last } = read(lookUp(sources, source), rows);
      return { memory: data, keys: linear(data, rows, key), rows,
        state: { shown: linear(last[1].shown, 1, first).map(Math.tanh), kept: new Float32Array(width) } };
    }

    function step(previous, state, { memory, keys, rows }) {
      const word = lookUp(targets, [previous]), asked = linear(state.shown, 1, query), size = asked.length;
      const shares = lib.softmax(linear(keys.map((value, at) => Math.tanh(value + asked[at % size])), rows, score));
      const wide = memory.length / rows, seen = new Float32Array(wide);
      for (let s = 0; s < rows; s++) for (let i = 0; i < wide; i++) seen[i] += shares[s] * memory[s * wide + i];
      const both = lib.beside(word, seen, 1), next = decoder.step(both, state);
      return { state: next, shares, logits: linear(linear(lib.beside(both, next.shown, 1), 1, mix).map(Math.tanh), 1,
        output) };
    }

    return {
      vocabulary: config.target_vocab_size,
      /* Logits of the token after each of the target's, (T, V). */
      logits(source, target) {
        const read_ = encode(source), data = new Float32Array(target.length * config.target_vocab_size);
        let state = read_.state;
        target.forEach((previous, t) => {
          const done = step(previous, state, read_);
          state = done.state;
          data.set(done.logits, t * config.target_vocab_size);
        });
        return { shape: [target.length, config.target_vocab_size], data };
      },
      /* The likeliest token at each step until `end`, which is left out, and what each step looked at. */
      write(source, { start, end, most = 64 }) {
        const read_ = encode(source), ids = [], looks = [];
        for (let previous = start, state = read_.state; ids.length < most;) {
          const done = step(previous, state, read_);
          [previous, state] = [lib.argmax(done.logits), done.state];
          if (previous === end) break;
          ids.push(previous);
          looks.push(Array.from(done.shares));
        }
        return { ids, looks };
      },
    };
  }

  lib.kinds = { ...lib.kinds, lstm: languageModel, elmo, seq2seq };
});
