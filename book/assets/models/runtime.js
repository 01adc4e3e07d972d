/* Models that run in the page. The last file of this folder: it puts the parts together.

     const model = await w2s.models.open("gpt_kjv");      asks for weights/gpt_kjv.js, once, and starts a worker
     const ids = model.tokenizer.ids("In the beginning");
     const { data, read } = await model.call("next", ids);

   From file:// nothing can be fetched, so weights travel as a script that calls `deliver`; it is added to the page when
   a reader asks for it. The worker is made from the parts' own text. Where no worker may start, the model answers in
   the page's own thread. */
(function () {
  "use strict";
  const parts = globalThis.w2sParts, lib = {};
  parts.forEach((part) => part(lib));
  const own = document.currentScript && document.currentScript.src;
  const archives = new Map(), asked = new Map(), opened = new Map();

  /* weights/NAME.js calls this: card, tokenizer {kind, content}, and a safetensors file in base64. */
  function deliver(name, archive) {
    archives.set(name, archive);
  }

  /* The archive of a model; a second call asks for nothing. */
  function request(name) {
    if (archives.has(name)) return Promise.resolve(archives.get(name));
    if (window.w2s.models.source) return window.w2s.models.source(name);  // a notebook's kernel brings it
    if (!asked.has(name))
      asked.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = new URL(`weights/${name}.js`, own || document.baseURI).href;
        script.onload = () => (archives.has(name) ? resolve(archives.get(name))
          : reject(new Error(`${name}.js brought no model`)));
        script.onerror = () => { asked.delete(name); script.remove();
        reject(new Error(`${name}.js could not be loaded`)); };
        document.head.append(script);
      }));
    return asked.get(name);
  }

  /* The model itself, in the thread that calls. */
  function build({ card, weights, base }) {
    const known = Object.keys(lib.kinds).join(", ");
    if (!lib.kinds[card.kind]) throw new Error(`a model of kind ${card.kind}: this page knows ${known}`);
    return lib.kinds[card.kind](card.config, lib.tensorsOf(weights), base);
  }

  /* An update of another model needs that one, too. */
  async function whole(archive) {
    if (archive.card.kind !== "lora" || archive.base) return archive;
    const base = await request(archive.card.config.base);
    return { ...archive, base, tokenizer: base.tokenizer };
  }

  const answer = (model, method, given) => {
    if (["generate", "judge", "beams", "likeliest"].includes(method)) return lib[method](model, ...given);
    if (typeof model[method] !== "function") throw new Error(`the model has no ${method}`);
    return model[method](...given);
  };

  /* What runs inside the worker: the parts again, then a loop of questions. */
  function workerText() {
    return `"use strict"; const lib = {};
${parts.map((part) => `(${part})(lib);`).join("\n")}
const build = ${build}; const answer = ${answer}; let model;
onmessage = ({ data: { number, archive, method, given } }) => {
  try {
    if (archive) model = build(archive);
    postMessage({ number, value: archive ? { vocabulary: model.vocabulary, positions: model.positions } : answer(model,
      method, given) });
  } catch (error) { postMessage({ number, error: error.message }); }
};`;
  }

  /* A worker as a function from a question to a promise; rejects all that wait if the worker itself fails. */
  function startWorker() {
    const address = URL.createObjectURL(new Blob([workerText()], { type: "text/javascript" }));
    const worker = new Worker(address), waiting = new Map();
    let number = 0;
    worker.onmessage = ({ data }) => {
      const { resolve, reject } = waiting.get(data.number);
      waiting.delete(data.number);
      if (data.error) reject(new Error(data.error));
      else resolve(data.value);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      waiting.forEach(({ reject }) => reject(Object.assign(new Error("no worker may start here"), { refused: true })));
      waiting.clear();
    };
    return (question) => new Promise((resolve, reject) => {
      waiting.set(++number, { resolve, reject });
      worker.postMessage({ number, ...question });
    });
  }

  async function start(archive) {
    try {
      const ask = startWorker(), about = await ask({ archive });
      return { ...about, thread: "worker", call: (method, ...given) => ask({ method, given }) };
    } catch (error) {
      if (!error.refused && !(error instanceof DOMException)) throw error;
      const model = build(archive);
      return { vocabulary: model.vocabulary, positions: model.positions, thread: "page",
        call: async (method, ...given) => answer(model, method, given) };
    }
  }

  /* A model by name, or an archive that was brought in another way: {card, tokenizer, call(method, ...)}. */
  function open(wanted) {
    const name = typeof wanted === "string" ? wanted : wanted.card.name;
    if (!opened.has(name))
      opened.set(name, (async () => {
        const archive = await whole(typeof wanted === "string" ? await request(wanted) : wanted);
        return { card: archive.card, tokenizer: archive.tokenizer && lib.tokenizer(archive.tokenizer),
          ...(await start(archive)) };
      })().catch((error) => { opened.delete(name); throw error; }));
    return opened.get(name);
  }

  window.w2s = Object.assign(window.w2s || {}, { models: { open, deliver, request, build, lib } });
})();
