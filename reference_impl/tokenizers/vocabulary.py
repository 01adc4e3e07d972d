"""Tokens and their ids, both ways, and the error that every tokenizer raises.

A vocabulary is a list: the id of a token is its place. Files and trainers must agree on
that, so holes and repeated tokens are refused here, once, for all of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

MAX_KNOWN_WORDS = 1_000_000
"""So many different words a tokenizer remembers; then it forgets them all, so that no
text can fill the memory."""


class TokenizerError(ValueError):
    """A text, id, vocabulary or file does not fit the tokenizer.

    The message names both sides.
    """


def read_bytes(path: str | Path) -> bytes:
    """A file's bytes. TokenizerError if there is none, or if it can't be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TokenizerError(
            f"{path} can't be read ({error.strerror}): give the path of a tokenizer's"
            " file"
        ) from None


class Piece(NamedTuple):
    """One token in a word: its id, and where it starts and ends in the word, in
    characters, end exclusive.
    """

    id: int
    start: int
    end: int


class Vocabulary:
    """An ordered set of tokens.

    `id_of` maps a token to its id, `tokens` an id to its token.

    Takes the tokens in the order of their ids, or a mapping from token to id that uses
    0 to n - 1 once each. Raises TokenizerError for a token or an id that occurs twice,
    and for a hole.
    """

    def __init__(self, tokens: Iterable[str] | Mapping[str, int]):
        if isinstance(tokens, Mapping):
            tokens = _by_id(tokens)
        self.tokens: list[str] = list(tokens)
        self.id_of: dict[str, int] = {token: i for i, token in enumerate(self.tokens)}
        if len(self.id_of) != len(self.tokens):
            first = next(
                token for i, token in enumerate(self.tokens) if self.id_of[token] != i
            )
            raise TokenizerError(
                f"the token {first!r} stands twice in the vocabulary: as id "
                f"{self.tokens.index(first)} and as id {self.id_of[first]}"
            )

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self.id_of

    def __iter__(self) -> Iterator[str]:
        return iter(self.tokens)

    def id(self, token: str) -> int:
        """The id of a token; TokenizerError if the vocabulary lacks it."""
        try:
            return self.id_of[token]
        except KeyError:
            raise TokenizerError(
                f"the token {token!r} is not among the {len(self)} tokens of the"
                " vocabulary"
            ) from None

    def token(self, id: int) -> str:
        """The token of an id; TokenizerError if there is no such id.

        Negative ids are no short-cut for the end.
        """
        if not 0 <= id < len(self.tokens):
            raise TokenizerError(
                f"id {id} is outside the vocabulary, whose ids are 0 to {len(self) - 1}"
            )
        return self.tokens[id]


def _by_id(id_of: Mapping[str, int]) -> list[str]:
    tokens: list[str | None] = [None] * len(id_of)
    for token, i in id_of.items():
        if not 0 <= i < len(tokens):
            raise TokenizerError(
                f"the id of {token!r} is {i}; {len(tokens)} tokens have the ids 0 to "
                f"{len(tokens) - 1}, so there is a hole or an id is used twice"
            )
        if tokens[i] is not None:
            raise TokenizerError(f"id {i} is given to {tokens[i]!r} and to {token!r}")
        tokens[i] = token
    # every place is filled: as many ids as places, each in range, none used twice
    return tokens
