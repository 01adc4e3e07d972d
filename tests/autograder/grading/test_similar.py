"""Similar submissions: copies are found however they are dressed, honest answers are not, and no
text stops the comparison.
"""

import ast
import json
import os
import random

import pytest

from autograder.authoring.solution_sources import has_source, reference_sources, with_function
from autograder.checks.mistakes.registry import alternatives_of, mistakes_of
from autograder.classroom.gradebook.course import CONFIG_FILE, CONFIG_TEXT
from autograder.classroom.similarity.report import similar, write_similar
from autograder.common.error_boundary import Guard
from autograder.grading.assignment import load_assignment
from autograder.grading.grade import Verdict
from autograder.grading.results_store import save_verdict
from course.cli import main
from tests.autograder.grading import stored

NUMBERS = ["03", *(pytest.param(number, marks=pytest.mark.long) for number in ("01", "08", "16"))]


def honest(number, count=20):
    """So many answers to each exercise as the course knows: other right ones and known mistakes,
    each given to one student only.
    """
    assignment = load_assignment(number)
    sources, students = reference_sources(assignment), [{} for _ in range(count)]
    for id, one in assignment.exercises.items():
        short = id.split(".", 1)[1]
        if short in sources:
            ways = [
                (way.function, getattr(way, "replaces", "") or one.function)
                for way in (*alternatives_of(id), *mistakes_of(id))
                if has_source(way.function)
            ]
            random.Random(id).shuffle(ways)
            for student, (function, name) in zip(students, ways):
                student[short] = with_function(sources[short], function, name)
    return assignment, [one for one in students if one]


def verdicts(assignment, students):
    return [
        Verdict(f"student-{place:03}", assignment.name, "", "", own=own)
        for place, own in enumerate(students)
    ]


def found(assignment, students):
    return [
        (pair["one"].student, pair["other"].student)
        for pair in similar(assignment, verdicts(assignment, students), Guard()).pairs
    ]


class Renamed(ast.NodeTransformer):
    """Other names for all that a cell itself names, but for its functions."""

    def visit_Name(self, node):  # noqa: N802
        return ast.Name(f"my_{node.id}x" if node.id in self.own else node.id, node.ctx)

    def visit_arg(self, node):
        return ast.arg(f"my_{node.arg}x")

    def visit_Module(self, node):  # noqa: N802
        self.own = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)} | {
            one.id
            for one in ast.walk(node)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        return self.generic_visit(node)


def renamed(source):
    return "# all my own work\n" + ast.unparse(
        ast.fix_missing_locations(Renamed().visit(ast.parse(source)))
    )


def reordered(cells):
    """All in one cell, the last function first, with a helper of the student's own between."""
    names = list(cells)
    return {
        names[0]: "\n\ndef mine(x):\n    return x\n\n".join(cells[name] for name in reversed(names))
    }


@pytest.mark.parametrize("number", NUMBERS)
def test_twenty_honest_answers_make_no_pair(number):
    assignment, students = honest(number)
    assert len(students) >= 15 and found(assignment, students) == []


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "how",
    [dict, lambda cells: {name: renamed(source) for name, source in cells.items()}, reordered],
    ids=["copied", "renamed", "reordered"],
)
def test_a_copy_is_found_however_it_is_dressed(number, how):
    assignment, students = honest(number)
    assert found(assignment, [*students, how(students[0])]) == [
        ("student-000", f"student-{len(students):03}")
    ]


def test_the_released_notebook_and_what_many_share_make_no_pair():
    assignment, students = honest("03")
    given = {
        cell.metadata["nbgrader"]["grade_id"]: cell.source
        for cell in assignment.pristine.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }
    assert found(assignment, [given] * 2 + students) == []
    assert found(assignment, [reference_sources(assignment)] * 6 + students) == []


HOSTILE = {
    "huge": "x = " + "(" * 400_000,
    "binary": "\x00\ufffd\u202e" * 20_000,
    "deep": "[" * 20_000 + "]" * 20_000,
    "quotes": "'" * 60_000,
    "strings": 'f"{' * 15_000,
    "back slashes": "'" + "\\" * 59_999,
    "unfinished": '"""' + "a\\\n" * 20_000,
    "names": "a" * 60_000,
    "markup": "<script>alert(1)</script></code></pre><img src=x onerror=alert(2)>\n" * 40,
}


def test_no_text_stops_the_comparison_of_the_others(tmp_path):
    assignment, students = honest("03")
    made = similar(
        assignment,
        verdicts(
            assignment, [*students, students[0], *({"judge": text} for text in HOSTILE.values())]
        ),
        Guard(tmp_path),
    )
    assert [(pair["one"].student, pair["other"].student) for pair in made.pairs] == [
        ("student-000", f"student-{len(students):03}")
    ]
    assert made.compared + len(made.unread) == len(students) + 1 + len(HOSTILE) and all(
        map(len, made.unread.values())
    )


def test_markup_of_a_student_is_text_on_the_page(tmp_path):
    assignment, students = honest("03")
    hostile = {
        name: source + "\n# </code><script>alert(1)</script>"
        for name, source in students[0].items()
    }
    made = similar(assignment, verdicts(assignment, [*students, hostile, hostile]), Guard())
    made.pairs[0]["one"].name = "<b>x"
    page = write_similar(tmp_path / "page.html", made, assignment.name).read_text()
    assert (
        "&lt;script&gt;alert(1)" in page.replace("<mark>", "").replace("</mark>", "")
        and "<script" not in page
    )
    assert "<mark>" in page and "Likeness has innocent causes." in page


@pytest.mark.long
def test_three_hundred_are_compared_with_each_other_in_under_a_minute():
    assignment, students = honest("08")
    mixed = [
        {
            name: (
                random.Random(place * 100 + at).choice([one for one in students if name in one])[
                    name
                ]
            )
            for at, name in enumerate(students[0])
        }
        for place in range(300)
    ]
    began = sum(os.times()[:4])
    made = similar(assignment, verdicts(assignment, mixed), Guard())
    assert (
        made.compared == 300 and sum(os.times()[:4]) - began < 60
    )  # of processor time, children's too


def test_the_command_writes_the_page_and_changes_no_record(new_root, tmp_path, capsys):
    assignment, students = honest("03")
    root = new_root(tmp_path / "root")
    (root / CONFIG_FILE).write_text(CONFIG_TEXT)
    for verdict in verdicts(assignment, [*students[:5], students[0]]):
        save_verdict(root, verdict)
    before = stored.records(root, assignment.name)
    assert main(["similar", "03", "--course-root", str(root), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    shares = {tuple(pair["students"]): pair["share"] for pair in said["pairs"]}
    copied = "student-000", "student-005"
    assert [pair for pair, share in shares.items() if share == 1] == [copied], shares
    assert main(["similar", "03", "--course-root", str(root)]) == 1
    assert "pair       student-000 and student-005: 100 %" in capsys.readouterr().out
    assert stored.records(root, assignment.name) == before
