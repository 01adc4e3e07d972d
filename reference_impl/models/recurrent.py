"""A plain recurrent network with backpropagation through time by hand, and the GRU.

The network: Elman 1990. Its gradient: Werbos 1990. The GRU: Cho et al. 2014, section
2.3, with the reset gate applied after the matrix, as in torch.

Not here: layers, directions and masks (see `lstm`, whose `run` has them).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn


@dataclass(frozen=True)
class RNNWeights:
    """The parameters of a plain recurrent network."""

    w_x: Float[Tensor, "H D"]
    w_h: Float[Tensor, "H H"]
    b: Float[Tensor, " H"]


def rnn(
    x: Float[Tensor, "B T D"], weights: RNNWeights, start: Float[Tensor, "B H"]
) -> Float[Tensor, "B T H"]:
    """The hidden state after each token: h_t = tanh(W_x x_t + W_h h_(t-1) + b)."""
    h, states = start, []
    for x_t in x.unbind(1):
        h = torch.tanh(x_t @ weights.w_x.T + h @ weights.w_h.T + weights.b)
        states.append(h)
    return torch.stack(states, dim=1)


def backward_through_time(
    x: Float[Tensor, "B T D"],
    states: Float[Tensor, "B T H"],
    weights: RNNWeights,
    start: Float[Tensor, "B H"],
    from_losses: Float[Tensor, "B T H"],
) -> tuple[RNNWeights, Float[Tensor, "B H"]]:
    """The gradients of the weights, in their shapes, and that of the start state.

    `from_losses[:, t]` is the gradient of the loss at step t by h_t alone.
    """
    before = torch.cat([start[:, None], states[:, :-1]], dim=1)  # h_(t-1)
    from_later, deltas = torch.zeros_like(start), []
    for t in reversed(range(x.shape[1])):
        slope = 1 - states[:, t] ** 2  # of tanh
        delta = slope * (from_losses[:, t] + from_later)  # (B, H)
        from_later = delta @ weights.w_h
        deltas.append(delta)
    delta = torch.stack(deltas[::-1], dim=1)  # (B, T, H)
    w_x = torch.einsum("bth,btd->hd", delta, x)
    w_h = torch.einsum("bth,btk->hk", delta, before)
    return RNNWeights(w_x, w_h, delta.sum((0, 1))), from_later


class GRUCell(nn.Module):
    """One step of a gated recurrent unit."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.input = nn.Linear(input_size, 3 * hidden_size)
        self.recurrent = nn.Linear(hidden_size, 3 * hidden_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden_size**-0.5), hidden_size**-0.5)

    def forward(
        self, x: Float[Tensor, "B D"], h: Float[Tensor, "B H"]
    ) -> Float[Tensor, "B H"]:
        """The next hidden state."""
        x_reset, x_update, x_new = self.input(x).chunk(3, dim=-1)  # (B, H) each
        h_reset, h_update, h_new = self.recurrent(h).chunk(3, dim=-1)
        reset = torch.sigmoid(x_reset + h_reset)
        update = torch.sigmoid(x_update + h_update)
        candidate = torch.tanh(x_new + reset * h_new)
        return (1 - update) * candidate + update * h
