"""Which exercises that lost points need review: a sample notebook of each kind, and negatives."""

import pytest

from autograder.grading.notebook.merge import MAX_ADDED_CELLS, transplant
from autograder.grading.notebook.parse import SubmittedCell
from autograder.grading.notebook.review_flags import review_items
from autograder.grading.notebook.review_kinds import ReviewKind
from tests.autograder.grading.test_at_home import GIVEN, NAME, RIGHT, WRONG, said_by, written
from tests.autograder.grading.test_transplant import PRISTINE, added, as_submitted

STUB = {cell.id: cell.source for cell in PRISTINE.cells}
F = "def f(x):\n    return x + 1"
WRONG_F = "def f(x):\n    return 0"
G = "def g(x):\n    return 2 * x"
MINE = ("essay", "Mine.")


def handed_in(*changes, above=(), below=(), after=()):
    """A notebook with added cells above and below the cell of `f`, and after all others."""
    cells = as_submitted(MINE, *changes)
    place = next(place for place, cell in enumerate(cells) if cell.grade_id == "f")
    cells[place : place + 1] = [*map(added, above), cells[place], *map(added, below)]
    return [*cells, *after]


def work_of(cells, errors=()):
    work = transplant(PRISTINE, cells)
    for source, said in errors:
        [place] = [at for at, piece in enumerate(work.pieces) if piece.source == source]
        work.errors[place] = said
    return work


def flagged(cells, errors=(), earned=1.0):
    """The kind of review of each exercise, where `f` and `g` earn so much of their 2 points."""
    work = work_of(cells, errors)
    results = [{"exercise": f"01.{one}", "points": 2, "earned": earned} for one in ("f", "g")]
    items = review_items(work, results, ["01.f", "01.g"])
    assert all("{" not in item.sentence for item in items.values())
    return {exercise: item.kind for exercise, item in items.items()}


def without(grade_id):
    return [cell for cell in as_submitted(MINE, ("g", G)) if cell.grade_id != grade_id]


def text(source, kind="markdown", grade_id=None):
    return SubmittedCell(kind, grade_id, source)


FLAGGED = {
    "its cell is missing": (without("f"), ReviewKind.MISSING),
    "its cell is not Python": (handed_in(("f", "def f(x)\n    return x")), ReviewKind.INVALID),
    "its cell has spaces from a web page": (
        handed_in(("f", "def f(x):\n\xa0\xa0\xa0\xa0return x + 1")),
        ReviewKind.INVALID,
    ),
    "its cell awaits something": (handed_in(("f", f"{F}\nawait later()")), ReviewKind.INVALID),
    "its cell has a broken line below": (
        handed_in(("f", f"{F}\nprint(f(1)")),
        ReviewKind.INVALID,
    ),
    "its cell was split, and both halves fail": (
        handed_in(("f", "def f(x):"), below=["    return x + 1"]),
        ReviewKind.INVALID,
    ),
    "its cell was split, and only the second half fails": (
        handed_in(("f", "def f(x):\n    y = x"), below=["    return y + 1"]),
        ReviewKind.INVALID,
    ),
    "an answer above the given cell": (handed_in(above=[F]), ReviewKind.DEFINED_ELSEWHERE),
    "an answer above the stub in one cell": (
        handed_in(("f", f"{F}\n\n{STUB['f']}")),
        ReviewKind.DEFINED_ELSEWHERE,
    ),
    "an answer in a comment above the stub": (
        handed_in(("f", f"# def f(x):\n#     return x + 1\n{STUB['f']}")),
        ReviewKind.DEFINED_ELSEWHERE,
    ),
    "an answer in another exercise's cell": (
        handed_in(("g", f"{G}\n\n{F}"), ("f", WRONG_F)),
        ReviewKind.DEFINED_ELSEWHERE,
    ),
    "an answer in a locked cell": (
        handed_in(("f-check", f"{STUB['f-check']}\n{F}")),
        ReviewKind.DEFINED_ELSEWHERE,
    ),
    "an answer beyond the most cells that run": (
        handed_in(below=[f"x = {n}" for n in range(MAX_ADDED_CELLS)], after=[added(F)]),
        ReviewKind.DEFINED_ELSEWHERE,
    ),
    "a second cell of the exercise": (
        handed_in(("f", WRONG_F), after=[text(F, "code", "f")]),
        ReviewKind.DEFINED_ELSEWHERE,
    ),
    "another name for a function": (
        handed_in(above=["import math\nf = math.sqrt"]),
        ReviewKind.DEFINED_ELSEWHERE,
    ),
    "its name is a number below": (handed_in(("f", F), below=["f = 5"]), ReviewKind.CHANGED_BELOW),
    "a builtin that it uses is a number below": (
        handed_in(
            ("f", "def f(x):\n    return sum([x])"), below=["sum = 0\nfor i in []: sum += i"]
        ),
        ReviewKind.CHANGED_BELOW,
    ),
    "two helpers have one name": (
        handed_in(
            ("f", "def h(): return 1\ndef f(): return h()"),
            ("g", "def h(): return 2\ndef g(): return h()"),
        ),
        ReviewKind.CHANGED_BELOW,
    ),
    "the stub again below the answer": (
        handed_in(("f", F), after=[added(f"{STUB['f']}\nx = 1")]),
        ReviewKind.CHANGED_BELOW,
    ),
}


@pytest.mark.parametrize("form", FLAGGED)
def test_an_exercise_that_lost_points_is_flagged_and_one_with_all_points_never_is(form):
    cells, kind = FLAGGED[form]
    assert flagged(cells).get("01.f") == kind and flagged(cells, earned=0.0).get("01.f") == kind
    assert flagged(cells, earned=2.0) == {}


TEXTS = {
    "a fence": f"```python\n{F}\n```",
    "a list": "1. def f(x):\n       return x + 1",
    "a listing": "1 def f(x):\n2     return x + 1",
    "a prompt": ">>> def f(x):\n...     return x + 1",
    "a diff": "+def f(x):\n+    return x + 1",
    "a sentence": "My answer: `def f(x): return x + 1`",
    "a quotation": "> def f(x):\n>     return x + 1",
    "IPython's prompt": "In [12]: def f(x):\n    return x + 1",
}


@pytest.mark.parametrize("form", TEXTS)
def test_an_answer_in_a_text_is_found_in_any_form(form):
    for cell in (text(TEXTS[form]), text(TEXTS[form], "raw"), added(f"'''\n{TEXTS[form]}\n'''")):
        assert flagged(handed_in(after=[cell])) == {"01.f": ReviewKind.DEFINED_ELSEWHERE}


PLAIN = {
    "as it was given": handed_in(),
    "a wrong answer": handed_in(("f", WRONG_F)),
    "a helper above and a test below": handed_in(
        ("f", "def f(x):\n    return helper(x)"), above=["def helper(x): return x"], below=["f(3)"]
    ),
    "an older version in a comment": handed_in(("f", f"# def f(x):\n#     return x\n{WRONG_F}")),
    "a copy of the given cell": handed_in(("f", WRONG_F), below=[STUB["f"]]),
    "a quotation of the given cell": handed_in(after=[text(f"Unclear:\n\n{STUB['f']}")]),
    "the given cell in a comment": handed_in(below=["# " + STUB["f"]]),
    "a function that is put off": handed_in(after=[text("Later: def f(x): too hard for me")]),
    "a first line": handed_in(after=[text("What is `def f(x):` for?\n\ndef f(x):\n\nask")]),
    "a variable of its name above": handed_in(("f", WRONG_F), above=["f = [0.1, 0.2]"]),
    "the same import and helper below": handed_in(
        ("f", "import math\ndef h(): return 1\ndef f(x): return math.sqrt(h())"),
        ("g", "import math, os\ndef h(): return 1\ndef g(): return h()"),
    ),
    "names of its own below": handed_in(
        ("f", "def f(x):\n    y = x\n    return y"), below=["y = 3"]
    ),
    "an emptied cell": handed_in(("f", "")),
}


@pytest.mark.parametrize("form", PLAIN)
def test_a_plain_wrong_answer_and_what_was_given_are_not_flagged(form):
    assert flagged(PLAIN[form]) == {} == flagged(PLAIN[form], earned=0.0)


def test_an_error_flags_its_own_cell_and_those_below_it_but_not_those_above():
    cells = handed_in(("f", WRONG_F), ("g", G), below=["1 / 0"])
    error = [("1 / 0", "cell 4, line 1: 1 / 0\nZeroDivisionError: division by zero")]
    assert flagged(cells, error) == {"01.g": ReviewKind.RAISED_ABOVE}
    assert flagged(handed_in(("f", WRONG_F), below=["1 / 0"]), error) == {}  # g is as given
    assert flagged(handed_in(("f", WRONG_F)), [(WRONG_F, "")]) == {"01.f": ReviewKind.RAISED}
    assert flagged(cells, [(STUB["setup"], "an error of ours")]) == {}


def test_a_call_of_a_function_that_is_not_written_yet_flags_nothing():
    said = "cell 2 (f), line 1: raise\nNotImplementedError: replace this line with your code."
    assert flagged(handed_in(("g", G), below=["f(3)"]), [("f(3)", said)]) == {}
    tried = f"{STUB['f']}\nf(3)"
    assert flagged(handed_in(("f", tried)), [(tried, said)]) == {}
    lost = f"f(3)\n{G}"  # the answer is below the call
    assert flagged(handed_in(("g", lost)), [(lost, said)]) == {"01.g": ReviewKind.RAISED}


RAISES = ("import seaborn_of_mine", "input('k = ')", "open('numbers.csv')", "raise SystemExit")
JUDGED = {
    **{line: ([("double", f"{line}\n{RIGHT}")], ReviewKind.RAISED) for line in RAISES},
    "in an added cell": ([("double", GIVEN), (None, f"1 / 0\n{RIGHT}")], None),
    "above": ([(None, "import seaborn_of_mine"), ("double", WRONG)], ReviewKind.RAISED_ABOVE),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("form", JUDGED)
def test_the_check_at_home_and_grading_flag_the_same(form, stand_in, tmp_path, capsys):
    cells, kind = JUDGED[form]
    path = written(tmp_path / f"{NAME}.ipynb", cells)
    home = said_by(["check", str(path)], capsys)
    graded = said_by(["submit", str(path), "--dry-run"], capsys)
    assert home[:2] == graded[:2] and home[0] == 1 and list(home[1]) == ["90.double"]
    assert kind is None or home[1]["90.double"] == kind.value
