"""What all wrong numbers have to do with the right ones: an observation in a sentence, or "".

A sentence is a hint: it says what is seen in the numbers, and names no cause that other mistakes
have too. It is given only where it is true of every number that is wrong, and where the numbers can
hardly look so by chance; otherwise there is silence. It names no drawn number, since in grading it
is shown. `messages` decides where it stands.
"""

import math
import struct
from collections.abc import Callable

import numpy as np

EXACT = 1e-5  # how closely an observation must fit
NEAR = 1e-2  # half precision has an error of 0.0005, bfloat16 of 0.004, for each operation
ENOUGH = 3  # different numbers that show how fractions were lost
WORD = (8, 16, 32)  # bits of integer types that are too small
UNWRITTEN = struct.unpack(">d", bytes.fromhex("7ff8dead00000000"))[
    0
]  # a NaN that no operation makes, in float32 too
UNWRITTEN_BITS = 0x7FF8DEAD00000000

NOT_FINITE = "{} holds {} where a finite number was expected."
NOT_WRITTEN = (
    "{} holds NaN from memory that nobody had written: this place is never written, or it is"
    " computed from uninitialized memory."
)
LAST_DIGITS = (
    "Only the last digits are wrong: a float keeps 15 digits, in float32 only 7. Count in integers."
)
WRAPPED = "The count wrapped round at {} bits: its integer type is too small."
CUT = "Your numbers are the expected ones, cut or rounded to whole numbers."
ORDER = "Your numbers are the expected ones in another order."
TURNED = "Your table is the expected one with rows and columns exchanged."
DIAGONAL = "Everything off the diagonal is right, and the diagonal is not."
FACTOR = "All your numbers are off by the same factor."

Transform = Callable[[np.ndarray], np.ndarray]
TRANSFORMS: list[
    tuple[Transform, str, bool]
] = [  # of the right numbers, sentence, whether one number is evidence enough
    (lambda x: -x, "The sign is wrong: this is minus the expected answer.", True),
    (
        lambda x: x / math.log(2),
        "This is the expected answer divided by log 2, as with a logarithm to base 2.",
        True,
    ),
    (
        lambda x: x / math.log(10),
        "This is the expected answer divided by log 10, as with a logarithm to base 10.",
        True,
    ),
    (lambda x: 1 - x, "Your numbers are 1 minus the expected ones.", False),
    (lambda x: 1 / x, "Your numbers are 1 divided by the expected ones.", False),
    (lambda x: x**2, "Your numbers are the squares of the expected ones.", False),
    (np.sqrt, "Your numbers are the square roots of the expected ones.", False),
    (np.log, "Your numbers are the logarithms of the expected ones.", False),
    (np.exp, "Your numbers are exp of the expected ones.", False),
    (np.abs, "Your numbers are the expected ones without their signs.", False),
]


def likeness(came: np.ndarray, expected: np.ndarray, exact: bool) -> str:
    """One sentence about numbers that are finite and wrong; `exact`: whether whole numbers were
    asked for.
    """
    if exact:
        return _of_integers(came, expected)
    with np.errstate(all="ignore"):
        return _of_floats(came.astype(np.float64), expected.astype(np.float64))


def not_finite(came: np.ndarray, expected: np.ndarray, name: str) -> str:
    """The sentence about NaN or infinity among the wrong numbers."""
    strange = came[np.isfinite(expected) & ~np.isfinite(came)]
    if (strange.view(np.int64) == UNWRITTEN_BITS).all():
        return NOT_WRITTEN.format(name)
    return NOT_FINITE.format(name, "NaN" if np.isnan(strange).any() else "infinity")


def _of_integers(came: np.ndarray, expected: np.ndarray) -> str:
    if (
        came.dtype.kind not in "iuf"
        or expected.dtype.kind not in "iu"
        or not np.isfinite(came).all()
    ):
        return ""
    pairs = [
        (int(a), int(b)) for a, b in zip(came.ravel().tolist(), expected.ravel().tolist()) if a != b
    ]
    if bits := _wrapped(pairs):
        return WRAPPED.format(bits)
    return (
        LAST_DIGITS
        if any(all(a == int(kind(b)) for a, b in pairs) for kind in (np.float32, float))
        else ""
    )


def _wrapped(pairs: list[tuple[int, int]]) -> int:
    """The bits of the type that holds no expected number, and exactly what came in its place; 0 if
    there is none.
    """

    def held(a: int, b: int, bits: int) -> bool:
        signed = (b + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
        return a in (signed, b % 2**bits)

    seen = {a for a, _ in pairs if a}  # 0 and a single small difference come about in many ways
    fits = (bits for bits in WORD if len(seen) >= (1 if bits == 32 else 2))
    return next((bits for bits in fits if all(held(a, b, bits) for a, b in pairs)), 0)


def _of_floats(came: np.ndarray, expected: np.ndarray) -> str:
    several = expected.size > 1 and not np.allclose(expected, expected.flat[0], EXACT, 0)
    whole = np.allclose(expected, np.round(expected), 0, 1e-9)
    if (
        whole
        and np.abs(expected).max(initial=0) < 2**53
        and np.allclose(came, np.round(came), 0, 1e-9)
    ):
        wrong = came != expected
        if bits := _wrapped([(int(a), int(b)) for a, b in zip(came[wrong], expected[wrong])]):
            return WRAPPED.format(bits)
    if not expected.any():
        return ""
    if (
        not whole
        and len(np.unique(came)) >= ENOUGH
        and any(np.allclose(came, cut(expected), 0, 1e-9) for cut in (np.trunc, np.round))
    ):
        return CUT
    if np.allclose(came, expected, NEAR, 0):
        return ""  # nearly right: a factor of 1.001 would say nothing
    for transform, sentence, one in TRANSFORMS:
        if (several or one) and _fits(came, transform(expected)):
            return sentence
    return _of_several(came, expected) if several else ""


def _of_several(came: np.ndarray, expected: np.ndarray) -> str:
    square = expected.ndim == 2 and expected.shape[0] == expected.shape[1] > 1
    if square and _fits(came, expected.T):
        return TURNED
    if (
        square
        and not np.allclose(np.diag(came), np.diag(expected))
        and _fits(came - np.diag(np.diag(came)), expected - np.diag(np.diag(expected)))
    ):
        return DIAGONAL
    different = len(np.unique(expected)) == expected.size
    if different and expected.size > 2 and _fits(np.sort(came.ravel()), np.sort(expected.ravel())):
        return ORDER
    there = expected != 0
    factors = came[there] / expected[there]
    if (
        there.sum() > 1
        and factors[0]
        and _fits(factors, np.full_like(factors, factors[0]))
        and not came[~there].any()
    ):
        return FACTOR
    return ""


def _fits(came: np.ndarray, meant: np.ndarray) -> bool:
    """Equal within EXACT, and no empty statement: something is not 0.

    Numbers next to 0 are compared on the scale of the largest, since tiny ones are all alike.
    """
    scale = min(1.0, np.abs(meant).max(initial=0))
    return bool(
        np.isfinite(meant).all() and came.any() and np.allclose(came, meant, EXACT, 1e-7 * scale)
    )
