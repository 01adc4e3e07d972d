"""SentencePiece: spaces are characters like others, so that a text can be cut, and put
together again, without words.

Kudo and Richardson 2018, "SentencePiece". A space becomes the sign U+2581, one is put
before the text, and a Unigram or BPE model cuts what is left. T5, ALBERT and XLNet use
it with Unigram, LLaMA 1 and 2 and Mistral with BPE.

    "Hello world"   ->   U+2581 Hello U+2581 world

What LLaMA added is byte fallback: a character without a piece becomes its UTF-8 bytes,
tokens <0x00> to <0xFF>, so nothing is unknown. Its BPE has no list of merges: any two
neighbours that together are a piece may be joined, the piece with the highest score
first.

User-defined pieces are taken out of the text before all else and never cut. In a file
with `treat_whitespace_as_suffix` the sign ends a word instead of beginning it.

But: a text that has the sign itself, U+2581, is read as if it had a space there, as in
the library.
"""

import struct
from collections.abc import Sequence
from pathlib import Path

import regex

from reference_impl.tokenizers import sentencepiece_file as spf
from reference_impl.tokenizers.bpe import merged_with_places
from reference_impl.tokenizers.charsmap import CharsMap
from reference_impl.tokenizers.file_models import byte_token
from reference_impl.tokenizers.pretokenizers import METASPACE, METASPACE_WORDS
from reference_impl.tokenizers.surrogates import places_without, without_surrogates
from reference_impl.tokenizers.unigram import UNKNOWN_PENALTY
from reference_impl.tokenizers.vocabulary import (
    MAX_KNOWN_WORDS,
    Piece,
    TokenizerError,
    Vocabulary,
)

_ESCAPED = regex.compile("[\udc80-\udcff]")
_SINGLE = struct.Struct("<f")
LEAST_SINGLE = 2.0**-126
"""Where the library begins to look for the highest score: the smallest number that
single precision writes in full."""


class SentencePieceTokenizer:
    """A tokenizer made from what a `.model` file holds.

    `SentencePieceTokenizer.load(path)` reads one.

    Raises TokenizerError for a file that the library refuses too: an empty piece, no
    unknown piece or two, byte pieces that do not fit `byte_fallback`.
    """

    def __init__(self, file: spf.SentencePieceFile):
        self.kinds = [kind for _, _, kind in file.pieces]
        _check(file, self.kinds)
        self.file = file
        self.vocabulary = Vocabulary(token for token, _, _ in file.pieces)
        self.unknown_id = self.kinds.index(spf.UNKNOWN)
        self._charsmap = CharsMap(file.charsmap)
        self._space = METASPACE if file.escape_whitespaces else " "
        in_text = (spf.NORMAL, spf.USER_DEFINED, spf.UNUSED)
        self._id_of = {
            token: i
            for i, (token, _, kind) in enumerate(file.pieces)
            if kind in in_text
        }
        self._user = {
            token for token, _, kind in file.pieces if kind == spf.USER_DEFINED
        }
        longest_first = sorted(
            (token.encode() for token in self._user), key=len, reverse=True
        )
        self._kept = (
            regex.compile(b"|".join(map(regex.escape, longest_first)))
            if self._user
            else None
        )
        self._symbol = regex.compile(
            "|".join([*(regex.escape(t.decode()) for t in longest_first), "(?s:.)"])
        )
        self._cut = {
            spf.UNIGRAM: self._unigram,
            spf.BPE: self._bpe,
            spf.WORD: METASPACE_WORDS.findall,
            spf.CHAR: self._symbol.findall,
        }[file.model_type]
        # Equal scores are equal ranks: of two such merges the one on the left is made
        # first.
        place = {
            score: rank
            for rank, score in enumerate(
                sorted({score for _, score, _ in file.pieces}, reverse=True)
            )
        }
        self._rank_of = {
            token: place[file.pieces[i][1]] for token, i in self._id_of.items()
        }
        self._longest = max(map(len, self._id_of), default=1)
        normal = [score for _, score, kind in file.pieces if kind == spf.NORMAL]
        self._unknown_score = _single(min(normal, default=0.0) - UNKNOWN_PENALTY)
        self._user_bonus = max([LEAST_SINGLE, *normal])
        # Not Unigram: its sums are rounded, and so the cut of a word may depend on what
        # stands before it.
        self._splits_at_spaces = (
            file.model_type == spf.BPE
            and file.escape_whitespaces
            and not any(METASPACE in token.lstrip(METASPACE) for token in self._id_of)
        )
        self._known: dict[str, list[Piece]] = {}

    @classmethod
    def load(cls, path: str | Path) -> "SentencePieceTokenizer":
        """The tokenizer of a `.model` file."""
        file = spf.load(path)
        try:
            return cls(file)
        except TokenizerError as error:
            raise TokenizerError(f"{path}: {error}") from None

    def normalize(self, text: str) -> tuple[str, list[int]]:
        """The text as the model sees it, and for each of its characters the index in
        `text` that it comes from.

        One index more says where the text ends for the last token: spaces that were
        left out belong to none.
        """
        remove = self.file.remove_extra_whitespaces
        parts, first, place = self._charsmap.replacements(text, self._kept), 0, 0
        while remove and first < len(parts) and parts[first][0] == " ":
            place += parts[first][1]
            first += 1
        if first == len(parts):
            return "", [place]
        with_space = self.file.add_dummy_prefix
        characters: list[tuple[str, int]] = []
        if with_space and not self.file.treat_whitespace_as_suffix:
            characters.append((" ", place))
        after_space = remove
        for replacement, length in parts[first:]:
            shown = replacement.lstrip(" ") if after_space else replacement
            if shown:
                characters += [(character, place) for character in shown]
                after_space = remove and shown.endswith(" ")
            place += length
        if self.file.escape_whitespaces:
            characters = [
                (METASPACE if character == " " else character, origin)
                for character, origin in characters
            ]
        while remove and characters and characters[-1][0] == self._space:
            place = characters.pop()[1]
        if with_space and self.file.treat_whitespace_as_suffix:
            characters.append((self._space, place))
        return "".join(character for character, _ in characters), [
            *(origin for _, origin in characters),
            place,
        ]

    def tokenize(self, text: str) -> list[Piece]:
        """The tokens of a text with their places in it.

        The space that was put before the text takes no room.
        """
        normalized, origins = self.normalize(without_surrogates(text))
        if (places := places_without(text)) is not None:
            origins = [places[origin] for origin in origins]
        pieces: list[Piece] = []
        done = 0
        for word in self._words(normalized):
            for id, start, end in self._known_pieces(word):
                piece = Piece(id, origins[done + start], origins[done + end])
                if (
                    id == self.unknown_id and pieces and pieces[-1].id == id
                ):  # a run of unknown characters is one token
                    pieces[-1] = Piece(id, pieces[-1].start, piece.end)
                else:
                    pieces.append(piece)
            done += len(word)
        return pieces

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without control tokens such as <s>."""
        return [piece.id for piece in self.tokenize(text)]

    def _words(self, normalized: str) -> list[str]:
        """Cut before each run of spaces if no piece holds a space after other
        characters: the result is the same.
        """
        if not self._splits_at_spaces:
            return [normalized] if normalized else []
        starts = [
            i
            for i, c in enumerate(normalized)
            if c == METASPACE and (not i or normalized[i - 1] != METASPACE)
        ]
        if not starts or starts[0] > 0:
            starts.insert(0, 0)
        return [
            normalized[start:end]
            for start, end in zip(starts, [*starts[1:], len(normalized)])
        ]

    def _known_pieces(self, word: str) -> list[Piece]:
        if not self._splits_at_spaces:
            return self._pieces(word)
        if word not in self._known:
            if len(self._known) >= MAX_KNOWN_WORDS:
                self._known.clear()
            self._known[word] = self._pieces(word)
        return self._known[word]

    def _pieces(self, word: str) -> list[Piece]:
        pieces, start = [], 0
        for token in self._cut(word):
            end, id = start + len(token), self._id_of.get(token, self.unknown_id)
            if (
                self.kinds[id] == spf.UNUSED
            ):  # it may be made and taken apart, and stands for no text itself
                id = self.unknown_id
            if id == self.unknown_id and self.file.byte_fallback:
                pieces += [
                    Piece(self.vocabulary.id(byte_token(byte)), start, end)
                    for byte in token.encode()
                ]
            else:
                pieces.append(Piece(id, start, end))
            start = end
        return pieces

    def _bpe(self, word: str) -> list[str]:
        parts_of: dict[
            str, tuple[str, str]
        ] = {}  # of pieces that may be made and not be left

        def rank(left: str, right: str) -> int | None:
            if left in self._user or right in self._user:
                return None
            joined = left + right
            if (id := self._id_of.get(joined)) is not None and self.kinds[
                id
            ] == spf.UNUSED:
                parts_of[joined] = left, right
            return self._rank_of.get(joined)

        def taken_apart(token: str) -> list[str]:
            return (
                [token]
                if token not in parts_of
                else [t for part in parts_of[token] for t in taken_apart(part)]
            )

        merged = merged_with_places(self._symbol.findall(word), rank)
        return [part for token, _, _ in merged for part in taken_apart(token)]

    def _unigram(self, word: str) -> list[str]:
        """The best path, in single precision where the library has it: nearly equal
        cuts are decided as there.
        """
        best, arrivals = [0.0] + [0.0] * len(word), [-1] * (len(word) + 1)

        def offer(start: int, end: int, score: float) -> None:
            total = _single(score + best[start])
            if arrivals[end] < 0 or total > best[end]:
                best[end], arrivals[end] = total, start

        for start in range(len(word)):
            has_one = False
            for end in range(start + 1, min(len(word), start + self._longest) + 1):
                id = self._id_of.get(word[start:end])
                if id is None or self.kinds[id] == spf.UNUSED:
                    continue
                if self.kinds[id] == spf.USER_DEFINED:
                    score = _single(
                        len(word[start:end].encode()) * self._user_bonus - 0.1
                    )
                else:
                    score = self.file.pieces[id][1]
                offer(start, end, score)
                has_one |= end == start + 1
            if not has_one:
                offer(start, start + 1, self._unknown_score)
        tokens, end = [], len(word)
        while end > 0:
            tokens.append(word[arrivals[end] : end])
            end = arrivals[end]
        return tokens[::-1]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids.

        Control tokens show nothing, bytes that are not UTF-8 show as U+FFFD.
        """
        text, data = "", bytearray()
        at_start, lost_space = (
            self.file.add_dummy_prefix or self.file.remove_extra_whitespaces,
            False,
        )
        for id in ids:
            token, kind = self.vocabulary.token(id), self.kinds[id]
            if kind == spf.BYTE:
                data.append(int(token[3:5], 16))
                continue
            text += _decoded(data)
            data.clear()
            at_start &= not lost_space and not text
            lost_space = False
            if kind == spf.UNKNOWN:
                text += self.file.unk_surface
            elif kind != spf.CONTROL:
                if at_start and token.startswith(
                    METASPACE
                ):  # it was put before the text, or would have been removed
                    token = token.removeprefix(METASPACE)
                    lost_space = not self.file.remove_extra_whitespaces
                text += token.replace(METASPACE, " ")
        return text + _decoded(data)


def _check(file: spf.SentencePieceFile, kinds: list[int]) -> None:
    if file.model_type not in (spf.UNIGRAM, spf.BPE, spf.WORD, spf.CHAR):
        raise TokenizerError(
            f"the model is of type {file.model_type}; known are types 1 (Unigram), 2"
            " (BPE), 3 (words) and 4 (characters)"
        )
    if any(not token for token, _, _ in file.pieces):
        raise TokenizerError("the model has an empty piece")
    if kinds.count(spf.UNKNOWN) != 1:
        raise TokenizerError(
            f"a model has one unknown piece; this one has {kinds.count(spf.UNKNOWN)}"
        )
    bytes_ = {token for token, _, kind in file.pieces if kind == spf.BYTE}
    wanted = {byte_token(byte) for byte in range(256)} if file.byte_fallback else set()
    if wrong := sorted(bytes_ ^ wanted):
        raise TokenizerError(
            f"byte_fallback is {str(file.byte_fallback).lower()}, and the byte piece"
            f" {wrong[0]!r} is {'there' if wrong[0] in bytes_ else 'missing'}"
        )


def _single(value: float) -> float:
    return _SINGLE.unpack(_SINGLE.pack(value))[0]


def _decoded(data: bytes | bytearray) -> str:
    # One U+FFFD for each byte that can't be read, where Python's own "replace" writes
    # one for several.
    return _ESCAPED.sub("\ufffd", data.decode("utf-8", "surrogateescape"))
