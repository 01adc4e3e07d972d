/* Tokenizers of the trained models and of published ones: byte-level BPE, BERT's WordPiece, SentencePiece's BPE, and
   plain lists of symbols.

   Each has encode(text) to [{id, text}], ids(text), token(id) as a reader sees it, and decode(ids). The published ones
   have written(id), the token as its file writes it; byte-level BPE has words(text) and steps(word), WordPiece
   words(text) and tries(word). */
(globalThis.w2sParts ??= []).push(function tokenizers(lib) {
  "use strict";
  // Python's \s, not JavaScript's
  const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  const GPT2 = new RegExp(`'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${SPACE}\\p{L}\\p{N}]+`
    + `|[${SPACE}]+(?![^${SPACE}])|[${SPACE}]+`, "gu");
  // SmolLM2's: each digit is a word
  const SINGLE_DIGITS = new RegExp(`'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+|\\p{N}| ?[^${SPACE}\\p{L}\\p{N}]+`
    + `|[${SPACE}]+(?![^${SPACE}\\p{N}])|[${SPACE}]+`, "gu");
  const SIGN = "!-\\/:-@\\[-`\\{-~\\p{P}";
  const BERT = new RegExp(`[${SIGN}]|[^${SPACE}${SIGN}]+`, "gu");
  const CJK = new RegExp("[\\u4e00-\\u9fff\\u3400-\\u4dbf\\u{20000}-\\u{2a6df}\\u{2a700}-\\u{2b73f}"
    + "\\u{2b740}-\\u{2b81f}\\u{2b820}-\\u{2ceaf}\\uf900-\\ufaff\\u{2f800}-\\u{2fa1f}]", "u");

  /* Current expressions. White space as in Python's regex library, without the four separators of ASCII; `(?i:...)` is
     written out, with the long s that Unicode folds to an s. */
  const WHITE = SPACE.replace("\\x1c-\\x20", "\\x20");
  const END = "'(?:[sS\u017fdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])";
  const SPACES = `[${WHITE}]*[\\r\\n]+|[${WHITE}]+(?![^${WHITE}])|[${WHITE}]+`;
  const LLAMA = (digits) => new RegExp(`${END}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}`
    + `| ?[^${WHITE}\\p{L}\\p{N}]+[\\r\\n]*|${SPACES}`, "gu");
  const UPPER = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]", LOWER = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
  const RANKED = {
    cl100k: new RegExp(`${END}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^${WHITE}\\p{L}\\p{N}]+[\\r\\n]*`
      + `|[${WHITE}]+$|[${WHITE}]*[\\r\\n]|[${WHITE}]+(?![^${WHITE}])|[${WHITE}]`, "gu"),
    o200k: new RegExp(`[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+(?:${END})?|[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*(?:${END})?`
      + `|\\p{N}{1,3}| ?[^${WHITE}\\p{L}\\p{N}]+[\\r\\n/]*|${SPACES}`, "gu"),
    qwen3: LLAMA("\\p{N}") };

  /* GPT-2's table: the printable character that stands for each byte. */
  function byteCharacters() {
    let other = 0x100;
    return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(
      (b >= 33 && b <= 126) || (b >= 0xa1 && b <= 0xac) || b >= 0xae ? b : other++));
  }

  /* Without `merges` any two neighbours that together are a token may be joined, the lowest id first, and a word that
     is a token is not cut. */
  function byteLevel({ tokens, merges = null, pattern = GPT2, composed = false }) {
    const characters = byteCharacters(), byteOf = new Map(characters.map((character, byte) => [character, byte]));
    const idOf = new Map(tokens.map((token, id) => [token, id]));
    const rank = new Map((merges ?? []).map(([left, right], n) => [`${left} ${right}`, n]));
    const rankOf = merges ? (left, right) => rank.get(`${left} ${right}`) : (left, right) => idOf.get(left + right);
    const utf8 = new TextEncoder(), known = new Map();

    /* Join the pair of neighbours with the lowest rank, the leftmost of equals, while there is one. Returns each state
       on the way: the parts, the ranks of their neighbours, and where the next join is made, -1 at the end. */
    function steps(word) {
      const parts = Array.from(utf8.encode(word), (byte) => characters[byte]), found = [];
      for (;;) {
        const ranks = parts.slice(1).map((part, i) => rankOf(parts[i], part) ?? null);
        const best = Math.min(...ranks.map((r) => r ?? Infinity)), at = best < Infinity ? ranks.indexOf(best) : -1;
        found.push({ parts: [...parts], ranks, at });
        if (at < 0) return found;
        parts.splice(at, 2, parts[at] + parts[at + 1]);
      }
    }
    // a byte without a token, which a vocabulary may lack, stands for nothing
    const merged = (word) => steps(word).at(-1).parts.map((part) => idOf.get(part)).filter((id) => id !== undefined);
    const written = (word) => Array.from(utf8.encode(word), (byte) => characters[byte]).join("");
    const merge = (word) => (!merges && idOf.has(written(word)) ? [idOf.get(written(word))] : merged(word));

    const bytes = (ids) => Uint8Array.from(ids.flatMap((id) => Array.from(tokens[id],
      (character) => byteOf.get(character))));
    const decode = (ids) => new TextDecoder().decode(bytes(ids));
    const words = (text) => (composed ? text.normalize("NFC") : text).match(pattern) ?? [];
    const ids = (text) => words(text).flatMap((word) => {
      if (!known.has(word)) known.set(word, merge(word));
      return known.get(word);
    });
    return { size: tokens.length, ids, decode, words, steps, token: (id) => decode([id]), written: (id) => tokens[id],
      encode: (text) => ids(text).map((id) => ({ id, text: decode([id]) })) };
  }

  /* A published byte-level BPE: its tokens in a row, and for each merge, in order, the length of its left part as the
     character that many after "0". The merges make the last tokens, one each. */
  function packed({ tokens, cuts, digits }) {
    const all = tokens.split(" "), first = all.length - cuts.length - Number(digits === "grouped");
    const merges = Array.from(cuts, (cut, n) => {
      const token = all[first + n], length = cut.charCodeAt(0) - 48;
      return [token.slice(0, length), token.slice(length)];
    });
    return byteLevel({ tokens: all, merges, pattern: digits === "single" ? SINGLE_DIGITS : GPT2 });
  }

  /* A vocabulary whose ids are ranks: the bytes in the order of their ids, then each token as the ids of two earlier
     tokens, three digits of base 64 each. */
  function ranked({ name, bytes, pairs }) {
    const characters = byteCharacters(), digits = new Uint8Array(128), tokens = [];
    Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
      (digit, n) => { digits[digit.charCodeAt(0)] = n; });
    for (let i = 0; i < bytes.length; i += 2) tokens.push(characters[parseInt(bytes.slice(i, i + 2), 16)]);
    const id = (at) => [0, 1, 2].reduce((sum, i) => 64 * sum + digits[pairs.charCodeAt(at + i)], 0);
    for (let at = 0; at < pairs.length; at += 6) tokens.push(tokens[id(at)] + tokens[id(at + 3)]);
    return byteLevel({ tokens, pattern: RANKED[name], composed: name === "qwen3" });
  }

  /* SentencePiece's BPE with byte fallback: spaces become a sign, one is put before the text, and any two neighbours
     that together are a piece may be joined, the piece with the lowest id first, those of `last` after all others. */
  function sentencePiece({ tokens, last }) {
    const all = tokens.split("\n"), late = new Set(last), idOf = new Map(all.map((token, id) => [token, id]));
    const rankOf = (token) => { const id = idOf.get(token); return id === undefined ? Infinity
      : late.has(id) ? all.length : id; };
    const byteIds = (part) => Array.from(new TextEncoder().encode(part), (byte) =>
      idOf.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`));
    const known = new Map();
    function merge(word) {
      const parts = Array.from(word);
      for (;;) {
        const ranks = parts.slice(1).map((part, i) => rankOf(parts[i] + part)), best = Math.min(...ranks);
        if (!(best < Infinity)) return parts.flatMap((part) => idOf.get(part) ?? byteIds(part));
        const at = ranks.indexOf(best);
        parts.splice(at, 2, parts[at] + parts[at + 1]);
      }
    }
    const ids = (text) => (text ? ` ${text}`.replaceAll(" ", "\u2581").match(/\u2581*[^\u2581]*/gu) : [])
      .filter(Boolean).flatMap((word) => {
        if (!known.has(word)) known.set(word, merge(word));
        return known.get(word);
      });
    const bytesOf = (id) => (/^<0x..>$/.test(all[id]) ? [parseInt(all[id].slice(3, 5), 16)]
      : Array.from(new TextEncoder().encode(all[id].replaceAll("\u2581", " "))));
    const decode = (found) => new TextDecoder().decode(Uint8Array.from(found.flatMap(bytesOf)));
    return { size: all.length, ids, decode, token: (id) => decode([id]), written: (id) => all[id],
      encode: (text) => ids(text).map((id) => ({ id, text: decode([id]) })) };
  }

  /* BERT's normaliser for uncased vocabularies, one character at a time: controls go, spaces are alike, Chinese
     characters stand alone, accents go, letters become small. */
  function plainBert(character) {
    if ("\t\n\r".includes(character)) return " ";
    if (character === "\ufffd" || /^[\p{Cc}\p{Cf}\p{Co}\p{Cs}]$/u.test(character)) return "";
    if (new RegExp(`^[${SPACE}]$`, "u").test(character)) return " ";
    const bare = Array.from(character.normalize("NFD")).filter((part) => !/\p{Mn}/u.test(part)).map((part) =>
      part.toLowerCase()).join("");
    return CJK.test(character) ? ` ${bare} ` : bare;
  }

  function wordPiece(tokens) {
    const idOf = new Map(tokens.map((token, id) => [token, id])), unknown = idOf.get("[UNK]");
    const specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].filter((token) => idOf.has(token));
    const cut = new RegExp(`(${specials.map((token) => token.replace(/[[\]]/g, "\\$&")).join("|")})`);

    /* Every look into the vocabulary: where it begins and ends, and the id that was found there or undefined. */
    function tries(word) {
      const letters = Array.from(word), made = [];
      for (let start = 0, end = letters.length; start < end && letters.length <= 100; end -= 1) {
        const piece = (start ? "##" : "") + letters.slice(start, end).join(""), id = idOf.get(piece);
        made.push({ start, end, piece, id });
        if (id !== undefined) [start, end] = [end, letters.length + 1];
      }
      return made;
    }
    function pieces(word) {
      const found = tries(word).filter(({ id }) => id !== undefined), whole = found.at(-1)?.end === Array.from(word).length;
      return whole ? found.map(({ id }) => id) : [unknown];
    }

    const words = (text) => Array.from(text, plainBert).join("").match(BERT) ?? [];
    /* A special token that is written in the text is meant: a reader blanks a word by [MASK]. */
    const ids = (text) => text.split(cut).flatMap((part, n) => (n % 2 ? [idOf.get(part)]
      : words(part).flatMap(pieces)));
    const decode = (all) => all.map((id) => tokens[id]).join(" ").replaceAll(" ##", "");
    return { size: tokens.length, ids, decode, words, tries, token: (id) => tokens[id], written: (id) => tokens[id],
      encode: (text) => ids(text).map((id) => ({ id, text: tokens[id] })) };
  }

  /* One symbol a character or, where `words`, a word. What is not among the symbols is left out and named in `lost`. */
  function plain(symbols, words = false) {
    const idOf = new Map(symbols.map((symbol, id) => [symbol, id]));
    const parts = (text) => (words ? text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
      : Array.from(text.toLowerCase()));
    const encode = (text) => parts(text).filter((part) => idOf.has(part)).map((part) => ({ id: idOf.get(part),
      text: part }));
    return { size: symbols.length, encode, ids: (text) => encode(text).map(({ id }) => id), token: (id) => symbols[id],
      lost: (text) => parts(text).filter((part) => !idOf.has(part)),
        decode: (ids) => ids.map((id) => symbols[id]).join(words ? " " : "") };
  }

  /* The tokenizer of a delivered model, by what its folder holds. */
  lib.tokenizer = function tokenizer({ kind, content }) {
    if (kind === "bpe") return byteLevel(content);
    if (kind === "wordpiece") return wordPiece(content);
    if (kind === "words") return plain(content, true);
    if (kind === "byte-level") return packed(content);
    if (kind === "ranked") return ranked(content);
    if (kind === "sentencepiece") return sentencePiece(content);
    if (kind === "symbols") return { source: plain(content.source), target: plain(content.target) };
    throw new Error(`a tokenizer of kind ${kind}: this page knows bpe, byte-level, ranked, wordpiece, sentencepiece, words and symbols`);
  };
});
