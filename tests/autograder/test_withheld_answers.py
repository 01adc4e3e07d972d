"""Nothing that a student can import returns the answer of an exercise, unless it is withheld or allowed with a reason.

Here the sweep looks where the answers of a chapter are likeliest; `course author withheld NN` looks everywhere.
"""
import pytest
import torch

from autograder.authoring import sweep
from autograder.authoring.catalogue import assignment
from autograder.checks import withholding

EMBEDDINGS = [f"reference_impl.embeddings.{name}" for name in ("counts", "cbow", "evaluation", "glove", "hierarchical", "skipgram",
                                                               "softmax", "subwords", "vectors", "vocabulary", "windows")]
PLACES = {"01": [*EMBEDDINGS, "torch.nn.functional", "torch.linalg", "torch.special", "scipy.special", "math"]}
PPMI = "reference_impl.embeddings.counts.ppmi"


@pytest.fixture(scope="module", params=PLACES)
def swept(request):
    """An assignment, and what the sweep finds for each of its exercises."""
    one = assignment(request.param)
    return one, sweep.answers(one.exercises.values(), PLACES[request.param])


def test_what_answers_an_exercise_is_withheld_or_allowed_with_a_reason(swept):
    one, found = swept
    left = {id: sweep.unexplained(one.exercises[id], names, sweep.solution_of(one, one.exercises[id])) for id, names in found.items()}
    assert not any(left.values()), left


def test_what_is_found_in_the_reference_stands_in_the_kept_table(swept):
    one, found = swept
    kept = withholding.found(one.number)
    assert all(set(names) <= set(kept[id]) for id, names in sweep.of_reference(found).items())


def test_a_withholding_that_is_removed_is_missed(swept, monkeypatch):
    one, found = swept
    ppmi = one.exercise("01.ppmi")
    solution = sweep.solution_of(one, ppmi)
    assert PPMI in found["01.ppmi"] and sweep.unexplained(ppmi, found["01.ppmi"], solution) == []
    monkeypatch.setattr(withholding, "found", lambda number: {})
    for other in one.exercises.values():
        monkeypatch.setattr(other, "withhold", ())
    assert sweep.unexplained(ppmi, found["01.ppmi"], solution) == [PPMI]


def test_an_answer_is_found_in_other_orders_arrays_and_parts(monkeypatch):
    calls = [sweep.Asked("s", "f", (torch.tensor(rows), 1), {}, torch.tensor(rows).sum(0)) for rows in ([[1.0, 2.0], [3.0, 4.0]], [[5.0]])]
    assert sweep.returns(lambda table, n: (n, table.sum(0)), calls) and sweep.returns(lambda n, table: table.sum(0), calls)
    assert sweep.returns(lambda table, n: table.sum(axis=0) if isinstance(table, __import__("numpy").ndarray) else None, calls)
    assert not sweep.returns(lambda table, n: table.sum(1), calls)
    assert not sweep.returns(lambda table, n: table.sum(0) if len(table) > 1 else None, calls)      # right for one of two
