"""Norms: bring every token's numbers to one size before the next layer.

Ba et al. 2016, equation 3 (LayerNorm); Zhang and Sennrich 2019, equation 4 (RMSNorm).
`layer_norm` and `rms_norm` are the formulas; the modules give the same by torch's fused
operators, RMSNorm by our kernel where `kernels.selection` says so.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from reference_impl.kernels.selection import runs_ours


def layer_norm(
    x: Float[Tensor, "... C"],
    weight: Float[Tensor, "C"],
    bias: Float[Tensor, "C"] | None = None,
    eps: float = 1e-5,
) -> Float[Tensor, "... C"]:
    """(x - mean) / sqrt(variance + eps) * weight + bias, over each token's C numbers;
    the variance divides by C.
    """
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    normed = centred / (variance + eps).sqrt() * weight
    return normed if bias is None else normed + bias


def rms_norm(
    x: Float[Tensor, "... C"], weight: Float[Tensor, "C"], eps: float = 1e-6
) -> Float[Tensor, "... C"]:
    """x / sqrt(mean of squares + eps) * weight: no mean subtracted, no bias added."""
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight


class LayerNorm(nn.LayerNorm):
    """`layer_norm` with trained weight (from 1) and bias (from 0); ModernBERT has none
    of the second.
    """

    def __init__(self, hidden_size: int, eps: float = 1e-5, bias: bool = True):
        super().__init__(hidden_size, eps=eps, bias=bias)


class RMSNorm(nn.Module):
    """`rms_norm` with a trained weight (from 1).

    The mean of squares of half-precision numbers is taken in float32.
    """

    def __init__(self, hidden_size: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... C"]:
        """Norm the last dimension."""
        if x.dtype == self.weight.dtype and runs_ours("rms_norm", x):
            from reference_impl.kernels.rmsnorm import (
                rms_norm as fused,
            )  # Triton, which takes a while to import

            return fused(x, self.weight, self.eps, backend="triton")
        return nn.functional.rms_norm(x, self.weight.shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """What print(model) shows."""
        return f"{self.weight.numel()}, eps={self.eps}"
