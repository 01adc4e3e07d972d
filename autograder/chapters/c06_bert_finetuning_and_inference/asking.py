"""Questions that several exercises of chapter 6 ask: one number, compared without a guess at what
else it might be.

A share such as 1.0 in the place of 0.63 is no fraction cut off, so what is wrong is said by the
statement's own rule alone.
"""

import math

from autograder.checks.protocol import expect


def ask_number(
    value: object,
    right: float,
    cause: str,
    name: str = "Your result",
    given: str = "",
    near_zero: float = 1e-5,
) -> None:
    """A float that is `right` to four digits, and to `near_zero` where it is near 0."""
    came = expect(value, name, given).is_a(float)
    expect(math.isclose(came, right, rel_tol=1e-4, abs_tol=near_zero)).is_true(
        cause=cause, detail=f"Given {given}. {name} is {came:.6g}, expected {right:.6g}"
    )


def ask_length(values: list, right: list, cause: str, given: str = "") -> None:
    """As many entries as there should be."""
    expect(len(values) == len(right)).is_true(
        cause=cause, detail=f"Given {given}. {len(values)} entries, expected {len(right)}"
    )
