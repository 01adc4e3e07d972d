"""The instructor's journey: grade a class, read an answer in formgrader in a real browser, give
points, report.
"""

import csv
import shutil
import subprocess
import sys

import pytest

from autograder.classroom.gradebook.course import course_config, open_gradebook
from course.sample_class import make_sample_class
from tests.journeys.conftest import serve

pytestmark = [pytest.mark.browser, pytest.mark.sandbox]
NAME = "01-static-embeddings"
STUDENTS = ("mistakes-01", "perfect", "script-in-an-answer")


def course(*arguments):
    """One `course` command; returns what it printed."""
    return subprocess.run(
        [sys.executable, "-m", "course.cli", *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.fixture(scope="module")
def graded_root(tmp_path_factory):
    """A course root in which three students are graded by `course grade`."""
    folder = tmp_path_factory.mktemp("instructor")
    submitted = make_sample_class(folder / "sample")
    for student in STUDENTS:
        shutil.copytree(submitted / student, folder / "class" / student)
    said = course(
        "grade", folder / "class", "--course-root", folder / "course", "--report", folder / "report"
    )
    assert f"graded     3 submissions of {NAME}" in said
    return folder / "course"


@pytest.fixture(scope="module")
def url(graded_root):
    """The address of a path at a Jupyter server with formgrader in the course root."""
    with serve(graded_root) as url:
        yield url


def manual_score(root, student):
    """What gradebook.db holds for the short answer: points given by hand, and the comment."""
    with open_gradebook(course_config(root)) as gradebook:
        grade = gradebook.find_grade("bank", NAME, NAME, student)
        comment = gradebook.find_comment("bank", NAME, NAME, student).manual_comment
        return grade.manual_score, grade.needs_manual_grade, comment


def open_submission(page, url, student):
    """From the list of assignments to one student's notebook, by clicking as an instructor does."""
    page.goto(url("formgrader/gradebook"))
    page.get_by_role("link", name=NAME).click()
    page.get_by_role("link", name=NAME).last.click()
    page.wait_for_selector("td.name a.name-hidden")
    page.get_by_role("button", name="Show All Names").click()
    page.get_by_role("link", name=student, exact=True).click()
    page.wait_for_selector("input#ppmi-check[placeholder]")  # the grades have arrived


def test_an_answer_is_graded_by_hand_in_formgrader_and_reaches_the_students_feedback(
    graded_root, url, browser, tmp_path
):
    assert manual_score(graded_root, "perfect") == (None, True, None)
    errors = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("pageerror", lambda error: errors.append(str(error)))
    open_submission(page, url, "perfect")
    assert (
        page.locator("input#ppmi-check").get_attribute("placeholder") == "5"
    )  # the automatic points
    assert page.get_by_role("table").filter(has_text="01.ppmi: 5 of 5 points").count() == 1
    page.screenshot(path=tmp_path / "formgrader.png")
    with page.expect_response(
        lambda reply: "/api/grade/" in reply.url and reply.request.method == "PUT"
    ):
        page.locator("input#bank").fill("4")
        page.keyboard.press("Tab")
    with page.expect_response(
        lambda reply: "/api/comment/" in reply.url and reply.request.method == "PUT"
    ):
        page.locator("textarea#bank-comment").fill("Say what is left of the river.")
        page.keyboard.press("Tab")
    page.locator("input#bank").scroll_into_view_if_needed()
    page.screenshot(path=tmp_path / "formgrader-graded.png")
    page.close()
    assert errors == []
    assert manual_score(graded_root, "perfect") == (4.0, False, "Say what is left of the river.")
    course("report", "--course-root", graded_root, "--report", tmp_path / "report")
    with (tmp_path / "report" / "grades.csv").open(newline="") as file:
        assert {row["student"]: row["total"] for row in csv.DictReader(file)}["perfect"] == "49"
    assert (
        "Say what is left of the river."
        in (graded_root / "feedback" / "perfect" / NAME / f"{NAME}.html").read_text()
    )


def test_a_students_script_is_inert_in_formgrader_and_nothing_leaves_the_machine(url, browser):
    asked, dialogs = [], []
    page = browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    open_submission(page, url, "script-in-an-answer")
    answer = page.locator(".nbgrader_cell", has=page.locator("input#bank"))
    assert "document.title = 'owned'" in answer.inner_text()
    assert answer.locator("script, iframe, img, style, [onerror], a[href^=javascript]").count() == 0
    assert page.title() == NAME and dialogs == []
    here = url("").split("/?")[0]
    assert [address for address in asked if not address.startswith((here, "data:"))] == []
    page.close()
