"""What a class holds is its owner's alone, whatever the umask says."""

import os
import stat

import pytest

from autograder.classroom.grade_class import grade_class
from course.cli import main

NAME = "90-stand-in"


@pytest.fixture
def usual_umask():
    """022, as most machines have it."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def seen_by_others(folder):
    """What others on the machine can come to, through folders that let them."""
    found = []
    for path in folder.iterdir():
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & stat.S_IRWXO:
            found += [path.relative_to(folder).as_posix()]
    return found


@pytest.mark.sandbox
def test_gradebook_records_feedback_and_grades_can_be_read_by_their_owner_only(
    usual_umask, stand_in, notebook_of, tmp_path, capsys
):
    root = tmp_path / "root"
    path = tmp_path / "in" / "ada" / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(notebook_of())
    grade_class(tmp_path / "in", "90", root, tmp_path / "elsewhere")
    assert not {
        "gradebook.db",
        "results.sqlite",
        "verdicts",
        "feedback",
        "submitted",
        "autograded",
        "hand-ins",
    } & {*seen_by_others(root)}
    assert (root / "gradebook.db").stat().st_mode & 0o777 == 0o600 and (
        root / "verdicts"
    ).stat().st_mode & 0o777 == 0o700
    assert (
        seen_by_others(tmp_path / "elsewhere") == []
    )  # grades.csv and the report, wherever they lie
    page = root / "feedback" / "ada" / NAME / f"{NAME}.html"
    assert page.stat().st_mode & stat.S_IROTH  # nbgrader copies it to students with its rights

    for name in ("gradebook.db", "results.sqlite", "verdicts"):  # as an older version left them
        (root / name).chmod(0o755)
    (root / "feedback").chmod(0o770)  # shared with a group on purpose
    assert main(["report", "--course-root", str(root)]) == 0
    assert (
        "verdicts, gradebook.db, results.sqlite could be read by others on this machine, and are"
        " closed to them now" in capsys.readouterr().err
    )
    assert {
        name: (root / name).stat().st_mode & 0o777
        for name in ("gradebook.db", "results.sqlite", "verdicts", "feedback")
    } == {"gradebook.db": 0o600, "results.sqlite": 0o600, "verdicts": 0o700, "feedback": 0o770}
    assert (
        main(["report", "--course-root", str(root)]) == 0
        and "private" not in capsys.readouterr().err
    )
