/* Tensors and layers. A tensor is {data, shape}; rows of numbers are Float32Arrays, row after row.

   Every file of this folder adds one function to `w2sParts`. runtime.js calls each with the library so far, here and,
   from its own text, inside the worker: so a part uses nothing but `lib` and the language. */
(globalThis.w2sParts ??= []).push(function numbers(lib) {
  "use strict";

  /* A float16 as a number: sign, five bits of exponent, ten of fraction (IEEE 754, binary16). */
  function fromHalf(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (1024 + fraction) * 2 ** (exponent - 25);
  }

  /* The tensors of a safetensors file: eight bytes of header length, a JSON header, then the numbers. */
  function readSafetensors(buffer) {
    const view = new DataView(buffer), length = Number(view.getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
    const read = {
      F16: (at, count) => Float32Array.from({ length: count }, (_, i) => fromHalf(view.getUint16(at + 2 * i, true))),
      F32: (at, count) => Float32Array.from({ length: count }, (_, i) => view.getFloat32(at + 4 * i, true)),
      I16: (at, count) => Int16Array.from({ length: count }, (_, i) => view.getInt16(at + 2 * i, true)),
      I32: (at, count) => Int32Array.from({ length: count }, (_, i) => view.getInt32(at + 4 * i, true)),
    };
    const tensors = {};
    delete header.__metadata__;
    for (const [name, { dtype, shape, data_offsets: [start] }] of Object.entries(header)) {
      if (!read[dtype]) throw new Error(`${name} is ${dtype}; this reader knows ${Object.keys(read).join(", ")}`);
      tensors[name] = { shape, data: read[dtype](8 + length + start, shape.reduce((a, b) => a * b, 1)) };
    }
    return tensors;
  }

  function fromBase64(text) {
    const bytes = atob(text);
    return Uint8Array.from({ length: bytes.length }, (_, i) => bytes.charCodeAt(i)).buffer;
  }

  function tensor(weights, name) {
    if (!weights[name]) throw new Error(`the weights lack ${name}`);
    return weights[name];
  }

  /* A linear layer or a norm by its name: {weight, bias}, the bias undefined where there is none. */
  const layer = (weights, name) => ({ weight: tensor(weights, `${name}.weight`), bias: weights[`${name}.bias`] });

  /* Rows from..to of a layer: one of several that share a matrix. */
  function rowsOf({ weight, bias }, from, to) {
    const width = weight.shape[1];
    return { weight: { shape: [to - from, width], data: weight.data.subarray(from * width, to * width) },
      bias: bias && { data: bias.data.subarray(from, to) } };
  }

  /* x W^T + b for `rows` rows; each row of W meets all rows of x while it is in the cache. */
  function linear(x, rows, { weight, bias }) {
    const [outputs, inputs] = weight.shape, w = weight.data, y = new Float32Array(rows * outputs);
    for (let o = 0; o < outputs; o++) {
      const start = o * inputs, first = bias ? bias.data[o] : 0;
      for (let r = 0; r < rows; r++) {
        let a = 0, b = 0, c = 0, d = 0, i = 0;
        const at = r * inputs;
        for (; i + 3 < inputs; i += 4) {
          a += x[at + i] * w[start + i];
          b += x[at + i + 1] * w[start + i + 1];
          c += x[at + i + 2] * w[start + i + 2];
          d += x[at + i + 3] * w[start + i + 3];
        }
        for (; i < inputs; i++) a += x[at + i] * w[start + i];
        y[r * outputs + o] = first + a + b + c + d;
      }
    }
    return y;
  }

  /* Rows of a table, one for each id. */
  function lookUp(table, ids) {
    const [size, width] = table.shape, y = new Float32Array(ids.length * width);
    ids.forEach((id, r) => {
      if (!(id >= 0 && id < size)) throw new Error(`id ${id} but a table of ${size}`);
      y.set(table.data.subarray(id * width, (id + 1) * width), r * width);
    });
    return y;
  }

  function layerNorm(x, rows, { weight, bias }, eps) {
    const width = weight.shape[0], y = new Float32Array(x.length);
    for (let r = 0; r < rows; r++) {
      const at = r * width;
      let mean = 0, variance = 0;
      for (let i = 0; i < width; i++) mean += x[at + i];
      mean /= width;
      for (let i = 0; i < width; i++) variance += (x[at + i] - mean) * (x[at + i] - mean);
      const scale = 1 / Math.sqrt(variance / width + eps);
      for (let i = 0; i < width; i++)
        y[at + i] = (x[at + i] - mean) * scale * weight.data[i] + (bias ? bias.data[i] : 0);
    }
    return y;
  }

  function rmsNorm(x, rows, { weight }, eps) {
    const width = weight.shape[0], y = new Float32Array(x.length);
    for (let r = 0; r < rows; r++) {
      let square = 0;
      for (let i = r * width; i < (r + 1) * width; i++) square += x[i] * x[i];
      const scale = 1 / Math.sqrt(square / width + eps);
      for (let i = 0; i < width; i++) y[r * width + i] = x[r * width + i] * scale * weight.data[i];
    }
    return y;
  }

  /* The error function to 1.5e-7: Abramowitz and Stegun 1964, formula 7.1.26. */
  function erf(x) {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const sum = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    return Math.sign(x) * (1 - sum * Math.exp(-x * x));
  }
  const sigmoid = (x) => 1 / (1 + Math.exp(-x));
  const tanhForm = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));
  const activations = { relu: (x) => Math.max(x, 0), gelu: (x) => x * 0.5 * (1 + erf(x / Math.SQRT2)),
    gelu_new: tanhForm,
    gelu_fast: tanhForm, gelu_pytorch_tanh: tanhForm, silu: (x) => x * sigmoid(x), tanh: Math.tanh };

  function activation(name) {
    if (!activations[name]) throw new Error(`activation ${name} is none of ${Object.keys(activations).join(", ")}`);
    return activations[name];
  }

  const add = (x, y) => x.map((value, i) => value + y[i]);

  /* Rows of one matrix beside those of another. */
  function beside(x, y, rows) {
    const a = x.length / rows, b = y.length / rows, z = new Float32Array(x.length + y.length);
    for (let r = 0; r < rows; r++) {
      z.set(x.subarray(r * a, (r + 1) * a), r * (a + b));
      z.set(y.subarray(r * b, (r + 1) * b), r * (a + b) + a);
    }
    return z;
  }

  /* Numbers between 0 and 1 that sum to 1; the largest is taken away first, so that nothing overflows. */
  function softmax(scores) {
    let most = -Infinity, total = 0;
    for (const score of scores) most = Math.max(most, score);
    const shares = new Float32Array(scores.length);
    for (let i = 0; i < scores.length; i++) total += shares[i] = Math.exp(scores[i] - most);
    for (let i = 0; i < shares.length; i++) shares[i] /= total;
    return shares;
  }

  const argmax = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

  Object.assign(lib, { readSafetensors, fromBase64, tensor, layer, rowsOf, linear, lookUp, layerNorm, rmsNorm, sigmoid,
    activation, add, beside, softmax, argmax });
});
