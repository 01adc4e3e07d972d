"""The feed-forward layer: each token alone, through a wider layer and back.

Vaswani et al. 2017, section 3.3 (ReLU); Maas et al. 2013, section 2 (leaky ReLU);
Hendrycks and Gimpel 2016, section 2 (GELU and its tanh form); Shazeer 2020, equations 5
and 6 (gated: GeGLU, SwiGLU).
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from reference_impl.kernels.selection import runs_ours
from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.joined import products


def leaky_relu(x: Float[Tensor, "..."], slope: float = 0.01) -> Float[Tensor, "..."]:
    """x where it is above zero, and slope * x below: a small positive slope, so that a
    gradient comes back from both sides.
    """
    return torch.where(x > 0, x, slope * x)


def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """x times the probability that a normal number is below x: a ReLU whose corner is
    rounded.
    """
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def gelu_tanh(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GELU with tanh in the place of erf, as GPT computes it; off by less than 0.0005
    everywhere (a test looks).
    """
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """x times the logistic function of x, also called swish: what SwiGLU gates with."""
    return x * torch.sigmoid(x)


def _fused_gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


# By the names that published configurations use; torch's fused operators, equal to the
# formulas above by test.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_new": _fused_gelu_tanh,
    "gelu_fast": _fused_gelu_tanh,
    "gelu_pytorch_tanh": _fused_gelu_tanh,
    "silu": F.silu,
    "leaky_relu": F.leaky_relu,
}


def activation(name: str) -> Callable[[Tensor], Tensor]:
    """The activation of this name in a published config.json."""
    if name not in ACTIVATIONS:
        raise ModelInputError(
            f"activation {name!r} is none of {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS[name]


class FeedForward(nn.Module):
    """down(activation(up(x))).

    T5 drops some of what is between; BERT and GPT do not.
    """

    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        act: str = "gelu",
        bias: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.dropout = dropout
        self.up = nn.Linear(hidden_size, intermediate_size, bias)
        self.down = nn.Linear(intermediate_size, hidden_size, bias)
        self.act = activation(act)

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Each token alone."""
        return self.down(F.dropout(self.act(self.up(x)), self.dropout, self.training))


class GatedFeedForward(nn.Module):
    """down(activation(gate(x)) * up(x)): SwiGLU with "silu", GeGLU with "gelu".

    T5 1.1 drops some of what is between.

    Three matrices in the place of two; at two thirds of the intermediate size there are
    as many parameters.
    """

    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        act: str = "silu",
        bias: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.dropout = dropout
        self.gate = nn.Linear(hidden_size, intermediate_size, bias)
        self.up = nn.Linear(hidden_size, intermediate_size, bias)
        self.down = nn.Linear(intermediate_size, hidden_size, bias)
        self.act = activation(act)

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Each token alone."""
        gate, up = products(x, self.gate, self.up)  # (B, T, F) each
        if self.act is F.silu and runs_ours("swiglu", gate):
            from reference_impl.kernels.swiglu import (
                swiglu,
            )  # Triton, which takes a while to import

            mixed = swiglu(gate, up, backend="triton")
        else:
            gate = self.act(gate)
            mixed = gate * up
        del gate, up  # two of the widest tensors, not needed any more
        return self.down(F.dropout(mixed, self.dropout, self.training))
