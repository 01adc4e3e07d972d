"""An instructor's weeks: released, handed in, graded, read by hand, regraded, reported and given
back, by the real commands.

Forty students and three assignments, each handed in another way: a Moodle zip, twice; a Canvas zip;
folders with times. The shorter form, which runs each time, is one assignment and twelve students in
folders. Among them are who hands in late, with an extension, twice, nothing of their own, something
of another week, a notebook that kills, one with a cell twice; two of one name and one with an
underscore; and something of nobody's. What is compared is what was meant, from the first answer to
the last export. One record of each week is cut off before the reports are written, and made again
by `course regrade`.
"""

import csv
import io
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from autograder.authoring.catalogue import ROOT
from autograder.authoring.solution_sources import has_source, reference_sources, with_function
from autograder.checks.mistakes.registry import mistakes_of
from autograder.classroom.gradebook.course import (
    CONFIG_FILE,
    CONFIG_TEXT,
    course_config,
    open_gradebook,
)
from autograder.common.safe_names import safe_name
from autograder.grading.assignment import load_assignment
from tests.autograder.grading import stored

pytestmark = pytest.mark.sandbox
QUICK = {
    "03": ("bigram_counts", "judge"),
    "08": ("next_token_loss", "gpt_sizes"),
    "16": ("weigh_models", "step_bytes"),
}
NAMES = (
    "Zo\u00eb M\u00fcller",
    "Anna Schmidt",
    "Anna Schmidt",
    "Lea Late",
    "Ed Extended",
    "Emma Empty",
    "Hal Hostile",
    "Otto Other",
    "Tom Twice",
    "Mia Mistaken",
    "Dora Doubled",
    "Una Under_Score",
)
STRAY = "notes.txt"
HOSTILE = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(0)"
ANSWERED, GIVEN = (
    range(5),
    1.0,
)  # who wrote the short answer, and the points that a person gives for it
POLICY = (
    "c.AssignLatePenalties.plugin_class ="
    ' "autograder.classroom.late.ShareEachDay"\nc.ShareEachDay.share = 0.25\n'
)


@dataclass
class Week:
    """One assignment: how it is handed in, and by student's number the key in the gradebook, the
    notebooks, and the points meant.
    """

    number: str
    form: str
    keys: dict[int, str] = field(default_factory=dict)
    notebooks: dict[int, list[bytes]] = field(default_factory=dict)
    meant: dict[int, float | None] = field(default_factory=dict)

    def __post_init__(self):
        self.assignment = load_assignment(self.number)
        self.name = self.assignment.name
        self.manual = next(
            id.split(".")[1]
            for id, one in self.assignment.exercises.items()
            if one.kind == "manual"
        )


class Class:
    """A folder in which `course` is run as a person runs it."""

    def __init__(self, folder: Path, count: int, weeks: list[Week]):
        self.folder, self.root, self.count, self.weeks = folder, folder / "class", count, weeks

    def course(self, *words, code=0):
        ran = subprocess.run(
            [sys.executable, "-m", "course.cli", *map(str, words)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        )
        assert ran.returncode == code, (
            f"course {' '.join(map(str, words))}:"
            f" {ran.returncode}\n{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
        )
        return ran.stdout

    def table(self, path):
        with (self.root / "report" / path).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def name_of(student):
    return NAMES[student] if student < len(NAMES) else f"Student {student}"


def released(room, week):
    """The notebook that the release's archive holds, which is all that students have."""
    room.course("release-assignment", week.number, "--out", room.folder / f"{week.number}.zip")
    with zipfile.ZipFile(room.folder / f"{week.number}.zip") as archive:
        files = archive.namelist()
        assert not [
            name
            for name in files
            if "solutions" in name or "alternatives" in name or "autograder/grading" in name
        ]
        return json.loads(archive.read(f"word2serve-{week.name}/{week.name}.ipynb"))


def written(notebook, cells, before=("", "")):
    """A notebook with some cells filled in, by grade id; and a copy of one of them, with another
    source, before it.
    """
    made = json.loads(json.dumps(notebook))
    for cell in made["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in cells and cell["metadata"]["nbgrader"]["solution"]:
            cell["source"] = cells[name]
            if name == before[0]:
                twin = {**cell, "id": "a-first-try", "source": before[1]}
    if before[0]:
        made["cells"].insert(
            made["cells"].index(
                next(
                    cell
                    for cell in made["cells"]
                    if cell["metadata"].get("nbgrader", {}).get("grade_id") == before[0]
                )
            ),
            twin,
        )
    return json.dumps(made).encode()


def work(room, week, others):
    """Everybody's notebooks for a week and the points that are meant for them."""
    notebook, right = released(room, week), reference_sources(week.assignment)
    first, second = QUICK[week.number]
    points = {
        name: week.assignment.exercises[f"{week.number}.{name}"].points for name in (first, second)
    }
    mistake = next(
        one
        for one in mistakes_of(f"{week.number}.{second}")
        if one.loses and has_source(one.function)
    )
    wrong = with_function(right[second], mistake.function, mistake.replaces)
    for student in range(room.count):
        kind = NAMES[student].split()[1] if student < len(NAMES) else ""
        cells = (
            {first: right[first], second: right[second]}
            if student % 2 == 0 or student < len(NAMES)
            else {first: right[first]}
        )
        meant = sum(points[name] for name in cells)
        if kind == "Empty":
            cells, meant = {}, 0
        elif kind == "Hostile":
            cells, meant = cells | {first: HOSTILE}, points[second]
        elif kind == "Mistaken":
            cells, meant = cells | {second: wrong}, points[first] + points[second] - mistake.loses
        if student in ANSWERED:
            cells, meant = (
                cells | {week.manual: "Because the average of the two rows lies between them."},
                meant + GIVEN,
            )
        first_try = (
            (second, f"def {second}(*given):\n    return 0.0") if kind == "Doubled" else ("", "")
        )
        week.notebooks[student] = [
            written(others if kind == "Other" else notebook, cells, first_try)
        ]
        week.meant[student] = None if kind == "Other" else meant
        if kind == "Twice" and week.form != "canvas":  # the second hand-in is worse
            week.notebooks[student].append(written(notebook, {first: right[first]}))
        if kind == "Late" and week.form == "folders":
            week.meant[student] = 0.75 * meant


def in_moodle(student):
    return name_of(student).replace("_", " ")


def moodle(room, week):
    """Two downloads, the second a week later: of who handed in again it has the newer notebook.

    Collected one after the other.
    """
    twins = [
        one
        for one in range(room.count)
        if [name_of(other) for other in range(room.count)].count(name_of(one)) > 1
    ]
    for student in range(room.count):
        week.keys[student] = safe_name(
            in_moodle(student) + (f"_{1000 + student}" if student in twins else "")
        )
    for turn in (0, 1):
        path = room.folder / f"moodle-{turn}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for student, notebooks in week.notebooks.items():
                archive.writestr(
                    (
                        f"{in_moodle(student)}_{1000 + student}_assignsubmission_file_/"
                        f"{week.name}.ipynb"
                    ),
                    notebooks[min(turn, len(notebooks) - 1)],
                )
            archive.writestr(STRAY, "nobody's")
        assert f"left out   {STRAY}: " in room.course(
            "collect", path, "--assignment", week.number, code=1
        )
    return []


def canvas(room, week):
    """One zip, with names as Canvas writes them."""
    path = room.folder / "canvas.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for student, [notebook] in week.notebooks.items():
            squeezed = "".join(
                letter
                for letter in "".join(reversed(name_of(student).split())).lower()
                if letter.isalnum() or letter == "_"
            )
            late = "_LATE" if name_of(student) == "Lea Late" else ""
            archive.writestr(
                f"{squeezed}{late}_{500 + student}_{9000 + student}_{week.name}.ipynb", notebook
            )
            week.keys[student] = squeezed + (
                f"_{500 + student}" if name_of(student) == "Anna Schmidt" else ""
            )
        archive.writestr(STRAY, "nobody's")
    return [path]


def folders(room, week):
    """STUDENT/ASSIGNMENT/ with a time in each; who handed in twice has two folders named for their
    times.
    """
    where = room.folder / "folders"
    for student, notebooks in week.notebooks.items():
        folder = where / (name_of(student) + (" (2)" if student == 2 else "")) / week.name
        week.keys[student] = safe_name(folder.parent.name)
        time = (
            "2026-03-02 12-00"
            if name_of(student) in ("Lea Late", "Ed Extended")
            else "2026-03-01 12-00"
        )
        for turn, notebook in enumerate(notebooks):
            path = (
                folder
                / (f"2026-03-01 1{turn}-00" if len(notebooks) > 1 else "")
                / f"{week.name}.ipynb"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(notebook)
        if len(notebooks) == 1:
            (folder / "timestamp.txt").write_text(time.replace("-00", ":00") + ":00 UTC")
    (where / STRAY).write_text("nobody's")
    room.course("due", week.number, "--date", "2026-03-02 00:00", "--extend", f"{week.keys[4]}=2d")
    return [where]


FORMS = {"moodle": moodle, "canvas": canvas, "folders": folders}


def by_hand(room, week):
    """What formgrader writes: points for each short answer that somebody wrote."""
    with open_gradebook(course_config(room.root)) as gradebook:
        for student in ANSWERED:
            grade = gradebook.find_grade(week.manual, week.name, week.name, week.keys[student])
            assert grade.needs_manual_grade and grade.manual_score is None
            grade.manual_score, grade.needs_manual_grade = GIVEN, False
        gradebook.db.commit()


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((12, (("03", "folders"),)), id="twelve students in folders"),
        pytest.param(
            (40, (("03", "moodle"), ("08", "canvas"), ("16", "folders"))),
            id="forty students on three platforms",
            marks=pytest.mark.long,
        ),
    ],
)
def room(request, tmp_path_factory):
    """A class from the release of its first assignment to the reports after the last grading."""
    count, forms = request.param
    room = Class(
        tmp_path_factory.mktemp("week"), count, [Week(number, form) for number, form in forms]
    )
    room.root.mkdir()
    (room.root / CONFIG_FILE).write_text(CONFIG_TEXT + POLICY)
    others = json.loads(
        (ROOT / "exercises" / "01-static-embeddings" / "01-static-embeddings.ipynb").read_text()
    )
    for week in room.weeks:
        work(room, week, others)
        where = FORMS[week.form](room, week)
        # 1: one student's notebook is of another assignment and needs a person
        room.course(
            "grade",
            *where,
            "--assignment",
            week.number,
            "--jobs",
            "2",
            "--attempts",
            "best",
            code=1,
        )
        by_hand(room, week)
        record = stored.records(room.root, week.name)[week.keys[0]]
        stored.write_record(room.root, week.name, week.keys[0], record[:1000])
        said = room.course("regrade", week.number, "--apply")
        [change] = [line for line in said.splitlines() if line.startswith("changes ")]
        assert "affected   1 verdicts" in said and "the record could not be read" in change
        assert name_of(0) in change or week.keys[0] in change
    room.course("report")
    return room


def test_everybody_has_the_points_that_were_meant(room):
    for week in room.weeks:
        found = {
            row["student"].removeprefix("'"): row["total"] for row in room.table(f"{week.name}.csv")
        }
        assert found == {
            key: "" if week.meant[student] is None else f"{week.meant[student]:g}"
            for student, key in week.keys.items()
        }, week.name


def test_the_gradebook_says_the_same_over_all_assignments(room):
    said = json.loads(room.course("report", "--json"))["assignments"]
    assert [one["assignment"] for one in said] == [week.name for week in room.weeks]
    standing = {one["student"]: one["points"] for one in said[0]["progress"]["students"]}
    for week in room.weeks:
        assert {key: standing[key][week.name] for key in week.keys.values()} == {
            key: pytest.approx(week.meant[student] or 0) for student, key in week.keys.items()
        }


def test_who_needs_a_person_is_named_and_nobody_else(room):
    for week in room.weeks:
        rows = {
            row["student"].removeprefix("'"): row["needs_human"]
            for row in room.table(f"{week.name}.csv")
        }
        hostile = week.keys[NAMES.index("Hal Hostile")]  # his cell ends the process
        assert {key for key, reason in rows.items() if reason} == {
            week.keys[NAMES.index("Otto Other")],
            hostile,
        }
        assert "its cell stopped with an error" in rows[hostile]
        assert "does not look like this assignment" in rows[week.keys[NAMES.index("Otto Other")]]


def test_what_was_left_out_and_which_cell_counted_is_named_in_report_and_page(room):
    for week in room.weeks:
        page, doubled = (
            (room.root / "report" / f"{week.name}.html").read_text(),
            week.keys[NAMES.index("Dora Doubled")],
        )
        assert STRAY in page.partition("<h2>Not graded</h2>")[2].partition("<h2>")[0]
        said = "the last one counts, cell"
        assert said in page.partition("<h2>Left out of notebooks</h2>")[2].partition("<h2>")[0]
        assert (
            said in (room.root / "feedback" / doubled / week.name / f"{week.name}.html").read_text()
        )


def test_the_better_of_two_hand_ins_counts_and_lateness_stands_beside_the_points(room):
    for week in room.weeks:
        verdict = json.loads(stored.records(room.root, week.name)[week.keys[8]])
        assert [row["counts"] for row in verdict["hand_ins"]] == (
            [] if week.form == "canvas" else [True, False]
        )
        late = {
            row["student"].removeprefix("'"): row["late"]
            for row in room.table(f"{week.name}.csv")
            if row["late"]
        }
        assert (
            late
            == {"moodle": {}, "canvas": {week.keys[3]: "yes"}, "folders": {week.keys[3]: "12 h"}}[
                week.form
            ]
        )


def test_each_platform_reads_back_the_points(room):
    for week in room.weeks:
        waits = NAMES.index("Hal Hostile")  # his cell ends the process: a person decides
        counted = {
            student: meant
            for student, meant in week.meant.items()
            if meant is not None and student != waits
        }
        room.course(
            "export", "gradescope", "--assignment", week.number, code=1
        )  # 1: somebody waits for a person
        scores = {
            path.parent.name: json.loads(path.read_text())["score"]
            for path in (room.root / "report").glob(f"gradescope-{week.name}/*/results.json")
        }
        assert scores == {
            week.keys[student]: pytest.approx(meant) for student, meant in counted.items()
        }
        if week.form == "moodle":
            room.course("export", "--to", "moodle", "--assignment", week.number, code=1)
            assert {
                row["Identifier"]: float(row["Grade"])
                for row in room.table(f"moodle-{week.name}.csv")
            } == {f"Participant {1000 + student}": meant for student, meant in counted.items()}
        if week.form == "canvas":
            room.course(
                "export", "canvas", "--assignment", week.number, "--column", "Week (7)", code=1
            )
            rows = room.table(f"canvas-{week.name}.csv")
            assert {row["ID"]: float(row["Week (7)"]) for row in rows if row["ID"]} == {
                str(500 + student): meant for student, meant in counted.items()
            }


def test_everybodys_page_is_in_the_zip_that_goes_back(room):
    for week in room.weeks:
        path = room.root / "report" / f"feedback-{week.form}-{week.name}.zip"
        room.course("release-feedback", "--lms", week.form, "--assignment", week.number)
        with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
            pages = {name: archive.read(name).decode() for name in archive.namelist()}
        assert len(pages) == room.count and all("<script" not in page for page in pages.values())
        mistaken = next(
            page
            for name, page in pages.items()
            if f"{week.meant[9]:g}</b>" in page and "Mia" in page or "mistakenmia" in name
        )
        assert "Look here first" in mistaken
        if week.form != "canvas":
            assert sum("You handed in 2 times" in page for page in pages.values()) == 1


def test_each_assignment_has_its_page_and_the_index_leads_to_it(room):
    index = (room.root / "report" / "index.html").read_text()
    for week in room.weeks:
        assert (
            f'href="{week.name}.html"' in index
            and "Submissions to look at" in (room.root / "report" / f"{week.name}.html").read_text()
        )


def test_nobody_of_a_class_that_worked_alone_is_called_a_copy_of_somebody(room):
    """All have the same few right answers here, which is what many share: it makes no pair."""
    for week in room.weeks:
        assert json.loads(room.course("similar", week.number, "--json"))["pairs"] == []
