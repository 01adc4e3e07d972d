"""What platforms give becomes nbgrader's submitted/, the originals stay as they are, and grading
takes what was collected.
"""

import csv
import json
import os
import zipfile
from pathlib import Path

import pytest

from autograder.classroom.grade_class import journal
from autograder.classroom.gradebook.course import CONFIG_FILE, CONFIG_TEXT
from autograder.classroom.submissions.exchange import release_through_exchange
from autograder.grading.assignment import load_assignment
from course.cli import main

NAME = "90-stand-in"
MOODLE = {
    "Anna M\u00fcller_123456_assignsubmission_file_/work.ipynb": None,
    "O.. (x)_77_assignsubmission_file_/work.ipynb": None,
    "Cy_88_assignsubmission_file_/notes.txt": b"no notebook",
    "readme.txt": b"nobody's",
}


@pytest.fixture
def root(new_root, tmp_path):
    return new_root(tmp_path / "root")


def handed_in(folder: Path, notebook: bytes, files=MOODLE) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data or notebook)
    return folder


def contents(folder: Path) -> dict:
    return {
        path.relative_to(folder): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def course(root, *words):
    return main([*map(str, words), "--assignment", "90", "--course-root", str(root)])


@pytest.mark.parametrize("platform", ["folder", "zip", "canvas"])
def test_a_platforms_download_becomes_nbgraders_folders_and_stays_as_it_is(
    stand_in, notebook_of, root, tmp_path, platform, capsys
):
    given = handed_in(tmp_path / "in", notebook_of())
    if platform == "canvas":
        given = handed_in(
            tmp_path / "canvas",
            notebook_of(),
            {f"mulleranna_102_9002_{NAME}.ipynb": None, f"bo_LATE_103_9003_{NAME}-1.ipynb": None},
        )
    elif platform == "zip":
        with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
            for path in sorted(given.rglob("*")):
                archive.write(path, path.relative_to(given))
        given = tmp_path / "class.zip"
    before = contents(given) if given.is_dir() else given.read_bytes()
    code = course(root, "collect", given, "--json")
    said = json.loads(capsys.readouterr().out)
    if platform == "canvas":
        assert code == 0 and said["new"] == ["bo", "mulleranna"]
    else:
        assert code == 1 and said["new"] == ["Anna M\u00fcller", "Cy", "O.. =28x=29"]
        assert said["problems"]["Cy"].startswith("there is no notebook") and list(
            said["left_out"]
        ) == ["readme.txt"]
    for student in said["new"]:
        copy = root / "submitted" / student / NAME / f"{NAME}.ipynb"
        assert student == "Cy" or copy.read_bytes() == notebook_of()
    assert (contents(given) if given.is_dir() else given.read_bytes()) == before


def test_a_second_download_replaces_the_copy_and_says_who_handed_in_again(
    stand_in, notebook_of, root, tmp_path, capsys
):
    course(root, "collect", handed_in(tmp_path / "in", notebook_of()))
    again = tmp_path / "in" / "Anna M\u00fcller_123456_assignsubmission_file_" / "work.ipynb"
    again.write_bytes(notebook_of("def double(x):\n    return 2 * x"))
    capsys.readouterr()
    course(root, "collect", tmp_path / "in", "--json")
    said = json.loads(capsys.readouterr().out)
    assert (said["new"], said["changed"]) == ([], ["Anna M\u00fcller"])
    assert (
        root / "submitted" / "Anna M\u00fcller" / NAME / f"{NAME}.ipynb"
    ).read_bytes() == again.read_bytes()


def test_a_namesake_in_a_later_download_is_somebody_else_before_anything_is_graded(
    stand_in, notebook_of, root, tmp_path
):
    for number in (117, 118):
        given = handed_in(
            tmp_path / str(number),
            notebook_of(),
            {f"jonesmary_{number}_90{number}_{NAME}.ipynb": None},
        )
        assert course(root, "collect", given, "--json") == 0
    assert sorted(path.name for path in (root / "submitted").iterdir()) == [
        "jonesmary",
        "jonesmary_118",
    ]


def test_what_lies_in_submitted_and_is_no_copy_of_ours_is_left_and_named(
    stand_in, notebook_of, root, tmp_path, capsys
):
    theirs = root / "submitted" / "Anna M\u00fcller" / NAME / f"{NAME}.ipynb"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("an original")
    assert course(root, "collect", handed_in(tmp_path / "in", notebook_of())) == 1
    assert theirs.read_text() == "an original"
    assert "Anna M\u00fcller: " in capsys.readouterr().out


@pytest.mark.sandbox
def test_grading_takes_what_was_collected_with_names_numbers_and_what_was_wrong(
    stand_in, notebook_of, root, tmp_path, capsys
):
    assert course(root, "grade") == 2
    assert "nothing of 90-stand-in was collected" in capsys.readouterr().err
    course(root, "collect", handed_in(tmp_path / "in", notebook_of()))
    assert course(root, "grade") == 1
    verdicts = journal(root, stand_in)
    assert {one.student: (one.lms_id, one.readable) for one in verdicts.values()} == {
        "Anna M\u00fcller": ("123456", True),
        "O.. =28x=29": ("77", True),
        "Cy": ("88", False),
    }
    with (root / "report" / "grades.csv").open(newline="") as file:
        assert {row["name"]: row["total"] for row in csv.DictReader(file)} == {
            "Anna M\u00fcller": "3",
            "O.. (x)": "3",
            "Cy": "",
        }
    capsys.readouterr()
    course(root, "grade")
    assert "(3 unchanged)" in capsys.readouterr().out


@pytest.mark.sandbox
def test_what_was_left_out_when_it_was_collected_is_in_every_later_report_until_it_is_put_right(
    stand_in, notebook_of, root, tmp_path, capsys
):
    course(root, "collect", handed_in(tmp_path / "in", notebook_of()))
    theirs = root / "submitted" / "Bo" / NAME / f"{NAME}.ipynb"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(notebook_of())
    second = handed_in(
        tmp_path / "later",
        notebook_of("x = 1"),
        {"Bo_99_assignsubmission_file_/work.ipynb": None, f"{NAME}.ipynb": None},
    )
    course(root, "collect", second)
    for words in (["grade"], ["report"], ["grade"]):
        capsys.readouterr()
        assert course(root, *words) == (1 if words == ["grade"] else 0)
        said, page = (
            capsys.readouterr().out,
            (root / "report" / f"{NAME}.html")
            .read_text()
            .partition("<h2>Not graded</h2>")[2]
            .partition("<h2>")[0],
        )
        for entry in ("readme.txt", f"{NAME}.ipynb", "Bo_99_assignsubmission_file_"):
            assert entry in page and (f"not graded {entry}: " in said or words == ["report"]), (
                words,
                entry,
            )
    (second / f"{NAME}.ipynb").unlink()
    course(root, "collect", second)
    handed_in(tmp_path / "in", notebook_of(), {"Dee_5_assignsubmission_file_/work.ipynb": None})
    (tmp_path / "in" / "readme.txt").unlink()
    course(root, "collect", tmp_path / "in")
    capsys.readouterr()
    course(root, "report", "--json")
    left = json.loads(capsys.readouterr().out)["left_out"]
    assert (
        set(left) == {"Bo_99_assignsubmission_file_", "Dee"}
        and "was not judged yet; `course grade --assignment 90`" in left["Dee"]
    )


@pytest.mark.sandbox
def test_names_and_numbers_of_a_platform_stay_when_what_was_graded_is_graded_again_without_it(
    stand_in, notebook_of, root, tmp_path
):
    course(root, "grade", handed_in(tmp_path / "in", notebook_of()))
    course(root, "grade")
    assert {
        one.student: (one.lms_id, one.name, one.entry) for one in journal(root, stand_in).values()
    } == {
        "Anna M\u00fcller": (
            "123456",
            "Anna M\u00fcller",
            "Anna M\u00fcller_123456_assignsubmission_file_",
        ),
        "O.. =28x=29": ("77", "O.. (x)", "O.. (x)_77_assignsubmission_file_"),
        "Cy": ("88", "Cy", "Cy_88_assignsubmission_file_"),
    }


def test_notes_that_cannot_be_read_are_said_and_not_thrown_away(
    stand_in, notebook_of, root, tmp_path, capsys
):
    course(root, "collect", handed_in(tmp_path / "in", notebook_of()))
    path = root / "verdicts" / f"{NAME}.collected.json"
    path.write_text(path.read_text()[:90])
    assert course(root, "collect", tmp_path / "in") == 2
    assert f"{path} cannot be read" in capsys.readouterr().err and len(path.read_text()) == 90


@pytest.mark.sandbox
def test_nbgraders_exchange_brings_the_notebook_out_and_the_work_back(
    stand_in, notebook_of, root, tmp_path, capsys
):
    from nbgrader.apps.nbgraderapp import NbGraderApp

    exchange, home = tmp_path / "exchange", tmp_path / "student"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    (root / CONFIG_FILE).write_text(CONFIG_TEXT + f"c.Exchange.root = {str(exchange)!r}\n")
    assert (release_through_exchange(root, stand_in) / f"{NAME}.ipynb").is_file()
    home.mkdir()
    (home / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.Exchange.root = {str(exchange)!r}\nc.CourseDirectory.course_id ="
        f" 'word2serve'\nc.Exchange.cache = {str(tmp_path / 'cache')!r}\n"
    )
    for words in (["fetch_assignment", NAME], ["submit", NAME]):
        child = os.fork()
        if child == 0:
            try:
                os.chdir(home)
                NbGraderApp.launch_instance(words)
            except SystemExit as end:
                os._exit(end.code or 0)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, words
        notebook = home / NAME / f"{NAME}.ipynb"
        notebook.write_bytes(notebook_of())
    capsys.readouterr()
    assert course(root, "collect", "--exchange", "--json") == 0
    [student] = json.loads(capsys.readouterr().out)["students"]
    folder = root / "submitted" / student / NAME
    assert (folder / f"{NAME}.ipynb").read_bytes() == notebook_of() and (
        folder / "timestamp.txt"
    ).is_file()
    assert course(root, "grade") == 0
    verdict = journal(root, stand_in)[student]
    assert verdict.results[0]["earned"] == 3 and verdict.timestamp


def a_zip_with_a_link(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo(f"{NAME}.ipynb")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")


def too_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(201 * 2**20)


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("make", "name", "reason"),
    [
        (too_large, f"ada/{NAME}.ipynb", "at most 209,715,200 are read"),
        (a_zip_with_a_link, "ada.zip", "link"),
        (
            lambda path: path.symlink_to("/etc/passwd"),
            f"ada/{NAME}.ipynb",
            "Links are not followed",
        ),
    ],
)
@pytest.mark.parametrize("twice", [False, True])
def test_why_a_hand_in_cannot_be_read_is_said_the_same_from_collect_to_the_page(
    stand_in, notebook_of, root, tmp_path, make, name, reason, twice, capsys
):
    if twice:
        (tmp_path / "first" / "ada").mkdir(parents=True)
        (tmp_path / "first" / "ada" / f"{NAME}.ipynb").write_bytes(notebook_of())
        assert course(root, "collect", tmp_path / "first") == 0
    path = tmp_path / "in" / name
    path.parent.mkdir(parents=True)
    make(path)
    capsys.readouterr()
    assert course(root, "collect", tmp_path / "in") == 1
    said = capsys.readouterr().out
    assert "problem    ada: " in said and reason in said
    assert course(root, "grade") == 1
    with (root / "report" / "grades.csv").open(newline="") as file:
        [row] = csv.DictReader(file)
    assert reason in row["needs_human"] and "start as JSON" not in row["needs_human"]
    assert reason in (root / "feedback" / "ada" / NAME / f"{NAME}.html").read_text()


@pytest.mark.sandbox
def test_what_is_handed_in_beside_the_notebook_is_named_on_the_screen(
    stand_in, notebook_of, root, tmp_path, capsys
):
    for place, beside in enumerate(("bo_103_9000_essay.pdf", "bo_103_9900_essay.pdf")):
        given = handed_in(
            tmp_path / f"in-{place}",
            notebook_of(),
            {f"bo_103_9003_{NAME}-1.ipynb": None, beside: b"pdf"},
        )
        said = "note       bo: essay.pdf: only the notebook is graded; other files are left out"
        assert course(root, "collect", given) == 0 and said in capsys.readouterr().out
        assert course(root, "grade", given) == 0 and said in capsys.readouterr().out
        assert journal(root, load_assignment("90"))["bo"].entry == f"bo_103_9003_{NAME}-1.ipynb"


@pytest.mark.parametrize(
    "words",
    [
        ["collect", "in", "--course-root", "in/class"],
        ["grade", "in", "--course-root", "in/class"],
        ["grade", "in", "--report", "in/ada/report"],
        ["grade", "in", "--report", "in"],
    ],
)
def test_nothing_is_written_into_the_folder_of_the_submissions(
    stand_in, notebook_of, tmp_path, monkeypatch, words, capsys
):
    monkeypatch.chdir(tmp_path)
    handed_in(tmp_path / "in" / "ada", notebook_of(), {f"{NAME}.ipynb": None})
    before = sorted(tmp_path.rglob("*"))
    assert main([*words, "--assignment", "90"]) == 2
    assert (
        f"{words[2]} {words[3]} is in in, the folder of the submissions" in capsys.readouterr().err
    )
    assert sorted(tmp_path.rglob("*")) == before
