"""What is the grader's own fault costs no student a point, and stops no batch."""
import os
import stat
import sys

import pytest

from autograder.checks.student import Returned, Student, StudentError
from autograder.classroom.grades import HandGrades, exercise_points, reasons
from autograder.errors import CourseError
from autograder.grading.patience import Patient
from autograder.grading.schedule import difference, grade_all
from autograder.grading.submissions import Submission
from autograder.grading.verdict import (
    SECRET_FILE,
    Verdict,
    course_secret,
    grade_submission,
    load_assignment,
    load_verdict,
    record_path,
    sandboxes,
    save_verdict,
    seed_id,
)
from autograder.sandbox.backend import ProcessBackend
from course.sample_class.handed_in import Notebook

NAME = "01-static-embeddings"
DEADLY = '''
import os
from autograder.sandbox.backend import ProcessBackend


class Deadly(ProcessBackend):
    """A backend that takes the grader's own worker with it."""

    def launch(self, *anything):
        os._exit(3)
'''


class Broken(ProcessBackend):
    """A backend whose sandboxes never start."""

    def launch(self, stage, limits, warm, read, write):
        started = super().launch(stage, limits, warm, read, write)
        return type(started)(["/bin/false"], started.inherit, started.environment, started.close)


@pytest.fixture
def submission(tmp_path):
    path = tmp_path / "notebook.ipynb"
    path.write_bytes(Notebook(load_assignment("01")).solve().data())
    return Submission("ada", path)


def test_a_sandbox_that_does_not_start_leaves_the_points_open_after_two_tries(submission):
    assignment = load_assignment("01")
    with sandboxes(assignment, Broken()) as pool:
        verdict = grade_submission(submission, assignment, b"secret", pool)
    points = exercise_points(verdict, HandGrades(), assignment)
    assert verdict.tries == 2 and set(points.values()) == {None}
    assert "The checker failed twice" in reasons(verdict, points)[0]


def test_a_worker_that_dies_is_replaced_and_its_submission_waits_for_a_human(submission, tmp_path, monkeypatch):
    (tmp_path / "deadly_backend.py").write_text(DEADLY)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("deadly_backend", None)
    from deadly_backend import Deadly
    unreadable = Submission("bo", tmp_path / "missing.ipynb", problem="it is not there")
    batch = grade_all([submission, unreadable], load_assignment("01"), tmp_path, jobs=1, backend=Deadly())
    assert batch.verdicts["ada"].waits("") == "The grader failed twice on this submission."
    assert "it is not there" in batch.verdicts["bo"].waits("")


def test_the_secret_is_drawn_once_and_only_its_owner_can_read_it(tmp_path):
    secret = course_secret(tmp_path)
    assert len(secret) == 32 and course_secret(tmp_path) == secret
    assert stat.S_IMODE(os.stat(tmp_path / SECRET_FILE).st_mode) == 0o600
    (tmp_path / SECRET_FILE).chmod(0o644)
    with pytest.raises(CourseError, match="chmod 600"):
        course_secret(tmp_path)


def test_a_seed_id_depends_on_secret_student_and_exercise():
    ids = {seed_id(*names) for names in ((b"a", "ada", "01.ppmi"), (b"b", "ada", "01.ppmi"), (b"a", "bo", "01.ppmi"),
                                         (b"a", "ada", "01.bank"))}
    assert len(ids) == 4 and all(len(one) == 16 for one in ids)


def test_a_record_comes_back_as_it_was_and_a_broken_one_is_none(tmp_path):
    verdict = Verdict("ada", NAME, "s", "c", results=[{"exercise": "01.ppmi", "points": 5, "earned": 2.5, "stages": []}],
                      human=[{"exercise": "01.ppmi", "reason": "Because."}], own={"ppmi": "def ppmi"})
    path = save_verdict(tmp_path, verdict)
    assert load_verdict(tmp_path, NAME, "ada") == verdict and path == record_path(tmp_path, NAME, "ada")
    for broken in ("{", "[]", '{"schema": 0}', '{"schema": 1, "unknown": 3}'):
        path.write_text(broken)
        assert load_verdict(tmp_path, NAME, "ada") is None


def test_a_regrade_difference_names_points_and_behaviours():
    def verdict(earned, status):
        return Verdict("ada", NAME, "s", "c", results=[{"exercise": "01.ppmi", "points": 5, "earned": earned, "stages": [
            {"name": "chance", "status": status}, {"name": "zeros", "status": "passed"}]}])

    assert difference(verdict(3, "wrong"), verdict(4, "passed")) == ["ada 01.ppmi: 3 -> 4 (chance: wrong -> passed)"]
    assert difference(verdict(4, "passed"), verdict(4, "passed")) == []


class Hanging(Student):
    """A student whose function `slow` hangs and whose `fine` answers; counts its calls."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def perform(self, name, args, kwargs):
        self.asked.append(name)
        if name == "slow":
            raise StudentError("time", "`slow` was stopped.")
        return Returned(1, args)


def test_a_function_that_hangs_twice_is_not_called_a_third_time_and_the_others_are():
    inner = Hanging()
    student = Patient(inner)
    for _ in range(5):
        with pytest.raises(StudentError) as caught:
            student.slow()
        assert caught.value.kind == "time" and student.fine() == 1
    assert inner.asked.count("slow") == Patient.DEATHS and inner.asked.count("fine") == 5
