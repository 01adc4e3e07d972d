"""Rules that reject poor documents, and how often each source of a mixture is read.

The rules are Gopher's (Rae et al. 2021, appendix A.1.1), with its limit on repeated
lines. Temperature sampling: Conneau et al. 2020, section 3.1.

Not here: language identification, classifiers of quality, removal of personal data.
"""

from collections.abc import Iterable, Mapping

Number = float | int
STOP_WORDS = frozenset("the be to of and that have with".split())


def quality_problems(text: str) -> list[str]:
    """The names of all rules that a document breaks; none for one that is kept."""
    words = text.split()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not words:
        return ["number of words"]
    length = sum(map(len, words)) / len(words)
    symbols = text.count("#") + text.count("...") + text.count("…")
    alphabetic = sum(any(map(str.isalpha, word)) for word in words)
    found = {word.lower().strip(".,;:!?\"'") for word in words}
    broken = {
        "number of words": not 50 <= len(words) <= 100_000,
        "mean word length": not 3 <= length <= 10,
        "symbols": symbols > 0.1 * len(words),
        "bullets": fraction(line.startswith(("-", "*", "•")) for line in lines) > 0.9,
        "ellipses": fraction(line.endswith(("...", "…")) for line in lines) > 0.3,
        "alphabetic words": alphabetic < 0.8 * len(words),
        "stop words": len(found & STOP_WORDS) < 2,
        "repeated lines": 1 - len(set(lines)) / len(lines) > 0.3,
    }
    return [rule for rule, holds in broken.items() if holds]


def fraction(flags: Iterable[bool]) -> float:
    """How many of some flags are true, over their number."""
    values = list(flags)
    return sum(values) / len(values)


def mixture(
    tokens: Mapping[str, Number], temperature: Number = 1.0
) -> dict[str, float]:
    """Each source's sampling probability, proportional to its size to the power of
    1 / temperature.
    """
    powers = {name: size ** (1 / temperature) for name, size in tokens.items()}
    total = sum(powers.values())
    return {name: power / total for name, power in powers.items()}


def epochs(
    tokens: Mapping[str, Number], weights: Mapping[str, Number], budget: Number
) -> dict[str, float]:
    """How often each source is read when `budget` tokens are drawn by these weights."""
    return {name: weights[name] * budget / size for name, size in tokens.items()}
