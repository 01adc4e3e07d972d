"""Pooling and search by hand, with padding that would change the result if it were read."""

import pytest
import torch

from reference_impl.layers.checks import ModelInputError
from reference_impl.models.pooling import pool, search

X = torch.tensor(
    [
        [[1.0, -5.0], [3.0, -7.0], [100.0, 100.0]],
        [[100.0, 100.0], [2.0, 4.0], [8.0, -2.0]],
        [[100.0, 100.0], [100.0, 100.0], [100.0, 100.0]],
    ]
)
MASK = torch.tensor([[True, True, False], [False, True, True], [False, False, False]])


@pytest.mark.parametrize(
    "how, expected",
    [
        ("mean", [[2.0, -6.0], [5.0, 1.0], [0.0, 0.0]]),
        ("cls", [[1.0, -5.0], [2.0, 4.0], [0.0, 0.0]]),
        ("max", [[3.0, -5.0], [8.0, 4.0], [0.0, 0.0]]),
    ],
)
def test_padding_on_either_side_is_left_out_and_a_row_of_padding_is_zero(how, expected):
    assert pool(X, MASK, how).tolist() == expected


@pytest.mark.parametrize("how", ["mean", "cls", "max"])
def test_gradients_reach_no_padding_and_are_numbers(how):
    x = X.clone().requires_grad_()
    pool(x, MASK, how).sum().backward()
    assert x.grad.isfinite().all() and x.grad[~MASK].abs().max() == 0
    assert x.grad[0].abs().sum() > 0


def test_search_goes_by_the_angle_and_not_the_length_by_hand():
    texts = torch.tensor([[100.0, 100.0], [3.0, 4.0], [0.1, 0.0], [-5.0, 0.0]])
    found = search(torch.tensor([[2.0, 0.0], [0.0, 7.0]]), texts, count=2)
    assert found.places.tolist() == [[2, 0], [1, 0]]
    torch.testing.assert_close(found.cosines, torch.tensor([[1.0, 0.5**0.5], [0.8, 0.5**0.5]]))
    assert search(texts[:1], texts, count=99).places.tolist() == [[0, 1, 2, 3]]


@pytest.mark.usefixtures("as_students_run_it")
def test_what_cannot_be_pooled_or_searched_is_refused():
    with pytest.raises(ModelInputError, match="no pooling called 'first': choose mean, cls, max"):
        pool(X, MASK, "first")
    with pytest.raises(ModelInputError, match="the mask is torch.int64"):
        pool(X, MASK.long())
    with pytest.raises(ModelInputError, match=r"mask has shape \(3, 2\)"):
        pool(X, MASK[:, :2])
    with pytest.raises(ModelInputError, match="1 of 0 texts"):
        search(X[0], X[0, :0], 1)
