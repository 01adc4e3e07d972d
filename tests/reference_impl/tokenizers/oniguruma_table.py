r"""Which characters Oniguruma counts to each of its classes, asked of the installed `tokenizers`
for all code points.

    python -m tests.reference_impl.tokenizers.oniguruma_table

writes reference_impl/tokenizers/oniguruma_classes.json anew; `test_oniguruma.py` compares the file
with what is asked.
"""

import json
from itertools import groupby
from pathlib import Path

from tokenizers import Regex, normalizers

import reference_impl.tokenizers

PATH = Path(reference_impl.tokenizers.__file__).with_name("oniguruma_classes.json")
CATEGORIES = (
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cn Co".split()
)
"""Surrogates stand in no text."""
OTHERS = "word alpha upper lower punct graph print".split()
SCRIPTS = (
    "Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati"
    " Gurmukhi Han Hangul Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Mongolian"
    " Myanmar Sinhala Tamil Telugu Thai Tibetan"
).split()
CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
TEXT = "".join(map(chr, CODES))


def taken(expression: str) -> set[int]:
    """The code points that an expression takes, each alone."""
    return set(CODES).difference(
        map(ord, normalizers.Replace(Regex(expression), "").normalize_str(TEXT))
    )


def written(codes: set[int]) -> str:
    """Runs of code points, each as how many are left out before it and how many it has,
    hexadecimal.
    """
    words, done = [], 0
    for _, run in groupby(enumerate(sorted(codes)), lambda pair: pair[1] - pair[0]):
        run = [code for _, code in run]
        words.append(f"{run[0] - done:x} {len(run):x}")
        done = run[-1] + 1
    return " ".join(words)


def table() -> dict[str, str]:
    """What the file holds."""
    return {name: written(taken(rf"\p{{{name}}}")) for name in (*CATEGORIES, *OTHERS, *SCRIPTS)}


if __name__ == "__main__":
    PATH.write_text(json.dumps(table(), indent=0) + "\n", encoding="utf-8")
