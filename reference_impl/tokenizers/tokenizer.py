"""The whole way from a text to an `Encoding` and back: special tokens, normaliser, words, model, template.

    text       "Banks [MASK] rivers"
    pieces     "Banks ", [MASK], " rivers"        special tokens are taken out first, untouched
    normalise  "banks ", " rivers"                 each character remembers where it came from
    words      "banks" | "rivers"
    tokens     banks | rivers                      the model cuts words; a word met before is looked up
    template   [CLS] banks [MASK] rivers [SEP]

But: with `specials_in_text=True`, the default as in `tokenizers`, anyone who writes "[SEP]" in a text gets the special
token. For texts of strangers say False: then it is cut up like other text.
"""
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import regex

from reference_impl.tokenizers import encoding as enc
from reference_impl.tokenizers.encoding import Encoding, Template
from reference_impl.tokenizers.normalizers import Normalizer
from reference_impl.tokenizers.vocabulary import Piece, TokenizerError, Vocabulary

_SURROGATE = regex.compile("[\ud800-\udfff]")
"""Half of a surrogate pair is no character and can't be written as UTF-8. It is read as U+FFFD."""
MAX_KNOWN_SIZE = 2_000_000
"""Words of so many characters and tokens together are remembered, then all are forgotten: no stranger can fill the
memory. Their number is no measure: one word without a space may be a whole megabyte.
"""


@runtime_checkable
class Model(Protocol):
    """What cuts words: `BPE`, `ByteLevelBPE`, `WordPiece` and `Unigram` are such."""

    vocabulary: Vocabulary

    def tokenize(self, word: str) -> list[Piece]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


class Tokenizer:
    """A model with everything around it. `pattern` finds the words; None makes each text one word.

    `specials` are tokens of the vocabulary that stand for no text. `pad_token` is needed to pad. `trim_offsets` keeps
    the spaces at both ends of a token out of its offsets, as RoBERTa's tokenizer does.
    """

    def __init__(self, model: Model, normalizer: Normalizer | None = None, pattern: regex.Pattern | None = None,
                 specials: Iterable[str] = (), template: Template = Template(), pad_token: str | None = None,
                 trim_offsets: bool = False):
        self.model, self.vocabulary = model, model.vocabulary
        self.normalizer, self.pattern, self.template = normalizer or Normalizer(), pattern, template
        if "" in (specials := list(specials)):
            raise TokenizerError("a special token can't be empty: it would stand everywhere in a text")
        self.specials = {token: self.vocabulary.id(token) for token in specials}
        self.pad_token, self.trim_offsets = pad_token, trim_offsets
        # Longest first: of two special tokens where one begins the other, the longer is meant.
        longest_first = sorted(self.specials, key=len, reverse=True)
        self._special_pattern = regex.compile("|".join(map(regex.escape, longest_first)) or r"(?!)")
        # For each word that was met: ids, tokens, and of each token the places of its first and last character.
        self._known_words: dict[str, tuple[list[int], list[str], list[tuple[int, int]]]] = {}
        self._known_size = 0

    def encode(self, text: str, pair: str | None = None, add_specials: bool = True, specials_in_text: bool = True,
               max_length: int | None = None, truncation: str = "longest_first", stride: int = 0,
               side: str = "right") -> Encoding:
        """One text, or two, as an encoding of at most `max_length` tokens, special tokens included.

        What is cut off from the end (`side="left"`: the beginning) comes in `overflow`, in windows that overlap by
        `stride` tokens; when both texts of a pair are cut, `overflow` stays empty.
        """
        first = self._without_template(text, specials_in_text)
        second = None if pair is None else self._without_template(pair, specials_in_text)
        template = self.template if add_specials else Template()
        if max_length is None:
            return template.fill(first, second, self.specials)
        room = max_length - template.num_added(second is not None)
        if room < 0:
            raise TokenizerError(f"max_length is {max_length}, but the template alone adds "
                                 f"{template.num_added(second is not None)} special tokens")
        keep = enc.kept_lengths(len(first), None if second is None else len(second), room, truncation)
        windows = [enc.windows(len(text), size, stride, side) if text is not None and size < len(text) else
                   [(0, size)] for text, size in zip((first, second), keep)]
        cut_both = all(len(ranges) > 1 for ranges in windows)
        filled = [template.fill(first.part(*a), None if second is None else second.part(*b), self.specials)
                  for a in windows[0] for b in windows[1]]
        return replace(filled[0], overflow=[] if cut_both else filled[1:])

    def encode_batch(self, texts: Iterable[str | tuple[str, str]], length: int | None = None, multiple_of: int = 1,
                     padding_side: str = "right", **options) -> list[Encoding]:
        """Many texts or pairs, padded to the longest of them, or to `length`. `options` are those of `encode`."""
        pad_id = self._pad_id()
        encodings = [self.encode(*((text,) if isinstance(text, str) else text), **options) for text in texts]
        return enc.pad(encodings, self.pad_token, pad_id, length, multiple_of, padding_side)

    def _pad_id(self) -> int:
        if self.pad_token is None:
            raise TokenizerError("this tokenizer has no padding token, so a batch can't be padded; name one of the "
                                 "vocabulary as pad_token")
        return self.vocabulary.id(self.pad_token)

    def decode(self, ids: Sequence[int], skip_specials: bool = True) -> str:
        """The text that the ids stand for; special tokens are left out unless told otherwise."""
        special_ids = set(self.specials.values()) if skip_specials else set()
        return self.model.decode([id for id in ids if id not in special_ids])

    def _without_template(self, text: str, specials_in_text: bool) -> Encoding:
        """The tokens of a text alone. A special token in it counts as a word."""
        result = Encoding()
        done = num_words = 0
        for match in self._special_pattern.finditer(text) if specials_in_text else ():
            num_words = self._add_words(result, text[done:match.start()], done, num_words)
            result.ids.append(self.specials[match.group()])
            result.tokens.append(match.group())
            result.offsets.append(match.span())
            result.word_ids.append(num_words)
            num_words += 1
            done = match.end()
        self._add_words(result, text[done:] if done else text, done, num_words)
        if self.trim_offsets:
            result.offsets = [_trimmed(text, start, end) for start, end in result.offsets]
        n = len(result)
        return replace(result, sequence_ids=[0] * n, type_ids=[0] * n, special_mask=[0] * n, attention_mask=[1] * n)

    def _add_words(self, result: Encoding, text: str, offset: int, num_words: int) -> int:
        """Add the tokens of a text without special tokens, which begins at `offset`. Returns the number of words."""
        normalized, origins = self.normalizer.aligned(_SURROGATE.sub("\ufffd", text))
        matches = self.pattern.finditer(normalized) if self.pattern else [regex.match("(?s).*", normalized)]
        ids, tokens, offsets, word_ids, known = (result.ids, result.tokens, result.offsets, result.word_ids,
                                                 self._known_words)
        for match in matches:
            word, at = match.group(), match.start()
            found = known.get(word)
            if found is None:
                pieces = self.model.tokenize(word)
                found = ([piece.id for piece in pieces], [self.vocabulary.tokens[piece.id] for piece in pieces],
                         [(piece.start, piece.end - 1) for piece in pieces])
                size = len(word) + len(pieces)
                if self._known_size + size > MAX_KNOWN_SIZE:
                    known.clear()
                    self._known_size = 0
                if size <= MAX_KNOWN_SIZE:
                    known[word] = found
                    self._known_size += size
            found_ids, found_tokens, places = found
            ids += found_ids
            tokens += found_tokens
            for first, last in places:
                offsets.append((offset + origins[at + first], offset + origins[at + last] + 1))
                word_ids.append(num_words)
            num_words += 1
        return num_words


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The place without the plain spaces at its ends; of such spaces only, its end."""
    while start < end and text[start] == " ":
        start += 1
    while end > start and text[end - 1] == " ":
        end -= 1
    return start, end
