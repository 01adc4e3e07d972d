"""What a check can see of a student in this process: plain copies, recorded calls, and sentences
for what went wrong.
"""

import numpy as np
import pytest
import torch

from autograder.checks.student.local import LocalStudent
from autograder.checks.student.requests import Returned, StudentError


def student(**functions) -> LocalStudent:
    return LocalStudent(functions)


def error_of(function, *args) -> StudentError:
    with pytest.raises(StudentError) as caught:
        student(f=function).f(*args)
    return caught.value


def test_an_in_place_change_is_seen_by_call_and_never_reaches_the_checks_own_tensor():
    mine = torch.zeros(3)
    returned = student(f=lambda x: x.add_(1)).call("f", mine)
    assert torch.equal(mine, torch.zeros(3))
    assert torch.equal(returned.args[0], torch.ones(3))


def test_a_result_shares_no_memory_with_the_argument_or_with_the_student():
    kept = torch.zeros(2)
    got = student(f=lambda: kept).f()
    kept.fill_(7)
    assert torch.equal(got, torch.zeros(2))


def test_a_gradient_graph_does_not_cross():
    weight = torch.ones(2, requires_grad=True)
    assert not student(f=lambda x: x * weight).f(torch.ones(2)).requires_grad


def test_keyword_arguments_and_nested_values_cross():
    value = {
        "a": [1, (2.0, "b")],
        "c": None,
        "d": np.arange(3),
        "e": torch.ones(2, dtype=torch.int64),
    }
    got = student(f=lambda x, *, scale: {**x, "scale": scale}).f(value, scale=2)
    assert got["a"] == [1, (2.0, "b")] and got["scale"] == 2 and got["d"].tolist() == [0, 1, 2]


def test_calls_are_recorded_until_a_new_stage_begins():
    one = student(f=lambda x: x + 1)
    one.f(1)
    with pytest.raises(StudentError):
        one.g(2)
    assert [call.name for call in one.calls] == ["f", "g"]
    assert one.calls[0].outcome == Returned(2, (1,)) and one.calls[1].outcome.kind == "missing"
    one.new_stage()
    assert one.calls == []


def test_a_stub_is_not_attempted_and_its_sentence_is_kept():
    def f():
        raise NotImplementedError("replace this line with your code.")

    error = error_of(f)
    assert (
        error.kind == "not_attempted"
        and error.text
        == "`f` is not written yet: replace its `raise NotImplementedError` line with your code."
    )


def test_a_missing_function_is_named():
    with pytest.raises(StudentError, match="no function named `f`"):
        student().f()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (object(), "object of type object"),
        (1j, "complex"),
        pytest.param(-(10**5000), "an int beyond 64 bits", id="huge"),
        (np.array([object()]), "dtype object"),
        (torch.ones(2).to_sparse(), "sparse"),
        ({1j: 2}, "a dictionary with a key of type complex"),
        ({float("nan"): 2}, "the key nan"),
        (
            {"config": {"dtype": torch.float32}},
            "returned under the key 'dtype' a torch.dtype, which JSON does not have",
        ),
        ([[[[[[[[[[1]]]]]]]]]], "more than 8 levels"),
        (lambda: 1, "function"),
    ],
)
def test_a_value_that_cannot_cross_is_unreadable_and_the_sentence_says_why(value, said):
    error = error_of(lambda: value)
    assert (
        error.kind == "unreadable" and error.text.startswith("`f` returned") and said in error.text
    )


NOTEBOOK = """
import torch
def helper(x):
    return x.reshape(7)

def f(x):
    y = x + 1
    return helper(y)
"""


def test_a_traceback_shows_the_students_own_lines_and_nothing_of_ours_or_of_torch(tmp_path):
    path = tmp_path / "work.py"
    path.write_text(NOTEBOOK)
    namespace = {}
    exec(compile(NOTEBOOK, str(path), "exec"), namespace)
    with pytest.raises(StudentError) as caught:
        LocalStudent(namespace).f(torch.ones(2))
    lines = caught.value.text.split("\n")
    assert caught.value.kind == "error"
    assert lines[:2] == [
        "work.py, line 8: return helper(y)",
        "work.py, line 4: return x.reshape(7)",
    ]
    assert lines[2].startswith("RuntimeError: shape '[7]' is invalid") and len(lines) == 3


def test_a_runaway_recursion_is_cut_short():
    def f(x):
        return f(x)

    error = error_of(f, 1)
    assert "RecursionError" in error.text and len(error.text.split("\n")) <= 8


@pytest.mark.parametrize("leave", [SystemExit, GeneratorExit, lambda: BaseException("odd")])
def test_a_student_who_leaves_the_process_only_gets_an_error(leave):
    def f():
        raise leave()

    assert error_of(f).kind == "error"


def test_a_callable_of_ours_reaches_the_student_nameless_and_with_copies_only():
    mine = torch.zeros(2)

    def secret_name(x):
        return mine

    def f(implementation):
        implementation(torch.ones(2)).fill_(9)
        return implementation.__name__

    assert student(f=f).f(secret_name) == "implementation"
    assert torch.equal(mine, torch.zeros(2))


def test_an_exception_of_our_callable_arrives_as_a_builtin_class():
    class Ours(Exception):
        pass

    def f(implementation):
        try:
            implementation()
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    def value_error():
        raise ValueError("seven")

    def ours():
        raise Ours("eight")

    assert student(f=f).f(value_error) == "ValueError: seven"
    assert student(f=f).f(ours) == "RuntimeError: eight"


def test_an_interrupt_from_the_keyboard_is_not_the_students_error():
    def f():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        student(f=f).f()
