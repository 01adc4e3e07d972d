"""Models as tokenizer.json can describe them, with the options that no chapter needs.

`bpe.BPE` and `unigram.Unigram` are the methods of the papers. Published files add to
them: characters without a token become their UTF-8 bytes (`byte_fallback`, LLaMA), a
run of them becomes one token (`fuse_unk`), tokens carry a mark at the end of a word
(`end_of_word_suffix`, CLIP) or inside it, and a word that is a token is not cut at all
(`ignore_merges`, LLaMA 3). `WordLevel` is a table from words to ids.

Each gives what `tokenizers` gives, oddities included: they stand where they are
followed.

But: BPE that drops out merges is for training, and refused.
"""

from collections.abc import Iterable, Sequence

from reference_impl.tokenizers.bpe import BPE, Pair, merged_with_places
from reference_impl.tokenizers.unigram import Unigram
from reference_impl.tokenizers.vocabulary import Piece, TokenizerError, Vocabulary


def byte_token(byte: int) -> str:
    """The token that stands for a byte: "<0x0A>"."""
    return f"<0x{byte:02X}>"


class FileBPE(BPE):
    """BPE with the options of tokenizer.json.

    `prefix` marks symbols that go on with a word, `suffix` its last one.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        merges: Sequence[Pair],
        unknown: str | None = None,
        fuse_unknown: bool = False,
        byte_fallback: bool = False,
        ignore_merges: bool = False,
        prefix: str = "",
        suffix: str = "",
    ):
        self.prefix, self.suffix = prefix, suffix
        super().__init__(vocabulary, merges, unknown)
        self.fuse_unknown, self.byte_fallback, self.ignore_merges = (
            fuse_unknown,
            byte_fallback,
            ignore_merges,
        )

    def join(self, left: str, right: str) -> str:
        """The token that two neighbours make: the prefix of the right one is
        left out.
        """
        return left + right[len(self.prefix) :]

    def tokenize(self, word: str) -> list[Piece]:
        """The tokens of one word, with their places in it.

        Tokens that share a character all claim the whole of it.
        """
        if not word:
            return []
        if self.ignore_merges and word in self.vocabulary:
            return [Piece(self.vocabulary.id(word), 0, len(word))]
        symbols, sizes = self._symbols(word)
        owner = [i for i, character in enumerate(word) for _ in character.encode()]
        pieces, start = [], 0
        for token, first, last in merged_with_places(symbols, self.rank, self.join):
            end = start + sum(sizes[first:last])
            pieces.append(
                Piece(self.vocabulary.id(token), owner[start], owner[end - 1] + 1)
            )
            start = end
        return pieces

    def split(self, word: str) -> list[str]:
        """The tokens of one word, as the vocabulary writes them."""
        return [self.vocabulary.token(piece.id) for piece in self.tokenize(word)]

    def _symbols(self, word: str) -> tuple[list[str], list[int]]:
        """The symbols to start from, and how many bytes of the word each stands for."""
        symbols, sizes = [], []
        unknown_size = 0  # of unknown characters that are not written yet
        for i, character in enumerate(word):
            size = len(character.encode())
            symbol = (
                (self.prefix if i else "")
                + character
                + (self.suffix if i == len(word) - 1 else "")
            )
            if symbol in self.vocabulary:
                if unknown_size:
                    symbols.append(self._unknown(word))
                    sizes.append(unknown_size)
                    unknown_size = 0
                symbols.append(symbol)
                sizes.append(size)
                continue
            data = (
                [byte_token(byte) for byte in symbol.encode()]
                if self.byte_fallback
                else []
            )
            if data and all(token in self.vocabulary for token in data):
                # An unknown character before these is written after them, as in
                # `tokenizers`.
                symbols += data
                sizes += [1] * len(data)
                continue
            if unknown_size and not self.fuse_unknown:
                symbols.append(self._unknown(word))
                sizes.append(unknown_size)
                unknown_size = 0
            self._unknown(word)
            unknown_size += size
        if unknown_size:
            symbols.append(self._unknown(word))
            sizes.append(unknown_size)
        return symbols, sizes

    def _unknown(self, word: str) -> str:
        if self.unknown_id is None:
            raise TokenizerError(
                f"a character of {word[:80]!r} has no token, and this vocabulary of "
                f"{len(self.vocabulary)} tokens has none for unknown characters"
            )
        return self.vocabulary.token(self.unknown_id)


class FileUnigram(Unigram):
    """Unigram as tokenizer.json keeps it: every piece may stand in a text, control
    tokens and the unknown one too.

    Unknown characters become one token a run, or their bytes where `byte_fallback`
    finds all of them in the vocabulary.
    """

    def __init__(
        self,
        pieces: Iterable[tuple[str, float]],
        unknown: str | None,
        byte_fallback: bool = False,
    ):
        super().__init__(pieces, unknown)
        self._id_of = dict(self.vocabulary.id_of)
        self._longest = max(map(len, self._id_of), default=1)
        self.byte_fallback = byte_fallback

    def tokenize(self, word: str) -> list[Piece]:
        """The tokens of the best path with their places."""
        pieces: list[Piece] = []
        for _, start, end in self.fuse_unknown(self.best(word)):
            id = self._id_of.get(
                word[start:end]
            )  # a run of unknown characters may be a piece all the same
            data = (
                [byte_token(byte) for byte in word[start:end].encode()]
                if self.byte_fallback
                else []
            )
            if id is None and data and all(token in self._id_of for token in data):
                pieces += [Piece(self._id_of[token], start, end) for token in data]
            else:
                pieces.append(Piece(self.unknown_id if id is None else id, start, end))
        return pieces


class WordLevel:
    """A token a word, and `unknown` for all others."""

    def __init__(self, vocabulary: Vocabulary, unknown: str):
        self.vocabulary, self.unknown = vocabulary, unknown

    def tokenize(self, word: str) -> list[Piece]:
        """The one token of a word."""
        id = self.vocabulary.id_of.get(word)
        return (
            [
                Piece(
                    self.vocabulary.id(self.unknown) if id is None else id, 0, len(word)
                )
            ]
            if word
            else []
        )

    def decode(self, ids: Sequence[int]) -> str:
        """The words of the ids with spaces between."""
        return " ".join(map(self.vocabulary.token, ids))
