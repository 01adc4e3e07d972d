"""Decisions on flagged submissions, by clicks in a real browser on the served report."""

import http.client
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from autograder.classroom.decisions.decide import Desk, give_points
from autograder.classroom.decisions.record import decisions
from autograder.classroom.grade_class import grade_class, records
from autograder.classroom.gradebook.grades import exercise_points
from autograder.common.errors import CourseError
from tests.book.conftest import violations

pytestmark = [pytest.mark.sandbox, pytest.mark.browser]
NAME, ID = "90-stand-in", "90.double"
HALF, NONE = "def double(x):\n    return x + abs(x)", "def double(x):\n    return 0"
RIGHT = "def double(x):\n    return 2 * x"
BROKEN = "def double(x)\n    return x"


def above(notebook, source):
    """The notebook with an added cell above the exercise's."""
    document = json.loads(notebook)
    cell = {"cell_type": "code", "source": source, "metadata": {}}
    document["cells"].insert(1, cell)
    return json.dumps(document).encode()


@pytest.fixture(scope="module")
def course(stand_in, notebook_of, new_root, tmp_path_factory):
    """A class in which four submissions can be decided on, each in another way."""
    folder = tmp_path_factory.mktemp("decisions")
    handed_in = {
        f"ada/{NAME}": above(notebook_of(NONE), RIGHT),
        f"bo/{NAME}/2026-03-01 10-00": notebook_of(HALF),
        f"bo/{NAME}/2026-03-02 10-00": notebook_of(NONE),
        f"cy/{NAME}": notebook_of(BROKEN),
        f"dee/{NAME}": notebook_of(BROKEN),
    }
    for place, data in handed_in.items():
        path = folder / "in" / place / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    root = new_root(folder / "course")
    grade_class(folder / "in", "90", root, root / "report")
    return root


@pytest.fixture(scope="module")
def address(course, stand_in_folder):
    """Where the report is served."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.autograder.grading.stand_in_decisions", course]
        + [course / "report"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"STAND_IN_FOLDER": str(stand_in_folder)},
        cwd=Path(__file__).parents[3],
    )
    yield process.stdout.readline().strip()
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture(scope="module")
def page(browser, address):
    """The report, in a browser."""
    page = browser.new_context().new_page()
    page.set_default_timeout(120_000)
    page.goto(address)
    yield page
    page.context.close()


def points_of(course, student):
    """The points of the exercise, as grades.csv has them."""
    assignment, rows = records(course, "90")
    return next(
        exercise_points(verdict, graded, assignment)[ID]
        for verdict, graded in rows
        if verdict.student == student
    )


def row_of(page, region, student):
    header = page.get_by_role("rowheader", name=student, exact=True)
    return page.get_by_role("region", name=region).get_by_role("row").filter(has=header)


def decided_row(page, student):
    return row_of(page, "Decided", student)


def open_row(page, student):
    return row_of(page, "Open decisions", student)


def test_the_file_on_disk_has_no_buttons_and_the_served_report_has(course, page):
    assert "<form" not in (course / "report" / f"{NAME}.html").read_text()
    assert open_row(page, "cy").get_by_role("button").count() == 1


def test_one_click_accepts_the_relocated_answer_and_undo_takes_it_back(course, page):
    assert points_of(course, "ada") is None
    open_row(page, "ada").get_by_label("Reason").fill("It is in the cell above.")
    page.get_by_role("button", name=f"Accept the relocated answer of ada, {ID}").click()
    row = decided_row(page, "ada")
    row.wait_for()
    assert "which earns 3 points" in row.inner_text()
    assert "It is in the cell above." in row.inner_text()
    assert points_of(course, "ada") == 3 and open_row(page, "ada").count() == 0
    row.get_by_role("button", name="Undo").click()
    open_row(page, "ada").wait_for()
    assert points_of(course, "ada") is None and "Undone" in decided_row(page, "ada").inner_text()


def test_one_click_lets_another_attempt_count_and_undo_takes_it_back(course, page):
    assert points_of(course, "bo") == 0
    page.get_by_role("button", name="Use attempt 1 of bo").click()
    decided_row(page, "bo").wait_for()
    assert points_of(course, "bo") == 1
    assert "attempt 1 counts" in decided_row(page, "bo").inner_text()
    decided_row(page, "bo").get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Use attempt 1 of bo").wait_for()
    assert points_of(course, "bo") == 0


def test_points_are_given_with_the_keyboard_alone(course, page):
    points = open_row(page, "cy").get_by_label("Points", exact=True)
    points.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("2")
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == f"Give these points to cy, {ID}"
    page.keyboard.press("Enter")
    decided_row(page, "cy").wait_for()
    assert points_of(course, "cy") == 2 and open_row(page, "cy").count() == 0
    assert re.search(r"20\d\d-\d\d-\d\d .* UTC", decided_row(page, "cy").inner_text())
    assert "cy" not in page.get_by_role("region", name="Submissions to look at").inner_text()


def test_the_served_report_has_no_axe_violation(page):
    assert violations(page) == []


def post(address, form, **headers):
    """The status of a POST to the served report."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    kept = {"Content-Type": "application/x-www-form-urlencoded"}
    kept |= {name: value for name, value in headers.items() if value}
    connection.request("POST", parts.path, urlencode(form), kept)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_forged_request_is_refused_and_decides_nothing(course, address, page):
    token = page.locator("input[name=token]").first.get_attribute("value")
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    form = {"decision": "points", "student": "dee", "exercise": ID, "points": "3", "token": token}
    before = decisions(course, NAME)
    wrong_key = address.replace(parts.path.split("/")[1], "x" * 32)
    assert post(address, form, Origin="http://evil.example") == 403
    assert post(address, form, Origin="null") == 403
    assert post(address, form) == 403
    assert post(address, form | {"token": ""}, Origin=origin) == 403
    assert post(address, form | {"token": "x" * 32}, Origin=origin) == 403
    assert post(address, form | {"reason": "x" * 20_000}, Origin=origin) == 403
    assert post(address, form, Origin=origin, Host="evil.example") == 404
    assert post(wrong_key, form, Origin=origin) == 404
    assert decisions(course, NAME) == before and points_of(course, "dee") is None
    assert post(address, form, Origin=origin) == 303  # the same request from the page itself
    assert points_of(course, "dee") == 3


@pytest.mark.parametrize(
    "path", ["gradebook.db", ".course-secret", "verdicts/90-stand-in/ada.json"]
)
def test_nothing_but_reports_and_feedback_is_served(address, page, path):
    base = address.rsplit("/report/", 1)[0]
    for way in (f"/{path}", f"/report/../{path}", f"/feedback/%2e%2e/{path}"):
        assert page.request.get(base + way).status == 404
    feedback = page.request.get(f"{base}/feedback/ada/{NAME}/{NAME}.html")
    assert feedback.ok and "sandbox" in feedback.headers["content-security-policy"]


def test_points_that_an_exercise_does_not_give_are_refused(course, stand_in):
    desk = Desk(course, course / "report", stand_in)
    before = decisions(course, NAME)
    for points in (4.0, -1.0, float("nan")):
        with pytest.raises(CourseError, match="gives from 0 to 3"):
            give_points(desk, "dee", ID, points, "")
    with pytest.raises(CourseError, match="no submission"):
        give_points(desk, "nobody", ID, 1.0, "")
    assert decisions(course, NAME) == before
