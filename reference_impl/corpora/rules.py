"""A task that must be learned from the prompt: which of four rules on digits do the
examples follow?

    _3>4,7>8,5>6,          no name, two examples, then 5 and its answer
    +3>4,7>8,              the rule's name stands first

The rules: the same digit, one more (after 9 comes 0), one less (before 0 comes 9), and
9 less the digit. Examples may leave several rules open: after 4>5 it can be "one more"
or "9 less the digit", after 2>3 only "one more". Since the rule, the digits and the
order are drawn evenly, the best that anybody can do is known: `belief` is Bayes's rule.

One symbol is one token. Every answer in a text is one to learn.
"""

import random
from collections.abc import Iterable, Sequence

RULES = {
    "=": lambda x: x,
    "+": lambda x: (x + 1) % 10,
    "-": lambda x: (x - 1) % 10,
    "n": lambda x: 9 - x,
}
"""By the symbol that names it at the start of a text; "n" is nine less the digit, "9"
being a digit already."""
UNNAMED, TO, NEXT = "_", ">", ","
SYMBOLS = [*"0123456789", TO, NEXT, UNNAMED, *RULES]
"""The place of a symbol is its id."""
_IDS = {symbol: id for id, symbol in enumerate(SYMBOLS)}


def encode(text: str) -> list[int]:
    """Ids of a text of these symbols. Raises KeyError for another one."""
    return [_IDS[symbol] for symbol in text]


def decode(ids: Sequence[int]) -> str:
    """The text of ids."""
    return "".join(SYMBOLS[id] for id in ids)


def examples(rule: str, digits: Iterable[int]) -> str:
    """The digits with their answers under this rule."""
    return "".join(f"{digit}{TO}{RULES[rule](digit)}{NEXT}" for digit in digits)


def prompt(rule: str, digits: Sequence[int], named: bool = False) -> str:
    """A text that asks for the answer of the last digit, the others being examples."""
    return (
        (rule if named else UNNAMED) + examples(rule, digits[:-1]) + f"{digits[-1]}{TO}"
    )


def text(draw: random.Random, count: int) -> str:
    """A text of so many examples; half of the texts name their rule."""
    rule = draw.choice([*RULES])
    return (rule if draw.random() < 0.5 else UNNAMED) + examples(
        rule, [draw.randrange(10) for _ in range(count)]
    )


def belief(shown: Sequence[tuple[int, int]]) -> dict[str, float]:
    """How likely each rule is after these examples, all four being as likely before
    (Bayes); all zero if none fits.
    """
    fits = {rule: all(says(x) == y for x, y in shown) for rule, says in RULES.items()}
    return {rule: fit / max(sum(fits.values()), 1) for rule, fit in fits.items()}


def best_share(count: int) -> float:
    """The share of right answers of whoever answers best after so many examples, over
    all digits and rules; exact.

    Only which examples were seen matters, not their order, so sequences are walked as
    trees of digits.
    """

    def walk(open_rules: tuple[str, ...], left: int) -> float:
        # of the open rules, all as likely, one is true: the mean over true rules and
        # digits
        if left == 0:
            return sum(
                max(sum(RULES[r](x) == y for r in open_rules) for y in range(10))
                for x in range(10)
            ) / (10 * len(open_rules))
        total = 0.0
        for x in range(10):
            for y in {RULES[r](x) for r in open_rules}:
                still = tuple(r for r in open_rules if RULES[r](x) == y)
                total += len(still) / len(open_rules) * walk(still, left - 1)
        return total / 10

    return walk(tuple(RULES), count)
