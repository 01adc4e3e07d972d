"""Normalisers that look at more than one character: Unicode's normal forms, replacing,
stripping, tables.

`normalizers.Normalizer` rewrites each character by itself. What is here can't be said
so: an e and the accent after it become one character (NFC), a run of spaces becomes
one, a sign goes before the text. Each gives the new text and for each of its characters
the index of the one that it was made from, as `Normalizer.aligned` does, so that they
can follow each other in a `Chain`.

Origins are those of `tokenizers`: a composed character comes from the first of those
that it was composed of.

Sources: Unicode Standard Annex 15 for the normal forms; the components of `tokenizers`
for the rest.

But: the tables of Unicode are the running Python's.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import regex

from reference_impl.tokenizers.charsmap import CharsMap
from reference_impl.tokenizers.oniguruma import Finder
from reference_impl.tokenizers.vocabulary import TokenizerError

Aligned = tuple[str, Sequence[int]]
WHITE_SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""Unicode's property White_Space. Python's `str.isspace` counts U+001C to U+001F
too."""


@runtime_checkable
class TextNormalizer(Protocol):
    """What changes a text and remembers origins. `normalizers.Normalizer` is one."""

    def aligned(self, text: str) -> Aligned: ...


class Chain:
    """Normalisers one after the other."""

    def __init__(self, *steps: TextNormalizer):
        self.steps = steps

    def __call__(self, text: str) -> str:
        """The normalised text."""
        return self.aligned(text)[0]

    def aligned(self, text: str) -> Aligned:
        """The normalised text, and for each of its characters the index in `text` of
        the one it was made from.
        """
        origins: Sequence[int] = range(len(text))
        for step in self.steps:
            text, own = step.aligned(text)
            if own != range(len(origins)):
                origins = [origins[i] for i in own]
        return text, origins


def transformed(changes: Iterable[tuple[str, int]]) -> Aligned:
    """The text that changes make, with origins.

    A change is a character, and how many it stands for, less one.

    1: it was put in after the character before it, and shares its origin. 0: it takes
    the place of one. -2: of three.
    """
    characters, origins, place = [], [], 0
    for character, change in changes:
        characters.append(character)
        origins.append(max(0, place - 1) if change > 0 else place)
        place += 1 - min(change, 1)
    return "".join(characters), origins


class NormalForm:
    """One of Unicode's four normal forms: "NFC", "NFD", "NFKC", "NFKD"."""

    def __init__(self, form: str):
        self.form = form

    def aligned(self, text: str) -> Aligned:
        """Decompose each character, sort runs of marks by class, and for NFC and NFKC
        compose again.
        """
        if unicodedata.is_normalized(self.form, text):
            return text, range(len(text))
        compatible = "NFKD" if "K" in self.form else "NFD"
        parts = [
            (part, int(i > 0))
            for character in text
            for i, part in enumerate(unicodedata.normalize(compatible, character))
        ]
        _sort_marks(parts)
        return transformed(parts if self.form[-1] == "D" else _composed(parts))


def _sort_marks(parts: list[tuple[str, int]]) -> None:
    """Sort each run of marks by combining class, in place; marks of one class keep
    their order.
    """
    start = 0
    for i in range(len(parts) + 1):
        if i == len(parts) or not unicodedata.combining(parts[i][0]):
            parts[start:i] = sorted(
                parts[start:i], key=lambda part: unicodedata.combining(part[0])
            )
            start = i + 1


def _composed(parts: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Join each starter with the marks after it where Unicode has one character for
    both.
    """
    result: list[tuple[str, int]] = []
    starter, last_class = None, 0
    for part, change in parts:
        own_class = unicodedata.combining(part)
        adjacent = starter is not None and starter == len(result) - 1
        if starter is not None and (adjacent or last_class < own_class):
            joined = unicodedata.normalize("NFC", result[starter][0] + part)
            if len(joined) == 1:
                result[starter] = joined, result[starter][1] + change - 1
                continue
        if own_class == 0:
            starter, last_class = len(result), 0
        else:
            last_class = own_class
        result.append((part, change))
    return result


class Replace:
    """Every match of an expression becomes `content`, which has the origin of the last
    character it stands for.

    TokenizerError where it would be put in before the first character: it stands for
    none there, nor after one.
    """

    def __init__(self, pattern: Finder, content: str):
        self.pattern, self.content = pattern, content

    def aligned(self, text: str) -> Aligned:
        """The text with its origins."""
        parts, origins, done = [], [], 0
        for start, end in spans(self.pattern, text):
            if end == 0 and self.content:
                raise TokenizerError(
                    f"the normaliser Replace puts {self.content!r} before the first"
                    " character of a text, where `tokenizers` has no offsets for it:"
                    " use Prepend"
                )
            parts += [text[done:start], self.content]
            origins += [*range(done, start), *[max(0, end - 1)] * len(self.content)]
            done = end
        if not parts:
            return text, range(len(text))
        return "".join(parts) + text[done:], origins + list(range(done, len(text)))


def spans(pattern: Finder, text: str) -> list[tuple[int, int]]:
    """Where the expression matches.

    An empty match directly after another match is none, as in Oniguruma.
    """
    found: list[tuple[int, int]] = []
    for match in pattern.finditer(text):
        if not found or match.start() != match.end() or match.start() != found[-1][1]:
            found.append(match.span())
    return found


class Prepend:
    """A text before every text that is not empty.

    It has the origin of the first character.

    TokenizerError for an empty one: `tokenizers` then loses the first character's
    offsets.
    """

    def __init__(self, content: str):
        if not content:
            raise TokenizerError(
                "the normaliser Prepend puts nothing before a text: leave it out of the"
                " file"
            )
        self.content = content

    def aligned(self, text: str) -> Aligned:
        """The text with its origins."""
        added = self.content if text else ""
        return added + text, [0] * len(added) + list(range(len(text)))


class Strip:
    """Without white space at the beginning, at the end, or both."""

    def __init__(self, left: bool, right: bool):
        self.left, self.right = left, right

    def aligned(self, text: str) -> Aligned:
        """The text with its origins."""
        start = len(text) - len(text.lstrip(WHITE_SPACE)) if self.left else 0
        end = max(start, len(text.rstrip(WHITE_SPACE)) if self.right else len(text))
        return text[start:end], range(start, end)


class ByTable:
    """SentencePiece's table as `tokenizers` applies it: grapheme by grapheme, the
    shortest rule that begins there.

    A grapheme below six bytes with a rule is replaced whole, though the rule may name
    its first character only. `CharsMap.replacements` is what SentencePiece itself does:
    the longest rule at each place.
    """

    def __init__(self, table: CharsMap):
        self.table = table

    def aligned(self, text: str) -> Aligned:
        """The text with its origins."""
        changes: list[tuple[str, int]] = []
        for grapheme in _GRAPHEME.findall(text):
            whole = (
                self.table.shortest(grapheme) if len(grapheme.encode()) < 6 else None
            )
            if whole is not None:
                _put(changes, grapheme, whole)
                continue
            for character in grapheme:
                replacement = self.table.shortest(character)
                if replacement is None:
                    changes.append((character, 0))
                else:
                    _put(changes, character, replacement)
        return transformed(changes)


_GRAPHEME = regex.compile(r"\X")


def _put(changes: list[tuple[str, int]], old: str, new: str) -> None:
    """Write `new` for `old`: surplus characters count as put in, missing ones are
    charged to the last character.
    """
    kept = min(len(old), len(new))
    changes += [(character, int(i >= kept)) for i, character in enumerate(new)]
    if len(new) < len(old) and changes:
        character, change = changes[-1]
        changes[-1] = character, change + len(new) - len(old)


NMT_DROPPED = {*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F}
NMT_SPACES = {
    0x09,
    0x0A,
    0x0C,
    0x0D,
    0x1680,
    *range(0x200B, 0x2010),
    0x2028,
    0x2029,
    0x2581,
    0xFEFF,
    0xFFFD,
}


def nmt(character: str) -> str:
    """A rewrite for `normalizers.Normalizer`: control characters go, other separators
    become spaces.
    """
    code = ord(character)
    return "" if code in NMT_DROPPED else " " if code in NMT_SPACES else character


def without_marks(character: str) -> str:
    """A rewrite: combining marks of all three categories go.

    Accents stay on letters that carry them inside.
    """
    return "" if unicodedata.category(character)[0] == "M" else character
