/* LSTMs: a language model, and a reader and writer with additive attention (Bahdanau et al. 2015). */
(globalThis.w2sParts ??= []).push(function recurrent(lib) {
  "use strict";
  const { layer, tensor, linear, lookUp, sigmoid } = lib;

  /* One cell below `name`: from an input and a state {shown, kept} to the next state, with the gates that made it. */
  function cell(weights, name) {
    const input = layer(weights, `${name}.input`), recurrent = layer(weights, `${name}.recurrent`);
    const size = recurrent.weight.shape[0] / 4;
    return {
      size,
      start: () => ({ shown: new Float32Array(size), kept: new Float32Array(size) }),
      /* `forced` may hold a number for write, keep or show: every unit's gate then stands there. */
      step(x, { shown, kept }, forced = {}) {
        const sum = lib.add(linear(x, 1, input), linear(shown, 1, recurrent));
        const gate = (name, n) => sum.slice(n * size, (n + 1) * size).map((value) => forced[name] ?? sigmoid(value));
        const write = gate("write", 0), keep = gate("keep", 1), show = gate("show", 3);
        const content = sum.slice(2 * size, 3 * size).map(Math.tanh);
        const next = kept.map((value, i) => keep[i] * value + write[i] * content[i]);
        return { shown: next.map((value, i) => show[i] * Math.tanh(value)), kept: next, gates: { write, keep, show } };
      },
    };
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
        const width = x.length / rows;
        const outputs = cells.map((one, backward) => {
          const shown = new Float32Array(rows * one.size), states = [];
          let state = one.start();
          for (let n = 0; n < rows; n++) {
            const place = backward ? rows - 1 - n : n;
            states[place] = state = one.step(x.subarray(place * width, (place + 1) * width), state, forced);
            shown.set(state.shown, place * one.size);
          }
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

  lib.kinds = { ...lib.kinds, lstm: languageModel, seq2seq };
});
