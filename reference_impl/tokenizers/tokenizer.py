"""The whole way from a text to an `Encoding` and back: special tokens, normaliser,
words, model, template.

    text       "Banks [MASK] rivers"
    pieces     "Banks ", [MASK], " rivers"         special tokens are taken out first,
                                                   untouched
    normalise  "banks ", " rivers"                 each character remembers where it
                                                   came from
    words      "banks" | "rivers"
    tokens     banks | rivers                      the model cuts words; a word met
                                                   before is looked up
    template   [CLS] banks [MASK] rivers [SEP]

But: with `specials_in_text=True`, the default as in `tokenizers`, anyone who writes
"[SEP]" in a text gets the special token. For texts of strangers say False: then it is
cut up like other text.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import regex

from reference_impl.tokenizers import encoding as enc
from reference_impl.tokenizers.added_tokens import AddedToken, AddedTokens
from reference_impl.tokenizers.decoders import Decoder
from reference_impl.tokenizers.encoding import Encoding, Template
from reference_impl.tokenizers.normalizers import Normalizer
from reference_impl.tokenizers.streaming import (
    check_streams,
    cut_at,
    whole_characters,
    words_of,
)
from reference_impl.tokenizers.surrogates import places_without, without_surrogates
from reference_impl.tokenizers.text_normalizers import TextNormalizer
from reference_impl.tokenizers.vocabulary import Piece, TokenizerError, Vocabulary
from reference_impl.tokenizers.word_cuts import WordCuts

MAX_KNOWN_SIZE = 2_000_000
"""Words of so many characters and tokens together are remembered, then all are
forgotten: no stranger can fill the memory. Their number is no measure: one word without
a space may be a whole megabyte.
"""


@runtime_checkable
class Model(Protocol):
    """What cuts words: `BPE`, `ByteLevelBPE`, `WordPiece` and `Unigram` are such."""

    vocabulary: Vocabulary

    def tokenize(self, word: str) -> list[Piece]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


@dataclass(frozen=True)
class Use:
    """What the file of a tokenizer says of truncation and padding: options of `encode`
    and of `encodings.pad`.
    """

    truncation: dict[str, Any] | None = None
    padding: dict[str, Any] | None = None


class Tokenizer:
    """A model with everything around it.

    `pattern` finds the words; None makes each text one word.

    `specials` are tokens that are taken out of the text first: those that stand for no
    text, and others with the flags of `AddedToken`. `pad_token` is needed to pad.
    `trim_offsets` keeps the spaces at both ends of a token out of its offsets, as
    RoBERTa's tokenizer does, but for one at the text's beginning with `adds_space`.
    Without `decoder` the model decodes by itself. `bare` is the template for
    `add_specials=False`. `use` holds while `encode` is not told otherwise. `vocabulary`
    is the model's and, after it, added tokens that the model does not know.
    """

    def __init__(
        self,
        model: Model,
        normalizer: TextNormalizer | None = None,
        pattern: regex.Pattern | WordCuts | None = None,
        specials: Iterable[str | AddedToken] = (),
        template: Template = Template(),
        pad_token: str | None = None,
        trim_offsets: bool = False,
        adds_space: bool = False,
        decoder: Decoder | None = None,
        bare: Template = Template(),
        use: Use = Use(),
        vocabulary: Vocabulary | None = None,
    ):
        self.model, self.vocabulary = model, vocabulary or model.vocabulary
        self.normalizer, self.pattern, self.template = (
            normalizer or Normalizer(),
            pattern,
            template,
        )
        self.added = AddedTokens(specials, self.normalizer)
        self._added_ids = {
            token.content: self.vocabulary.id(token.content)
            for token in self.added.tokens
        }
        self.specials = {
            token: id
            for token, id in self._added_ids.items()
            if token in self.added.special
        }
        self.pad_token, self.trim_offsets, self.adds_space = (
            pad_token,
            trim_offsets,
            adds_space,
        )
        self.decoder, self.bare, self.use = decoder, bare, use
        # Of Unigram, `tokenizers` shows the characters that are unknown, of other
        # models the unknown token.
        self._id_shown_as_text = (
            getattr(model, "unknown_id", None) if hasattr(model, "scores") else None
        )
        # For each word that was met: ids, tokens, and of each token the places of its
        # first and last character.
        self._known_words: dict[
            str, tuple[list[int], list[str], list[tuple[int, int]]]
        ] = {}
        self._known_size = 0

    def encode(
        self,
        text: str,
        pair: str | None = None,
        add_specials: bool = True,
        specials_in_text: bool = True,
        max_length: int | None = None,
        truncation: str = "longest_first",
        stride: int = 0,
        side: str = "right",
    ) -> Encoding:
        """One text, or two, as an encoding of at most `max_length` tokens, special
        tokens included.

        What is cut off from the end (`side="left"`: the beginning) comes in `overflow`,
        in windows that overlap by `stride` tokens; when both texts of a pair are cut,
        `overflow` stays empty.
        """
        if max_length is None and self.use.truncation:
            return self.encode(
                text, pair, add_specials, specials_in_text, **self.use.truncation
            )
        first = self._without_template(text, specials_in_text)
        second = (
            None if pair is None else self._without_template(pair, specials_in_text)
        )
        if max_length is None:
            return self._padded(self._fill(first, second, add_specials))
        added = self.template.num_added(second is not None) if add_specials else 0
        if (room := max_length - added) < 0:
            raise TokenizerError(
                f"max_length is {max_length}, but the template alone adds {added}"
                " special tokens"
            )
        keep = enc.kept_lengths(
            len(first), None if second is None else len(second), room, truncation
        )
        windows = [
            (
                enc.windows(len(text), size, stride, side)
                if text is not None and size < len(text)
                else [(0, size)]
            )
            for text, size in zip((first, second), keep)
        ]
        cut_both = all(len(ranges) > 1 for ranges in windows)
        filled = [
            self._fill(
                first.part(*a),
                None if second is None else second.part(*b),
                add_specials,
            )
            for a in windows[0]
            for b in windows[1]
        ]
        return self._padded(replace(filled[0], overflow=[] if cut_both else filled[1:]))

    def _padded(self, encoding: Encoding) -> Encoding:
        return (
            enc.pad([encoding], **self.use.padding)[0] if self.use.padding else encoding
        )

    def _fill(
        self, first: Encoding, second: Encoding | None, add_specials: bool
    ) -> Encoding:
        for text in (first, second) if self.trim_offsets else ():
            if text is not None:
                text.offsets = enc.trimmed(text.tokens, text.offsets, self.adds_space)
        template = self.template if add_specials else self.bare
        return template.fill(first, second, self.vocabulary.id_of)

    def encode_batch(
        self,
        texts: Iterable[str | tuple[str, str]],
        length: int | None = None,
        multiple_of: int = 1,
        padding_side: str = "right",
        **options,
    ) -> list[Encoding]:
        """Many texts or pairs, padded to the longest of them, or to `length`.

        `options` are those of `encode`.
        """
        padding = self.use.padding or {
            "pad_token": self.pad_token,
            "pad_id": self._pad_id(),
            "length": length,
            "multiple_of": multiple_of,
            "side": padding_side,
        }
        encodings = [
            self.encode(*((text,) if isinstance(text, str) else text), **options)
            for text in texts
        ]
        return enc.pad(encodings, **padding)

    def encode_iterable(
        self, chunks: Iterable[str], specials_in_text: bool = True
    ) -> Iterator[int]:
        """The ids of a text that comes in chunks, one by one, without a template: those
        of the whole text.

        Held are one chunk, one unfinished word, and the words that were met.
        TokenizerError for a tokenizer whose words depend on more of the text than that.
        """
        plain = all(
            token == AddedToken(token.content, token.special)
            for token in self.added.tokens
        )
        if not plain or not isinstance(self.normalizer, Normalizer):
            raise TokenizerError(
                "a text in chunks can be encoded where characters are normalised one by"
                " one and added tokens have no flags; this tokenizer needs the whole"
                " text"
            )
        check_streams(self.pattern)
        return self._stream(chunks, specials_in_text)

    def _stream(self, chunks: Iterable[str], specials_in_text: bool) -> Iterator[int]:
        wanted = [
            token.content
            for token in self.added.tokens
            if specials_in_text or not token.special
        ]
        stretches, token = cut_at(whole_characters(chunks), wanted), None

        def until_a_token() -> Iterator[str]:
            nonlocal token
            token = None
            for stretch, is_token in stretches:
                if is_token:
                    token = stretch
                    return
                yield self.normalizer(stretch)

        while True:
            for word in words_of(until_a_token(), self.pattern):
                yield from self._known(word)[0]
            if token is None:
                return
            yield self._added_ids[token]

    def _pad_id(self) -> int:
        if self.pad_token is None:
            raise TokenizerError(
                "this tokenizer has no padding token, so a batch can't be padded; name"
                " one of the vocabulary as pad_token"
            )
        return self.vocabulary.id(self.pad_token)

    def decode(self, ids: Sequence[int], skip_specials: bool = True) -> str:
        """The text that the ids stand for; special tokens are left out unless told
        otherwise.
        """
        if self.decoder is None:
            special_ids = set(self.specials.values()) if skip_specials else set()
            return self.model.decode([id for id in ids if id not in special_ids])
        tokens = [
            self.added.shown.get(token, token)
            for token in map(self.vocabulary.token, ids)
        ]
        return self.decoder(
            [
                token
                for token in tokens
                if not skip_specials or token not in self.added.special
            ]
        )

    def _without_template(self, text: str, specials_in_text: bool) -> Encoding:
        """The tokens of a text alone. An added token in it counts as a word."""
        result, num_words = Encoding(), 0
        for part, origins, token in self.added.parts(
            without_surrogates(text), specials_in_text
        ):
            if token is None:
                num_words = self._add_words(result, part, origins, num_words)
                continue
            result.ids.append(self._added_ids[token])
            result.tokens.append(part)
            result.offsets.append((origins[0], origins[-1] + 1))
            result.word_ids.append(num_words)
            num_words += 1
        if (places := places_without(text)) is not None:
            result.offsets = [
                (places[start], places[end]) for start, end in result.offsets
            ]
        n = len(result)
        return replace(
            result,
            sequence_ids=[0] * n,
            type_ids=[0] * n,
            special_mask=[0] * n,
            attention_mask=[1] * n,
        )

    def _add_words(
        self, result: Encoding, text: str, origins: Sequence[int], num_words: int
    ) -> int:
        """Add the tokens of normalised text whose characters come from `origins`.

        Returns the number of words.
        """
        ids, tokens, offsets, word_ids = (
            result.ids,
            result.tokens,
            result.offsets,
            result.word_ids,
        )
        for word, places in self._words(text, origins):
            found_ids, found_tokens, found_places = self._known(word)
            ids += found_ids
            tokens += found_tokens
            for first, last in found_places:
                offsets.append((places[first], places[last] + 1))
                word_ids.append(num_words)
            num_words += 1
        return num_words

    def _words(
        self, text: str, origins: Sequence[int]
    ) -> Iterable[tuple[str, Sequence[int]]]:
        if isinstance(self.pattern, WordCuts):
            return self.pattern.words(text, origins)
        if self.pattern is None:
            return [(text, origins)]
        return (
            (match.group(), origins[match.start() : match.end()])
            for match in self.pattern.finditer(text)
        )

    def _known(self, word: str) -> tuple[list[int], list[str], list[tuple[int, int]]]:
        found = self._known_words.get(word)
        if found is None:
            pieces = self.model.tokenize(word)
            found = (
                [piece.id for piece in pieces],
                [
                    (
                        self.vocabulary.tokens[piece.id]
                        if piece.id != self._id_shown_as_text
                        else word[piece.start : piece.end]
                    )
                    for piece in pieces
                ],
                [(piece.start, piece.end - 1) for piece in pieces],
            )
            size = len(word) + len(pieces)
            if self._known_size + size > MAX_KNOWN_SIZE:
                self._known_words.clear()
                self._known_size = 0
            if size <= MAX_KNOWN_SIZE:
                self._known_words[word] = found
                self._known_size += size
        return found
