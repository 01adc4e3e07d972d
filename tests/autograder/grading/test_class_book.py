"""The gradebook held open for a class: the rows and the bytes that `nbgrader autograde` gives, and
all of a submission or nothing.
"""

import os
from dataclasses import replace

import pytest
from sqlalchemy import text

from autograder.classroom.gradebook import course as by_nbgrader
from autograder.classroom.gradebook.batch_writer import open_class_book
from autograder.classroom.gradebook.course import course_config, open_gradebook, prepare_course_root
from autograder.common.errors import MachineError
from autograder.grading.assignment import course_secret
from autograder.grading.grade import Verdict
from autograder.grading.results_store import save_verdict

STAND_IN = "90-stand-in"
TABLES = ("student", "submitted_assignment", "submitted_notebook", "grade", "comment")
DRAWN = {
    "id",
    "assignment_id",
    "notebook_id",
    "cell_id",
}  # keys that each database draws for itself


def result(earned, status="passed"):
    stage = {
        "name": "three",
        "points": 3,
        "earned": earned,
        "status": status,
        "cause": "It does not <double>.",
        "detail": "",
        "misconception": "",
    }
    return [{"exercise": "90.double", "points": 3, "earned": earned, "stages": [stage]}]


@pytest.fixture
def verdicts(stand_in):
    """One right and late, one half right with a cell of their own, one undecided, one that could
    not be read.
    """
    common = {"assignment": STAND_IN, "checks": stand_in.checks_hash}
    return [
        Verdict(
            "ada",
            submission="a" * 64,
            results=result(3.0),
            own={"double": "def double(x):\n    return x + x"},
            timestamp="2026-03-01 10:00:00 UTC",
            name="Ada Ü",
            lms_id="17",
            **common,
        ),
        Verdict(
            "bo",
            submission="b" * 64,
            results=result(1.0, "wrong"),
            own={"double": "double = abs"},
            added=[["double", "x = '</script>'"]],
            **common,
        ),
        Verdict(
            "cy",
            submission="c" * 64,
            results=result(0.0, "fault"),
            human=[{"exercise": "90.double", "reason": "Why?"}],
            **common,
        ),
        Verdict(
            "dee", submission="d" * 64, human=[{"exercise": None, "reason": "no zip"}], **common
        ),
    ]


@pytest.fixture
def course(stand_in, new_root, tmp_path):
    """Makes a course root that knows the assignment."""

    def make(name, verdicts):
        root = new_root(tmp_path / name)
        prepare_course_root(root, stand_in)
        course_secret(root)  # a class has one before it has a verdict
        for verdict in verdicts:
            save_verdict(root, verdict)
        return root

    return make


def rows(root):
    """What the gradebook holds, without the keys that it draws; each grade and comment with its
    cell and its student.
    """
    with open_gradebook(course_config(root)) as gradebook:
        found = {
            name: [
                dict(row._mapping) for row in gradebook.db.execute(text(f"SELECT * FROM {name}"))
            ]
            for name in TABLES
        }
        of = {}
        for submission in gradebook.assignment_submissions(STAND_IN):
            for notebook in submission.notebooks:
                of |= {
                    one.id: (submission.student.id, one.name)
                    for one in [*notebook.grades, *notebook.comments]
                }
    for name, table in found.items():
        for row in table:
            row["of"] = of.get(row["id"], row["id"] if name == "student" else "")
        found[name] = sorted(
            sorted((key, repr(value)) for key, value in row.items() if key not in DRAWN)
            for row in table
        )
    return found


def files(root):
    return {
        path.relative_to(root): (path.read_bytes(), path.stat().st_mode)
        for path in (root / "autograded").rglob("*.ipynb")
    }


def test_the_open_gradebook_gets_the_rows_and_the_bytes_that_nbgrader_autograde_gives(
    stand_in, verdicts, course
):
    one, other = course("by-nbgrader", verdicts), course("open", verdicts)
    for verdict in verdicts:
        by_nbgrader.store(course_config(one), one, verdict, stand_in)
    with open_class_book(course_config(other), other, stand_in) as book:
        assert book._plain
        for verdict in verdicts:
            book.store(verdict)
        held = book.held()
        assert [book.is_stored(verdict, held) for verdict in verdicts] == [True] * 4
    assert rows(other) == rows(one) and len(rows(one)["grade"]) == 4
    assert files(other) == files(one) and len(files(one)) == 4


@pytest.mark.parametrize(
    ("changed", "marked"),
    [({}, False), ({"own": {"double": "def double(x):\n    return 2 * x"}}, True)],
    ids=["the same work", "other work"],
)
def test_points_given_by_hand_stay_and_are_marked_for_another_look_where_the_work_is_another(
    stand_in, verdicts, course, changed, marked
):
    root = course("open", verdicts)
    ada = verdicts[0]
    with open_class_book(course_config(root), root, stand_in) as book:
        book.store(ada)
    with open_gradebook(course_config(root)) as gradebook:
        gradebook.find_grade("double-check", STAND_IN, STAND_IN, "ada").manual_score = 2.5
        gradebook.db.commit()
    later = replace(ada, **changed)
    save_verdict(root, later)
    with open_class_book(course_config(root), root, stand_in) as book:
        book.store(later)
    with open_gradebook(course_config(root)) as gradebook:
        grade = gradebook.find_grade("double-check", STAND_IN, STAND_IN, "ada")
        assert (grade.auto_score, grade.manual_score, grade.needs_manual_grade) == (
            3.0,
            2.5,
            marked,
        )


def test_a_step_that_fails_leaves_nothing_of_its_submission_and_the_next_is_stored(
    stand_in, verdicts, course
):
    root = course("open", verdicts)
    with open_class_book(course_config(root), root, stand_in) as book:
        steps = book._steps
        book._steps = [steps[0].__class__(parent=book._converter), Failing()]
        with pytest.raises(LookupError):
            book.store(verdicts[1])
        book._steps = steps
        book.store(verdicts[2])
        assert set(book.held()) == {"cy"}
    assert [path.parts[1] for path in files(root)] == ["cy"]


class Failing:
    """A step that raises, after rows were made."""

    def preprocess(self, notebook, resources):
        raise LookupError("a fault of ours")


def test_a_database_that_goes_away_between_two_verdicts_is_said_with_its_name(
    stand_in, verdicts, course
):
    root = course("open", verdicts)
    with open_class_book(course_config(root), root, stand_in) as book:
        book.store(verdicts[0])
        book._connection.connection.dbapi_connection.close()
        with pytest.raises(MachineError, match="gradebook.db: .* and run again"):
            book.store(verdicts[1])
    with open_class_book(course_config(root), root, stand_in) as book:
        book.store(verdicts[1])
        assert set(book.held()) == {"ada", "bo"}


def test_steps_that_an_instructor_has_added_run_as_nbgrader_runs_them(stand_in, verdicts, course):
    root = course("theirs", verdicts)
    marker = root / "hook-ran"
    (root / "hooks_of_mine.py").write_text(
        f"def after(**names):\n    open({str(marker)!r}, 'a').write(names['student'])\n"
    )
    with (root / "nbgrader_config.py").open("a") as file:
        file.write(
            f"import sys\nsys.path.insert(0, {os.fspath(root)!r})\nc.Autograde.post_convert_hook ="
            " 'hooks_of_mine.after'\n"
        )
    with open_class_book(course_config(root), root, stand_in) as book:
        book.store(verdicts[0])
        held = book.held()
        assert book.is_stored(verdicts[0], held)
    assert marker.read_text() == "ada"
