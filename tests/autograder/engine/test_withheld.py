"""What is withheld is refused in one sentence, at home and in the sandbox alike, however it is
reached.
"""

import pytest
import tokenizers  # noqa: F401    loaded here, so that the cell below has nothing slow to do

import reference_impl.embeddings.counts  # noqa: F401
from autograder.authoring.implementations import run_cells
from autograder.checks.protocol import EXERCISES, LocalStudent, exercise, expect, run_exercise
from autograder.checks.restrictions.guard import CallGuard, Withheld, sentence
from autograder.checks.restrictions.names import in_chapter, in_exercise
from autograder.sandbox import Cell, Limits, open_student

COUNTS, SDPA = (
    "reference_impl.embeddings.counts",
    "torch.nn.functional.scaled_dot_product_attention",
)
NAMES = {
    COUNTS: "it answers exercise 99.ask",
    "tokenizers": "the tokenizer is what you write",
    SDPA: "it is attention itself",
    "torch.nn.LSTMCell": "it is the cell itself",
    "torch.Tensor.softmax": "it is the softmax",
    "reference_impl.embeddings.vocabulary.tokenize": "it answers exercise 99.ask",
}
SETUP = """
import functools, torch, torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention as sdpa
from tokenizers import Tokenizer, models
import tokenizers
from reference_impl.embeddings.counts import ppmi
from reference_impl.embeddings import counts, vocabulary
from reference_impl.embeddings.vocabulary import Vocabulary
q = torch.ones(1, 2, 4)
kept = {"sdpa": functools.partial(sdpa)}
class Mine(torch.nn.LSTMCell): pass
def swallows(x):
    try: return ppmi(x)
    except Exception: return x
def through_the_library(x):
    return torch.nn.MultiheadAttention(4, 1)(q, q, q, need_weights=False)[0]
def honest(x): return torch.softmax(x @ x.T, -1)
def imports_inside(x):
    from reference_impl.embeddings.counts import ppmi
    return x.clone()
"""
TOUCHES = {
    "lambda x: ppmi(x)": COUNTS,
    "lambda x: counts.ppmi(x)": COUNTS,
    "swallows": COUNTS,
    "lambda x: vocabulary.tokenize('a b')": "reference_impl.embeddings.vocabulary.tokenize",
    "lambda x: F.scaled_dot_product_attention(q, q, q)": SDPA,
    "lambda x: sdpa(q, q, q)": SDPA,
    "lambda x: kept['sdpa'](q, q, q)": SDPA,
    "through_the_library": SDPA,
    "lambda x: torch.nn.LSTMCell(2, 2)": "torch.nn.LSTMCell",
    "lambda x: Mine(2, 2)": "torch.nn.LSTMCell",
    "lambda x: x.softmax(-1)": "torch.Tensor.softmax",
    "lambda x: Tokenizer(models.BPE()).encode('a')": "tokenizers",
    "lambda x: tokenizers.Tokenizer.from_str('{}')": "tokenizers",
}
FREE = [
    "honest",
    "imports_inside",
    "lambda x: torch.ones(3)",
    "lambda x: Vocabulary(['a'], [1]) and x.clone()",
]
SOURCE = SETUP + "".join(f"f{number} = {code}\n" for number, code in enumerate([*TOUCHES, *FREE]))


@pytest.fixture(scope="module")
def ask():
    made = exercise("99.ask", function="reply", points=1, withhold=NAMES)

    @made.stage("answers", points=1)
    def test_answers(student):
        import torch

        expect(student.reply(torch.ones(2, 2))).is_tensor()

    yield made
    del EXERCISES["99.ask"]


@pytest.fixture(scope="module")
def places(ask):
    """The same cell at home and in the sandbox: from a function's number to the result of the
    exercise.
    """
    namespace, failures = run_cells([("cell", SOURCE)], "cell")
    assert failures == []

    def at_home(number):
        return run_exercise(ask, LocalStudent({"reply": namespace[f"f{number}"]}), mistakes=[])

    patient = Limits(
        start_seconds=300, cells_seconds=300, cell_seconds=300, call_seconds=60, total_seconds=1200
    )
    with open_student([Cell("cell", SOURCE)], in_chapter([ask]), patient) as student:
        assert student.cell_errors == []
        perform = student.perform

        def inside(number):
            from dataclasses import replace

            student.perform = lambda request: perform(replace(request, name=f"f{number}"))
            return run_exercise(ask, student, mistakes=[])

        yield {"home": at_home, "sandbox": inside}


@pytest.mark.sandbox
@pytest.mark.parametrize("number", range(len(TOUCHES)), ids=list(TOUCHES))
@pytest.mark.parametrize("place", ["home", "sandbox"])
def test_a_touch_is_told_in_one_sentence_that_names_what_and_why(places, place, number):
    name = list(TOUCHES.values())[number]
    [stage] = places[place](number).stages
    assert (stage.status, stage.cause, stage.earned) == ("wrong", sentence(name, NAMES[name]), 0)


@pytest.mark.sandbox
@pytest.mark.parametrize("number", range(len(FREE)), ids=FREE)
@pytest.mark.parametrize("place", ["home", "sandbox"])
def test_its_neighbours_and_an_import_alone_are_free(places, place, number):
    result = places[place](len(TOUCHES) + number)
    assert result.earned == 1, result


def test_our_own_callable_may_use_what_the_student_may_not():
    import torch

    from reference_impl.embeddings.counts import ppmi

    student = LocalStudent(
        {"f": lambda g: g(torch.ones(2, 2)), "h": lambda g: ppmi(g(torch.ones(2, 2)))}
    )
    student.withheld = NAMES
    assert student.f(ppmi).shape == (2, 2)
    with pytest.raises(Exception, match="withheld here"):
        student.h(ppmi)


def test_a_cell_that_uses_what_is_withheld_is_told_so_and_the_others_run():
    namespace, failures = run_cells(
        [
            (
                "a",
                (
                    "from reference_impl.embeddings.counts import ppmi\nimport torch\nx ="
                    " ppmi(torch.ones(2, 2))"
                ),
            ),
            ("b", "y = 1"),
        ],
        "mine",
        {COUNTS: "it is the answer"},
    )
    assert (
        "x" not in namespace
        and namespace["y"] == 1
        and sentence(COUNTS, "it is the answer") in failures[0]
        and "line 3" in failures[0]
    )


def test_the_graders_own_answers_are_withheld_everywhere(ask):
    def cheat(x):
        from autograder.authoring.implementations import reference

        reference.cache_clear()  # a kept answer runs no Python of ours that could be seen
        return reference("01")["ppmi"](x)

    [stage] = run_exercise(ask, LocalStudent({"reply": cheat}), mistakes=[]).stages
    assert stage.cause == sentence("autograder.authoring", "it belongs to the grader")


def test_an_operator_is_withheld_in_its_exercise_and_the_reference_in_the_whole_chapter(ask):
    made = exercise("99.other", function="other", points=1)
    try:
        here = in_exercise(made)
        assert (
            COUNTS in here
            and "tokenizers" in here
            and SDPA not in here
            and SDPA in in_exercise(ask)
        )
    finally:
        del EXERCISES["99.other"]


def test_a_name_that_means_nothing_callable_is_refused():
    with pytest.raises(ValueError, match="not a module, function or class"):
        CallGuard({"torch.pi": "no"})


def test_a_package_is_not_loaded_for_the_guard_and_is_refused_once_the_student_loads_it(
    tmp_path, monkeypatch
):
    (tmp_path / "slow_package.py").write_text(
        "def cut(word):\n    return [word]\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    guard = CallGuard({"slow_package": "it is the answer"})
    with guard:
        pass
    assert "slow_package" not in __import__("sys").modules
    with pytest.raises(Withheld, match="slow_package"), guard:
        __import__("slow_package").cut("bank")


def test_a_profiler_that_was_there_is_there_again():
    import sys

    seen = []
    sys.setprofile(lambda *args: seen.append(1))
    try:
        with CallGuard(NAMES):
            pass
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
    with pytest.raises(Withheld), CallGuard({"math.sqrt": "no"}):
        __import__("math").sqrt(2)
