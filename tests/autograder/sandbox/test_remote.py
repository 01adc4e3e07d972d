"""The remote student: the same answers as a local one, and what a notebook's cells find around them
inside.
"""

import math

import numpy as np
import pytest
import torch

from autograder.checks.assertions.values import same
from autograder.checks.discretion import discreet
from autograder.checks.results import StageResult
from autograder.checks.student.local import LocalStudent
from autograder.checks.student.requests import StudentError
from autograder.sandbox import Cell, Limits, Pool, choose_backend, open_student

pytestmark = pytest.mark.sandbox
NOTEBOOK = """
import numpy as np, torch

def double(x): return x * 2
def add_in_place(x, by=1): x += by; return None
def pair(n): return n, [float("nan"), "text"], {"k": None}
def scalar(): return np.float64(1.0)
def parameter(): return torch.nn.Parameter(torch.ones(2))
def graph(x): return (x.requires_grad_() * 3).sum()
def todo(): raise NotImplementedError("write me")
def fails(x):
    y = x + 1
    return y / 0
def leaves(): raise SystemExit(3)
def uses(f, x): return f(x) + 1
def keeps(f):
    global kept
    kept = f
    return 0
def late(): return kept(torch.ones(1))
def catches(f):
    try: f(torch.ones(1))
    except KeyError as error: return f"KeyError {error}"
    except RuntimeError as error: return f"RuntimeError {error}"
def wide(): return torch.zeros(20_000_000)
"""


@pytest.fixture(scope="module")
def remote():
    with open_student([Cell("setup", NOTEBOOK)]) as student:
        assert student.cell_errors == []
        yield student


@pytest.fixture(scope="module")
def local():
    namespace = {"__name__": "notebook"}
    exec(compile(NOTEBOOK, "notebook", "exec"), namespace)
    return LocalStudent(namespace)


def answer(student, name, *args, **kwargs):
    """What came of a call, in a form that can be compared."""
    try:
        returned = student.call(name, *args, **kwargs)
    except StudentError as error:
        return error.kind
    return returned.value, [item for item in returned.args if not callable(item)]


CALLS = {
    "a tensor": lambda: ("double", torch.arange(6.0).reshape(2, 3)),
    "an array": lambda: ("double", np.arange(3, dtype=np.int16)),
    "an int": lambda: ("double", 21),
    "an argument changed in place": lambda: ("add_in_place", torch.zeros(3)),
    "an array changed in place": lambda: ("add_in_place", np.zeros(3)),
    "nested values": lambda: ("pair", 3),
    "a numpy scalar": lambda: ("scalar",),
    "a parameter": lambda: ("parameter",),
    "a value with a gradient": lambda: ("graph", torch.ones(3)),
    "a stub": lambda: ("todo",),
    "an exception": lambda: ("fails", 1),
    "SystemExit": lambda: ("leaves",),
    "a missing name": lambda: ("nowhere",),
    "a name that is no function": lambda: ("np",),
    "a callable of ours": lambda: ("uses", torch.exp, torch.zeros(2)),
    "a callable that fails": lambda: ("catches", {}.__getitem__),
    "too few arguments": lambda: ("double",),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_sandbox_answers_as_the_notebook_does(call, remote, local):
    assert same(answer(remote, *call()), answer(local, *call()))


def test_keyword_arguments_arrive(remote):
    assert torch.equal(
        remote.call("add_in_place", torch.zeros(2), by=5).args[0], torch.full((2,), 5.0)
    )


def test_our_own_argument_is_never_changed(remote):
    ours = torch.zeros(3)
    remote.add_in_place(ours)
    assert torch.equal(ours, torch.zeros(3))


def test_an_error_shows_the_students_own_line_and_nothing_of_ours(remote):
    with pytest.raises(StudentError) as caught:
        remote.fails(1)
    assert (
        caught.value.text
        == "cell 1 (setup), line 13: return y / 0\nZeroDivisionError: division by zero"
    )


def test_a_callable_of_ours_is_gone_when_the_call_is_over(remote):
    remote.keeps(torch.exp)
    with pytest.raises(StudentError, match="only there while the check"):
        remote.late()


def test_a_value_larger_than_a_frame_may_be_is_unreadable_not_deadly():
    cells = [Cell("setup", NOTEBOOK)]
    with open_student(cells, limits=Limits(frame_bytes=1 << 20)) as student:
        with pytest.raises(StudentError) as caught:
            student.wide()
        assert caught.value.kind == "unreadable" and "80,000" in caught.value.text
        assert student.double(2) == 4


def test_every_cell_runs_alone_and_the_faulty_ones_are_named():
    cells = [
        Cell("a", "x = 1"),
        Cell("b", "x = = 2"),
        Cell(None, "raise SystemExit"),
        Cell("d", "1 / 0\nx = 3"),
        Cell("e", "def x_is(): return x"),
    ]
    with open_student(cells, warm=()) as student:
        assert [(error.index, error.grade_id, error.kind) for error in student.cell_errors] == [
            (1, "b", "error"),
            (2, None, "error"),
            (3, "d", "error"),
        ]
        assert "cell 2 (b), line 1" in student.cell_errors[0].text
        assert student.cell_errors[2].text.startswith(
            "cell 4 (d), line 1: 1 / 0\nZeroDivisionError"
        )
        assert student.x_is() == 1


def test_what_a_notebook_expects_of_jupyter_is_there_and_harmless():
    cells = [
        Cell(
            "setup",
            "from __future__ import annotations\nimport ipywidgets as w, anywidget\nfrom"
            " IPython.display import display as show, HTML\nfrom autograder.check import"
            " check\nfrom course.book.pages.figures import figure\n"
            "from autograder.anything.else_ import name",
        ),
        Cell(
            None,
            "class Slider(anywidget.AnyWidget):\n    value = 1\nshow(Slider());"
            " display(HTML('x'))\nget_ipython().run_line_magic('time', 'x')\nfigure('f', {})\ntotal"
            " = check(len) + 0.0\n@w.interact(n=(1, 2))\ndef f(n: NotDefinedAnywhere = 1):"
            " return n",
        ),
        Cell(
            None,
            "import dataclasses, inspect\n@dataclasses.dataclass\nclass P:\n    n: int\n"
            "def look(): return inspect.getsource(look), P(2).n, total, __name__",
        ),
    ]
    with open_student(cells, warm=()) as student:
        assert student.cell_errors == []
        source, number, total, name = student.look()
        assert source.startswith("def look()") and (number, total, name) == (2, 0.0, "__main__")


def test_matplotlib_draws_to_memory():
    code = (
        "import matplotlib.pyplot as plt\ndef bars(): return len(plt.hist([1, 2, 2, 3], bins=3)[0])"
    )
    with open_student([Cell(None, code)], warm=()) as student:
        assert student.cell_errors == [] and student.bars() == 3


def test_a_withheld_module_can_be_imported_and_not_used_and_others_can():
    cells = [
        Cell("a", "import reference_impl.embeddings.counts as c\nc.window_counts([[0]], 1, 1)"),
        Cell("b", "import reference_impl"),
    ]
    with open_student(cells, ["reference_impl.embeddings.counts"], warm=()) as student:
        assert [error.grade_id for error in student.cell_errors] == ["a"]
        assert (
            "`reference_impl.embeddings.counts`, which is withheld here"
            in student.cell_errors[0].text
        )


def test_output_is_kept_up_to_the_limit_and_the_rest_is_counted():
    code = (
        "import sys, warnings\nprint('a' *"
        " 30)\nwarnings.warn('careful')\nsys.stdout.buffer.write(b'bytes')\ndef more():\n   "
        " print('b' * 10**6)\n    return 1"
    )
    with open_student([Cell(None, code)], limits=Limits(output_chars=200), warm=()) as student:
        assert (
            student.printed.startswith("a" * 30)
            and "careful" in student.printed
            and student.printed.endswith("bytes")
        )
        assert student.more() == 1
        kept, note = student.printed.rsplit("\n", 1)
        assert len(kept) == 200 and note.startswith("[") and "more characters" in note


def test_text_from_inside_carries_no_control_characters():
    with open_student(
        [
            Cell(
                None,
                "print('\\x1b[31mred\\x00')\ndef f(): raise"
                " ValueError('\\x1b]0;title\\x07\\ud800')",
            )
        ],
        warm=(),
    ) as student:
        assert "\x1b" not in student.printed and "red" in student.printed
        with pytest.raises(StudentError) as caught:
            student.f()
        assert not set("\x1b\x07\x00\ud800") & set(caught.value.text)


def test_two_sandboxes_share_nothing():
    code = (
        "import os\ndef write(): open('/tmp/x', 'w').close(); return look()\ndef look(): return"
        " os.listdir('/tmp')"
    )
    with (
        open_student([Cell("a", code)], warm=()) as one,
        open_student([Cell("a", code)], warm=()) as other,
    ):
        assert "x" in one.write() and "x" not in other.look()


def test_a_pool_starts_ahead_and_gives_each_submission_a_fresh_sandbox():
    code = (
        "import os\nseen = os.path.exists('/tmp/x')\nopen('/tmp/x', 'w').close()\ndef f(): return"
        " seen"
    )
    with Pool(warm=()) as pool:
        pool.expect(3)
        started = []
        for _ in range(3):
            with pool.open_student([Cell("a", code)]) as student:
                started.append(student._process.pid)
                assert student.f() is False
                assert len(pool._waiting) == (1 if len(started) < 3 else 0)
        assert len(set(started)) == 3


def test_a_pool_kills_a_sandbox_at_once_and_leaves_none_behind():
    ended = []
    with Pool(warm=()) as pool:
        for _ in range(3):
            with pool.open_student([Cell("a", "def f(): return 1")]) as student:
                assert student.f() == 1
                ended.append(student._process)
            assert ended[-1]._dying, "it was not killed"
        assert ended[0]._child is None and ended[2]._child is not None
    assert all(one._child is None for one in ended)


def test_the_process_backend_must_be_asked_for_twice():
    from autograder.common.errors import CourseError

    with pytest.raises(CourseError, match="isolates nothing"):
        choose_backend("process")
    with pytest.raises(CourseError, match="no sandbox backend"):
        choose_backend("chroot")
    backend = choose_backend("process", allow_unsafe=True)
    assert backend.isolates is False
    with open_student(
        [Cell("a", "def f(x): return math.sqrt(x)\nimport math")], backend=backend, warm=()
    ) as student:
        assert student.f(math.pi) == math.sqrt(math.pi)


@pytest.mark.parametrize(
    "name", ["cell 1 ({:x})", "cell 1 (tells)", "cell 01 (tells)", "cell 7 (tells)"]
)
def test_a_traceback_names_lines_of_the_notebook_and_no_place_that_a_student_made_up(name):
    source = (
        f"def tell(x):\n    exec(compile('\\n' * 5000 + 'raise ValueError', {name!r}.format(x),"
        " 'exec'), globals())"
    )
    with open_student([Cell("tells", source)]) as student, pytest.raises(StudentError) as told:
        student.call("tell", 0xC0FFEE)
    shown = discreet(
        StageResult("one", 1, 0, "error", "", told.value.text), StageResult("one", 1, 0, "passed")
    ).detail
    assert shown.split("\n") == ["cell 1 (tells), line 2", "ValueError"]
    assert "c0ffee" not in told.value.text and "line 5001" not in told.value.text


def test_what_one_exercise_returns_in_all_has_a_limit_and_the_next_one_has_its_own():
    # 400 kB a call
    source = "import numpy as np\ndef wide(): return np.zeros(50_000)\ndef narrow(): return 1"
    with open_student([Cell("wide", source)], limits=Limits(answer_bytes=1_000_000)) as student:
        student.new_exercise({})
        assert [len(student.wide()) for _ in range(3)] == [50_000] * 3
        for name in ("wide", "narrow"):
            with pytest.raises(
                StudentError, match=r"what this exercise returned has more than 0 MiB in all"
            ):
                student.call(name)
        student.new_exercise({})
        assert student.narrow() == 1


def test_a_dictionary_whose_keys_may_collide_is_no_answer(remote):
    source = (
        "def many(count, text): return {str(i) if text else i * 2**20: 0 for i in range(count)}"
    )
    with open_student([Cell("many", source)]) as student:
        with pytest.raises(StudentError, match="more than 10,000 keys that are not text"):
            student.many(10_001, False)
        assert (
            len(student.many(10_000, False)) == 10_000 and len(student.many(10_001, True)) == 10_001
        )
