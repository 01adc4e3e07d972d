r"""Which characters Oniguruma counts to `\w`, `\p{L}`, `[:alpha:]` and the like.

Its table of Unicode is not `regex`'s.

Stored are the runs of code points that `tokenizers` gave when asked
(`oniguruma_classes.json`: for each run how many are left out before it and how many it
has, hexadecimal). Names that can't be had from these are None: the expression is
refused.

    members("Nd")      "\U00000030-\U00000039\U00000660-..."  what may stand between
                                                              [ and ]
    looked_up("nd")    r"p{nd}", and the characters of which `regex` thinks otherwise

A list of characters is gone through one run after the other, 14 to 45 times slower than
the class that `regex` looks up. But: inside brackets `\w` lacks six signs of Latin-1
(superscripts and fractions) that it has outside; so it is there.
"""

import json
from functools import cache
from pathlib import Path

import regex

END = 0x110000
_LATIN = ((0xB2, 0xB4), (0xB9, 0xBA), (0xBC, 0xBF))
_LONG = {
    "letter": "l",
    "uppercaseletter": "lu",
    "lowercaseletter": "ll",
    "titlecaseletter": "lt",
    "modifierletter": "lm",
    "otherletter": "lo",
    "mark": "m",
    "nonspacingmark": "mn",
    "spacingmark": "mc",
    "enclosingmark": "me",
    "number": "n",
    "decimalnumber": "nd",
    "letternumber": "nl",
    "othernumber": "no",
    "punctuation": "p",
    "symbol": "s",
    "mathsymbol": "sm",
    "currencysymbol": "sc",
    "modifiersymbol": "sk",
    "othersymbol": "so",
    "separator": "z",
    "spaceseparator": "zs",
    "other": "c",
    "control": "cc",
    "format": "cf",
    "unassigned": "cn",
    "digit": "nd",
    "alphabetic": "alpha",
    "uppercase": "upper",
    "lowercase": "lower",
    "whitespace": "space",
    "cntrl": "cc",
}
_TOGETHER = {
    "alnum": ("alpha", "nd"),
    "posixpunct": ("p", "s"),
    **{
        letter: tuple(letter + second for second in seconds)
        for letter, seconds in (
            ("l", "utlmo"),
            ("m", "nce"),
            ("n", "dlo"),
            ("p", "cdseifo"),
            ("s", "mcko"),
            ("z", "slp"),
        )
    },
}
_FIXED = {
    "any": ((0, END),),
    "ascii": ((0, 0x80),),
    "xdigit": ((0x30, 0x3A), (0x41, 0x47), (0x61, 0x67)),
    "space": (
        (9, 14),
        (0x20, 0x21),
        (0x85, 0x86),
        (0xA0, 0xA1),
        (0x1680, 0x1681),
        (0x2000, 0x200B),
        (0x2028, 0x202A),
        (0x202F, 0x2030),
        (0x205F, 0x2060),
        (0x3000, 0x3001),
    ),
}
CASED = frozenset(
    {
        "l",
        "lu",
        "ll",
        "lt",
        "lm",
        "lo",
        "m",
        "mn",
        "mc",
        "me",
        "alpha",
        "upper",
        "lower",
        "c",
        "cn",
    }
)
"""Classes that a letter may be in while its other case is not."""
Ranges = tuple[tuple[int, int], ...]


@cache
def _stored() -> dict[str, str]:
    data = json.loads(
        Path(__file__).with_name("oniguruma_classes.json").read_text(encoding="utf-8")
    )
    return {name.lower(): runs for name, runs in data.items()}


def plain(name: str) -> str:
    """A name without case, spaces and lines, and short where there is a short one."""
    name = name.lower().replace(" ", "").replace("_", "").replace("-", "")
    return _LONG.get(name, name)


@cache
def ranges(name: str, in_class: bool = False) -> Ranges | None:
    """Start and end (exclusive) of each run of a class; None if it is not
    known here.
    """
    if name in _FIXED:
        return _FIXED[name]
    if name in _TOGETHER:
        return _joined([run for part in _TOGETHER[name] for run in ranges(part)])
    if name == "word" and in_class:
        return _without(ranges("word"), _LATIN)
    if name not in _stored():
        return None
    numbers, runs, place = [int(word, 16) for word in _stored()[name].split()], [], 0
    for skipped, length in zip(numbers[::2], numbers[1::2]):
        runs.append((place + skipped, place + skipped + length))
        place += skipped + length
    return tuple(runs)


def _joined(runs: list[tuple[int, int]]) -> Ranges:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(runs):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return tuple(joined)


def _complement(runs: Ranges) -> Ranges:
    ends = [0, *(end for _, end in runs)]
    starts = [*(start for start, _ in runs), END]
    return tuple((start, end) for start, end in zip(ends, starts) if start < end)


def _without(runs: Ranges, others: Ranges) -> Ranges:
    return _complement(_joined([*_complement(runs), *others]))


@cache
def members(name: str, negated: bool = False, in_class: bool = False) -> str | None:
    """A class's characters for between brackets; None if it is not known here."""
    runs = ranges(name, in_class)
    if runs is None:
        return None
    return "".join(
        rf"\U{start:08x}-\U{end - 1:08x}"
        for start, end in (_complement(runs) if negated else runs)
    )


@cache
def _every_character() -> str:
    return "".join(map(chr, range(END)))


@cache
def looked_up(name: str, in_class: bool = False) -> tuple[str, frozenset[str]] | None:
    """A class as `regex` writes it after a backslash, and the characters on which the
    two differ, asked of the `regex` that is installed; None if it has none of this
    name.
    """
    written = "w" if name == "word" else f"p{{{name}}}"
    try:
        found = regex.compile(rf"\{written}+").finditer(_every_character())
    except regex.error:
        return None
    theirs, ours = tuple(match.span() for match in found), ranges(name, in_class)
    differing = (*_without(ours, theirs), *_without(theirs, ours))
    return written, frozenset(
        chr(code) for start, end in differing for code in range(start, end)
    )
