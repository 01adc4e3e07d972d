"""A record that is broken, cut off or gone costs nobody a row: its student is named everywhere, and
judged again from the copy.
"""

import csv
import json
import shutil
import zipfile

import pytest

from autograder.classroom.gradebook.course import course_config, open_gradebook
from autograder.classroom.reports.feedback import feedback_path
from autograder.grading.results_store import load_verdict
from course.cli import main
from tests.autograder.grading import stored

pytestmark = pytest.mark.sandbox
NAME = "90-stand-in"
MOODLE = "{}_assignsubmission_file_"
STUDENTS = ("Ada", "Bo", "Cy")


@pytest.fixture(scope="module")
def graded(graded_class):
    """Three students of a Moodle download, all right; Ada's zip is of a week later than the
    others'.
    """
    return graded_class(
        *(MOODLE.format(f"{student}_{70 + place}") for place, student in enumerate(STUDENTS))
    )


@pytest.fixture
def root(graded, tmp_path):
    """A copy of the course root, to be damaged."""
    shutil.copytree(graded / "root", tmp_path / "root")
    return tmp_path / "root"


DAMAGES = {  # what Bo's record becomes; None takes the row away
    "half": lambda records: records["Bo"][:400],
    "empty": lambda records: "",
    "gone": lambda records: None,
    "another program's": lambda records: '{"schema": 1}',
    "somebody else's": lambda records: records["Cy"],
    "no record": lambda records: json.dumps(
        json.loads(records["Bo"]) | {"results": [{"exercise": "90.double"}]}
    ),
}


def harm(root, damage):
    text = DAMAGES[damage](stored.records(root, NAME))
    if text is None:
        stored.remove_record(root, NAME, "Bo")
    else:
        stored.write_record(root, NAME, "Bo", text)


def course(root, *words, assignment=("--assignment", "90")):
    return main([*map(str, words), *assignment, "--course-root", str(root)])


def rows(root):
    with (root / "report" / f"{NAME}.csv").open(newline="", encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("damage", DAMAGES)
def test_everything_that_is_written_names_the_student_with_the_remedy(root, damage, capsys):
    assert course(root, "export", "gradescope") == 0
    harm(root, damage)
    page = feedback_path(root, NAME, "Bo").read_bytes()
    results = root / "report" / f"gradescope-{NAME}" / "Bo" / "results.json"
    remedy = (
        f"The result of Bo in results.sqlite {'is gone' if damage == 'gone' else 'cannot be read'};"
        " `course regrade 90 --write` judges"
    )
    assert course(root, "report") == 0
    found = rows(root)
    assert (
        set(found) == set(STUDENTS)
        and found["Bo"]["total"] == ""
        and found["Bo"]["lms_id"] == "71"
        and remedy in found["Bo"]["needs_human"]
    )
    assert found["Ada"]["total"] == "3" and not found["Ada"]["needs_human"]
    people = (
        (root / "report" / f"{NAME}.html")
        .read_text()
        .partition("<h2>Submissions to look at</h2>")[2]
        .partition("<h2>")[0]
    )
    assert (
        ">Bo</a>" in people
        and f"results.sqlite {'is gone' if damage == 'gone' else 'cannot be read'}" in people
        and "Ada" not in people
    )
    for words in (
        ["export", "moodle"],
        ["export", "moodle", "--so-far"],
        ["export", "gradescope"],
        ["feedback", "moodle"],
    ):
        capsys.readouterr()
        assert course(root, *words) == 1
        assert f"left out   Bo: {remedy}" in capsys.readouterr().out, words
    assert (
        feedback_path(root, NAME, "Bo").read_bytes() == page
        and not results.exists()
        and (results.parents[1] / "Ada" / "results.json").is_file()
    )
    with zipfile.ZipFile(root / "report" / f"feedback-moodle-{NAME}.zip") as archive:
        assert sorted(name[:2] for name in archive.namelist()) == ["Ad", "Cy"]
    capsys.readouterr()
    assert (
        course(root, "similar", "90", assignment=()) == 1
        and f"unread     Bo: {remedy}" in capsys.readouterr().out
    )
    assert (
        course(root, "verify", "Bo", "90", assignment=()) == 2 and remedy in capsys.readouterr().err
    )


@pytest.mark.parametrize("damage", ["half", "gone", "somebody else's", "no record"])
@pytest.mark.parametrize("words", ["regrade", "grade", "grade what somebody else handed in"])
def test_grading_makes_the_record_again_from_the_copy_and_points_by_hand_stay(
    graded, root, tmp_path, notebook_of, damage, words, capsys
):
    whole = load_verdict(root, NAME, "Bo")
    with open_gradebook(course_config(root)) as gradebook:
        gradebook.find_grade("double-check", NAME, NAME, "Bo").manual_score = 2
        gradebook.db.commit()
    harm(root, damage)
    harmed = stored.records(root, NAME).get("Bo")
    if words == "regrade":
        assert course(root, "regrade", "90", assignment=()) == 1
        said = capsys.readouterr().out
        assert (
            "affected   1 verdicts" in said
            and "Bo: 2 -> 2 points (the record could not be read)" in said
        )
        assert stored.records(root, NAME).get("Bo") == harmed
        assert course(root, "regrade", "90", "--apply", assignment=()) == 0
    else:
        dee = tmp_path / "in" / MOODLE.format("Dee_9") / f"{NAME}.ipynb"
        dee.parent.mkdir(parents=True)
        dee.write_bytes(notebook_of())
        if (words, damage) == (
            "grade what somebody else handed in",
            "gone",
        ):  # a person may have taken it away
            assert (
                course(root, "grade", tmp_path / "in") == 1
                and "lost       Bo: The result" in capsys.readouterr().out
            )
            return
        assert course(root, "grade", *([tmp_path / "in"] if words.endswith("in") else [])) == 0
        assert (
            "mended     Bo: the record could not be read, and was made again"
            in capsys.readouterr().out
        )
    made = load_verdict(root, NAME, "Bo")
    assert (made.results, made.submission, made.name, made.lms_id, made.entry) == (
        whole.results,
        whole.submission,
        "Bo",
        "71",
        whole.entry,
    )
    found = rows(root)
    assert found["Bo"]["total"] == "2" and found["Bo"]["needs_human"] == ""  # the work is the same
    with open_gradebook(course_config(root)) as gradebook:
        grade = gradebook.find_grade("double-check", NAME, NAME, "Bo")
        assert (grade.manual_score, grade.auto_score) == (2, 3)


def test_a_record_whose_notebook_is_gone_too_is_named_until_it_is_handed_in_again(
    graded, root, capsys
):
    stored.write_record(root, NAME, "Bo", "{")
    shutil.rmtree(root / "submitted" / "Bo")
    for words in (["grade"], ["grade", "--regrade"]):
        assert course(root, *words) == 1
        assert (
            "lost       Bo: The result" in (said := capsys.readouterr().out)
            and "hand it to `course grade` again" in said
        )
    assert (
        course(root, "regrade", "90", assignment=()) == 1
        and "cannot     Bo: The result" in capsys.readouterr().out
    )
    assert course(root, "grade", graded / "in") == 0 and rows(root)["Bo"]["total"] == "3"


def test_a_note_on_one_of_several_hand_ins_that_is_broken_stops_nobody(
    graded, root, notebook_of, tmp_path
):
    path = tmp_path / "in" / MOODLE.format("Bo_71") / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(notebook_of("def double(x):\n    return 0"))
    course(root, "grade", tmp_path / "in")
    notes = sorted((root / "hand-ins").glob(f"*/notebooks/{NAME}/Bo.json"))
    assert len(notes) == 2
    notes[0].write_text(notes[0].read_text()[:40])
    assert course(root, "grade", tmp_path / "in", "--attempts", "best") == 0
    assert rows(root)["Bo"]["total"] == "3" and rows(root)["Bo"]["lms_id"] == "71"


def lost_gradebook(root):
    """As when gradebook.db is deleted, or was not among what was restored; points by hand and
    comments were in it.
    """
    with open_gradebook(course_config(root)) as gradebook:
        gradebook.find_grade("double-check", NAME, NAME, "Ada").manual_score = 2
        gradebook.db.commit()
    (root / "gradebook.db").unlink()


@pytest.mark.parametrize(
    "words", [("export", "moodle", "--so-far"), ("report",), ("feedback", "folders")]
)
def test_without_the_gradebook_nothing_is_said_of_points_until_somebody_decides(
    root, words, capsys
):
    lost_gradebook(root)
    for _ in range(
        2
    ):  # the first one must not make an empty one that the second takes for the class's
        assert course(root, *words) == 2
        said = capsys.readouterr().err
        assert (
            f"{root}/gradebook.db" in said
            and "given by hand" in said
            and "Bring a copy of it back" in said
            and "`course grade --assignment 90`" in said
        ), said
    with open_gradebook(course_config(root)):
        pass  # as `nbgrader db` or formgrader leaves an empty one
    assert course(root, *words) == 2


def test_a_gradebook_that_is_made_anew_says_so_on_the_screen_and_in_the_report(
    graded, root, capsys
):
    lost_gradebook(root)
    assert course(root, "grade", graded / "in") == 1
    said = capsys.readouterr().out
    sentence = (
        "gradebook.db was not there and was made anew from 3 records; points and comments given by"
        " hand, due dates and extensions are not in it"
    )
    assert sentence in said and "before you grade" in said
    assert sentence in (root / "report" / f"{NAME}.html").read_text()
    assert course(root, "export", "moodle") == 0
    assert course(root, "grade", graded / "in") == 0 and "made anew" not in capsys.readouterr().out
    assert "made anew" not in (root / "report" / f"{NAME}.html").read_text()


def test_a_gradebook_restored_from_before_a_student_is_named_with_how_many_it_lacked(
    graded, root, capsys
):
    with open_gradebook(course_config(root)) as gradebook:
        gradebook.remove_student("Bo")
    assert course(root, "export", "moodle") == 0, (
        "a student who was taken out of the gradebook stops nobody's export"
    )
    assert course(root, "grade", graded / "in") == 1
    assert "had nothing of 1 of 3 students graded here" in capsys.readouterr().out


def test_a_first_run_that_was_killed_before_the_gradebook_held_anything_goes_on_without_a_word(
    graded, root, capsys
):
    (root / "gradebook.db").unlink()
    shutil.rmtree(root / "autograded")
    assert course(root, "grade", graded / "in") == 0
    assert "made anew" not in capsys.readouterr().out
