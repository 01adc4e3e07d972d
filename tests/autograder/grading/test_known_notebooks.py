"""A broken grader says so: before a class is graded, at the end of a run, and in `make course`."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from autograder.checks.mistakes.registry import Mistake
from autograder.common.errors import CourseError
from autograder.grading import known_notebooks
from autograder.grading.executors import local as schedule
from autograder.grading.executors.local import grade_all
from autograder.grading.intake.discovery import Submission
from autograder.sandbox.monitor.time_account import Account
from course.cli import main
from course.commands import make
from course.sample_class import EXPECTED
from course.sample_class.deserved import refuse_if_undeserved
from tests.autograder.grading import stored
from tests.autograder.grading.test_faults import Broken

pytestmark = pytest.mark.sandbox
NAME = "90-stand-in"


def squares(x):
    return x * x


WRONG = Mistake("squared", squares, "three", 3.0, "You square.", "double")


@pytest.fixture
def graded_first(monkeypatch, stand_in):
    """As in a real run, with one registered mistake."""
    monkeypatch.setattr(schedule, "known_notebooks", known_notebooks.known_notebooks)
    monkeypatch.setattr(schedule, "_PROVEN", set())
    monkeypatch.setattr("autograder.checks.mistakes.registry.mistakes_of", lambda id: [WRONG])


@pytest.fixture
def handed_in(notebook_of, tmp_path):
    """A folder with the right notebooks of two students."""
    for student in ("ada", "bo"):
        path = tmp_path / "in" / student / NAME / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook_of())
    return tmp_path / "in"


@pytest.fixture
def submissions(handed_in):
    return [
        Submission(student, handed_in / student / NAME / f"{NAME}.ipynb")
        for student in ("ada", "bo")
    ]


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def test_a_class_is_graded_and_nothing_of_the_known_notebooks_is_recorded(
    graded_first, stand_in, submissions, root
):
    batch = grade_all(submissions, stand_in, root)
    assert {student: one.results[0]["earned"] for student, one in batch.verdicts.items()} == {
        "ada": 3.0,
        "bo": 3.0,
    }
    assert set(stored.records(root, NAME)) == {"ada", "bo"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_where_no_sandbox_starts_nothing_is_graded_and_the_reason_is_given(
    graded_first, stand_in, submissions, root, jobs
):
    with pytest.raises(
        CourseError,
        match=r"does not grade 90-stand-in right(.|\n)*the perfect notebook, 90.double: no points "
        r"were "
        r"decided, 3 of 3 are deserved \((.|\n)*course doctor",
    ):
        grade_all(submissions, stand_in, root, jobs=jobs, backend=Broken())
    assert stored.records(root, NAME) == {}


def test_where_a_wrong_answer_earns_points_nothing_is_graded(
    graded_first, stand_in, submissions, root, monkeypatch
):
    one = stand_in.exercises["90.double"]
    monkeypatch.setattr(
        one, "stages", [replace(stage, function=lambda student: None) for stage in one.stages]
    )
    with pytest.raises(
        CourseError, match="the wrong notebook, 90.double: 3 points, 0 of 3 are deserved"
    ):
        grade_all(submissions, stand_in, root)


def test_where_the_time_runs_out_the_machine_is_not_said_to_grade_wrong(
    graded_first, stand_in, submissions, root, monkeypatch
):
    monkeypatch.setattr(Account, "over", True)
    with pytest.raises(
        CourseError,
        match=r"^The time ran out before 90-stand-in was graded here(.|\n)*the perfect notebook,"
        r" 90.double: the time ran out, 3 of 3 are deserved",
    ):
        grade_all(submissions, stand_in, root)
    assert stored.records(root, NAME) == {}


def test_what_a_busy_machine_graded_wrong_once_is_tried_again(
    graded_first, stand_in, submissions, root, monkeypatch
):
    said, real = iter([["by chance"]]), schedule.differences
    monkeypatch.setattr(
        schedule, "differences", lambda *arguments: next(said, None) or real(*arguments)
    )
    assert len(grade_all(submissions, stand_in, root).verdicts) == 2 and next(said, None) is None


def test_a_run_in_which_nothing_is_to_be_graded_makes_no_known_notebooks(
    graded_first, stand_in, submissions, root, monkeypatch
):
    grade_all(submissions, stand_in, root)
    monkeypatch.setattr(schedule, "_PROVEN", set())
    monkeypatch.setattr(
        schedule, "known_notebooks", lambda assignment: pytest.fail("they were made")
    )
    assert grade_all(submissions, stand_in, root).kept == 2


def test_an_assignment_that_only_people_read_has_none(stand_in, monkeypatch):
    monkeypatch.setattr(stand_in.exercises["90.double"], "stages", [])
    assert known_notebooks.known_notebooks(stand_in) == []


def failing_on_bo(submission, *arguments):
    if submission.student == "bo":
        raise RuntimeError("the checker is broken")
    return known_notebooks.grade_submission(submission, *arguments)


def test_a_run_in_which_the_checker_failed_ends_with_it_and_has_an_exit_code_of_its_own(
    handed_in, stand_in, new_root, tmp_path, monkeypatch, capsys
):
    root = new_root(tmp_path / "root")
    monkeypatch.setattr(schedule, "grade_submission", failing_on_bo)
    assert main(["grade", str(handed_in), "--assignment", "90", "--course-root", str(root)]) == 3
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .startswith("FAILED     the checker itself failed on 1 submission")
    )


def test_a_regrade_in_which_the_checker_failed_ends_with_it(
    handed_in, stand_in, new_root, tmp_path, monkeypatch, capsys
):
    root = new_root(tmp_path / "root")
    assert main(["grade", str(handed_in), "--assignment", "90", "--course-root", str(root)]) == 0
    monkeypatch.setattr(schedule, "grade_submission", failing_on_bo)
    monkeypatch.setattr(stand_in, "checks_hash", "of-next-week")
    assert main(["regrade", "90", "--course-root", str(root)]) == 3
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .startswith("FAILED     the checker itself failed on 1 submission")
    )


def table_with(graded, folder, student, **changes):
    """What the sample class deserves, with other points for one student."""
    table = dict(graded.expected)
    table[student] = table.get(student, graded.expected["perfect"]) | changes
    path = folder / EXPECTED
    path.write_text(json.dumps(table))
    return path


def test_the_sample_class_gets_what_it_deserves(graded, tmp_path):
    refuse_if_undeserved(table_with(graded, tmp_path, "perfect"), graded.root, graded.summary)


def test_every_difference_in_the_sample_class_is_named(graded, tmp_path):
    points = graded.expected["perfect"]["points"]
    for changes, said in (
        ({"points": points | {"01.ppmi": 4.0}}, "perfect, 01.ppmi: 5 points, 4 points deserved"),
        (
            {"points": points | {"01.ppmi": None}},
            "perfect, 01.ppmi: 5 points, no points decided deserved",
        ),
        ({"needs_human": True}, "perfect, it should wait for a person, and does not"),
    ):
        with pytest.raises(CourseError, match=said):
            refuse_if_undeserved(
                table_with(graded, tmp_path, "perfect", **changes), graded.root, graded.summary
            )
    with pytest.raises(CourseError, match="nobody: it has no result"):
        refuse_if_undeserved(table_with(graded, tmp_path, "nobody"), graded.root, graded.summary)
    with pytest.raises(
        CourseError, match="perfect.zip: it was excluded, and should be graded .no zip."
    ):
        refuse_if_undeserved(
            table_with(graded, tmp_path, "perfect"),
            graded.root,
            replace(graded.summary, left_out={"perfect.zip": "no zip"}),
        )


@pytest.mark.parametrize(("failures", "rounds"), [(0, 1), (1, 2), (9, 3)])
def test_what_a_busy_machine_left_undecided_is_graded_again(
    failures, rounds, tmp_path, monkeypatch
):
    from course.sample_class import graded as module

    calls = []

    def grade(*args, **kwargs):
        calls.append(args)
        return SimpleNamespace(failed=["infinite-loop"] * (len(calls) <= failures))

    monkeypatch.setattr(module, "make_sample_class", lambda *args, **kwargs: tmp_path / "submitted")
    monkeypatch.setattr(module, "grade_class", grade)
    monkeypatch.setattr(module, "refuse_if_undeserved", lambda *args: None)
    assert bool(module.grade_sample_class(tmp_path / "root").failed) == (failures >= rounds)
    assert len(calls) == rounds


def test_make_course_is_not_ready_when_the_sample_class_earned_something_else(
    graded, tmp_path, monkeypatch, capsys
):
    table = table_with(graded, tmp_path, "perfect", needs_human=True)
    monkeypatch.setattr(
        "course.sample_class.graded.make_sample_class",
        lambda *arguments, **named: table.parent / "submitted",
    )
    monkeypatch.setattr(
        "course.sample_class.graded.grade_class", lambda *arguments, **named: graded.summary
    )
    monkeypatch.setattr(
        "course.sample_class.graded.grade_sample_class.__defaults__",
        (graded.root, 1, False, graded.folder / "report", None),
    )
    monkeypatch.setattr(
        make, "steps", lambda jobs: [("5/5 sample class", lambda: make.grade_sample(jobs))]
    )
    assert main(["make"]) == 2
    said = capsys.readouterr()
    assert (
        "Ready" not in said.out and "perfect, it should wait for a person, and does not" in said.err
    )
