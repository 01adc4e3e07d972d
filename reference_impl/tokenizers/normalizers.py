"""Normalising: make texts that should look alike to a model be alike, and remember
where each character came from.

BERT's normaliser (Devlin et al. 2019; `tokenization.py` of its release) does four
things, in this order: control characters go and every kind of space becomes a plain
one; Chinese characters get a space on each side, because Chinese writes no spaces;
accents are dropped; letters become small.

Each of the four rewrites one character at a time, without looking at its neighbours. So
the whole is a function from a character to a short string, and a character of the
result has exactly one origin. That is all that offsets need: the origin is one number
per character.

But:
- Small letters are made one by one: a final sigma becomes the ordinary small sigma, as
  in `tokenizers`, where Python's `str.lower` on a whole word would give the final form.
- Dropping accents destroys information: "cote", "cote" with an acute and "cote" with a
  circumflex become one word.
- Marks are not sorted before they are dropped, as NFD of a whole text would: only
  musical notation shows it, in places that differ by one.
- The tables are those of the running Python. `tokenizers` carries tables of Unicode 8,
  so characters that were added later may be classed otherwise there. Its extension E
  begins at U+2B920, BERT's and ours at U+2B820.
"""

import unicodedata
from collections.abc import Callable, Sequence

Rewrite = Callable[[str], str]
"""One character in; none, one or several characters out."""

# "CJK Unified Ideographs", its extensions A to E, and the two compatibility blocks, as
# BERT lists them.
CJK_BLOCKS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def clean(character: str) -> str:
    """Spaces of all kinds become " "; control, format and private characters, NUL and
    U+FFFD become nothing.
    """
    if character in "\t\n\r":  # control characters by category, but spaces to a reader
        return " "
    if character in "\0\ufffd" or unicodedata.category(character) in (
        "Cc",
        "Cf",
        "Co",
        "Cs",
    ):
        return ""
    return " " if character.isspace() else character


def space_cjk(character: str) -> str:
    """A space on each side of a Chinese character, so that each becomes a word.

    Kana and Hangul stay as they are.
    """
    code = ord(character)
    return (
        f" {character} "
        if any(first <= code <= last for first, last in CJK_BLOCKS)
        else character
    )


def strip_accents(character: str) -> str:
    """Take the character apart (NFD) and drop the marks that take no room of their own
    (category Mn).
    """
    return "".join(
        part
        for part in unicodedata.normalize("NFD", character)
        if unicodedata.category(part) != "Mn"
    )


def lowercase(character: str) -> str:
    """The small form, which may be two characters long: the Turkish capital I with a
    dot gives "i" and a dot.
    """
    return character.lower()


class Normalizer:
    """Rewrites applied one after the other to each character of a text.

    `Normalizer()` without rewrites changes nothing. What becomes of a character is
    worked out once and kept.
    """

    def __init__(self, *steps: Rewrite):
        self.steps = steps
        self._table = _Table(steps)

    def __call__(self, text: str) -> str:
        """The normalised text."""
        return text.translate(self._table) if self.steps else text

    def aligned(self, text: str) -> tuple[str, Sequence[int]]:
        """The normalised text, and for each of its characters the index in `text` of
        the one it was made from.
        """
        if not self.steps:
            return text, range(len(text))
        parts = [self._table[ord(character)] for character in text]
        origins = [index for index, part in enumerate(parts) for _ in part]
        return "".join(parts), origins


class _Table(dict):
    """From a code point to its replacement, filled as characters turn up:
    `str.translate` asks for nothing else.
    """

    def __init__(self, steps: tuple[Rewrite, ...]):
        super().__init__()
        self._steps = steps

    def __missing__(self, code: int) -> str:
        replacement = chr(code)
        for step in self._steps:
            replacement = "".join(map(step, replacement))
        self[code] = replacement
        return replacement


def bert_normalizer(
    lower: bool = True,
    accents: bool | None = None,
    cjk: bool = True,
    clean_text: bool = True,
) -> Normalizer:
    """BERT's normaliser.

    `accents=None` drops accents exactly when letters are made small, as BERT's models
    do; True drops them, False keeps them.
    """
    drop_accents = lower if accents is None else accents
    wanted = (
        (clean, clean_text),
        (space_cjk, cjk),
        (strip_accents, drop_accents),
        (lowercase, lower),
    )
    return Normalizer(*(step for step, on in wanted if on))
