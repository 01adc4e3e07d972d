"""Nothing that a student can import returns the answer of an exercise, unless it is withheld or allowed with a reason."""
import pytest
import torch

from autograder.authoring import sweep
from autograder.authoring.catalogue import assignments
from autograder.checks import withholding
from autograder.checks.protocol import exercise, expect

PPMI = "reference_impl.embeddings.counts.ppmi"


@pytest.fixture(scope="module", params=assignments(), ids=lambda one: one.name)
def swept(request):
    """An assignment, and what the sweep finds for each of its exercises."""
    return request.param, sweep.answers(request.param.exercises.values())


def test_what_answers_an_exercise_is_withheld_or_allowed_with_a_reason(swept):
    one, found = swept
    left = {id: sweep.unexplained(one.exercises[id], names, sweep.solution_of(one, one.exercises[id])) for id, names in found.items()}
    assert not any(left.values()), left


def test_the_kept_table_is_what_the_sweep_finds(swept):
    one, found = swept
    assert withholding.found(one.number) == sweep.of_reference(found)


def test_every_allowance_is_needed_and_says_why(swept):
    one, found = swept
    for id, names in found.items():
        assert set(one.exercises[id].allowed) <= set(names) and all(map(str.strip, one.exercises[id].allowed.values())), id


def test_a_withholding_that_is_removed_is_missed(swept, monkeypatch):
    one, found = swept
    if one.number != "01":
        pytest.skip("the example is chapter 1's PPMI")
    ppmi = one.exercise("01.ppmi")
    solution = sweep.solution_of(one, ppmi)
    assert PPMI in found["01.ppmi"] and sweep.unexplained(ppmi, found["01.ppmi"], solution) == []
    monkeypatch.setattr(withholding, "found", lambda number: {})
    for other in one.exercises.values():
        monkeypatch.setattr(other, "withhold", ())
    assert PPMI in sweep.unexplained(ppmi, found["01.ppmi"], solution)


def test_an_answer_is_found_in_other_orders_arrays_and_parts(monkeypatch):
    calls = [sweep.Asked("s", "f", (torch.tensor(rows), 1), {}, torch.tensor(rows).sum(0)) for rows in ([[1.0, 2.0], [3.0, 4.0]], [[5.0]])]
    assert sweep.returns(lambda table, n: (n, table.sum(0)), calls) and sweep.returns(lambda n, table: table.sum(0), calls)
    assert sweep.returns(lambda table, n: table.sum(axis=0) if isinstance(table, __import__("numpy").ndarray) else None, calls)
    assert not sweep.returns(lambda table, n: table.sum(1), calls)
    assert not sweep.returns(lambda table, n: table.sum(0) if len(table) > 1 else None, calls)      # right for one of two


def test_an_operator_that_is_the_answer_is_found(fresh_softmax):
    names = sweep.answers([fresh_softmax])[fresh_softmax.id]
    assert {"torch.softmax", "torch.nn.functional.softmax", "scipy.special.softmax"} & set(names), names
    assert sweep.unexplained(fresh_softmax, names, "") == names
    fresh_softmax.allowed = dict.fromkeys(names, "it is the point of the exercise to call it")
    assert sweep.unexplained(fresh_softmax, names, "") == []


@pytest.fixture
def fresh_softmax(monkeypatch):
    """An exercise that softmax answers, with a reference of its own."""
    made = exercise("99.soft", function="soft", points=1)
    monkeypatch.setattr("autograder.authoring.asked.reference", lambda number: {"soft": lambda x, dim: torch.softmax(x, dim)})

    @made.stage("sums", points=1)
    def test_sums(student, rng):
        expect(student.soft(torch.randn(3, 4, generator=rng), 1)).is_tensor()
        expect(student.soft(torch.randn(2, 3, generator=rng), 0)).is_tensor()
    yield made
    from autograder.checks.protocol import EXERCISES
    del EXERCISES["99.soft"]
