"""A diagonal state-space recurrence whose decay depends on the token, as in Mamba.

Gu and Dao 2023, algorithm 2, with their simplified discretization of B; the scan in
log2 T rounds: Hillis and Steele 1986.

Not here: the block around it (projections, convolution, gate), a fused kernel.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def scan_in_steps(
    decay: Float[Tensor, "B T *S"], added: Float[Tensor, "B T *S"]
) -> Float[Tensor, "B T *S"]:
    """h_t = decay_t h_(t-1) + added_t from h_0 = 0, one token after the other."""
    h, states = torch.zeros_like(added[:, 0]), []
    for t in range(added.shape[1]):
        h = decay[:, t] * h + added[:, t]
        states.append(h)
    return torch.stack(states, dim=1)


def scan_in_parallel(
    decay: Float[Tensor, "B T *S"], added: Float[Tensor, "B T *S"]
) -> Float[Tensor, "B T *S"]:
    """The same states in ceil(log2 T) rounds, each of which updates all tokens."""
    reach = 1  # each position has combined this many tokens that end at it
    while reach < added.shape[1]:
        earlier = decay[:, reach:] * added[:, :-reach]
        added = torch.cat([added[:, :reach], added[:, reach:] + earlier], dim=1)
        product = decay[:, reach:] * decay[:, :-reach]
        decay = torch.cat([decay[:, :reach], product], dim=1)
        reach *= 2
    return added


def selective_ssm(
    x: Float[Tensor, "B T C"],
    step: Float[Tensor, "B T C"],
    a: Float[Tensor, "C N"],
    b: Float[Tensor, "B T N"],
    c: Float[Tensor, "B T N"],
    scan=scan_in_parallel,
) -> Float[Tensor, "B T C"]:
    """The output of C independent channels with N states each.

    step: positive; large to write this token, near 0 to ignore it. a: negative.
    """
    decay = torch.exp(step[..., None] * a)  # (B, T, C, N)
    added = (step * x)[..., None] * b[:, :, None]  # (B, T, C, N)
    states = scan(decay, added)
    return (states * c[:, :, None]).sum(-1)
