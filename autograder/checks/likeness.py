"""What wrong numbers have to do with the right ones: an observation in a sentence, or "".

An answer that is wrong in a known way is told so whatever the exercise: half precision, an integer that wrapped round, a
fraction cut off, a factor, a logarithm of another base, another order. A sentence says what is seen in the numbers and
what makes numbers look so; it names no drawn number, since it becomes part of a cause. Where nothing fits it says nothing.
"""
import math
from collections.abc import Callable

import numpy as np

NEAR = 1e-2         # half precision has an error of 0.0005, bfloat16 of 0.004, for each operation
EXACT = 1e-5        # how closely an observation must fit
WORD = {8: "8 bits", 16: "16 bits", 32: "32 bits"}

NOT_FINITE = "{} holds {} where a finite number was expected: {}."
NAN = "0 / 0, 0 times infinity, infinity minus or over infinity, and the root or logarithm of a negative number give NaN"
INFINITE = "a division by 0, the logarithm of 0, and a number too large for its type (exp of 89 in float32) give infinity"

DIGITS = ("The numbers are nearly right: they agree to {} digits, and not to the next. Half precision (float16, bfloat16), "
          "rounding, drawing by chance, a difference in place of a slope, or a small number added on the way can do that.")
SEVERAL = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
LAST_DIGITS = ("Only the last digits of the number are wrong: float32 keeps 7 digits, which is too few for a number that "
               "large. Count in Python's integers or in int64.")
WRAPPED = "The count wrapped round: it was kept in an integer type of {}, which is too small for it."
CUT = "Fractions are lost: something is cut or rounded to whole numbers, by an integer type, int(), .long() or //."
ORDER = "These are the right numbers in another order: each belongs to the place of its own input."
TURNED = "This is the right table turned round: rows and columns are exchanged."
DIAGONAL = "Everything off the diagonal is right, and the diagonal is not."
FACTOR = ("All numbers are the right ones times one and the same factor: the factor that they share is wrong, or they are divided "
          "by another number than they should be, or by none.")

Transform = Callable[[np.ndarray], np.ndarray]
TRANSFORMS: list[tuple[Transform, str, bool]] = [      # of the right numbers, sentence, whether one number is evidence enough
    (lambda x: -x, "The sign is turned round: this is minus the right answer.", True),
    (lambda x: x / math.log(2), "This is the right answer divided by log 2: a logarithm to base 2. The natural one was asked "
                                "for.", True),
    (lambda x: x / math.log(10), "This is the right answer divided by log 10: a logarithm to base 10. The natural one was "
                                 "asked for.", True),
    (lambda x: 1 - x, "These are 1 minus the right numbers.", False),
    (lambda x: 1 / x, "These are the right numbers upside down: 1 divided by them.", False),
    (lambda x: x**2, "These are the squares of the right numbers: a square root is missing, or a square is too many.", False),
    (np.sqrt, "These are the square roots of the right numbers: a root is too many, or a square is missing.", False),
    (np.log, "These are the logarithms of the right numbers.", False),
    (np.exp, "These are the right numbers with exp taken: a logarithm is missing, or an exp is too many.", False),
    (np.abs, "These are the right numbers without their signs.", False),
]


def likeness(came: np.ndarray, expected: np.ndarray, exact: bool) -> str:
    """One sentence about numbers that are finite and wrong; `exact`: whether whole numbers were asked for."""
    if exact:
        return _of_integers(came, expected)
    with np.errstate(all="ignore"):
        return _of_floats(came.astype(np.float64), expected.astype(np.float64))


def not_finite(came: np.ndarray, expected: np.ndarray, name: str) -> str:
    """The sentence about NaN or infinity among the wrong numbers."""
    nan = bool((np.isnan(came) & np.isfinite(expected)).any())
    return NOT_FINITE.format(name, "NaN" if nan else "infinity", NAN if nan else INFINITE)


def _of_integers(came: np.ndarray, expected: np.ndarray) -> str:
    if came.dtype.kind not in "iuf" or expected.dtype.kind not in "iu" or not np.isfinite(came).all():
        return ""
    gaps = [int(a) - int(b) for a, b in zip(came.ravel().tolist(), expected.ravel().tolist()) if a != b]
    fits = [words for bits, words in WORD.items() if all(gap % 2**bits == 0 for gap in gaps)]
    if fits:
        return WRAPPED.format(fits[-1])
    large = [abs(gap) <= 1e-5 * abs(int(b)) for gap, b in zip(gaps, expected.ravel()[(came != expected).ravel()].tolist())]
    return LAST_DIGITS if all(large) and np.abs(expected).max() > 1e6 else ""


def _of_floats(came: np.ndarray, expected: np.ndarray) -> str:
    several = expected.size > 1 and not np.allclose(expected, expected.flat[0], EXACT, 0)
    whole = np.allclose(expected, np.round(expected), 0, 1e-9)
    if whole and _wrapped(came, expected):
        return WRAPPED.format(_wrapped(came, expected))
    if not expected.any():
        return ""
    if not whole and came.any() and any(np.allclose(came, cut(expected), 0, 1e-9) for cut in (np.trunc, np.round)):
        return CUT
    if np.allclose(came, expected, NEAR, 0):
        gap = (np.abs(came - expected)[expected != 0] / np.abs(expected[expected != 0])).max()
        return DIGITS.format(SEVERAL.get(int(-math.log10(gap)), "many")) if gap else ""
    for transform, sentence, one in TRANSFORMS:
        if (several or one) and _fits(came, transform(expected)):
            return sentence
    return _of_several(came, expected) if several else ""


def _of_several(came: np.ndarray, expected: np.ndarray) -> str:
    square = expected.ndim == 2 and expected.shape[0] == expected.shape[1] > 1
    if square and _fits(came, expected.T):
        return TURNED
    if square and not np.allclose(np.diag(came), np.diag(expected)) and _fits(
            came - np.diag(np.diag(came)), expected - np.diag(np.diag(expected))):
        return DIAGONAL
    different = len(np.unique(expected)) == expected.size
    if different and expected.size > 2 and _fits(np.sort(came.ravel()), np.sort(expected.ravel())):
        return ORDER
    there = expected != 0
    factors = came[there] / expected[there]
    if there.sum() > 1 and factors[0] and _fits(factors, np.full_like(factors, factors[0])) and not came[
            ~there].any():
        return FACTOR
    return ""


def _wrapped(came: np.ndarray, expected: np.ndarray) -> str:
    gaps = np.abs(came - expected)
    gaps = gaps[gaps > 0.5]
    fits = [words for bits, words in WORD.items() if len(gaps) and (gaps % 2**bits == 0).all()]
    return fits[-1] if fits else ""


def _fits(came: np.ndarray, meant: np.ndarray) -> bool:
    """Equal within EXACT, and no empty statement: something is not 0."""
    return bool(np.isfinite(meant).all() and came.any() and np.allclose(came, meant, EXACT, 1e-7))
