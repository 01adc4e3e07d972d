"""The mean cosine and all-but-the-top: against all pairs, numpy's SVD, and what must follow."""

import numpy as np
import pytest
import torch

from reference_impl.embeddings.geometry import all_but_the_top, mean_cosine


def table(rows=40, dim=7, shift=2.0):
    generator = torch.Generator().manual_seed(0)
    scale = torch.linspace(3, 0.5, dim, dtype=torch.float64)
    return torch.randn(rows, dim, generator=generator, dtype=torch.float64) * scale + shift


def test_the_mean_cosine_is_that_of_all_pairs():
    matrix = table()
    unit = matrix / matrix.norm(dim=1, keepdim=True)
    cosines = unit @ unit.T
    pairs = cosines[~torch.eye(len(matrix), dtype=torch.bool)]
    assert mean_cosine(matrix) == pytest.approx(pairs.mean().item())
    assert mean_cosine(torch.eye(3)) == pytest.approx(0)
    assert mean_cosine(torch.tensor([[1.0, 2], [2, 4]])) == pytest.approx(1)


@pytest.mark.parametrize("top", [0, 1, 3])
def test_what_remains_is_what_numpys_svd_leaves(top):
    matrix = table()
    centred = matrix.numpy() - matrix.numpy().mean(0)
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    s[:top] = 0
    assert np.allclose(all_but_the_top(matrix, top).numpy(), u * s @ vt, atol=1e-9)


def test_the_mean_is_gone_and_cosines_are_spread_about_zero():
    matrix = table()
    left = all_but_the_top(matrix, 0)
    assert torch.allclose(left.mean(0), torch.zeros(7, dtype=torch.float64), atol=1e-12)
    assert mean_cosine(matrix) > 0.3 > 0.1 > abs(mean_cosine(left))
    assert all_but_the_top(matrix.float(), 1).dtype == torch.float32
