"""An import of a package that is not there: the student's own error where the course never had it,
the room's where it should be there.
"""

import json

import pytest

from autograder.grading.grade import REPORTED, grade_submission, sandboxes
from autograder.grading.intake.discovery import Submission
from autograder.grading.notebook.review_kinds import ReviewKind
from autograder.sandbox.backends.base import ProcessBackend

RIGHT = "def double(x):\n    return x + x"
HALF = "def double(x):\n    return abs(x + x)"  # 1 of 3 points


@pytest.fixture
def judged(stand_in, notebook_of, tmp_path):
    """Judges the stand-in notebook with this solution and an added cell after it."""

    def judge(source, added):
        notebook = json.loads(notebook_of(source))
        notebook["cells"].append({"cell_type": "code", "metadata": {}, "source": added})
        path = tmp_path / "notebook.ipynb"
        path.write_text(json.dumps(notebook))
        with sandboxes(stand_in, ProcessBackend()) as pool:
            return grade_submission(Submission("ada", path), stand_in, b"secret", pool)

    return judge


@pytest.mark.parametrize(
    "added",
    [
        "import pandas_nobody_has",
        "from my_helpers import tidy",
        "def later():\n    import nltk_nobody_has\n\nlater()",
    ],
)
def test_what_the_course_never_had_costs_what_is_wrong_and_nothing_waits(judged, added):
    verdict = judged(HALF, added)
    assert (
        [result["earned"] for result in verdict.results] == [1]
        and verdict.human == []
        and not verdict.fault
        and verdict.tries == 1
    )
    (error,) = verdict.cell_errors
    assert (
        "ModuleNotFoundError: No module named" in error and "is no package of the course" in error
    )


def test_in_the_solutions_own_cell_it_is_told_as_any_error_is_and_what_stands_below_it_is_looked_at(
    judged,
):
    verdict = judged(f"import pandas_nobody_has\n{RIGHT}", "x = 1")
    assert [result["earned"] for result in verdict.results] == [0] and not verdict.fault
    assert verdict.human == [{"exercise": "90.double", "reason": ReviewKind.RAISED.value}]
    verdict = judged("def double(x):\n    import pandas_nobody_has", "x = 1")
    assert {stage["status"] for stage in verdict.results[0]["stages"]} == {
        "error"
    } and "No module named 'pandas_nobody_has'" in str(verdict.results)


BROKEN = "import sys\nsys.path[:] = sys.path[:1]\nsys.modules.pop('tqdm', None)\nimport tqdm"


@pytest.mark.parametrize(
    "added",
    [
        BROKEN,  # pinned, and nowhere to be found
        "exec(compile('import json; json.no_such_part', '/usr/lib/library.py', 'exec'), {})",
    ],
)
def test_a_library_that_should_be_there_and_is_broken_waits_for_a_person(judged, added):
    verdict = judged(HALF, added)
    assert (
        verdict.human
        == [{"exercise": "90.double", "reason": REPORTED.format("a cell failed in a library")}]
        and verdict.fault
        and verdict.tries == 2
    )


def test_it_costs_nobody_who_has_all_points_a_wait(judged):
    verdict = judged(RIGHT, BROKEN)
    assert [result["earned"] for result in verdict.results] == [3] and verdict.human == []
