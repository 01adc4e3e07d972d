/* What exam, repetition and "what I can't yet do" share: elements, memory in this browser, random numbers, typed numbers. */
window.w2sReview = (function () {
  "use strict";
  const memory = {};
  const read = (key, other) => { try { return JSON.parse(localStorage.getItem(key)) ?? other; } catch (error) { return memory[key] ?? other; } };
  const write = (key, value) => { memory[key] = value; try { localStorage.setItem(key, JSON.stringify(value)); } catch (error) { return; } };

  /* An element with properties and children; texts are texts, never HTML. */
  function el(name, settings, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(settings || {})) {
      if (key in node && key !== "list") node[key] = value; else node.setAttribute(key, value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }
  /* HTML of the bank, which the build took from the book's own pages. */
  const filled = (node, text) => { node.innerHTML = text; return node; };
  const link = (page, words) => el("a", { href: `../${page}.html` }, words);

  /* The numbers of course/book/review/exam.py, class Numbers. */
  function numbers(seed) {
    let state = seed >>> 0;
    const below = (n) => {
      state = (state + 0x6D2B79F5) >>> 0;
      let mixed = Math.imul(state ^ state >>> 15, state | 1) >>> 0;
      mixed = (mixed ^ (mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61))) >>> 0;
      return Math.floor(((mixed ^ mixed >>> 14) >>> 0) / 4294967296 * n);
    };
    const some = (things, many) => {
      things = [...things];
      for (let k = 0; k < Math.min(many, things.length); k++) {
        const other = k + below(things.length - k);
        [things[k], things[other]] = [things[other], things[k]];
      }
      return things.slice(0, many);
    };
    return { below, some };
  }

  /* A number as people type it: 1,200 or 1 200, 0.5 or 0,5, 3/4, 25 %, 6.7B. NaN if it is none. */
  function typed(text) {
    const sides = String(text).trim().split("/");
    if (sides.length === 2) return typed(sides[0]) / typed(sides[1]);
    let rest = sides[0].replace(/[\s_\u2009]/g, "").replace(/\u2212/g, "-");
    const ending = rest.match(/[a-zA-Z%]+$/), sizes = { k: 1e3, M: 1e6, G: 1e9, B: 1e9, "%": 0.01 };
    if (sides.length > 2 || ending && !/^e/i.test(ending[0]) && !(ending[0] in sizes)) return NaN;
    if (ending) rest = rest.slice(0, -ending[0].length);
    const grouped = /^-?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(rest);
    rest = grouped ? rest.replace(/,/g, "") : rest.replace(/^(-?\d*),(\d+)$/, "$1.$2");
    return /\d/.test(rest) ? Number(rest) * (ending ? sizes[ending[0]] : 1) : NaN;
  }
  const day = (moment) => Math.floor((moment - new Date(moment).getTimezoneOffset() * 60000) / 86400000);
  return { read, write, el, filled, link, numbers, typed, day };
})();
