"""Tables that files of older libraries carry although they are computed: looked at, and
left.

Each function says whether a tensor holds what the model computes anyway. A file whose
table is another one was made for another model, and is refused.
"""

import torch
from torch import Tensor


def counted(table: Tensor, config: object) -> bool:
    """0, 1, 2, ...: which row of the position table each place reads."""
    return torch.equal(table.flatten().long(), torch.arange(table.numel()))


def zeros(table: Tensor, config: object) -> bool:
    """The first segment everywhere."""
    return not bool(table.any())


def causal(table: Tensor, config: object) -> bool:
    """Ones up to the diagonal: who may see whom."""
    return table.ndim >= 2 and torch.equal(
        table.bool(), torch.ones_like(table, dtype=torch.bool).tril()
    )


def hiding(table: Tensor, config: object) -> bool:
    """One large negative number, the score of what may not be seen."""
    return table.numel() == 1 and float(table) <= -1e4


def frequencies(table: Tensor, config: object) -> bool:
    """base^(-2i / D) for each of the D/2 angles, as far as half precision tells."""
    steps = torch.arange(table.numel(), dtype=torch.float64) / max(table.numel(), 1)
    return torch.allclose(
        table.double().flatten(), config.rope_theta**-steps, rtol=1e-2, atol=1e-7
    )
