"""The class report: checks that reject work which is right elsewhere, what the grading cost, and
the way over assignments.
"""

import json

import pytest
from nbgrader.api import Gradebook

from autograder.classroom.grade_class import grade_class
from autograder.classroom.reports.class_report import item_analysis
from autograder.classroom.reports.item_analysis import cost, doubts
from autograder.grading.grade import Verdict
from course.cli import main
from tests.book.conftest import violations

NAME = "90-stand-in"
HOG = (
    "much = bytearray(200 * 2**20)\nmuch[::4096] = bytes([1]) * (len(much) // 4096)\ndel much\ndef"
    " double(x):\n    return x + abs(x)"
)


def verdict(student, seconds=1.0, **stages):
    """A verdict of one exercise with stages of a point each, by name: the status that they ended
    with.
    """
    rows = [
        {
            "name": name,
            "points": 1.0,
            "earned": float(status == "passed"),
            "status": status,
            "cause": "",
            "detail": "",
            "misconception": "",
        }
        for name, status in stages.items()
    ]
    return Verdict(
        student,
        NAME,
        "",
        "",
        seconds=seconds,
        results=[
            {
                "exercise": "90.double",
                "points": float(len(rows)),
                "earned": sum(row["earned"] for row in rows),
                "stages": rows,
            }
        ],
    )


def doubted(verdicts):
    return [
        (one.stage, [verdict.student for verdict in one.students])
        for one in doubts(verdicts, item_analysis(verdicts))
    ]


def test_a_behaviour_that_rejects_what_is_right_elsewhere_is_doubted_and_the_students_are_named():
    right = [verdict(name, a="passed", b="passed", c="wrong") for name in ("ada", "bo")]
    poor = [verdict(name, a="wrong", b="wrong", c="wrong") for name in ("cy", "di")]
    assert ("c", ["ada", "bo"]) in doubted(right + poor)
    assert "c" not in [
        stage
        for stage, _ in doubted(right + poor + [verdict("ed", a="wrong", b="passed", c="wrong")])
    ]


def test_one_student_alone_and_a_function_that_is_not_written_speak_against_no_check():
    assert (
        doubted(
            [
                verdict("ada", a="passed", b="passed", c="wrong"),
                verdict("bo", a="wrong", b="wrong", c="passed"),
            ]
        )
        == []
    )
    assert (
        doubted(
            [
                verdict(name, a="passed", b="passed", c="not_attempted")
                for name in ("ada", "bo", "cy")
            ]
        )
        == []
    )


def test_a_behaviour_that_the_better_ones_fail_is_doubted():
    better = [verdict(name, a="passed", b="passed", c="wrong") for name in ("ada", "bo", "cy")]
    worse = [verdict(name, a="wrong", b="wrong", c="passed") for name in ("di", "ed", "flo")]
    [one] = [
        one for one in doubts(better + worse, item_analysis(better + worse)) if one.stage == "c"
    ]
    assert one.reasons[-1] == "Who has it does worse elsewhere: discrimination -1.00."


def test_a_slight_reversal_in_a_small_class_is_chance_and_in_a_large_one_it_is_not():
    some = [
        verdict(f"{group}{k}", a=a, b=a, c=c)
        for group, (a, c, many) in enumerate(
            (
                ("passed", "wrong", 5),
                ("passed", "passed", 5),
                ("wrong", "wrong", 6),
                ("wrong", "passed", 7),
            )
        )
        for k in range(many)
    ]
    [item] = [one for one in item_analysis(some) if one["name"] == "c"]
    assert -0.1 < item["discrimination"] < 0 and "c" not in [stage for stage, _ in doubted(some)]
    assert "c" in [stage for stage, _ in doubted(some * 200)]


def test_the_cost_names_the_slowest_and_counts_where_a_limit_ended_a_call():
    found = cost(
        [
            verdict("ada", 2.0, a="time"),
            verdict("bo", 30.0, a="time"),
            verdict("cy", 4.0, a="memory"),
        ]
    )
    assert (found["median"], found["most"], found["slowest"][0].student) == (4.0, 30.0, "bo")
    assert found["stopped"] == [
        {"exercise": "90.double", "name": "a", "time": 2, "memory": 1, "killed": 0}
    ]


def test_the_cost_in_memory_is_of_those_where_it_is_known():
    verdicts = [verdict("ada", a="passed"), verdict("bo", a="passed"), verdict("cy", a="passed")]
    verdicts[0].memory, verdicts[1].memory = 300 * 2**20, 500 * 2**20
    found = cost(verdicts)
    assert found["memory"] == {"median": 400 * 2**20, "most": 500 * 2**20} and [
        one.student for one in found["most_memory"]
    ] == ["bo", "ada"]


@pytest.fixture(scope="module")
def graded(stand_in, notebook_of, new_root, tmp_path_factory):
    """A course root in which two students handed in one assignment, and the gradebook knows of a
    second one.
    """
    folder = tmp_path_factory.mktemp("report")
    for student, source in (("ada", "def double(x):\n    return x + x"), ("bo", HOG)):
        path = folder / "in" / student / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook_of(source))
    root = new_root(folder / "root")
    grade_class(folder / "in", "90", root, root / "report")
    with Gradebook(f"sqlite:///{root}/gradebook.db", "word2serve") as gradebook:
        gradebook.add_assignment("91-essay")
        gradebook.add_notebook("91-essay", "91-essay")
        gradebook.add_grade_cell(
            "essay", "91-essay", "91-essay", max_score=10, cell_type="markdown"
        )
        gradebook.add_submission("91-essay", "bo")
        grade = gradebook.find_grade("essay", "91-essay", "91-essay", "bo")
        grade.manual_score, grade.needs_manual_grade = 7, False
        gradebook.find_submission_notebook("91-essay", "91-essay", "bo").late_submission_penalty = 2
        gradebook.db.commit()
    return root


@pytest.mark.sandbox
def test_the_way_over_assignments_is_what_the_gradebook_says(graded, capsys):
    assert main(["report", "--assignment", "90", "--course-root", str(graded), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {one["student"]: one["points"] for one in said["progress"]["students"]} == {
        "ada": {NAME: 3},
        "bo": {NAME: 1, "91-essay": 5},
    }
    assert [
        (one["handed_in"], one["missing"], one["share"]) for one in said["progress"]["assignments"]
    ] == [(2, 0, 2 / 3), (1, 1, 0.5)]
    page = (graded / "report" / "index.html").read_text()
    assert "91-essay" in page and "<script" not in page and "://" not in page
    assert (
        f'href="{NAME}.html"' in page
        and 'href="index.html"' in (graded / "report" / f"{NAME}.html").read_text()
    )


@pytest.mark.sandbox
@pytest.mark.browser
def test_the_pages_have_no_axe_violation_and_ask_for_nothing(graded, browser):
    page, asked = browser.new_page(viewport={"width": 360, "height": 800}), []
    page.on("request", lambda request: asked.append(request.url))
    for name in ("index.html", f"{NAME}.html"):
        page.goto((graded / "report" / name).as_uri())
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()
    assert asked == [(graded / "report" / name).as_uri() for name in ("index.html", f"{NAME}.html")]


@pytest.mark.sandbox
def test_the_figures_of_the_report_can_be_read_by_a_program(graded, capsys):
    assert main(["report", "--assignment", "90", "--course-root", str(graded), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {one["student"]: one["total"] for one in said["students"]} == {"ada": 3, "bo": 1}
    assert {one["name"]: one["share"] for one in said["behaviours"]} == {
        "three": 1,
        "negative": 0.5,
    }
    memory = {one["student"]: one["memory"] / 2**20 for one in said["students"]}
    assert 3 < memory["ada"] < 150 and memory["ada"] + 190 < memory["bo"] < memory["ada"] + 260
    page = (graded / "report" / f"{NAME}.html").read_text()
    assert f"{memory['bo']:,.0f} MiB" in page
    [item] = said["exercises"]
    assert (item["students"], item["complete"]) == (2, 0.5) and "Exercise by exercise" in page
