"""A task that a program can check: the last digit of the sum of six digits, at once or
by steps.

Asked at once, "381904?" is answered "5.". Asked for the steps, "381904:" is answered

    +8=1+1=2+9=1+0=1+4=5.

After the first digit, 3, each step adds the next one and keeps the last digit of the
sum: 3 + 8 = 11, so 1. Twenty tokens and the end, in place of one and the end. Each step
is easy (a table of a hundred sums); all six digits at once are a table of a million.

Problems are drawn, answers are known by construction. One symbol is one token.
"""

import random
from collections.abc import Sequence
from itertools import accumulate

SYMBOLS = [*"0123456789", "+", "=", "?", ":", "."]
"""The place of a symbol is its id."""
AT_ONCE, BY_STEPS, END = "?", ":", "."
DIGITS = 6
LONGEST = 4 * (DIGITS - 1) + 1
"""Tokens of a chain with its end."""
_IDS = {symbol: id for id, symbol in enumerate(SYMBOLS)}


def encode(text: str) -> list[int]:
    """Ids of a text of these symbols. Raises KeyError for another one."""
    return [_IDS[symbol] for symbol in text]


def decode(ids: Sequence[int]) -> str:
    """The text of ids."""
    return "".join(SYMBOLS[id] for id in ids)


def problem(draw: random.Random) -> str:
    """Six digits, each as likely as any other."""
    return "".join(str(draw.randrange(10)) for _ in range(DIGITS))


def held_out(digits: str) -> bool:
    """Whether a problem is kept for tests: one in eleven, by the remainder of its
    number.
    """
    return int(digits) % 11 == 7


def problems(seed: int, count: int, tests: bool = False) -> list[str]:
    """So many problems to learn from, or to test with; no problem is both."""
    draw, found = random.Random(seed), []
    while len(found) < count:
        digits = problem(draw)
        if held_out(digits) == tests:
            found.append(digits)
    return found


def answer(digits: str) -> str:
    """The last digit of the sum."""
    return str(sum(map(int, digits)) % 10)


def chain(digits: str) -> str:
    """The right steps, without the end."""
    sums = accumulate(map(int, digits), lambda total, digit: (total + digit) % 10)
    return "".join(
        f"+{digit}={total}"
        for digit, total in zip(digits[1:], list(sums)[1:], strict=True)
    )


def steps_that_follow(digits: str, written: str) -> list[bool]:
    """Of each of the steps of a chain: does it add the problem's next digit to what the
    chain itself had before?
    """
    before, found = digits[0], []
    for place, digit in enumerate(digits[1:]):
        step = written[4 * place : 4 * place + 4]
        found.append(
            before.isdigit() and step == f"+{digit}={(int(before) + int(digit)) % 10}"
        )
        before = step[-1:]
    return found


def answer_of(written: str) -> str | None:
    """The digit before the end of what was written, at once or by steps; None if it
    does not end so.
    """
    return (
        written[-2]
        if len(written) > 1 and written[-1] == END and written[-2].isdigit()
        else None
    )


def reward(digits: str, written: str) -> float:
    """1 if the answer is right, however it was come by, else 0."""
    return float(answer_of(written) == answer(digits))
