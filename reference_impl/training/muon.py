"""Muon: momentum whose update of each matrix is made nearly orthogonal.

Jordan et al. 2024. The update's singular values are all brought near 1, by five steps
of a Newton-Schulz iteration that needs matrix products only. It is for the matrices of
the blocks; embeddings, norms and biases keep AdamW. The factor 0.2 sqrt(max(n, m))
gives updates the root mean square of AdamW's (Liu et al. 2025), so that both can share
one learning rate.

Not here: bfloat16, in which the iteration usually runs; sharded matrices.
"""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def newton_schulz(g: Float[Tensor, "N M"], steps: int = 5) -> Float[Tensor, "N M"]:
    """A matrix with the singular vectors of `g` and singular values near 1."""
    a, b, c = COEFFICIENTS
    tall = g.shape[0] > g.shape[1]
    x = g.mT if tall else g
    x = x / (x.norm() + 1e-7)  # no singular value above 1
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Muon with Nesterov momentum and decoupled weight decay, for matrices only."""

    def __init__(
        self,
        matrices: Iterable[nn.Parameter],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.1,
    ):
        super().__init__(
            matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        )
        for group in self.param_groups:
            if any(matrix.ndim != 2 for matrix in group["params"]):
                raise ValueError("Muon is for matrices: give the others to AdamW")

    @torch.no_grad()
    def step(self, closure=None) -> None:
        """Move every matrix that has a gradient."""
        for group in self.param_groups:
            rate, momentum = group["lr"], group["momentum"]
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                state = self.state[matrix]
                if not state:
                    state["average"] = torch.zeros_like(matrix)
                average = state["average"].lerp_(matrix.grad, 1 - momentum)
                update = newton_schulz(matrix.grad.lerp(average, momentum))
                matrix.mul_(1 - rate * group["weight_decay"])
                matrix.sub_(0.2 * max(matrix.shape) ** 0.5 * rate * update)
