"""The sweep for what a student could call instead of writing an exercise."""
import torch

from autograder.authoring import sweep


def test_an_answer_is_found_in_other_orders_arrays_and_parts(monkeypatch):
    calls = [sweep.Asked("s", "f", (torch.tensor(rows), 1), {}, torch.tensor(rows).sum(0)) for rows in ([[1.0, 2.0], [3.0, 4.0]], [[5.0]])]
    assert sweep.returns(lambda table, n: (n, table.sum(0)), calls) and sweep.returns(lambda n, table: table.sum(0), calls)
    assert sweep.returns(lambda table, n: table.sum(axis=0) if isinstance(table, __import__("numpy").ndarray) else None, calls)
    assert not sweep.returns(lambda table, n: table.sum(1), calls)
    assert not sweep.returns(lambda table, n: table.sum(0) if len(table) > 1 else None, calls)      # right for one of two
