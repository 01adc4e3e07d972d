r"""Words of a text that comes in chunks, so that a file of any size can be encoded
without holding it.

Cutting each chunk by itself would be wrong: a chunk may end inside a word, or between
two line ends that are one word together. So a chunk is held until a place is seen that
no word lies across and that nothing after it can change: between anything but a space
and a plain space, or between a letter or digit and an ASCII sign or a space. What
stands before the last such place is cut; the rest waits. The words are those of the
text in one piece.

    list(words_of(["one t", "wo \n", "\nthree"], GPT2))
        ["one", " two", " \n", "\n", "three"]

But: this holds for the expressions of `pretokenizers.py`, which look one sign ahead and
never behind. For others, say so with an error. A word without an end is held whole: no
tokenizer can cut it before it has seen it.
"""

from collections.abc import Iterable, Iterator, Sequence

import regex

from reference_impl.tokenizers.pretokenizers import (
    BERT,
    CL100K,
    GPT2,
    GPT2_SINGLE_DIGITS,
    WORDS_AND_SIGNS,
)
from reference_impl.tokenizers.surrogates import without_surrogates
from reference_impl.tokenizers.vocabulary import TokenizerError

_LAST_BOUNDARY = regex.compile(
    r"(?r)(?<=\S)(?= )|(?<=[\p{L}\p{Nd}])(?=[\s!-/:-@\[-^`{-~])"
)
"""Searched from the end."""


def words_of(chunks: Iterable[str], pattern: regex.Pattern) -> Iterator[str]:
    """The words that `pattern` finds in the chunks joined.

    TokenizerError if that can't be done in parts.
    """
    check_streams(pattern)
    return _words_of(chunks, pattern)


def _words_of(chunks: Iterable[str], pattern: regex.Pattern) -> Iterator[str]:
    held = ""
    for chunk in whole_characters(chunks):
        held += chunk
        if boundary := _LAST_BOUNDARY.search(held):
            yield from pattern.findall(held[: boundary.start()])
            held = held[boundary.start() :]
    yield from pattern.findall(held)


def check_streams(pattern: object) -> None:
    """TokenizerError if a text in chunks can't be cut by this expression."""
    if not any(
        pattern is known
        for known in (BERT, CL100K, GPT2, GPT2_SINGLE_DIGITS, WORDS_AND_SIGNS)
    ):
        raise TokenizerError(
            "a text in chunks can be cut by the expressions of GPT-2, SmolLM2, GPT-4"
            " and BERT; this tokenizer finds its words otherwise and needs the whole"
            " text"
        )


def whole_characters(chunks: Iterable[str]) -> Iterator[str]:
    """The chunks, empty ones left out, with the halves of surrogate pairs read as
    everywhere (`surrogates.py`).
    """
    half = ""
    for chunk in chunks:
        chunk = half + chunk
        half = chunk[-1:] if "\ud800" <= chunk[-1:] <= "\udbff" else ""
        if chunk := without_surrogates(chunk[: len(chunk) - len(half)]):
            yield chunk
    if half:
        yield without_surrogates(half)


def cut_at(chunks: Iterable[str], tokens: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The chunks cut at `tokens`, the longest where two begin: stretches of text, and
    whether each is a token.

    As many characters are held as the longest token has, less one: a token may lie
    across chunks.
    """
    longest_first = sorted(tokens, key=len, reverse=True)
    pattern = regex.compile("|".join(map(regex.escape, longest_first)) or r"(?!)")
    held, reach = "", len(longest_first[0]) - 1 if longest_first else 0
    for chunk, is_last in _with_last(chunks):
        held += chunk
        safe, done = len(held) if is_last else len(held) - reach, 0
        for match in pattern.finditer(held):
            if match.start() >= safe:
                break
            if done < match.start():
                yield held[done : match.start()], False
            yield match.group(), True
            done = match.end()
        if done < safe:
            yield held[done:safe], False
        held = held[max(done, safe) :]


def _with_last(chunks: Iterable[str]) -> Iterator[tuple[str, bool]]:
    for chunk in chunks:
        yield chunk, False
    yield "", True
