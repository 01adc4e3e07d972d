"""Where a token stands: learned vectors, sines and cosines, or a penalty on distance.

Vaswani et al. 2017, section 3.5 (learned and sinusoidal); Press et al. 2022, section 3
(ALiBi). Attention by itself sees a set: without one of these, or those of `relative`
and `rotary`, word order is lost.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from reference_impl.layers.checks import ModelInputError


class LearnedPositions(nn.Embedding):
    """A trained vector for each position, as BERT and GPT have it.

    There is none past the last: such a text is refused.

    RoBERTa counts its positions from `offset` on.
    """

    def __init__(self, max_positions: int, hidden_size: int, offset: int = 0):
        super().__init__(max_positions, hidden_size)
        self.offset = offset

    def forward(self, num_tokens: int, start: int = 0) -> Float[Tensor, "T C"]:
        """The vectors of positions start .. start + num_tokens - 1."""
        first, last = self.offset + start, self.offset + start + num_tokens
        if last > self.num_embeddings:
            raise ModelInputError(
                f"{start + num_tokens} tokens but {self.num_embeddings - self.offset}"
                " positions: truncate the text, or make the model with more positions"
            )
        return self.weight[first:last]

    def at(self, positions: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """The vectors of positions that each sequence counts for itself: padded on the
        left, or packed.
        """
        num_positions = self.num_embeddings - self.offset
        if (
            positions.device.type == "cpu"
            and positions.numel()
            and int(positions.max()) >= num_positions
        ):
            raise ModelInputError(
                f"position {int(positions.max())} but {num_positions} positions: "
                "truncate the text, or make the model with more positions"
            )
        return nn.functional.embedding(positions + self.offset, self.weight)


def sinusoidal_positions(
    positions: Int[Tensor, "T"],
    hidden_size: int,
    base: float = 10_000.0,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "T C"]:
    """PE(p, 2i) = sin(p / base^(2i / C)), PE(p, 2i + 1) = cos of the same: sine and
    cosine take turns.

    PE(p + k) is PE(p) with each pair turned by a fixed angle: a linear map that does
    not depend on p.
    """
    if hidden_size % 2:
        raise ModelInputError(
            f"hidden_size {hidden_size} is odd: sines and cosines come in pairs"
        )
    steps = (
        torch.arange(0, hidden_size, 2, device=positions.device).double() / hidden_size
    )  # (C/2,)
    angles = positions[:, None].double() * base**-steps  # (T, C/2)
    return (
        torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).to(dtype)
    )  # (T, C)


def alibi_slopes(num_heads: int) -> Float[Tensor, "H"]:
    """The slope of each head's distance penalty.

    2^(-8/n), 2^(-16/n), and so on for n heads, n a power of two.
    For other numbers: the slopes of the power of two below, then every other slope of
    twice that power, as the authors' program does.
    """
    power = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    between = [2 ** (-8 * (i + 1) / (2 * power)) for i in range(0, 2 * power, 2)]
    return torch.tensor((slopes + between)[:num_heads], dtype=torch.float64)


def alibi_bias(
    num_heads: int,
    num_queries: int,
    num_keys: int | None = None,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "H T S"]:
    """-slope * distance, to be added to the scores of causal attention; the queries are
    the last T of the S keys.

    Keys after the query get a bias too (by the same distance): the causal mask takes
    them away.
    """
    num_keys = num_queries if num_keys is None else num_keys
    places = torch.arange(num_keys - num_queries, num_keys)  # of the queries
    distance = (places[:, None] - torch.arange(num_keys)).abs()  # (T, S)
    return (-alibi_slopes(num_heads)[:, None, None] * distance).to(dtype)
