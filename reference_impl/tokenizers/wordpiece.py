"""WordPiece: cut a word into the longest pieces that the vocabulary knows, from left to
right.

BERT's tokenizer (Devlin et al. 2019; `WordpieceTokenizer` of its release; the name is
Schuster and Nakajima's, 2012). A piece that continues a word is written with "##"
before it, so "play" at the start and "##play" inside are two tokens with two vectors.

    tokens: un, ##aff, ##able, ##a, ##ffable      "unaffable"  ->  un, ##aff, ##able

Greedy means that a long first piece is never taken back. If what is left then can't be
cut, the whole word becomes [UNK], although another cut might have worked: with the
tokens ab, a, ##bc alone, "abc" is unknown.

But:
- Words come from a pre-tokenizer; a piece never crosses words. See
  `pretokenizers.BERT`.
- Words of more than 100 characters are [UNK] without a look.
- Decoding can't restore the spaces: "it ' s" and "it's" have the same tokens.
- Training is in `wordpiece_training.py`.
"""

from collections.abc import Sequence

from reference_impl.tokenizers.vocabulary import Piece, TokenizerError, Vocabulary

CONTINUES = "##"
MAX_CHARACTERS = 100
JOINS_LEFT = (".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re")
"""What `tokenizers` writes without a space before it. BERT's own pre-tokenizer cuts
before and after the apostrophe, so its "it's" comes back as "it ' s"."""


class WordPiece:
    """Greedy longest match first.

    `unknown` must be in the vocabulary: it stands for a word that can't be cut.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        unknown: str = "[UNK]",
        prefix: str = CONTINUES,
        max_characters: int = MAX_CHARACTERS,
    ):
        if unknown not in vocabulary:
            raise TokenizerError(
                f"WordPiece needs a token for unknown words; {unknown!r} is not among"
                f" the {len(vocabulary)} tokens of the vocabulary"
            )
        self.vocabulary, self.unknown_id = vocabulary, vocabulary.id(unknown)
        self.unknown, self.prefix, self.max_characters = unknown, prefix, max_characters

    def tokenize(self, word: str) -> list[Piece]:
        """The tokens of one word, with their places in it; one unknown token over all
        of it if it can't be cut.
        """
        whole = [Piece(self.unknown_id, 0, len(word))] if word else []
        if len(word) > self.max_characters:
            return whole
        pieces: list[Piece] = []
        start = 0
        while start < len(word):
            piece = self._longest_from(word, start)
            if piece is None:
                return whole
            pieces.append(piece)
            start = piece.end
        return pieces

    def _longest_from(self, word: str, start: int) -> Piece | None:
        prefix = self.prefix if start else ""
        for end in range(len(word), start, -1):
            id = self.vocabulary.id_of.get(prefix + word[start:end])
            if id is not None:
                return Piece(id, start, end)
        return None

    def split(self, word: str) -> list[str]:
        """The tokens of one word, as they are written in the vocabulary."""
        return [self.vocabulary.token(piece.id) for piece in self.tokenize(word)]

    def decode(self, ids: Sequence[int], clean_up: bool = True) -> str:
        """The tokens with a space between words; `clean_up` leaves it out before
        English punctuation and endings.
        """
        text = ""
        for token in map(self.vocabulary.token, ids):
            if text and token.startswith(self.prefix):
                text += token.removeprefix(self.prefix)
            elif not text or clean_up and token.startswith(JOINS_LEFT):
                text += token
            else:
                text += " " + token
        return text
