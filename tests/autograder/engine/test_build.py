"""From a solutions file to the student's notebook: the same bytes every time, and no solution in
them.
"""

import json
import os
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.catalogue import Assignment
from autograder.authoring.notebooks import build, leaks, stale
from autograder.checks.protocol import exercise, expect
from autograder.common.errors import CourseError


def cell(kind: str, grade_id: str, source: str, *, grade=False, solution=False, points=None) -> str:
    meta = {
        "grade": grade,
        "grade_id": grade_id,
        "locked": not solution,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    } | ({"points": points} if grade else {})
    body = source if kind == "code" else "\n".join(f"# {line}" for line in source.split("\n"))
    return (
        f"# %% {'[markdown] ' if kind == 'markdown' else ''}nbgrader={json.dumps(meta)}\n{body}\n"
    )


CARD = """## Twice
<details><summary>Hint 1: a nudge</summary>

What is one and one?

</details>
<details><summary>Hint 2: a sketch</summary>

Add it to itself.

</details>"""
SOLUTION = '''def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    answer = x + x      # the whole idea
    return answer
    ### END SOLUTION'''
CELLS = {
    "intro": "# %% [markdown]\n# # Tiny\n",
    "setup": cell("code", "setup", "from autograder.check import check"),
    "card": cell("markdown", "double-card", CARD),
    "solution": cell("code", "double", SOLUTION, solution=True),
    "check": cell("code", "double-check", "check(double)", grade=True, points=2),
    "free": "# %%\nprint('a demonstration')\n",
    "manual": cell(
        "markdown", "why", "Because twice is one more time.", grade=True, solution=True, points=3
    ),
}


@pytest.fixture
def make(tmp_path, fresh_registries):
    """Write a solutions file of CELLS, with some replaced, and return its assignment."""
    made = exercise("99.double", function="double", points=2)
    made.stage("two", points=2)(lambda student: expect(student.double(1)).equals(2, cause="no"))

    def write(**replaced) -> Assignment:
        path = tmp_path / "99-tiny.py"
        path.write_text("\n".join((CELLS | replaced).values()))
        return Assignment(path)

    return write


def built(one: Assignment, tmp_path: Path, name: str = "a") -> Path:
    return build(one, tmp_path / name / "build", tmp_path / name / "exercises")


def test_the_student_notebook_has_stubs_and_everything_else(make, tmp_path):
    notebook = nbformat.read(built(make(), tmp_path), as_version=4)
    cells = {one.id: one for one in notebook.cells}
    assert list(cells) == [
        "cell-000",
        "setup",
        "double-card",
        "double",
        "double-check",
        "cell-005",
        "why",
    ]
    assert (
        cells["double"].source == 'def double(x):\n    """Twice x."""\n'
        '    raise NotImplementedError("replace this line with your code.")'
    )
    assert cells["why"].source == "*Write your answer here.*"
    assert (
        cells["double-check"].metadata.nbgrader.points == 2
        and not cells["double-check"].metadata.editable
    )


def test_two_builds_in_two_places_give_the_same_bytes(make, tmp_path):
    assert built(make(), tmp_path, "a").read_bytes() == built(make(), tmp_path, "b").read_bytes()


def test_a_second_build_in_the_same_place_does_not_touch_the_file(make, tmp_path):
    path = built(make(), tmp_path)
    os.utime(path, (1, 1))
    assert built(make(), tmp_path) == path and path.stat().st_mtime == 1


@pytest.mark.parametrize(
    "change",
    [
        {"source": "def double(x):\n    return x * 2"},
        {"execution_count": 3},
    ],
)
def test_a_notebook_that_somebody_worked_in_is_copied_before_the_build_writes_over_it(
    make, tmp_path, change
):
    path = built(make(), tmp_path)
    notebook = nbformat.read(path, as_version=4)
    next(one for one in notebook.cells if one.id == "double").update(change)
    nbformat.write(notebook, path)
    worked = path.read_bytes()
    fresh = built(make(), tmp_path).read_bytes()
    built(make(), tmp_path)
    copies = list((tmp_path / "a" / "mywork").iterdir())
    assert [copy.read_bytes() for copy in copies] == [
        worked
    ] and path.read_bytes() == fresh != worked


def test_an_older_build_that_nobody_worked_in_is_not_kept(make, tmp_path):
    built(make(intro="# %% [markdown]\n# # Older\n"), tmp_path)
    built(make(), tmp_path)
    assert not (tmp_path / "a" / "mywork").exists()


def test_stale_compares_with_what_is_committed_and_changes_nothing(make, tmp_path):
    one = make()
    assert "does not exist" in stale(one, tmp_path / "none")
    path = built(one, tmp_path)
    assert stale(one, tmp_path / "a" / "exercises") == ""
    edited = path.read_text().replace("a demonstration", "an edit by hand")
    path.write_text(edited)
    assert "is not what 99-tiny.py gives" in stale(one, tmp_path / "a" / "exercises")
    assert path.read_text() == edited


@pytest.mark.parametrize(
    "planted",
    [
        {"free": "# %%\nanswer = x + x\n"},
        {
            "card": cell(
                "markdown", "double-card", CARD + "\n```python\n    answer = x + x  # easy\n```"
            )
        },
        {"intro": "# %% [markdown]\n# Because twice is one more time.\n"},
        {
            "check": cell(
                "code",
                "double-check",
                "### BEGIN HIDDEN TESTS\nassert double(7) == 14\n### END HIDDEN TESTS\n"
                "check(double)",
                grade=True,
                points=2,
            ),
            "free": "# %%\nassert double(7) == 14\n",
        },
    ],
)
def test_a_planted_leak_stops_the_build_and_is_named(make, tmp_path, planted):
    with pytest.raises(CourseError, match="a solution would reach the students: 99-tiny.ipynb: "):
        built(make(**planted), tmp_path)


def test_a_leak_in_any_other_file_of_the_folder_is_found(make, tmp_path):
    one = make()
    folder = built(one, tmp_path).parent
    assert leaks(one, folder) == []
    (folder / "helper.py").write_text("def f(x):\n        answer = x + x\n")
    assert leaks(one, folder) == ["helper.py: answer = x + x"]
    assert "helper.py" in stale(one, tmp_path / "a" / "exercises")


@pytest.mark.parametrize(
    ("replaced", "said"),
    [
        (
            {"check": cell("code", "double-check", "check(double)", grade=True, points=1)},
            "says 1 points, the checks 2",
        ),
        ({"check": ""}, 'no graded cell with grade_id "double-check"'),
        ({"solution": ""}, 'no solution cell with grade_id "double"'),
        (
            {"free": cell("code", "extra-check", "check(extra)", grade=True, points=1)},
            "the cell extra-check is graded",
        ),
        (
            {
                "solution": cell(
                    "code", "double", SOLUTION.replace("### END SOLUTION", ""), solution=True
                )
            },
            "no end solution",
        ),
        (
            {"free": cell("code", "double", "1", solution=True)},
            "the grade_id double stands on 2 cells",
        ),
    ],
)
def test_a_slip_in_the_solutions_file_is_named(make, tmp_path, replaced, said):
    with pytest.raises(CourseError, match=said):
        built(make(**replaced), tmp_path)


def test_hints_are_read_from_the_card_in_order(make):
    hints = make().hints("99.double")
    assert [(hint.title, hint.text) for hint in hints] == [
        ("a nudge", "What is one and one?"),
        ("a sketch", "Add it to itself."),
    ]


def test_exercises_have_the_notebooks_order_and_manual_ones_come_from_the_notebook(make):
    one = make()
    assert list(one.exercises) == ["99.double", "99.why"] and one.points == 5
    assert (
        one.exercises["99.why"].kind == "manual"
        and one.exercise("double") is one.exercises["99.double"]
    )
    with pytest.raises(CourseError, match="no exercise 'half'; it has 99.double, 99.why"):
        one.exercise("half")
