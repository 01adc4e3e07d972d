"""SentencePiece: spaces are characters like others, so that a text can be cut, and put together again, without words.

Kudo and Richardson 2018, "SentencePiece". A space becomes the sign U+2581, one is put before the text, and a Unigram
or BPE model cuts what is left. T5, ALBERT and XLNet use it with Unigram, LLaMA 1 and 2 and Mistral with BPE.

    "Hello world"   ->   U+2581 Hello U+2581 world

What LLaMA added is byte fallback: a character without a piece becomes its UTF-8 bytes, tokens <0x00> to <0xFF>, so
nothing is unknown. Its BPE has no list of merges: any two neighbours that together are a piece may be joined, the
piece with the highest score first.

But: user-defined pieces, which SentencePiece takes out of the text before all else, are refused at loading.
"""
import re
from collections.abc import Sequence
from pathlib import Path

from reference_impl.tokenizers import sentencepiece_file as spf
from reference_impl.tokenizers.bpe import LONG_WORD, merge_by_rank, merge_by_rank_heap
from reference_impl.tokenizers.charsmap import CharsMap
from reference_impl.tokenizers.pretokenizers import METASPACE
from reference_impl.tokenizers.unigram import Unigram
from reference_impl.tokenizers.vocabulary import MAX_KNOWN_WORDS, Piece, TokenizerError, Vocabulary

UNKNOWN_SHOWN = " \u2047 "
"""What decoding writes for the unknown token, as the library does: a double question mark between spaces."""
_ESCAPED = re.compile("[\udc80-\udcff]")


class SentencePieceTokenizer:
    """A tokenizer made from what a `.model` file holds. `SentencePieceTokenizer.load(path)` reads one.

    Raises TokenizerError if there is no unknown piece, for a kind of model that is neither Unigram nor BPE, and for
    user-defined pieces.
    """

    def __init__(self, file: spf.SentencePieceFile):
        if file.model_type not in (spf.UNIGRAM, spf.BPE):
            raise TokenizerError(f"the model is of type {file.model_type}; types 1 (Unigram) and 2 (BPE) can be used")
        self.kinds = [kind for _, _, kind in file.pieces]
        if spf.USER_DEFINED in self.kinds:
            first = file.pieces[self.kinds.index(spf.USER_DEFINED)][0]
            raise TokenizerError(f"the model has user-defined pieces, such as {first!r}, which are not supported")
        if self.kinds.count(spf.UNKNOWN) != 1:
            raise TokenizerError(f"a model has one unknown piece; this one has {self.kinds.count(spf.UNKNOWN)}")
        self.file = file
        self.vocabulary = Vocabulary(token for token, _, _ in file.pieces)
        self.unknown_id = self.kinds.index(spf.UNKNOWN)
        self._charsmap = CharsMap(file.charsmap)
        normal = [(i, token, score) for i, (token, score, kind) in enumerate(file.pieces) if kind == spf.NORMAL]
        self._id_of = {token: i for i, token, _ in normal}
        if file.model_type == spf.UNIGRAM:
            hidden = [token for token, _, kind in file.pieces if kind != spf.NORMAL]
            self._unigram = Unigram([(token, score) for token, score, _ in file.pieces],
                                    self.vocabulary.tokens[self.unknown_id], hidden)
        ranked = sorted(normal, key=lambda entry: -entry[2])
        self._rank_of = {token: rank for rank, (_, token, _) in enumerate(ranked)}
        self._splits_at_spaces = not any(METASPACE in token.lstrip(METASPACE) for token in self._id_of)
        self._pieces_of_word: dict[str, list[Piece]] = {}

    @classmethod
    def load(cls, path: str | Path) -> "SentencePieceTokenizer":
        """The tokenizer of a `.model` file."""
        return cls(spf.load(path))

    def normalize(self, text: str) -> tuple[str, list[int]]:
        """The text as the model sees it, and for each of its characters the index in `text` that it comes from."""
        characters: list[tuple[str, int]] = []
        place = 0
        for replacement, length in self._charsmap.replacements(text):
            characters += [(character, place) for character in replacement]
            place += length
        if self.file.remove_extra_whitespaces:
            # A space stays if something other than a space stands before it; the last may still be at the end.
            characters = [(character, origin) for n, (character, origin) in enumerate(characters)
                          if character != " " or n > 0 and characters[n - 1][0] != " "]
            if characters and characters[-1][0] == " ":
                characters.pop()
        if characters and self.file.add_dummy_prefix:
            characters.insert(0, (" ", 0))
        return "".join(c for c, _ in characters).replace(" ", METASPACE), [i for _, i in characters]

    def tokenize(self, text: str) -> list[Piece]:
        """The tokens of a text with their places in it. The space that was put before the text takes no room."""
        normalized, origins = self.normalize(text)
        origins.append(len(text))
        pieces, done = [], 0
        for word in self._words(normalized):
            if word not in self._pieces_of_word:
                if len(self._pieces_of_word) >= MAX_KNOWN_WORDS:
                    self._pieces_of_word.clear()
                self._pieces_of_word[word] = self._tokenize_word(word)
            pieces += [Piece(id, origins[done + start], origins[done + end])
                       for id, start, end in self._pieces_of_word[word]]
            done += len(word)
        return pieces

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without control tokens such as <s>."""
        return [piece.id for piece in self.tokenize(text)]

    def _words(self, normalized: str) -> list[str]:
        """Cut before each run of spaces if no piece holds a space after other characters: the result is the same."""
        if not self._splits_at_spaces:
            return [normalized]
        starts = [i for i, c in enumerate(normalized) if c == METASPACE and (not i or normalized[i - 1] != METASPACE)]
        if not starts or starts[0] > 0:
            starts.insert(0, 0)
        return [normalized[start:end] for start, end in zip(starts, [*starts[1:], len(normalized)])]

    def _tokenize_word(self, word: str) -> list[Piece]:
        if self.file.model_type == spf.UNIGRAM:
            found = [Piece(edge.id, edge.start, edge.end) for edge in self._unigram.best(word)]
        else:
            merge = merge_by_rank if len(word) < LONG_WORD else merge_by_rank_heap
            found, start = [], 0
            for token in merge(word, lambda left, right: self._rank_of.get(left + right)):
                found.append(Piece(self._id_of.get(token, self.unknown_id), start, start + len(token)))
                start += len(token)
        pieces: list[Piece] = []
        for piece in found:
            if piece.id != self.unknown_id:
                pieces.append(piece)
            elif self.file.byte_fallback:
                data = word[piece.start:piece.end].encode("utf-8", "replace")
                pieces += [Piece(self.vocabulary.id(f"<0x{byte:02X}>"), piece.start, piece.end) for byte in data]
            elif pieces and pieces[-1].id == self.unknown_id:  # a run of unknown characters is one token
                pieces[-1] = Piece(self.unknown_id, pieces[-1].start, piece.end)
            else:
                pieces.append(piece)
        return pieces

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids. Control tokens show nothing, bytes that are not UTF-8 show as U+FFFD."""
        shown = bytearray()
        at_start = self.file.add_dummy_prefix or self.file.remove_extra_whitespaces
        for id in ids:
            token, kind = self.vocabulary.token(id), self.kinds[id]
            if kind == spf.BYTE:
                shown.append(int(token[3:5], 16))
            elif kind == spf.UNKNOWN:
                shown += UNKNOWN_SHOWN.encode()
            elif kind != spf.CONTROL:
                if at_start and not shown:  # the space that was put before the text, or that would have been removed
                    at_start = not token.startswith(METASPACE) or self.file.remove_extra_whitespaces
                    token = token.removeprefix(METASPACE)
                shown += token.replace(METASPACE, " ").encode()
        # One U+FFFD for each byte that can't be read, where Python's own "replace" writes one for several.
        return _ESCAPED.sub("\ufffd", shown.decode("utf-8", "surrogateescape"))
