"""Random tensors in float64, the same in every run."""

import pytest
import torch


@pytest.fixture
def randn():
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(
        *shape, generator=generator, dtype=torch.float64, requires_grad=True
    )
