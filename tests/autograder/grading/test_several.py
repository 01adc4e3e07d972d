"""Several assignments in one command: which ones, how far it is, and Ctrl-C, which loses
nothing.
"""

import csv
import json
import os
import signal
import sys

import pytest

from autograder.authoring.student_notebook import Notebook
from autograder.classroom.chosen_assignments import wanted
from autograder.classroom.grade_class import journal
from autograder.classroom.gradebook.batch_writer import open_class_book
from autograder.classroom.gradebook.course import course_config
from autograder.classroom.reports.course_overview import progress
from autograder.common.errors import CourseError
from autograder.grading.assignment import load_assignment
from autograder.grading.grade import Verdict
from autograder.grading.progress_lines import Telling, spoken
from autograder.grading.results_store import save_verdict
from course.cli import main
from tests.autograder.grading import stored

STAND_IN, FIRST = "90-stand-in", "01-static-embeddings"


def put(path, data=b""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_all_are_those_that_something_is_named_after(stand_in, notebook_of, tmp_path):
    put(tmp_path / "in" / "ada" / STAND_IN / f"{STAND_IN}.ipynb", notebook_of())
    put(tmp_path / "in" / "bo" / f"{FIRST}.ipynb", b"{}")
    put(tmp_path / "in" / "cy" / "mine.ipynb", b"{}")
    assert list(wanted("all", tmp_path / "in", tmp_path)) == [FIRST, STAND_IN]
    put(tmp_path / "submitted" / "ada" / STAND_IN / f"{STAND_IN}.ipynb")
    assert list(wanted("all", None, tmp_path)) == [STAND_IN]
    assert list(wanted("90, 1,90", None, tmp_path)) == [STAND_IN, FIRST]
    with pytest.raises(CourseError, match="nothing here is named after an assignment"):
        wanted("all", None, tmp_path / "in")
    with pytest.raises(CourseError, match="no assignment '77'"):
        wanted("77", None, tmp_path)


def test_what_is_to_come_is_who_has_no_record_yet_or_everybody_in_a_regrade(stand_in, tmp_path):
    for student in ("ada", "bo", "cy"):
        put(tmp_path / "in" / student / STAND_IN / f"{STAND_IN}.ipynb", b"{}")
        put(tmp_path / "submitted" / student / STAND_IN / f"{STAND_IN}.ipynb")
    put(tmp_path / "in" / "ada" / FIRST / f"{FIRST}.ipynb", b"{}")
    save_verdict(tmp_path, Verdict("bo", STAND_IN, "", ""))
    for names in ("all", "90,1"):
        assert wanted(names, tmp_path / "in", tmp_path) == {FIRST: 1, STAND_IN: 2}
        assert wanted(names, tmp_path / "in", tmp_path, regrade=True) == {FIRST: 1, STAND_IN: 3}
    assert wanted("all", None, tmp_path) == {STAND_IN: 2}


@pytest.mark.sandbox
def test_one_command_grades_all_that_was_handed_in_and_says_which_it_is_at(
    stand_in, notebook_of, new_root, tmp_path, capsys
):
    root = new_root(tmp_path / "course")
    put(tmp_path / "in" / "ada" / STAND_IN / f"{STAND_IN}.ipynb", notebook_of())
    put(tmp_path / "in" / "ada" / FIRST / f"{FIRST}.ipynb", Notebook(load_assignment("01")).data())
    code = main(["grade", str(tmp_path / "in"), "--assignment", "all", "--course-root", str(root)])
    said = capsys.readouterr().out
    assert code == 0 and "answer" not in said  # nobody wrote one
    assert f"1/2 {FIRST}     1 of 1" in said and f"2/2 {STAND_IN}     1 of 1" in said
    assert said.endswith(f"\nall        {root / 'report' / 'index.html'}\n")
    assert {
        name: journal(root, load_assignment(name))["ada"].results[0]["earned"]
        for name in ("01", "90")
    } == {"01": 0, "90": 3}


def test_the_time_that_is_left_follows_from_the_pace_of_this_run_without_its_start(capsys):
    now = [0.0]
    telling = Telling(clock=lambda: now[0])
    verdict = Verdict("ada", STAND_IN, "s", "c", results=[{"earned": 3.0}], seconds=20.0)
    now[0] = 50.0
    telling(
        81, 111, verdict
    )  # eighty are kept from an earlier run, and what came before this one took 30 s
    now[0] = 55.0
    telling(82, 111, verdict)  # by another worker: two in 25 s
    telling(111, 111, verdict)
    first, second, last = capsys.readouterr().out.splitlines()
    assert (
        first.split() == "81 of 111 ada 3 points 20.0 s about 10 min left".split()
        and "about" not in last
    )
    assert second.endswith("about 6 min left  ")
    assert [spoken(seconds) for seconds in (0.2, 89, 91, 5_399, 9_000)] == [
        "about 1 s",
        "about 89 s",
        "about 2 min",
        "about 1 h 30 min",
        "about 2 h 30 min",
    ]


def test_of_several_assignments_the_whole_is_told_too_with_those_that_follow_at_the_pace_of_all(
    capsys,
):
    now = [100.0]
    telling = Telling(clock=lambda: now[0])

    def told(done, total, seconds):
        now[0] += seconds
        telling(done, total, Verdict("ada", STAND_IN, "s", "c", results=[], seconds=seconds))
        return capsys.readouterr().out.split(" s  ", 1)[1].strip()

    telling.begin((FIRST, 1, 3), later=100)
    now[0] += 7.0  # workers start
    assert told(1, 2, 10.0) == "about 10 s left, all in about 17 min"
    assert told(2, 2, 10.0) == "all in about 17 min"
    telling.begin(("02-tokenization", 2, 3), later=0)  # nobody's work of the last is new
    now[0] += 7.0
    assert told(99, 100, 40.0) == "about 40 s left"
    telling.begin(("02-tokenization", 2, 3), later=3)
    assert (
        told(7, 10, 30.0) == "about 2 min left, all in about 3 min"
    )  # 30 s for each of 3, and (10 + 10 + 40 + 30) / 4 for each of 3 more
    telling.begin(("02-tokenization", 2, 3), later=1)
    assert told(8, 10, 600.0) == "about 20 min left, all in about 22 min"  # never less than its own


@pytest.mark.parametrize("columns", [20, 40, 80, 130])
def test_a_terminal_gets_a_line_that_it_can_write_over_with_how_far_it_is_before_all_else(
    columns, monkeypatch, capsys
):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    telling = Telling()
    telling.begin(("10-adapting-and-prompting", 10, 16), later=1800)
    for done, student in enumerate(("a-name-of-more-than-twenty-eight-letters", "bo"), 1):
        telling(
            done, 300, Verdict(student, STAND_IN, "s", "c", results=[{"earned": 1.5}], seconds=6.1)
        )
    written = capsys.readouterr().out
    assert "\n" not in written
    _, first, second = written.split("\r")
    assert len(first) == len(second) == columns - 1 and second.startswith("10/16     2 of 300")
    assert ("about" in second, "bo" in second.split(), "1.5 points" in second) == (
        columns > 60,
        columns > 90,
        columns > 90,
    )


def test_who_needs_a_person_is_named_with_the_reason_at_once(capsys):
    Telling()(
        1,
        2,
        Verdict(
            "ada",
            STAND_IN,
            "s",
            "c",
            human=[
                {
                    "exercise": None,
                    "reason": "The submission could not be graded: the file is empty.",
                }
            ],
        ),
    )
    line, reason = capsys.readouterr().out.splitlines()
    assert (
        "ada" in line and reason.strip() == "The submission could not be graded: the file is empty."
    )


@pytest.mark.sandbox
@pytest.mark.parametrize("after", [1, 3])
def test_ctrl_c_ends_with_130_keeps_what_was_graded_and_the_same_command_goes_on(
    stand_in, notebook_of, new_root, tmp_path, after
):
    """A real SIGINT to the whole group of processes, as a terminal sends it."""
    root, students = new_root(tmp_path / "course"), [f"student-{number}" for number in range(8)]
    for student in students:
        put(tmp_path / "in" / student / STAND_IN / f"{STAND_IN}.ipynb", notebook_of())
    command = [
        "grade",
        str(tmp_path / "in"),
        "--assignment",
        "90",
        "--course-root",
        str(root),
        "--jobs",
        "2",
    ]
    read, write = os.pipe()
    errors = tmp_path / "errors"
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.setpgid(0, 0)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.stdout, sys.stderr = (
                os.fdopen(write, "w", buffering=1),
                errors.open("w", buffering=1),
            )
            os.dup2(sys.stderr.fileno(), 2)
            code = main(command)
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read) as said:
        for _ in range(after):
            assert " of 8 " in said.readline()
        os.killpg(child, signal.SIGINT)
        said.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    assert errors.read_text().splitlines()[-1] == "course grade: interrupted"
    kept = journal(root, stand_in)
    assert after <= len(kept) < 8
    times = stored.times(root, STAND_IN)
    assert main(command) == 0
    now = stored.times(root, STAND_IN)
    assert {student: now[student] for student in times} == times  # nobody was judged twice
    with open_class_book(course_config(root), root, stand_in) as book:
        held = book.held()
        assert all(book.is_stored(verdict, held) for verdict in journal(root, stand_in).values())
    assert sorted(held) == students


def test_help_names_the_code_of_an_interrupted_grading(capsys):
    with pytest.raises(SystemExit):
        main(["grade", "--help"])
    shown = " ".join(capsys.readouterr().out.split())  # argparse wraps lines
    assert "130 interrupted (Ctrl-C): what was graded by then is kept" in shown


@pytest.mark.parametrize("terminal", [True, False])
def test_an_interrupt_is_told_below_the_line_that_a_terminal_writes_over(
    terminal, monkeypatch, capsys
):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)

    def interrupted(args):
        print("   3 of 300", end="")
        raise KeyboardInterrupt

    monkeypatch.setattr("course.commands.grade.run", interrupted)
    assert main(["grade"]) == 130
    said = capsys.readouterr()
    assert (said.out, said.err) == ("   3 of 300" + "\n" * terminal, "course grade: interrupted\n")


@pytest.mark.parametrize("names", [",", " , "])
def test_no_assignment_at_all_is_refused_before_anything_is_made(
    stand_in, tmp_path, monkeypatch, names, capsys
):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "in" / "ada" / f"{STAND_IN}.ipynb", b"{}")
    assert main(["grade", "in", "--assignment", names, "--attempts", "best"]) == 2
    assert "names no assignment" in capsys.readouterr().err and [
        path.name for path in tmp_path.iterdir()
    ] == ["in"]


@pytest.mark.sandbox
def test_written_answers_that_wait_are_counted_in_a_line_and_a_cell_that_cannot_be_read_is_no_zero(
    stand_in, new_root, tmp_path, capsys
):
    root = new_root(tmp_path / "course")
    first = load_assignment("01")
    for student, source in (("ada", "One row."), ("bo", "Two rows."), ("cy", [3, None])):
        made = json.loads(Notebook(first).data())
        [cell] = [
            cell
            for cell in made["cells"]
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == "bank"
        ]
        cell["source"] = source
        put(
            tmp_path / ("later" if student == "cy" else "in") / student / f"{FIRST}.ipynb",
            json.dumps(made).encode(),
        )
    assert main(["grade", str(tmp_path / "in"), "--course-root", str(root)]) == 0
    assert (
        "manual     2 submissions need manual grading, in formgrader, with 2 written answers to"
        " read" in capsys.readouterr().out
    )
    assert main(["grade", str(tmp_path / "later"), "--course-root", str(root)]) == 1
    said = capsys.readouterr().out
    assert (
        "manual     3 submissions need manual grading, in formgrader, with 2 written answers to"
        " read" in said
    )
    assert "look at    1 submission, for another reason than an unread answer" in said
    assert "<b>3</b> need manual grading" in (root / "report" / f"{FIRST}.html").read_text()
    assert [one["undecided"] for one in progress(course_config(root)).columns()] == [
        3
    ]  # one number everywhere
    with (root / "report" / "grades.csv").open(newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["student"] == "cy")
    assert (
        row["01.bank"] == ""
        and row["needs_human"]
        == "01.bank: The cell of this exercise cannot be read (its source is no text); no points"
        " were decided."
    )
    page = (root / "feedback" / "cy" / FIRST / f"{FIRST}.html").read_text()
    assert "its source is no text" in page and "What was left out" in page
    assert "its source is no text" in (root / "report" / f"{FIRST}.html").read_text()


@pytest.mark.sandbox
def test_who_handed_in_other_assignments_only_is_named_in_one_line_and_is_no_reason_for_exit_code_1(
    stand_in, notebook_of, new_root, tmp_path, capsys
):
    root = new_root(tmp_path / "course")
    put(tmp_path / "in" / "ada" / STAND_IN / f"{STAND_IN}.ipynb", notebook_of())
    for student in ("bo", "cy"):
        put(tmp_path / "in" / student / FIRST / f"{FIRST}.ipynb", b"{}")
    command = ["grade", str(tmp_path / "in"), "--assignment", "90", "--course-root", str(root)]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert (
        f"missing    2 folders have nothing of {STAND_IN}, and other assignments: bo, cy\n" in said
        and "not graded" not in said
    )
    page = (root / "report" / f"{STAND_IN}.html").read_text()
    assert (
        "Nothing of this assignment was in 2 of the folders, which have other assignments: bo, cy."
        in page
        and "nobody's submission" not in page
    )
    for student in ("cy", "dee"):  # beside them, what may be of this one
        put(tmp_path / "in" / student / "90-stand-inn" / "mine.ipynb", notebook_of())
    assert main(command) == 1
    said = capsys.readouterr().out
    assert (
        f"not graded cy, dee: a folder without {STAND_IN}/" in said
        and f"missing    1 folder has nothing of {STAND_IN}, and other assignments: bo\n" in said
    )
