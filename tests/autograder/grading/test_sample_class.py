"""The grader's examination: a class whose points are known, honest and hostile, in one batch."""

import csv
import hashlib
from pathlib import Path

import pytest

from autograder.classroom.grade_class import grade_class
from autograder.classroom.gradebook.course import course_config, open_gradebook
from autograder.classroom.gradebook.grades import exercise_points, hand_grades
from autograder.classroom.reports.feedback import feedback_path
from autograder.grading.assignment import course_secret
from autograder.grading.grade import grade_submission, sandboxes
from autograder.grading.intake.discovery import find_submissions
from autograder.sandbox.backends.bubblewrap import BubblewrapBackend
from course.sample_class import make_sample_class, samples

pytestmark = pytest.mark.sandbox

DEMANDED = [
    "perfect",
    "another-way-1",
    "another-way-2",
    "helpers-in-added-cells",
    "magics-and-plots",
    "mistakes-01",
    "half-done",
    "empty",
    "broken-json",
    "duplicated-cells",
    "deleted-cells",
    "edited-points",
    "warning-on-stderr",
    "infinite-loop",
    "memory-hog",
    "endless-output",
    "exits-in-a-function",
    "equals-everything",
    "patched-allclose",
    "shadowing-torch",
    "reads-the-checker",
    "writes-the-gradebook",
    "network-call",
    "background-process",
    "link-to-a-host-file",
    "script-in-an-answer",
]


def points(graded, student):
    """Points by exercise as the gradebook, the pages and grades.csv have them."""
    with open_gradebook(course_config(graded.root)) as gradebook:
        by_hand = hand_grades(gradebook, graded.assignment.name, student)
    return exercise_points(graded.verdicts[student], by_hand, graded.assignment)


def test_the_class_has_every_kind_of_submission_that_was_demanded(graded):
    assert set(DEMANDED) <= set(graded.expected) and len(graded.expected) >= 25


def test_everybody_earns_exactly_what_stands_beside_the_submission(graded):
    wrong = {}
    for student, wanted in graded.expected.items():
        got = points(graded, student)
        if got != wanted["points"]:
            wrong[student] = {
                id: (wanted["points"][id], got[id]) for id in got if got[id] != wanted["points"][id]
            }
    assert wrong == {}


def test_the_batch_has_a_verdict_for_everybody(graded):
    assert (
        set(graded.verdicts)
        == set(graded.expected)
        == {path.stem for path in graded.submitted.iterdir()}
    )


def test_a_person_is_asked_for_exactly_where_no_points_could_be_decided(graded):
    asked = {student for student, verdict in graded.verdicts.items() if verdict.human}
    assert asked == {
        student for student, wanted in graded.expected.items() if wanted["needs_human"]
    }
    assert all(
        one["reason"].endswith(".") for verdict in graded.verdicts.values() for one in verdict.human
    )


def test_no_status_is_a_fault_of_the_grader(graded):
    faults = [
        (student, result["exercise"])
        for student, verdict in graded.verdicts.items()
        for result in verdict.results
        for stage in result["stages"]
        if stage["status"] == "fault"
    ]
    assert faults == []


ONE = ("shadowing-torch",)


@pytest.mark.parametrize(
    "students",
    [pytest.param(ONE, id="one student"), pytest.param(None, id="all", marks=pytest.mark.long)],
)
def test_sandboxes_that_start_cold_give_the_same_verdicts_to_the_letter(graded, students):
    submissions = {
        one.student: one
        for one in find_submissions(graded.submitted, graded.assignment.name).submissions
    }
    differing = {}
    with sandboxes(graded.assignment, BubblewrapBackend()) as pool:
        for student in students or submissions:
            cold = grade_submission(
                submissions[student], graded.assignment, course_secret(graded.root), pool
            )
            differing[student] = changed(graded.verdicts[student].to_json(), cold.to_json())
    assert set(filter(None, differing.values())) == set() and differing, differing


def changed(warm: dict, cold: dict) -> tuple:
    """The fields of a verdict that differ, but for the time and the memory that it took, and the
    seeds: a verdict that was taken over drew from another secret.
    """
    return tuple(
        name
        for name in warm
        if name not in ("seconds", "memory", "seed_ids") and warm[name] != cold[name]
    )


@pytest.mark.parametrize(
    ("student", "exercise", "status"),
    [
        ("infinite-loop", "01.ppmi", "time"),
        ("memory-hog", "01.sgns_loss", "memory"),
        ("endless-output", "01.glove_weight", "time"),
        ("exits-in-a-function", "01.analogy", "killed"),
        ("own-exception", "01.noise_distribution", "error"),
        ("empty", "01.ppmi", "not_attempted"),
    ],
)
def test_the_reason_of_a_loss_is_named(graded, student, exercise, status):
    result = next(one for one in graded.verdicts[student].results if one["exercise"] == exercise)
    assert {stage["status"] for stage in result["stages"]} == {status}


def test_every_known_mistake_is_recognised_by_its_misconception(graded):
    recognised = {
        (result["exercise"], stage["misconception"])
        for verdict in graded.verdicts.values()
        for result in verdict.results
        for stage in result["stages"]
        if stage["misconception"]
    }
    by_exercise = {exercise for exercise, _ in recognised}
    assert by_exercise == {
        id
        for id, one in graded.assignment.exercises.items()
        if one.kind not in ("manual", "write-test")
    }


def test_the_hostile_touched_nothing_outside(graded):
    assert not graded.canary.exists() and not Path("/tmp/word2serve-canary").exists()
    assert graded.visitors() == []


def test_whoever_meets_a_trap_was_judged_here(graded):
    trapped = {
        "background-process",
        "network-call",
        "reads-the-checker",
        "script-in-an-answer",
        "shadowing-torch",
        "writes-the-gradebook",
    }
    assert trapped <= set(graded.verdicts) - set(graded.batch.before)


def test_grading_changed_no_file_of_the_course_root(graded):
    assert graded.files_after == graded.files_before and "gradebook.db" in graded.files_before


def test_no_process_of_a_submission_is_left(graded):
    left = [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if b"word2serve-background" in _read(path)
    ]
    assert left == []


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it ended while we looked


@pytest.mark.parametrize(
    ("student", "said"),
    [
        ("magics-and-plots", "%matplotlib inline"),
        ("edited-points", "Locked cells were changed"),
        ("duplicated-cells", "occur more than once"),
        ("deleted-cells", "Cells are missing"),
        ("shadowing-torch", "torch.py"),
        ("link-beside", "data.csv"),
        ("zipped", "notes.txt"),
        ("huge-cell", "was left out"),
        ("broken-json", "broken JSON"),
        ("link-to-a-host-file", "is a link"),
        ("zip-bomb", "zip bomb"),
        ("exits-in-a-cell", "ended by itself"),
    ],
)
def test_what_was_ignored_is_said_in_the_feedback(graded, student, said):
    assert said in feedback_path(graded.root, graded.assignment.name, student).read_text()


def test_grades_csv_has_points_total_and_the_reason_for_a_human(graded):
    with graded.summary.grades.open(newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert float(rows["perfect"]["total"]) == 45 and rows["perfect"]["01.ppmi"] == "5"
    assert rows["empty"]["total"] == "0" and rows["empty"]["needs_human"] == ""
    assert (
        rows["broken-json"]["total"] == "" and "broken JSON" in rows["broken-json"]["needs_human"]
    )
    assert rows["huge-cell"]["01.ppmi"] == "" and "01.ppmi" in rows["huge-cell"]["needs_human"]


def test_a_second_run_grades_nobody_and_changes_no_feedback(graded):
    before = {path: path.stat().st_mtime_ns for path in (graded.root / "feedback").rglob("*.html")}
    again = grade_class(graded.submitted, "01", graded.root, graded.folder / "report")
    assert again.kept == again.submissions
    assert {
        path: path.stat().st_mtime_ns for path in (graded.root / "feedback").rglob("*.html")
    } == before


def test_the_class_is_made_of_the_same_bytes_every_time(tmp_path):
    def made(folder):
        return {
            path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*")
            if path.is_file() and not path.is_symlink()
        }

    make_sample_class(tmp_path / "one")
    make_sample_class(tmp_path / "two")
    assert made(tmp_path / "one") == made(tmp_path / "two")


def test_every_sample_says_in_a_sentence_what_it_shows():
    assert all(len(sample.shows) > 30 and sample.shows.endswith((".", ")")) for sample in samples())
