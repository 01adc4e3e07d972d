"""The class's secret: drawn once, before anything is judged.

One that is lost or another is said, and never drawn anew in silence.
"""

import json
import shutil

import pytest

from autograder.classroom.gradebook import nbgrader_plugins as nbgrader_steps
from autograder.classroom.gradebook.course import course_config
from autograder.classroom.regrade import plan
from autograder.common.errors import CourseError
from autograder.course_layout import SECRET_FILE
from autograder.grading.assignment import load_assignment, seed_id
from autograder.grading.results_store import load_verdict
from course.cli import main
from tests.autograder.grading import stored
from tests.autograder.grading.conftest import fingerprints

pytestmark = pytest.mark.sandbox
NAME = "90-stand-in"
OTHER = b"the secret of another class....."


@pytest.fixture(scope="module")
def graded(graded_class):
    """Ada and Bo, all right."""
    return graded_class("ada", "bo")


@pytest.fixture
def root(graded, tmp_path):
    """A copy of the course root that has lost its secret."""
    shutil.copytree(graded / "root", tmp_path / "root", symlinks=True)
    (tmp_path / "root" / SECRET_FILE).unlink()
    return tmp_path / "root"


def course(root, *words):
    return main([*map(str, words), "--course-root", str(root)])


def put(root, secret):
    (root / SECRET_FILE).write_bytes(secret)
    (root / SECRET_FILE).chmod(0o600)


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "ada", "90"],
        ["regrade", "90"],
        ["grade", "--assignment", "90"],
        ["grade", "in", "--assignment", "90"],
        ["grade", "in", "--assignment", "90", "--attempts", "best"],
    ],
)
def test_a_lost_secret_stops_what_judges_and_nothing_is_written(graded, root, words, capsys):
    before = fingerprints(root, "hand-ins")
    assert course(root, *[graded / "in" if word == "in" else word for word in words]) == 2
    said = capsys.readouterr().err
    assert (
        f"{root / SECRET_FILE} is gone" in said
        and "from a copy of the class" in said
        and "`course grade --regrade` draws a new one" in said
    )
    assert fingerprints(root, "hand-ins") == before


def test_records_of_another_assignment_count_too(root, graded):
    stored.rename_assignment(root, NAME, "91-another")
    assert (
        course(root, "grade", graded / "in", "--assignment", "90") == 2
        and not (root / SECRET_FILE).exists()
    )


def test_nbgraders_own_step_does_not_draw_one_either(root):
    step = nbgrader_steps.FromVerdict(config=course_config(root))
    step.coursedir = type("CourseDirectory", (), {"root": str(root)})()
    kept = load_verdict(root, NAME, "ada")
    with pytest.raises(CourseError, match="is gone"):
        step.preprocess(
            nbgrader_steps.new_notebook(
                metadata={nbgrader_steps.MARK: {"sha256": kept.submission}}
            ),
            {"nbgrader": {"assignment": NAME, "student": "ada", "notebook": NAME}},
        )
    assert not (root / SECRET_FILE).exists()


def test_the_report_needs_no_secret(root):
    assert course(root, "report", "--assignment", "90") == 0 and not (root / SECRET_FILE).exists()


def test_a_new_secret_is_drawn_when_it_is_asked_for_and_everybody_is_judged_with_it(root, capsys):
    assert course(root, "grade", "--assignment", "90", "--regrade") == 0
    said = capsys.readouterr().out
    assert (
        f"secret     a new {SECRET_FILE} was drawn, as the one that the records were judged with is"
        " gone" in said
    )
    secret = (root / SECRET_FILE).read_bytes()
    for student in ("ada", "bo"):
        assert load_verdict(root, NAME, student).seed_ids == {
            "90.double": seed_id(secret, student, "90.double")
        }
    assert (
        course(root, "verify", "ada", "90") == 0
        and course(root, "grade", "--assignment", "90") == 0
    )
    assert "secret " not in capsys.readouterr().out


def test_another_secret_is_a_difference_for_verify(root, capsys):
    put(root, OTHER)
    assert course(root, "verify", "ada", "90") == 1
    assert (
        f"differs    ada: the hidden inputs are others; {SECRET_FILE} is not the one that the"
        " record was judged with" in capsys.readouterr().out
    )
    assert course(root, "verify", "ada", "90", "--json") == 1
    said = json.loads(capsys.readouterr().out)
    assert len(said["differences"]) == 1 and said["record"]["seed_ids"] != said["again"]["seed_ids"]


def test_grade_names_whose_record_is_of_another_secret_until_they_are_judged_again(
    graded, root, capsys
):
    put(root, OTHER)
    assert course(root, "grade", graded / "in", "--assignment", "90") == 1
    assert (
        f"secret     2 verdicts were judged with another {SECRET_FILE} than this: ada, bo. "
        in capsys.readouterr().out
    )
    assert course(root, "grade", "--assignment", "90", "--regrade") == 0
    assert course(root, "verify", "bo", "90") == 0


def test_regrade_shows_whose_record_is_of_another_secret_and_writes_when_it_is_asked(root, capsys):
    before = load_verdict(root, NAME, "ada")
    put(root, OTHER)
    assert course(root, "regrade", "90") == 0
    said = capsys.readouterr().out
    assert (
        f"secret     2 verdicts were judged with another {SECRET_FILE} than this: ada, bo. " in said
        and "same       2 come out as before" in said
    )
    assert load_verdict(root, NAME, "ada") == before
    put(root, OTHER[::-1])  # what was judged for the first look is of no use now
    [ada, _] = plan(root, load_assignment("90")).verdicts
    assert ada.seed_ids == {"90.double": seed_id(OTHER[::-1], "ada", "90.double")}
    assert (
        course(root, "regrade", "90", "--apply") == 0 and course(root, "verify", "ada", "90") == 0
    )
