"""Names that a later cell gives another value: an exercise that uses them and loses points is looked at by a person."""

import pytest

from autograder.grading.rebound import REBOUND
from autograder.grading.transplant import transplant
from tests.autograder.grading.test_transplant import PRISTINE, added, as_submitted

F = "import math\nSCALE = 2\ndef helper(x):\n    return math.sqrt(x)\ndef f(x):\n    y = sum([x])\n    return helper(y) * SCALE"


def found(below, own=F):
    return transplant(
        PRISTINE, [*as_submitted(("f", own), ("g", "def g(): return 2")), added(below)]
    ).rebound


@pytest.mark.parametrize(
    ("below", "name"),
    [
        ("f = 5", "f"),
        ("for f in range(3): pass", "f"),
        ("del f", "f"),
        ("(f := 1)", "f"),
        ("import math as f", "f"),
        ("with open('x') as f: pass", "f"),
        ("sum = 0\nfor i in range(3):\n    sum += i", "sum"),
        ("def helper(x):\n    return 0", "helper"),
        ("SCALE = 3", "SCALE"),
        ("math = 10", "math"),
        ("def later():\n    global SCALE\n    SCALE = 3\nlater()", "SCALE"),
        ("for math in [1]: pass", "math"),
        ("del math", "math"),
        ("import cmath as math", "math"),
        ("from torch import sqrt as math", "math"),
        ("if True:\n    helper = None", "helper"),
    ],
)
def test_a_name_that_the_cell_uses_and_a_later_cell_changes_is_told(below, name):
    assert found(below) == {"f": REBOUND.format(name)}


@pytest.mark.parametrize(
    "below",
    [
        "y = 3",
        "x = [sum for sum in range(3)]",
        "def other(helper, SCALE):\n    f = 1\n    return f",
        "import math",
        "import math, os",
        "def other():\n    import cmath as math",
        "f(3)",
        "def helper(x):\n    return math.sqrt(x)",
        "def broken(",
        "print(SCALE)",
        "class K:\n    f = 1",
    ],
)
def test_what_changes_no_name_that_the_cell_uses_asks_for_nobody(below):
    assert found(below) == {}


def test_a_cell_above_and_the_function_of_a_later_exercise_ask_for_nobody():
    work = transplant(
        PRISTINE,
        [
            added("sum = max\nf = 1"),
            *as_submitted(("f", "def f(x):\n    return g() + sum(x)"), ("g", "def g(): return 2")),
        ],
    )
    assert work.rebound == {}
    assert transplant(PRISTINE, as_submitted()).rebound == {}


def test_two_helpers_of_one_name_in_two_exercises_cells_are_told_for_the_first():
    work = transplant(
        PRISTINE,
        as_submitted(
            ("f", "def h(): return 1\ndef f(): return h()"),
            ("g", "def h(): return 2\ndef g(): return h()"),
        ),
    )
    assert work.rebound == {"f": REBOUND.format("h")}
