/* LoRA: another model's matrices with a low-rank update beside them, of any strength. See reference_impl/layers/lora.py. */
(globalThis.w2sParts ??= []).push(function lora(lib) {
  "use strict";

  /* W + scale * B A for each matrix that the update names; all other tensors are the old model's own. */
  function updated(base, update, scale) {
    const tensors = { ...base };
    for (const name of Object.keys(update).filter((key) => key.endsWith(".a"))) {
      const place = name.slice(0, -2), a = update[name], b = update[`${place}.b`], [rank, inside] = a.shape;
      const old = lib.tensor(base, `${place}.weight`), data = Float32Array.from(old.data);
      for (let o = 0; o < b.shape[0]; o++)
        for (let r = 0; r < rank; r++) {
          const factor = scale * b.data[o * rank + r];
          for (let i = 0; i < inside; i++) data[o * inside + i] += factor * a.data[r * inside + i];
        }
      tensors[`${place}.weight`] = { ...old, data };
    }
    return tensors;
  }

  /* `base` is the archive of the model that was updated. strength(1) is as it was trained, strength(0) the old model. */
  function merged({ alpha, rank }, update, base) {
    const tensors = lib.tensorsOf(base.weights);
    const make = (strength) => lib.kinds[base.card.kind](base.card.config, updated(tensors, update, strength * alpha / rank));
    let now = make(1);
    return {
      vocabulary: now.vocabulary, positions: now.positions,
      logits: (...given) => now.logits(...given),
      next: (...given) => now.next(...given),
      strength(share) { now = make(share); return { strength: share }; },
    };
  }

  lib.tensorsOf = (weights) => lib.readSafetensors(typeof weights === "string" ? lib.fromBase64(weights) : weights);
  lib.kinds = { ...lib.kinds, lora: merged };
});
