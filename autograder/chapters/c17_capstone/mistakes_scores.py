"""Plausible wrong solutions of chapter 17, part 3."""

import math
import re

from autograder.checks.mistakes.registry import mistake

REWARD, WILSON = "17.sum_reward", "17.wilson_interval"
END = "<|im_end|>"


def _sum(question):
    return sum(map(int, question.split("+")))


def _last_word(text):
    words = text.split()
    return words[-1] if words else ""


def _before_end(answer):
    said, end, _ = answer.partition(END)
    return said if end else None


def _rewarded(question, said, word=None):
    """The reward for a text that is cut already."""
    if said is None:
        return 0.0
    return float((word or _last_word)(said) == str(_sum(question)))


@mistake(
    REWARD,
    "sum-anywhere",
    caught_by="final number",
    loses=1.5,
    misconception=(
        "You reward the sum anywhere in the answer. A model that lists several numbers collects"
        " this reward."
    ),
)
def _(question, answer):
    said = _before_end(answer)
    right = str(_sum(question))
    return float(said is not None and right in re.findall(r"(?<!\S)\d+(?!\S)", said))


@mistake(
    REWARD,
    "sum-as-substring",
    caught_by="right number",
    loses=4.5,
    misconception=(
        "You look for the sum's digits anywhere in the text, so 1132 contains 132. Compare the"
        " last word as a whole."
    ),
)
def _(question, answer):
    said = _before_end(answer)
    return float(said is not None and str(_sum(question)) in said)


@mistake(
    REWARD,
    "ends-with-the-sum",
    caught_by="right number",
    loses=3,
    misconception=(
        "You test whether the answer ends with the sum's digits, so 1132 ends with 132. Compare"
        " the last word as a whole."
    ),
)
def _(question, answer):
    said = _before_end(answer)
    return float(said is not None and said.strip().endswith(str(_sum(question))))


@mistake(
    REWARD,
    "first-number",
    caught_by="final number",
    loses=2.5,
    misconception="You read the first number of the answer. The last word holds the result.",
)
def _(question, answer):
    found = re.findall(r"\d+", _before_end(answer) or "")
    return float(bool(found) and found[0] == str(_sum(question)))


@mistake(
    REWARD,
    "last-digits-anywhere",
    caught_by="final number",
    loses=2.5,
    misconception=(
        "You read the last run of digits, wherever it is. Words may follow it, and it may be part"
        " of a word."
    ),
)
def _(question, answer):
    found = re.findall(r"[0-9]+", _before_end(answer) or "")
    return float(bool(found) and found[-1] == str(_sum(question)))


@mistake(
    REWARD,
    "newline-in-words",
    caught_by="final number",
    loses=1.5,
    misconception="You split at spaces only. A newline separates words as well.",
)
def _(question, answer):
    return _rewarded(question, _before_end(answer), lambda said: said.strip().split(" ")[-1])


@mistake(
    REWARD,
    "spaces-before-the-end-token",
    caught_by="final number",
    loses=2.5,
    misconception=(
        "You take an empty word where spaces precede the end token. They do not matter: `split()`"
        " without an argument drops them."
    ),
)
def _(question, answer):
    return _rewarded(question, _before_end(answer), lambda said: re.split("[ \n]", said)[-1])


@mistake(
    REWARD,
    "digits-of-the-last-word",
    caught_by="digits only",
    loses=1,
    misconception=(
        "You take the digits out of the last word, so x132 counts as 132. The word must consist of"
        " digits alone."
    ),
)
def _(question, answer):
    def digits(said):
        found = re.findall(r"[0-9]+", _last_word(said))
        return found[-1] if found else ""

    return _rewarded(question, _before_end(answer), digits)


@mistake(
    REWARD,
    "no-end-needed",
    caught_by="end token",
    loses=1.5,
    misconception=(
        "You reward answers that were cut off. Without an end token the answer is not finished and"
        " earns 0.0."
    ),
)
def _(question, answer):
    return _rewarded(question, answer.partition(END)[0])


@mistake(
    REWARD,
    "end-token-removed",
    caught_by="end token",
    loses=1.5,
    misconception=(
        "You remove the end token and keep what follows it. Nothing after the first end token may"
        " count."
    ),
)
def _(question, answer):
    return _rewarded(question, answer.replace(END, " ") if END in answer else None)


@mistake(
    REWARD,
    "last-end-token",
    caught_by="end token",
    loses=1.5,
    misconception="You cut at the last end token. The answer is over at the first one.",
)
def _(question, answer):
    said, end, _ = answer.rpartition(END)
    return _rewarded(question, said.replace(END, " ") if end else None)


@mistake(
    REWARD,
    "must-end-with-the-token",
    caught_by="end token",
    loses=1.5,
    misconception=(
        "You require the end token at the very end. What follows the first end token is ignored,"
        " whatever it is."
    ),
)
def _(question, answer):
    said = _before_end(answer)
    return _rewarded(question, said if answer.endswith(END) else None)


@mistake(
    REWARD,
    "int-of-the-last-word",
    caught_by="digits only",
    loses=1,
    misconception=(
        "You convert the last word with `int`, which accepts +132, 0132 and 1_32 as well. Compare"
        " the digits themselves."
    ),
)
def _(question, answer):
    said = _before_end(answer)
    try:
        return float(said is not None and int(_last_word(said)) == _sum(question))
    except ValueError:
        return 0.0


@mistake(
    REWARD,
    "float-of-the-last-word",
    caught_by="digits only",
    loses=1,
    misconception=(
        "You convert the last word with `float`, which accepts 132.0 and +132 as well. Compare the"
        " digits themselves."
    ),
)
def _(question, answer):
    said = _before_end(answer)
    try:
        return float(said is not None and float(_last_word(said)) == _sum(question))
    except ValueError:
        return 0.0


@mistake(
    REWARD,
    "evaluated",
    caught_by="digits only",
    loses=1,
    misconception=(
        "You evaluate the last word as an expression, so repeating the question earns the reward."
        " Compare the digits themselves."
    ),
)
def _(question, answer):
    said = _before_end(answer)
    try:
        word = _last_word(said or "")
        return float(eval(word, {"__builtins__": {}}) == _sum(question))  # noqa: S307
    except Exception:
        return 0.0


@mistake(
    REWARD,
    "digits-of-any-script",
    caught_by="digits only",
    loses=1,
    misconception=(
        "You test with `isdigit` and convert with `int`, which accept leading zeros and digits of"
        " other scripts. Compare texts."
    ),
)
def _(question, answer):
    said = _before_end(answer)
    word = _last_word(said or "")
    return float(word.isdigit() and int(word) == _sum(question))


@mistake(
    REWARD,
    "full-stop-stripped",
    caught_by="digits only",
    loses=1,
    misconception="You strip a full stop after the number. The last word must be the digits alone.",
)
def _(question, answer):
    return _rewarded(question, _before_end(answer), lambda said: _last_word(said).removesuffix("."))


@mistake(
    REWARD,
    "punctuation-stripped",
    caught_by="digits only",
    loses=1,
    misconception=(
        "You strip all punctuation from the last word, so =132 and 132! count. No sign"
        " belongs to a number."
    ),
)
def _(question, answer):
    return _rewarded(question, _before_end(answer), lambda said: _last_word(said).strip(".,!=()+-"))


@mistake(
    REWARD,
    "any-number",
    caught_by="right number",
    loses=6,
    misconception=(
        "You reward any number at the end. It must be the sum: this is the reward that the hacked"
        " control of the capstone uses."
    ),
)
def _(question, answer):
    said = _before_end(answer)
    return float(_last_word(said or "").isdigit())


@mistake(
    REWARD,
    "partial-credit",
    caught_by="right number",
    loses=6,
    misconception="You pay a part of the reward for a wrong number. It is 1.0 or 0.0.",
)
def _(question, answer):
    said = _before_end(answer)
    return max(
        _rewarded(question, said),
        0.1 * _last_word(said or "").isdigit(),
    )


@mistake(
    REWARD,
    "steps-required",
    caught_by="right number",
    loses=6,
    misconception=(
        'You require steps with "=". The reward reads the final number only, however it was'
        " reached."
    ),
)
def _(question, answer):
    said = _before_end(answer)
    return _rewarded(question, said if said and "=" in said else None)


def _wilson(right, asked, z, inside=lambda p, n, z: p * (1 - p) / n + z * z / 4 / n / n, **parts):
    """The bounds with one part replaced."""
    if not asked:
        return parts.get("empty", (0.0, 1.0))
    p, spread = right / asked, z * z / asked
    scale = 1 + parts.get("spread", spread)
    centre = (p + parts.get("shift", 0.5) * spread) / (scale if parts.get("centred", 1) else 1)
    half = parts.get("factor", z) * math.sqrt(max(inside(p, asked, z), 0))
    half = half / (scale if parts.get("scaled", 1) else 1)
    return centre - half, centre + half


@mistake(
    WILSON,
    "normal-approximation",
    caught_by="formula",
    loses=3,
    misconception=(
        "You use the normal approximation, p ± z √(p (1 - p) / n). Wilson's interval moves the"
        " centre and widens the root."
    ),
)
def _(right, asked, z):
    if not asked:
        return 0.0, 1.0
    p = right / asked
    half = z * math.sqrt(p * (1 - p) / asked)
    return max(p - half, 0.0), min(p + half, 1.0)


@mistake(
    WILSON,
    "centre-not-moved",
    caught_by="formula",
    loses=3,
    misconception=(
        "You keep p as the centre. It moves towards one half: (p + z² / 2n) / (1 + z² / n)."
    ),
)
def _(right, asked, z):
    if not asked:
        return 0.0, 1.0
    low, high = _wilson(right, asked, z)
    half = (high - low) / 2
    return max(right / asked - half, 0.0), min(right / asked + half, 1.0)


@mistake(
    WILSON,
    "root-without-z",
    caught_by="formula",
    loses=3,
    misconception=(
        "You leave z² / 4n² out of the root. Without it the width is 0 where p is 0 or 1."
    ),
)
def _(right, asked, z):
    return _wilson(right, asked, z, lambda p, n, z: p * (1 - p) / n)


@mistake(
    WILSON,
    "no-quarter",
    caught_by="formula",
    loses=3,
    misconception="You add z² / n² in the root. It is a quarter of that, z² / 4n².",
)
def _(right, asked, z):
    return _wilson(right, asked, z, lambda p, n, z: p * (1 - p) / n + z * z / n / n)


@mistake(
    WILSON,
    "n-not-squared",
    caught_by="formula",
    loses=3,
    misconception="You add z² / 4n in the root. The n is squared there: z² / 4n².",
)
def _(right, asked, z):
    return _wilson(right, asked, z, lambda p, n, z: p * (1 - p) / n + z * z / 4 / n)


@mistake(
    WILSON,
    "half-width-not-divided",
    caught_by="formula",
    loses=3,
    misconception="You divide the centre only. The half width is divided by 1 + z² / n as well.",
)
def _(right, asked, z):
    return _wilson(right, asked, z, scaled=0)


@mistake(
    WILSON,
    "centre-not-divided",
    caught_by="formula",
    loses=3,
    misconception="You divide the half width only. The centre is divided by 1 + z² / n as well.",
)
def _(right, asked, z):
    return _wilson(right, asked, z, centred=0)


@mistake(
    WILSON,
    "z-not-squared",
    caught_by="formula",
    loses=3,
    misconception="You divide by 1 + z / n. The z is squared there: 1 + z² / n.",
)
def _(right, asked, z):
    return _wilson(right, asked, z, spread=z / max(asked, 1))


@mistake(
    WILSON,
    "whole-shift",
    caught_by="formula",
    loses=3,
    misconception="You move the centre by z² / n. It is half of that, z² / 2n.",
)
def _(right, asked, z):
    return _wilson(right, asked, z, shift=1.0)


@mistake(
    WILSON,
    "z-of-95-percent",
    caught_by="formula",
    loses=3,
    misconception="You use 1.96 whatever `z` is. The argument decides how wide the interval is.",
)
def _(right, asked, z):
    return _wilson(right, asked, 1.96)


@mistake(
    WILSON,
    "half-width-without-z",
    caught_by="formula",
    loses=3,
    misconception="You forget the factor z before the root.",
)
def _(right, asked, z):
    return _wilson(right, asked, z, factor=1.0)


@mistake(
    WILSON,
    "agresti-coull",
    caught_by="formula",
    loses=3,
    misconception=(
        "You give the Agresti–Coull interval. It has Wilson's centre and another half width."
    ),
)
def _(right, asked, z):
    if not asked:
        return 0.0, 1.0
    n = asked + z * z
    p = (right + z * z / 2) / n
    half = z * math.sqrt(p * (1 - p) / n)
    return max(p - half, 0.0), min(p + half, 1.0)


@mistake(
    WILSON,
    "high-first",
    caught_by="formula",
    loses=3,
    misconception="You return the upper bound first. The lower one comes first.",
)
def _(right, asked, z):
    return _wilson(right, asked, z)[::-1] if asked else (0.0, 1.0)


@mistake(
    WILSON,
    "centre-and-half-width",
    caught_by="formula",
    loses=4,
    misconception="You return the centre and the half width. The two bounds are asked for.",
)
def _(right, asked, z):
    low, high = _wilson(right, asked, z)
    return (low + high) / 2, (high - low) / 2


@mistake(
    WILSON,
    "empty-is-zero",
    caught_by="no items",
    loses=1,
    misconception=(
        "You return (0.0, 0.0) where nothing was asked. Nothing is known then: (0.0, 1.0)."
    ),
)
def _(right, asked, z):
    return _wilson(right, asked, z, empty=(0.0, 0.0))


@mistake(
    WILSON,
    "divides-by-no-items",
    caught_by="no items",
    loses=1,
    misconception="You divide by `asked` where it is 0. Return (0.0, 1.0) before.",
)
def _(right, asked, z):
    return _wilson(right, asked, z) if right / asked >= 0 else (0.0, 1.0)
