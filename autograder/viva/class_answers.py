"""What a class answered: a table to type it into, points in the gradebook, and who is at chance.

`course viva NN --class` writes `answers.csv`, a row for each student, and `key.json`. The
letters of a student's page go into the column `answers`, in order, `-` for none: `abd-c`.
"""

import csv
import hashlib
import io
import json
from dataclasses import dataclass
from math import comb
from pathlib import Path

from traitlets.config import Config

from autograder.classroom.gradebook.course import open_gradebook
from autograder.classroom.gradebook.grades import spreadsheet_text
from autograder.common.atomic_files import OWNER_ONLY, write_whole
from autograder.common.errors import CourseError
from autograder.grading.grade import Verdict
from autograder.viva.ask import Asked
from autograder.viva.kinds.question import OPTIONS

ANSWERS, KEY = "answers.csv", "key.json"
COLUMNS = ("student", "name", "sheet", "answers")
CELL = "questions"  # of the gradebook's notebook
POINTS = 10.0  # for all questions of a page right, however many it has
LETTERS = "abcd"
NONE = "-"
THRESHOLD = 0.05  # of the exact binomial test, one-sided
FEWEST = 6  # questions below which nobody is called at chance level
REASON_TO_TALK = (
    "This is a reason to talk, never a verdict: people forget, and some read code badly under time."
)


@dataclass(frozen=True)
class Score:
    """How many of the `asked` questions a student answered right, and the chance of that."""

    student: str
    name: str
    right: int
    asked: int

    @property
    def chance(self) -> float:
        """The probability of at least as many right answers by choosing blindly."""
        return at_least(self.right, self.asked)

    @property
    def at_chance(self) -> bool:
        """Whether blind choice is not rejected, with enough questions to reject it."""
        return self.asked >= FEWEST and self.chance > THRESHOLD


def at_least(right: int, asked: int) -> float:
    """P(X >= right) for X binomial with `asked` trials and probability 1/4."""
    p = 1 / OPTIONS
    return sum(
        comb(asked, one) * p**one * (1 - p) ** (asked - one) for one in range(right, asked + 1)
    )


def write_table(folder: Path, made: list[tuple[Verdict, list[Asked]]]) -> Path:
    """Write the key and the table to type into; letters that were typed already are kept."""
    path = folder / ANSWERS
    typed = {(one["student"], one["sheet"]): one["answers"] for one in _rows(path)}
    rows, key = [], {}
    for verdict, asked in made:
        letters = "".join(LETTERS[one.answer] for each in asked for one in each.questions)
        if not letters:
            continue
        sheet = sheet_of(asked)
        key[verdict.student] = {"name": verdict.label, "sheet": sheet, "right": letters}
        answers = typed.pop((verdict.student, sheet), "")
        rows.append([verdict.student, spreadsheet_text(verdict.label), sheet, answers])
    if lost := sorted(student for (student, _), answers in typed.items() if answers):
        raise CourseError(
            f"{path}: the answers of {', '.join(lost)} belong to other questions than now (the"
            " code or its points changed). Record them first, or move the file away"
        )
    text = io.StringIO(newline="")
    csv.writer(text).writerows([COLUMNS, *rows])
    write_whole(folder / KEY, json.dumps(key, indent=1), OWNER_ONLY)
    write_whole(path, text.getvalue(), OWNER_ONLY)
    return path


def sheet_of(asked: list[Asked]) -> str:
    """A short name of a page's questions, which is printed on it."""
    text = json.dumps([one.to_json() for one in asked], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def scores(folder: Path, path: Path | None = None) -> list[Score]:
    """What was typed into the table, compared with the key. Rows without answers are left out.

    Raises CourseError with the row that cannot be read.
    """
    path = path or folder / ANSWERS
    for needed in (folder / KEY, path):
        if not needed.is_file():
            raise CourseError(f"{needed} is not there: `course viva NN --class` writes it")
    key = json.loads((folder / KEY).read_text(encoding="utf-8"))
    found = []
    for row in _rows(path):
        student, answers = row["student"], row["answers"].replace(" ", "").lower()
        if not answers:
            continue
        known = key.get(student)
        if known is None or row["sheet"] != known["sheet"]:
            raise CourseError(
                f"{path}: no page {row['sheet']!r} was made for student {student!r}; copy the"
                " columns `student` and `sheet` from the table as it was written"
            )
        right = known["right"]
        if len(answers) != len(right) or not set(answers) <= set(LETTERS + NONE):
            raise CourseError(
                f"{path}: the answers of {student!r} are {answers!r}; give {len(right)} letters"
                f" of {LETTERS}, and {NONE} for a question without an answer"
            )
        count = sum(one == other for one, other in zip(answers, right))
        found.append(Score(student, known["name"], count, len(right)))
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if not set(COLUMNS) <= set(reader.fieldnames or ()):
            raise CourseError(f"{path} has not the columns {', '.join(COLUMNS)}")
        return [{name: (row[name] or "").strip() for name in COLUMNS} for row in reader]


def record(config: Config, number: str, found: list[Score]) -> str:
    """Put the shares of right answers into the gradebook as an assignment of its own; its name."""
    name = f"viva-{number}"
    if not found:
        return name
    with open_gradebook(config) as gradebook:
        gradebook.update_or_create_assignment(name)
        gradebook.update_or_create_notebook(name, name)
        gradebook.update_or_create_grade_cell(
            CELL, name, name, max_score=POINTS, cell_type="markdown"
        )
        for one in found:
            gradebook.update_or_create_student(one.student)
            gradebook.update_or_create_submission(name, one.student)
            grade = gradebook.find_grade(CELL, name, name, one.student)
            grade.manual_score = round(POINTS * one.right / one.asked, 2)
            grade.needs_manual_grade = False
        gradebook.db.commit()
    return name


def report(found: list[Score]) -> list[str]:
    """Lines for the instructor: everybody's score, and who is at chance level."""
    lines = [f"{one.name}: {one.right} of {one.asked} right" for one in found]
    at_chance = [one for one in found if one.at_chance]
    lines.append(
        f"At chance level on code with full points: {len(at_chance)} of {len(found)} (exact"
        f" binomial test against 1/{OPTIONS}, one-sided, p > {THRESHOLD}, at least {FEWEST}"
        " questions)"
    )
    for one in at_chance:
        lines.append(f"  {one.name}: {one.right} of {one.asked} right, p = {one.chance:.2f}")
    return [*lines, REASON_TO_TALK] if at_chance else lines
