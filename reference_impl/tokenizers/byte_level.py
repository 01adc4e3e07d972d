"""Byte-level BPE: BPE over the 256 bytes of UTF-8, so that no text is unknown.

Radford et al. 2019 (GPT-2), section 2.2. A vocabulary file is text, and bytes such as
0x00 or 0x80 can't be written in it. GPT-2 therefore draws each byte as one printable
character: printable bytes as themselves, the 68 others as the characters from U+0100
on, in order. A space, byte 0x20, is the 33rd of those: U+0120, a G with a dot, which is
why tokens that begin a word seem to begin with that letter.

    to_characters("a b".encode())          "a" + chr(0x120) + "b"
    from_characters("a" + chr(0x120) + "b")  b"a b"

But:
- A token may hold half a character. Decoded alone it shows U+FFFD; decode whole
  sequences.
- A Python string may hold half of a surrogate pair, which UTF-8 can't write; see
  `surrogates.py`. Bytes that are not UTF-8 keep their value through `encode_bytes` and
  `decode_bytes`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import regex

from reference_impl.tokenizers.bpe import BPE, Pair
from reference_impl.tokenizers.bpe_training import train_bpe
from reference_impl.tokenizers.pretokenizers import GPT2, count_words
from reference_impl.tokenizers.streaming import words_of
from reference_impl.tokenizers.surrogates import without_surrogates
from reference_impl.tokenizers.vocabulary import (
    MAX_KNOWN_WORDS,
    Piece,
    TokenizerError,
    Vocabulary,
)


def byte_characters() -> list[str]:
    """GPT-2's table: entry b is the character that stands for byte b."""
    printable = {
        *range(ord("!"), ord("~") + 1),
        *range(0xA1, 0xAC + 1),
        *range(0xAE, 0xFF + 1),
    }
    others = iter(range(0x100, 0x200))
    return [chr(b) if b in printable else chr(next(others)) for b in range(256)]


CHARACTER_OF = byte_characters()
BYTE_OF = {character: byte for byte, character in enumerate(CHARACTER_OF)}
_FROM_LATIN1 = dict(enumerate(CHARACTER_OF))


def to_characters(data: bytes) -> str:
    """Each byte as its printable character."""
    return data.decode("latin-1").translate(_FROM_LATIN1)


def from_characters(text: str) -> bytes:
    """The bytes that the printable characters stand for.

    A character outside the table stands for its own UTF-8.
    """
    return b"".join(bytes([BYTE_OF[c]]) if c in BYTE_OF else c.encode() for c in text)


class ByteLevelBPE(BPE):
    """BPE whose characters are bytes.

    Words come from a pre-tokenizer that keeps spaces, GPT-2's unless told.

    Takes a vocabulary and merges written in the table above, as GPT-2's files are. The
    methods of `BPE` work on one word in ordinary characters; `encode` and `decode` work
    on a text. With `ignore_merges` a word that is a token is not cut, whether or not
    merges lead to it: LLaMA 3's rule.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        merges: Sequence[Pair] | None,
        pattern: regex.Pattern | None = GPT2,
        ignore_merges: bool = False,
    ):
        super().__init__(vocabulary, merges)
        self.pattern, self.ignore_merges = pattern, ignore_merges
        self._ids_of_word = _WordCache(self)

    def split(self, word: str) -> list[str]:
        """The word cut into tokens, written in the table."""
        characters = to_characters(word.encode("utf-8", "surrogateescape"))
        if self.ignore_merges and characters in self.vocabulary:
            return [characters]
        return self.merged(characters)

    def tokenize(self, word: str) -> list[Piece]:
        """The tokens of one word with their places in it, in characters.

        Tokens that share the bytes of one character all claim the whole of it, as in
        `tokenizers`.
        """
        owner = [
            index
            for index, character in enumerate(word)
            for _ in character.encode("utf-8", "surrogateescape")
        ]
        pieces, start = [], 0
        for token in self.split(word):
            end = start + len(token)
            pieces.append(
                Piece(self.vocabulary.id(token), owner[start], owner[end - 1] + 1)
            )
            start = end
        return pieces

    def encode(self, text: str) -> list[int]:
        """The ids of a text. A word that was met before costs one look-up."""
        return self._encode(without_surrogates(text))

    def encode_iterable(self, chunks: Iterable[str]) -> Iterator[int]:
        """The ids of a text that comes in chunks, one by one: those of the whole text,
        without holding it.
        """
        for word in words_of(chunks, self._words()):
            yield from self._ids_of_word[word]

    def encode_bytes(self, data: bytes) -> list[int]:
        """The ids of any bytes, UTF-8 or not.

        `decode_bytes` gives the same bytes back.
        """
        # A byte that is not UTF-8 becomes one of the surrogates U+DC80 to U+DCFF, and
        # turns back in `split`.
        return self._encode(data.decode("utf-8", "surrogateescape"))

    def _encode(self, text: str) -> list[int]:
        return list(
            chain.from_iterable(
                map(self._ids_of_word.__getitem__, self._words().findall(text))
            )
        )

    def _words(self) -> regex.Pattern:
        if self.pattern is None:
            raise TokenizerError(
                "this model was loaded with a row of steps that find its words; encode"
                " with the tokenizer around it"
            )
        return self.pattern

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes that the ids stand for."""
        return from_characters("".join(map(self.vocabulary.token, ids)))

    def decode(self, ids: Sequence[int]) -> str:
        """The text that the ids stand for. Bytes that are not UTF-8 show as U+FFFD."""
        return self.decode_bytes(ids).decode("utf-8", "replace")


class _WordCache(dict):
    """From a word to its ids, worked out when it is first asked for."""

    def __init__(self, model: BPE):
        super().__init__()
        self._model = model

    def __missing__(self, word: str) -> list[int]:
        if len(self) >= MAX_KNOWN_WORDS:
            self.clear()
        ids = self[word] = [
            self._model.vocabulary.id(token) for token in self._model.split(word)
        ]
        return ids


def train_byte_level_bpe(
    texts: Iterable[str],
    vocab_size: int,
    specials: Sequence[str] = (),
    min_count: int = 1,
    pattern: regex.Pattern = GPT2,
) -> ByteLevelBPE:
    """Learn byte-level BPE from texts.

    The vocabulary begins with `specials` and the 256 bytes.

    Where a special token stands in a text, the text is cut, so that no merge reaches
    into it or across it. Raises TokenizerError if `vocab_size` has no room for those.
    """
    words = count_words(pattern, texts, specials)
    word_counts: Counter[str] = Counter()
    for word, count in words.items():
        word_counts[to_characters(without_surrogates(word).encode())] += count
    model = train_bpe(word_counts, vocab_size, specials, CHARACTER_OF, min_count)
    return ByteLevelBPE(model.vocabulary, model.merges, pattern)
