"""What is the grader's own fault costs no student a point, and stops no batch."""

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.authoring.student_notebook import Notebook
from autograder.checks.student.base import Student
from autograder.checks.student.requests import Returned, StudentError
from autograder.classroom.gradebook.grades import HandGrades, exercise_points, reasons
from autograder.common.errors import CourseError
from autograder.course_layout import SECRET_FILE
from autograder.grading.assignment import course_secret, load_assignment, seed_id
from autograder.grading.executors.local import grade_all
from autograder.grading.fatal_calls import BudgetSpent, Patient
from autograder.grading.grade import (
    Verdict,
    grade_submission,
    sandboxes,
)
from autograder.grading.intake.discovery import Submission
from autograder.grading.result_diff import difference
from autograder.grading.results_store import load_verdict, save_verdict
from autograder.sandbox.backends.base import ProcessBackend
from autograder.sandbox.monitor.time_account import Account
from tests.autograder.grading import stored

NAME = "01-static-embeddings"
DEADLY = '''
import os
from autograder.sandbox.backends.base import ProcessBackend
from tests.autograder.grading import stored


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


def test_a_worker_that_dies_is_replaced_and_its_submission_waits_for_a_human(
    submission, tmp_path, monkeypatch
):
    (tmp_path / "deadly_backend.py").write_text(DEADLY)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("deadly_backend", None)
    from deadly_backend import Deadly

    unreadable = Submission("bo", tmp_path / "missing.ipynb", problem="it is not there")
    batch = grade_all(
        [submission, unreadable], load_assignment("01"), tmp_path, jobs=1, backend=Deadly()
    )
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
    ids = {
        seed_id(*names)
        for names in (
            (b"a", "ada", "01.ppmi"),
            (b"b", "ada", "01.ppmi"),
            (b"a", "bo", "01.ppmi"),
            (b"a", "ada", "01.bank"),
        )
    }
    assert len(ids) == 4 and all(len(one) == 16 for one in ids)


def test_a_record_comes_back_as_it_was_and_a_broken_one_is_none(tmp_path):
    verdict = Verdict(
        "ada",
        NAME,
        "s",
        "c",
        results=[{"exercise": "01.ppmi", "points": 5, "earned": 2.5, "stages": []}],
        human=[{"exercise": "01.ppmi", "reason": "Because."}],
        own={"ppmi": "def ppmi"},
    )
    save_verdict(tmp_path, verdict)
    assert load_verdict(tmp_path, NAME, "ada") == verdict
    for broken in ("{", "[]", '{"schema": 0}', '{"schema": 1, "unknown": 3}'):
        stored.write_record(tmp_path, NAME, "ada", broken)
        assert load_verdict(tmp_path, NAME, "ada") is None


def test_a_record_of_the_release_before_is_read_and_its_new_fields_have_their_defaults(tmp_path):
    save_verdict(tmp_path, Verdict("ada", NAME, "s", "c"))
    record = json.loads(stored.records(tmp_path, NAME)["ada"]) | {"schema": 2}
    del record["memory"]
    stored.write_record(tmp_path, NAME, "ada", json.dumps(record))
    read = load_verdict(tmp_path, NAME, "ada")
    assert (read.student, read.checks, read.memory, read.schema) == ("ada", "c", 0, 2)
    with pytest.raises(TypeError, match="a verdict has no misspelt"):
        Verdict.from_json(record | {"misspelt": 1})


def test_a_regrade_difference_names_points_and_behaviours():
    def verdict(earned, status):
        return Verdict(
            "ada",
            NAME,
            "s",
            "c",
            results=[
                {
                    "exercise": "01.ppmi",
                    "points": 5,
                    "earned": earned,
                    "stages": [
                        {"name": "chance", "status": status},
                        {"name": "zeros", "status": "passed"},
                    ],
                }
            ],
        )

    assert difference(verdict(3, "wrong"), verdict(4, "passed")) == [
        "ada 01.ppmi: 3 -> 4 (chance: wrong -> passed)"
    ]
    assert difference(verdict(4, "passed"), verdict(4, "passed")) == []


class Hanging(Student):
    """A student whose function `slow` hangs and whose `fine` answers; counts its calls."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def perform(self, request):
        self.asked.append(request.name)
        if request.name == "slow":
            raise StudentError("time", "`slow` was stopped.")
        return Returned(1, request.args)


def test_a_function_that_hangs_twice_is_not_called_a_third_time_and_the_others_are():
    inner = Hanging()
    student = Patient(inner)
    for _ in range(5):
        with pytest.raises(StudentError) as caught:
            student.slow()
        assert caught.value.kind == "time" and student.fine() == 1
    assert inner.asked.count("slow") == Patient.DEATHS and inner.asked.count("fine") == 5


def test_what_is_not_judged_within_the_budget_is_not_wrong():
    student = Patient(Hanging(), Account(0.0))
    student.new_stage()
    with pytest.raises(BudgetSpent):
        student.fine()


def test_a_submission_that_uses_up_its_budget_leaves_the_rest_to_a_human(submission, monkeypatch):
    monkeypatch.setattr("autograder.grading.grade.BUDGET_SECONDS", 0.0)
    assignment = load_assignment("01")
    with sandboxes(assignment, ProcessBackend()) as pool:
        verdict = grade_submission(submission, assignment, b"secret", pool)
    points = exercise_points(verdict, HandGrades(), assignment)
    assert set(points.values()) == {None} and verdict.tries == 1 and not verdict.fault
    assert "did not suffice" in reasons(verdict, points)[0]


LATER = """
import os, sys, time
from pathlib import Path
from autograder.grading.executors.local import grade_all
from autograder.grading.intake.discovery import Submission
from autograder.grading.assignment import load_assignment
from autograder.sandbox.backends.base import ProcessBackend
import autograder.grading.executors.local as schedule
folder = Path(sys.argv[1])

def judge(submission, *anything):
    (folder / f"{submission.student}.pid").write_text(str(os.getpid()))
    time.sleep(600)

schedule.grade_submission = judge
grade_all([Submission(name, folder / "x") for name in ("a", "b")], load_assignment("01"), folder,
          jobs=2, backend=ProcessBackend())
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="the kernel of Linux ends a worker with its parent"
)
def test_a_killed_grader_leaves_no_worker_and_no_folder(tmp_path):
    grader = subprocess.Popen(
        [sys.executable, "-c", LATER, tmp_path], env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    wait_for(lambda: len([path for path in tmp_path.glob("*.pid") if path.read_text()]) == 2)
    workers = [int(path.read_text()) for path in tmp_path.glob("*.pid")]
    assert list(tmp_path.glob("word2serve-stage-*"))
    grader.kill()
    grader.wait()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    wait_for(lambda: not list(tmp_path.glob("word2serve-stage-*")))


def wait_for(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come to pass")
