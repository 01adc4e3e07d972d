"""Feedback pages and the class report: clean, closed, accessible, and harmless whatever a student
wrote.
"""

import re

import pytest

from autograder.classroom.grade_class import class_rows
from autograder.classroom.gradebook.course import course_config
from autograder.classroom.reports.class_report import (
    discrimination,
    item_analysis,
    spread,
    write_report,
)
from autograder.classroom.reports.feedback import feedback_path
from autograder.classroom.reports.html_pages import SHOWN_CODE, highlighted
from autograder.common.error_boundary import Guard
from tests.book.conftest import COLOUR_RULES, STRUCTURE, violations

pytestmark = pytest.mark.sandbox
NAME = "01-static-embeddings"
FORBIDDEN = re.compile(
    r"<(script|iframe|img(?!"
    r" src=\"data:image/(?:png|jpeg);base64,[A-Za-z0-9+/=]*\")"
    r"|object|embed|form|link|base)\b|<[^>]*\son\w+\s*=|javascript:\S*?[\"']\s*>",
    re.I,
)


def pages(graded):
    return [*(graded.root / "feedback").rglob("*.html"), graded.summary.report]


def test_there_is_one_page_for_every_student(graded):
    assert {path.parents[1].name for path in (graded.root / "feedback").rglob("*.html")} == set(
        graded.expected
    )


def test_no_page_has_a_script_a_request_or_a_handler(graded):
    found = {path: FORBIDDEN.findall(path.read_text()) for path in pages(graded)}
    assert {path: tags for path, tags in found.items() if tags} == {}


def test_every_page_is_small(graded):
    assert max(path.stat().st_size for path in pages(graded)) < 200_000


def test_feedback_shows_no_hidden_number_seed_or_secret(graded):
    for student, verdict in graded.verdicts.items():
        page = feedback_path(graded.root, NAME, student).read_text()
        hidden = [
            stage["detail"]
            for result in verdict.results
            for stage in result["stages"]
            if stage["status"] == "wrong" and stage["detail"]
        ]
        assert not [detail for detail in hidden if detail in page], student
        assert (
            not any(seed in page for seed in verdict.seed_ids.values())
            and verdict.checks not in page
        )


def test_feedback_names_the_misconception_of_the_first_failure(graded):
    verdict = graded.verdicts["mistakes-01"]
    first = next(stage for stage in verdict.results[0]["stages"] if stage["status"] != "passed")
    page = feedback_path(graded.root, NAME, "mistakes-01").read_text()
    head = page[: page.index("At a glance")]
    assert first["misconception"] and first["misconception"].split("'")[0] in head


def test_an_exception_is_shown_with_the_students_own_line(graded):
    assert (
        "return counts.shape[3]"
        in feedback_path(graded.root, NAME, "own-exception").read_text().split("<pre>")[1]
    )


def test_an_unreadable_submission_is_told_that_it_is_not_a_zero(graded):
    page = feedback_path(graded.root, NAME, "broken-json").read_text()
    assert "This is not a zero" in page and " of 50 points" not in page


OF_EACH_KIND = (
    "broken-json",
    "empty",
    "huge-cell",
    "infinite-loop",
    "mistakes-01",
    "own-exception",
    "perfect",
    "script-in-an-answer",
)


@pytest.fixture
def short_report(graded, tmp_path):
    """The report on a few students of the class: every kind of row, not every row."""
    assignment = graded.assignment
    rows = class_rows(graded.root, assignment, course_config(graded.root), Guard())
    return write_report(
        tmp_path / "report.html",
        [row for row in rows if row[0].student in OF_EACH_KIND],
        assignment,
        graded.root,
        {"notes.txt": "It is no notebook."},
    )


@pytest.mark.browser
@pytest.mark.parametrize(
    "name", ["script-in-an-answer", "mistakes-01", "broken-json", "the report"]
)
def test_a_page_has_no_axe_violation_and_a_script_in_an_answer_stays_text(
    graded, browser, name, request
):
    path = (
        request.getfixturevalue("short_report")
        if name == "the report"
        else feedback_path(graded.root, NAME, name)
    )
    page = browser.new_page()
    requests, errors = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    structure = []
    for scheme, width, rules in (("light", 1280, {}), ("dark", 360, COLOUR_RULES)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(page, **rules) == []
        structure.append(page.evaluate(STRUCTURE))
    assert structure[0] == structure[1]  # so what axe found but of colours holds for both
    assert requests == [path.as_uri()] and errors == [] and "owned" not in page.title()
    page.close()
    assert graded.visitors() == []


def test_shown_code_is_cut_and_escaped():
    shown = highlighted("x = '</pre><script>'\n" + "#" * SHOWN_CODE)
    assert "<script>" not in shown and "more" in shown and len(shown) < 2 * SHOWN_CODE


def test_discrimination_leaves_the_item_itself_out():
    # The rest of the points is the same for all: without the correction the correlation would be 1.
    assert discrimination([1, 0, 1, 0], [4, 3, 4, 3]) is None
    assert discrimination([1, 1, 0, 0], [5, 4, 1, 0]) == pytest.approx(
        0.9486833, abs=1e-6
    )  # 3 / sqrt(10)
    assert discrimination([1, 1, 1], [3, 2, 1]) is None


def test_item_analysis_counts_the_share_that_earned_each_behaviour(graded):
    read = [verdict for verdict in graded.verdicts.values() if verdict.readable]
    item = next(
        item
        for item in item_analysis(read)
        if (item["exercise"], item["name"]) == ("01.ppmi", "independent words")
    )
    earned = sum(
        stage["status"] in ("passed", "slip")
        for verdict in read
        for result in verdict.results
        for stage in result["stages"]
        if (result["exercise"], stage["name"]) == ("01.ppmi", "independent words")
    )
    assert item["share"] == earned / len(read)


def test_the_spread_counts_everybody_once_and_full_points_in_the_last_bar():
    bars = spread([0, 4.4, 4.5, 45, 45], 45)
    assert [bar["count"] for bar in bars] == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    assert max(bar["height"] for bar in bars) == 140 and spread([], 0)[0]["count"] == 0
