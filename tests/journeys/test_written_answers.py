"""Written answers with pictures, as formgrader and the feedback page show them."""

import base64
import io
import json
import subprocess
import sys

import pytest
from PIL import Image

from autograder.authoring.student_notebook import ANSWER, Notebook
from autograder.classroom.gradebook.course import course_config, open_gradebook
from autograder.classroom.reports.feedback import feedback_path
from autograder.grading.assignment import load_assignment
from tests.book.conftest import violations
from tests.journeys.conftest import serve

pytestmark = [pytest.mark.browser, pytest.mark.sandbox]
NAME = "01-static-embeddings"
SCRIPT = "<script>document.title = 'owned'</script>"
COMMENT = "Say **who** wins, $x_i^2$.\n\n![x](http://127.0.0.1:9/x.png)" + SCRIPT


def as_base64(data):
    return base64.b64encode(data).decode()


def picture(*size):
    file = io.BytesIO()
    Image.new("RGB", size, "#c04000").save(file, "PNG")
    return as_base64(file.getvalue())


def pasted(notebook):
    answer = notebook.cell("bank")
    answer.source = (
        f"# My answer\n\n{ANSWER} $\\frac{{q \\cdot k}}{{\\sqrt{{D}}}}$\n\n"
        "![image.png](attachment:image.png)\n\n"
        f"![inline](data:image/png;base64,{picture(1_500, 40)})"
    )
    answer.attachments = {"image.png": {"image/png": picture(640, 400)}}


def hostile(notebook):
    answer, bomb = notebook.cell("bank"), io.BytesIO()
    Image.new("1", (8_000, 6_300)).save(bomb, "PNG")
    svg = (
        "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(1)</script></svg>"
    )
    answer.attachments = {
        "a.svg": {"image/svg+xml": as_base64(svg.encode())},
        "plain.svg": {"image/svg+xml": svg},
        "page.png": {"image/png": as_base64(f"<html>{SCRIPT}</html>".encode())},
        "bomb.png": {"image/png": as_base64(bomb.getvalue())},
        "javascript:alert(1)": {"image/png": picture(50, 50)},
    }
    shown = [f"![{name[:5]}](attachment:{name})" for name in [*answer.attachments, "gone.png"]]
    elsewhere = [
        "![file](../../../etc/passwd)",
        "![web](http://127.0.0.1:9/x.png)",
        f"<img src='data:image/svg+xml;base64,{as_base64(svg.encode())}' onerror='alert(1)'>",
    ]
    answer.source = "\n\n".join([ANSWER, *shown, *elsewhere, SCRIPT])


def relocated(notebook):
    stub = Notebook(notebook.assignment).cell("bank").source
    notebook.write("bank", stub).add(f"{ANSWER}\n\n![x](attachment:x.png)", "bank", "markdown")
    notebook.nb.cells[notebook.position("bank") - 1].attachments = {
        "x.png": {"image/png": picture(300, 200)}
    }


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A course root in which the three are graded by `course grade`; one answer has a comment."""
    folder, assignment = tmp_path_factory.mktemp("answers"), load_assignment("01")
    for change in (pasted, hostile, relocated):
        notebook = Notebook(assignment)
        change(notebook)
        path = folder / "in" / change.__name__ / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(json.dumps(notebook.nb).encode())
    where = ("--course-root", folder / "course", "--report", folder / "report")
    course(
        "grade", folder / "in", *where, ends=1
    )  # one waits for a person: its answer is elsewhere
    with open_gradebook(course_config(folder / "course")) as gradebook:
        gradebook.find_comment("bank", NAME, NAME, "pasted").manual_comment = COMMENT
        gradebook.db.commit()
    course("report", *where, ends=0)
    return folder / "course"


def course(*arguments, ends):
    command = [sys.executable, "-m", "course.cli", *map(str, arguments)]
    assert subprocess.run(command, check=False).returncode == ends


@pytest.fixture(scope="module")
def server(root):
    with serve(root) as url:
        yield url


class Look:
    """A page with what it asked for and what it said."""

    def __init__(self, browser, url, width):
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.asked, self.said = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.status = self.page.goto(url).status
        self.page.wait_for_load_state("networkidle")

    def pictures(self, place):
        """The width that each picture has on the page, and the first letters of its address."""
        return place.locator("img").evaluate_all(
            "all => all.map(one => [one.complete && one.width, one.src.slice(0, 22)])"
        )


@pytest.fixture
def look(root, browser, request):
    """Opens a student's answer in a view at a width; gives the page and the answer's part."""

    def look(view, student, width):
        url = feedback_path(root, NAME, student).as_uri()
        if view == "formgrader":
            with open_gradebook(course_config(root)) as gradebook:
                key = gradebook.find_submission_notebook(NAME, NAME, student).id
            url = request.getfixturevalue("server")(f"formgrader/submissions/{key}/")
        found = Look(browser, url, width)
        looks.append(found)
        here = url.partition("/formgrader")[0]
        assert [one for one in found.asked if not one.startswith((here, "data:image/"))] == []
        assert found.said == [] and found.page.title() != "owned"
        if view == "formgrader":
            assert found.status == 200
            return found, found.page.locator(".nbgrader_cell", has=found.page.locator("input#bank"))
        assert violations(found.page) == []
        assert found.page.evaluate("document.documentElement.scrollWidth") <= width
        return found, found.page.locator("section#bank")

    looks = []
    yield look
    for one in looks:
        one.page.close()


SIGHTS = pytest.mark.parametrize(
    ("view", "width"),
    [("formgrader", 1440), ("formgrader", 390), ("feedback", 1440), ("feedback", 390)],
)


@SIGHTS
def test_pasted_pictures_and_formulas_are_shown(look, view, width):
    found, answer = look(view, "pasted", width)
    pictures = found.pictures(answer)
    assert [url for _, url in pictures] == ["data:image/png;base64,"] * 2
    assert all(0 < width <= answer.bounding_box()["width"] for width, _ in pictures)
    assert answer.locator("math mfrac").count() == 1 and "attachment:" not in answer.inner_text()


@SIGHTS
def test_a_hostile_picture_is_a_sentence_that_says_why(look, view, width):
    found, answer = look(view, "hostile", width)
    assert found.pictures(answer) == [[50, "data:image/png;base64,"]]
    text = answer.inner_text()
    for reason, times in (
        ("SVG drawings are not shown", 3),
        ("is not a PNG, JPEG, GIF or WebP", 1),
        ("it has 50,400,000 pixels", 1),
        ("does not hold the picture", 2),
        ("pictures on the web are not loaded", 1),
    ):
        assert text.count(reason) == times, reason
    assert "document.title = 'owned'" in text
    assert answer.locator("script, iframe, svg, style, [onerror], [onload]").count() == 0


@SIGHTS
def test_an_answer_in_another_cell_is_shown_where_it_is_graded(look, view, width):
    found, answer = look(view, "relocated", width)
    assert (
        "Found in another cell: cell" in answer.inner_text() and ANSWER[:60] in answer.inner_text()
    )
    assert "Write your answer here" not in answer.inner_text()
    [(wide, url)] = found.pictures(answer)
    assert (
        200 < wide <= min(300, answer.bounding_box()["width"]) and url == "data:image/png;base64,"
    )


def test_a_comment_is_shown_as_markdown_with_its_formula(look):
    _, answer = look("feedback", "pasted", 390)
    comment = answer.locator(".comment")
    assert (
        comment.locator("strong").inner_text() == "who"
        and comment.locator("math msubsup").count() == 1
    )
    assert comment.locator("img, script").count() == 0
    assert "pictures on the web are not loaded" in comment.inner_text()
