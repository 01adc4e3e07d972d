"""check(): what a student sees in a terminal and in Jupyter, when the work passes and when it does
not.
"""

import contextlib
import re

import nbformat
import pytest
import torch
from nbclient import NotebookClient

from autograder.authoring.solution_sources import reference_sources
from autograder.check import check
from autograder.checks.protocol import LocalStudent, exercise, run_exercise
from autograder.checks.rubric import with_code
from autograder.checks.student import timeout as limited
from autograder.checks.student.timeout import TimedStudent
from autograder.grading.assignment import load_assignment
from autograder.notebook_progress import OPENED, progress


def stubbed(counts):
    raise NotImplementedError("replace this line with your code.")


def named(name, function):
    function.__name__ = name
    return function


def test_the_points_come_back_as_a_float(shares, capsys):
    points = check(named("shares", lambda counts: counts / counts.sum()))
    assert points == 3.0 and isinstance(points, float)
    assert "99.shares: 3 of 3 points" in capsys.readouterr().out


def test_a_terminal_shows_the_cause_before_the_numbers_and_marks_where_to_start(shares, capsys):
    assert check(named("shares", lambda counts: counts / 4)) == 2.0
    lines = capsys.readouterr().out.split("\n")
    assert lines[1].split() == ["sums", "0/1", "not", "yet", "<-", "start", "here"]
    assert lines[2].strip() == "The shares should add up to 1." and "expected 1" in lines[3]
    assert (
        "values  2/2  passed" in lines[-3]
        and "Read: chapter 99, page “page”, section “shares”" in lines[-2]
    )


def test_the_same_reason_is_said_once(shares, capsys):
    assert check(named("shares", stubbed)) == 0.0
    out = capsys.readouterr().out
    assert out.count("is not written yet") == 1


def test_an_exercise_can_be_named_and_is_run_on_the_callers_functions(fresh_registries, capsys):
    made = exercise("99.tripled", function="tripled_here", points=1)

    @made.stage("three", points=1)
    def test_three(student):
        assert student.tripled_here(1) == 3

    assert check("99.tripled") == 1.0


def tripled_here(x):
    return 3 * x


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (len, "No exercise has a function named `len`"),
        ("99.nothing", "There is no exercise '99.nothing'"),
        (torch.ones(2), "Leave out the parentheses"),
        (None, "wants the function itself"),
        (3.0, "wants the function itself"),
    ],
)
def test_a_wrong_target_is_explained_and_earns_nothing(shares, capsys, target, said):
    assert check(target) == 0.0
    assert said in capsys.readouterr().out


def test_a_name_that_two_exercises_share_asks_which(shares, monkeypatch, capsys):
    monkeypatch.setitem(OPENED, "chapter", "")
    exercise("98.other", function="shares", points=1)
    assert check(named("shares", lambda counts: counts)) == 0.0
    assert 'say which: check("98.other"), check("99.shares")' in capsys.readouterr().out


def test_in_a_notebook_the_shared_name_is_that_of_its_chapter(shares, monkeypatch, capsys):
    exercise("98.shares", function="shares", points=1)
    monkeypatch.setitem(OPENED, "chapter", "")
    progress("99")
    check(named("shares", lambda counts: counts / counts.sum()))
    assert "99.shares: 3 of 3 points" in capsys.readouterr().out


def test_an_interrupted_check_gives_a_sentence_and_no_traceback(shares, capsys):
    def interrupted(counts):
        raise KeyboardInterrupt

    assert check(named("shares", interrupted)) == 0.0
    assert "was interrupted" in capsys.readouterr().out


def test_a_loop_without_end_that_catches_every_exception_is_stopped_and_asked_no_more(shares):
    student = TimedStudent(LocalStudent({"shares": endless}), seconds=0.2)
    result = run_exercise(shares, student)
    assert [stage.status for stage in result.stages] == ["time", "time"]
    assert "Is there a loop that does not end?" in result.stages[0].detail


def test_a_library_that_takes_long_to_import_in_a_call_is_not_the_students_time(
    shares, tmp_path, monkeypatch
):
    (tmp_path / "slow_library.py").write_text(
        "import time\nuntil = time.process_time() + 0.5\nwhile time.process_time() < until:\n   "
        " pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        limited, "PATIENCE", 300
    )  # on a busy machine half a second of the processor takes long

    def imports(counts):
        import slow_library

        return counts / counts.sum() if slow_library else None

    result = run_exercise(shares, TimedStudent(LocalStudent({"shares": imports}), seconds=0.2))
    assert [stage.status for stage in result.stages] == ["passed", "passed"]


def endless(counts):
    """A student's, who keeps on whatever is raised: what ends it must be no Exception."""
    while True:
        with contextlib.suppress(Exception):
            counts = counts + 1


def test_a_lambda_an_alias_and_a_module_are_known_by_the_callers_name(shares, monkeypatch, capsys):
    class Shares(torch.nn.Module):
        def forward(self, counts):
            return counts / counts.sum()

    def mine(counts):
        return counts / counts.sum()

    for target in (lambda counts: counts / counts.sum(), mine, Shares()):
        monkeypatch.setitem(globals(), "shares", target)
        assert check(target) == 3.0, capsys.readouterr().out


EXERCISE = """
import torch
from autograder.check import check
from autograder.checks.protocol import exercise, expect
from autograder.checks.mistakes.registry import mistake

made = exercise("99.double", function="double", points=2, see="99-none/page#double")

@made.stage("two", points=1)
def test_two(student):
    expect(student.double(torch.ones(2))).equals(torch.ones(2) * 2, cause="Twice one is two.")

@made.stage("half", points=1)
def test_half(student):
    expect(student.double(torch.ones(2) / 2)).equals(torch.ones(2), cause="Twice a half is one.")

@mistake("99.double", "square", caught_by="two", loses=2, misconception="You <squared>.")
def square(x):
    return x * x
"""


@pytest.fixture(scope="module")
def ran() -> list:
    """The cells of a notebook that a real Jupyter kernel ran: a passing check, a failing one, one
    that raises.
    """
    sources = [
        EXERCISE,
        "def double(x):\n    return x + x",
        "check(double)",
        "def double(x):\n    return x ** 2",
        "check(double)",
        "def helper(x):\n    return x.reshape(5)\n\ndef double(x):\n    return helper(x)",
        "check(double)",
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in sources]
    )
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return notebook.cells


def table_and_points(cell) -> tuple[str, str, str]:
    """The displayed table as HTML and as text, and the value of the cell."""
    shown, value = cell.outputs
    assert shown.output_type == "display_data" and value.output_type == "execute_result"
    return shown.data["text/html"], shown.data["text/plain"], value.data["text/plain"]


def test_jupyter_shows_a_table_with_caption_and_scoped_headers_and_the_cell_is_the_points(ran):
    html, text, points = table_and_points(ran[2])
    assert points == "2.0"  # what nbgrader reads as partial credit
    assert "<caption" in html and "99.double: 2 of 2 points" in html
    assert html.count("scope='col'") == 3 and html.count("scope='row'") == 2
    assert "start here" not in html and "Why" not in html and "99.double: 2 of 2 points" in text


def test_jupyter_names_the_misconception_marks_the_first_failure_and_escapes_what_is_not_markup(
    ran,
):
    html, _, points = table_and_points(ran[4])
    assert points == "0.0"
    assert (
        html.count("scope='col'") == 4 and "You &lt;squared&gt;." in html and "is two" not in html
    )
    assert html.count("start here") == 1 and html.index("start here") < html.index("half")
    assert not re.search(r"#[0-9a-fA-F]{3}|rgb|background:(?!transparent)", html), (
        "colours must come from the page"
    )


def test_jupyter_shows_the_cell_and_line_of_an_exception_and_none_of_ours(ran):
    html, text, points = table_and_points(ran[6])
    assert points == "0.0"
    assert (
        "Cell In[6], line 5: return helper(x)" in text
        and "Cell In[6], line 2: return x.reshape(5)" in text
    )
    for ours in ("Traceback", "student.py", "runner.py", "site-packages"):
        assert ours not in html and ours not in text


def test_backticks_become_code_and_nothing_else_becomes_markup():
    assert (
        with_code("`a < b` is <b>not</b> `c`")
        == "<code>a &lt; b</code> is &lt;b&gt;not&lt;/b&gt; <code>c</code>"
    )


def test_the_check_says_what_is_borrowed(shares, capsys, monkeypatch, tmp_path):
    from autograder.checks.restrictions import reference_imports as borrowed

    (tmp_path / "c03_later.py").write_text(f'"""Chapter 03."""\n{borrowed.MARK}\n')
    (tmp_path / "c02_own.py").write_text('"""Chapter 02."""\n')
    monkeypatch.setattr(borrowed, "PACKAGE", tmp_path)
    exec("def shares(counts):\n    return counts / counts.sum()\ncheck(shares)", {"check": check})
    assert capsys.readouterr().out.endswith("Borrowed from the reference: chapter 03.\n")


@pytest.mark.parametrize(
    ("line", "earned"),
    [
        ("import transformers", 6),
        ("from transformers import AutoTokenizer", 6),
        ("import transformers; transformers.AutoTokenizer()", 0),
    ],
)
def test_a_withheld_package_that_is_only_imported_costs_nothing_in_a_notebook(line, earned, capsys):
    head, body = reference_sources(load_assignment("02"))["best_cut"].split("\n", 1)
    cells = (
        f"import math\nfrom autograder.check import check\n{head}\n    {line}\n{body}\npoints ="
        " check(best_cut)"
    )
    notebook = {"__name__": "__main__"}
    exec(cells, notebook)
    assert notebook["points"] == earned, capsys.readouterr().out
