/* Tokenizers of the trained models: byte-level BPE, BERT's WordPiece, and plain lists of symbols.

   Each has encode(text) to [{id, text}], ids(text), token(id) as a reader sees it, and decode(ids). */
(globalThis.w2sParts ??= []).push(function tokenizers(lib) {
  "use strict";
  // Python's \s, not JavaScript's
  const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  const GPT2 = new RegExp(`'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${SPACE}\\p{L}\\p{N}]+`
    + `|[${SPACE}]+(?![^${SPACE}])|[${SPACE}]+`, "gu");
  const SIGN = "!-\\/:-@\\[-`\\{-~\\p{P}";
  const BERT = new RegExp(`[${SIGN}]|[^${SPACE}${SIGN}]+`, "gu");
  const CJK = new RegExp("[\\u4e00-\\u9fff\\u3400-\\u4dbf\\u{20000}-\\u{2a6df}\\u{2a700}-\\u{2b73f}"
    + "\\u{2b740}-\\u{2b81f}\\u{2b820}-\\u{2ceaf}\\uf900-\\ufaff\\u{2f800}-\\u{2fa1f}]", "u");

  /* GPT-2's table: the printable character that stands for each byte. */
  function byteCharacters() {
    let other = 0x100;
    return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(
      (b >= 33 && b <= 126) || (b >= 0xa1 && b <= 0xac) || b >= 0xae ? b : other++));
  }

  function byteLevel({ tokens, merges }) {
    const characters = byteCharacters(), byteOf = new Map(characters.map((character, byte) => [character, byte]));
    const idOf = new Map(tokens.map((token, id) => [token, id]));
    const rank = new Map(merges.map(([left, right], n) => [`${left} ${right}`, n]));
    const utf8 = new TextEncoder(), known = new Map();

    /* Join the pair of neighbours with the lowest rank, the leftmost of equals, while there is one. */
    function merge(word) {
      const parts = Array.from(utf8.encode(word), (byte) => characters[byte]);
      for (;;) {
        let best = Infinity, at = -1;
        for (let i = 0; i + 1 < parts.length; i++) {
          const found = rank.get(`${parts[i]} ${parts[i + 1]}`);
          if (found < best) [best, at] = [found, i];
        }
        if (at < 0) return parts.map((part) => idOf.get(part));
        parts.splice(at, 2, parts[at] + parts[at + 1]);
      }
    }

    const bytes = (ids) => Uint8Array.from(ids.flatMap((id) => Array.from(tokens[id],
      (character) => byteOf.get(character))));
    const decode = (ids) => new TextDecoder().decode(bytes(ids));
    const ids = (text) => (text.match(GPT2) ?? []).flatMap((word) => {
      if (!known.has(word)) known.set(word, merge(word));
      return known.get(word);
    });
    return { size: tokens.length, ids, decode, token: (id) => decode([id]),
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

    function pieces(word) {
      const letters = Array.from(word), found = [];
      if (letters.length > 100) return [unknown];
      for (let start = 0; start < letters.length;) {
        let end = letters.length, id;
        for (; end > start && id === undefined; end--) id = idOf.get((start ? "##" : "") + letters.slice(start,
          end).join(""));
        if (id === undefined) return [unknown];
        found.push(id);
        start = end + 1;
      }
      return found;
    }

    const words = (text) => Array.from(text, plainBert).join("").match(BERT) ?? [];
    /* A special token that is written in the text is meant: a reader blanks a word by [MASK]. */
    const ids = (text) => text.split(cut).flatMap((part, n) => (n % 2 ? [idOf.get(part)]
      : words(part).flatMap(pieces)));
    const decode = (all) => all.map((id) => tokens[id]).join(" ").replaceAll(" ##", "");
    return { size: tokens.length, ids, decode, token: (id) => tokens[id],
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
    if (kind === "symbols") return { source: plain(content.source), target: plain(content.target) };
    throw new Error(`a tokenizer of kind ${kind}: this page knows bpe, wordpiece, words and symbols`);
  };
});
