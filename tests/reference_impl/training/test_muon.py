"""Muon beside the polar factor from an SVD and beside torch's own."""

import pytest
import torch
from torch import nn

from reference_impl.training.muon import Muon, newton_schulz


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (12, 30), (30, 12)])
def test_the_singular_vectors_stay_and_the_values_come_near_one(shape):
    torch.manual_seed(0)
    g = torch.randn(shape, dtype=torch.float64)
    u, _, vh = torch.linalg.svd(g, full_matrices=False)
    values = u.mT @ newton_schulz(g, 8) @ vh.mT
    off_diagonal = values - torch.diag(values.diagonal())
    assert off_diagonal.abs().max() < 1e-9
    assert values.diagonal().min() > 0.6 and values.diagonal().max() < 1.25


def test_the_size_of_the_gradient_does_not_matter():
    torch.manual_seed(1)
    g = torch.randn(6, 4)
    torch.testing.assert_close(newton_schulz(100 * g), newton_schulz(g), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(8, 5), (5, 8)])
def test_steps_are_those_of_torch(shape):
    torch.manual_seed(2)
    start = torch.randn(shape)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    optimizers = (
        Muon([ours], lr=0.02, weight_decay=0.1),
        torch.optim.Muon([theirs], lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
    )
    for _ in range(4):
        ours.grad = torch.randn(shape)
        theirs.grad = ours.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    assert (ours - start).abs().max() > 0.02
    torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-3)  # torch iterates in bfloat16


def test_a_vector_is_refused():
    with pytest.raises(ValueError, match="Muon is for matrices"):
        Muon([nn.Parameter(torch.zeros(3))], lr=0.1)
