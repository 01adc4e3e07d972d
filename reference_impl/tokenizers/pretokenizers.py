r"""Pre-tokenizing: cut a text into words, before any sub-word model looks at it.

No token crosses a cut.

A pre-tokenizer here is one regular expression: its matches, left to right, are the
words. The expressions need character classes of Unicode (`\p{L}` letters, `\p{N}`
numbers, `\p{P}` punctuation), which the `regex` library has and Python's own `re` has
not.

    split(GPT2, "It's  5 o'clock")   ["It", "'s", " ", " 5", " o", "'", "clock"]
    split(BERT, "It's  5 o'clock")   ["It", "'", "s", "5", "o", "'", "clock"]

GPT-2's words carry their leading space, and together they are the text again. BERT's
words lose it: from its tokens the spacing can't be had back.

Sources: BERT, `BasicTokenizer` of its release; GPT-2, `encoder.py` of its release
(Radford et al. 2019, section 2.2: merges across character categories are prevented);
GPT-4's, as `tiktoken` publishes it; SmolLM2, its `tokenizer.json`, which splits digits
before it applies GPT-2's expression.

But: which characters are letters follows the Unicode version of `regex`; libraries with
older tables differ on characters that were added since.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import regex

BERT = regex.compile(r"""[!-/:-@\[-`{-~\p{P}]|[^\s!-/:-@\[-`{-~\p{P}]+""")
r"""Runs of anything but spaces and punctuation; each punctuation mark alone. All ASCII
symbols count as punctuation, also those that Unicode calls symbols, such as $, + and
~."""

GPT2 = regex.compile(
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
)
r"""English endings; then runs of letters, of numbers, or of other signs, each with at
most one space before; then spaces. `\s+(?!\S)` leaves the last space of a run to the
word that follows."""

GPT2_SINGLE_DIGITS = regex.compile(
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+|\p{N}|"""
    r""" ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"""
)
r"""SmolLM2's: each digit is a word of its own, without the space before it. Cutting out
the digits first and then applying `GPT2` to what is between them is the same as this
one expression: to the run of spaces, a digit is an end."""

CL100K = regex.compile(
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"""
    r""" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"""
    r"""\s*[\r\n]|\s+(?!\S)|\s"""
)
r"""GPT-4's: endings in either case, any one sign before a word, numbers in groups of
three, line ends kept together. `++` and `?+` never give back what they took, which
keeps the time linear."""

O200K = regex.compile(
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*"""
    r"""[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"""
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"""
    r"""[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"""
    r"""\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
"""GPT-4o's: marks are part of a word, so that Hindi words stay whole; a capital after a
small letter begins a word; endings stay with their word."""

LLAMA3 = regex.compile(
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"""
    r""" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
"""Llama 3's: GPT-4's but for runs of line ends."""

QWEN = regex.compile(
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"""
    r""" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
"""Qwen's, versions 2 to 3: Llama 3's, with each digit a word of its own."""

WORDS_AND_SIGNS = regex.compile(r"\w+|[^\w\s]+")
"""What `tokenizers` calls `Whitespace`: runs of word characters, runs of other signs,
no spaces."""

METASPACE = "\u2581"
"""The sign, a lower one eighth block, that SentencePiece writes in place of a space."""

METASPACE_WORDS = regex.compile(f"{METASPACE}[^{METASPACE}]*|[^{METASPACE}]+")
"""A cut before each such sign. For texts in which spaces were already replaced."""


def split(pattern: regex.Pattern, text: str) -> list[str]:
    """The words of a text."""
    return pattern.findall(text)


def spans(pattern: regex.Pattern, text: str) -> list[tuple[int, int]]:
    """Where the words stand: start and end, in characters, end exclusive."""
    return [match.span() for match in pattern.finditer(text)]


def count_words(
    pattern: regex.Pattern, texts: Iterable[str], specials: Sequence[str] = ()
) -> Counter[str]:
    """How often each word occurs in texts, to train on.

    `specials` that stand in a text are left out of it.

    A special token is no text: without this, training would learn its signs as words
    and join them to what stands beside them.
    """
    words: Counter[str] = Counter()
    longest_first = sorted(filter(None, specials), key=len, reverse=True)
    cut = regex.compile("|".join(map(regex.escape, longest_first)) or r"(?!)")
    for text in texts:
        for part in cut.split(text):
            words.update(pattern.findall(part))
    return words
