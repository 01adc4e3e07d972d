"""Pre-tokenizing in several steps, as `tokenizer.json` describes it.

One expression (`pretokenizers.py`) finds the words of GPT-2 or BERT. Other models need
a row of steps: LLaMA 3 cuts by an expression and keeps what lies between its matches;
T5 cuts at spaces and puts a sign before each word; StarCoder takes digits out first. A
step gets words and gives words, and each word knows from which character of the text
each of its own came.

    Cut(regex.compile(" "), "MergedWithNext")     "a bc"  ->  "a", " bc"

The five behaviours of `Cut` say what becomes of a match: it goes (Removed), it is a
word (Isolated), it joins the word before it or the word after it (MergedWithPrevious,
MergedWithNext), or it joins its own kind (Contiguous).
"""

from collections.abc import Callable, Sequence

import regex

from reference_impl.tokenizers.byte_level import to_characters
from reference_impl.tokenizers.oniguruma import Finder
from reference_impl.tokenizers.text_normalizers import spans
from reference_impl.tokenizers.vocabulary import TokenizerError

Word = tuple[str, Sequence[int]]
"""A word, and for each of its characters the place in the text that it comes from."""
Step = Callable[[Word], list[Word]]
BEHAVIOURS = (
    "Removed",
    "Isolated",
    "MergedWithPrevious",
    "MergedWithNext",
    "Contiguous",
)
SCHEMES = ("always", "first", "never")


class WordCuts:
    """Steps, one after the other, each over all words that the one before it gave.

    Empty words are left out.
    """

    def __init__(self, *steps: Step):
        self.steps = steps

    def words(self, text: str, origins: Sequence[int]) -> list[Word]:
        """The words of a text whose characters come from `origins`."""
        words: list[Word] = [(text, origins)]
        for step in self.steps:
            words = [part for word in words for part in step(word) if part[0]]
        return words


class Cut:
    """Cut where an expression matches; `invert` cuts at what lies between the matches
    instead.
    """

    def __init__(self, pattern: Finder, behaviour: str, invert: bool = False):
        if behaviour not in BEHAVIOURS:
            raise TokenizerError(
                f"the behaviour is {behaviour!r}; it must be one of"
                f" {', '.join(BEHAVIOURS)}"
            )
        self.pattern, self.behaviour, self.invert = pattern, behaviour, invert

    def __call__(self, word: Word) -> list[Word]:
        text, origins = word
        parts = self._parts(text)
        if self.behaviour == "Removed":
            kept = [(start, end) for start, end, is_match in parts if not is_match]
        elif self.behaviour == "MergedWithNext":
            mirrored = _join(
                [(-end, -start, is_match) for start, end, is_match in reversed(parts)],
                self._joins,
            )
            kept = [(-end, -start) for start, end in reversed(mirrored)]
        else:
            kept = _join(parts, self._joins)
        return [(text[start:end], origins[start:end]) for start, end in kept]

    def _joins(self, is_match: bool, was_match: bool) -> bool:
        """Whether a part is joined to the one that was read before it."""
        if self.behaviour == "Contiguous":
            return is_match == was_match
        return self.behaviour.startswith("Merged") and is_match and not was_match

    def _parts(self, text: str) -> list[tuple[int, int, bool]]:
        """The whole text in parts: start, end, and whether it is a match."""
        parts, done = [], 0
        for start, end in spans(self.pattern, text):
            if done < start:
                parts.append((done, start, self.invert))
            parts.append((start, end, not self.invert))
            done = end
        return parts if done == len(text) else [*parts, (done, len(text), self.invert)]


def _join(
    parts: Sequence[tuple[int, int, bool]], joins: Callable[[bool, bool], bool]
) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    was_match = False
    for start, end, is_match in parts:
        if found and joins(is_match, was_match):
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
        was_match = is_match
    return found


class SpaceBefore:
    """A space before each word that does not begin with one.

    It has the place of the word's first character.
    """

    def __call__(self, word: Word) -> list[Word]:
        return [_with_sign(word, " ")]


class Metaspace:
    """Each space becomes a sign, words that do not begin with it get one, and the text
    is cut before each sign.

    `scheme` "first" puts it before the first word of the text alone, "never" before
    none. `cut=False` leaves words whole.
    """

    def __init__(self, sign: str, scheme: str, cut: bool):
        self.sign, self.scheme = sign, scheme
        self._cut = (
            Cut(regex.compile(regex.escape(sign)), "MergedWithNext") if cut else None
        )

    def __call__(self, word: Word) -> list[Word]:
        word = word[0].replace(" ", self.sign), word[1]
        if self.scheme == "always" or self.scheme == "first" and word[1][0] == 0:
            word = _with_sign(word, self.sign)
        return self._cut(word) if self._cut else [word]


def _with_sign(word: Word, sign: str) -> Word:
    text, origins = word
    return word if text.startswith(sign) else (sign + text, [origins[0], *origins])


class Pieces:
    """Cut into pieces of `length` characters."""

    def __init__(self, length: int):
        self.length = length

    def __call__(self, word: Word) -> list[Word]:
        text, origins = word
        return [
            (text[start : start + self.length], origins[start : start + self.length])
            for start in range(0, len(text), self.length)
        ]


class ToBytes:
    """Each byte of a word as one printable character (`byte_level.py`), all bytes of a
    character from its place.
    """

    def __call__(self, word: Word) -> list[Word]:
        text, origins = word
        drawn = [to_characters(character.encode()) for character in text]
        return [
            (
                "".join(drawn),
                [origin for origin, part in zip(origins, drawn) for _ in part],
            )
        ]
