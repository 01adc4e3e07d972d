"""Tensor parallelism: each of n ranks holds a slice of every large matrix of the
blocks; all work on the same tokens.

Shoeybi et al. 2019 (Megatron-LM), section 3, figure 3. Of two matrices in a row the
first is cut by outputs (column parallel: whole heads of queries, keys and values; a
part of the feed-forward's inner width), the second by inputs (row parallel). What lies
between never leaves its rank, and the sum over ranks after the second is the whole
result: two sums a block, one after attention and one after the feed-forward. A rank
keeps the keys and values of its heads only.

Embedding, norms and output layer are whole on each rank: all ranks hold the same
residual stream.

Not here: how ranks meet and what tells them the next step (see `engine.ranks`),
gradients, quantised layers, adapters.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from reference_impl.layers.checks import ModelInputError


@dataclass(frozen=True)
class Shard:
    """Which of `size` slices is this rank's, and the sum over all ranks, which `add_up`
    leaves in its argument.
    """

    rank: int
    size: int
    add_up: Callable[[Tensor], None]

    def part_of(self, width: int) -> slice:
        """This rank's share of so many rows or columns."""
        share = width // self.size
        return slice(self.rank * share, (self.rank + 1) * share)


class RowParallelLinear(nn.Module):
    """W x + b with W cut by its inputs: each rank multiplies its slice of x, and the
    products are added up.

    The bias is added after the sum, or it would be there n times.
    """

    def __init__(self, whole: nn.Linear, shard: Shard):
        super().__init__()
        self.shard, self.bias = shard, whole.bias
        part = shard.part_of(whole.in_features)
        self.in_features, self.out_features = part.stop - part.start, whole.out_features
        self.weight = nn.Parameter(
            whole.weight[:, part].clone(), requires_grad=False
        )  # (out, in / n)

    def forward(self, x: Float[Tensor, "*B I"]) -> Float[Tensor, "*B O"]:
        """The whole result, on every rank."""
        y = linear(x, self.weight)
        self.shard.add_up(y)
        return y if self.bias is None else y + self.bias


@torch.no_grad()
def keep_columns(layer: nn.Linear, shard: Shard, parts: int = 1) -> None:
    """Cut a linear layer by its outputs, in place; where it makes `parts` things of one
    width, each of them.
    """
    width = layer.out_features // parts
    rows = (
        torch.arange(layer.out_features, device=layer.weight.device)
        .view(parts, width)[:, shard.part_of(width)]
        .flatten()
    )
    layer.weight = nn.Parameter(layer.weight[rows].clone(), requires_grad=False)
    if layer.bias is not None:
        layer.bias = nn.Parameter(layer.bias[rows].clone(), requires_grad=False)
    layer.out_features = len(rows)


def check_divides(config, size: int) -> None:
    """ModelInputError if heads or the feed-forward's inner width can't be cut into
    `size` equal parts.
    """
    widths = {
        "num_heads": config.num_heads,
        "num_kv_heads": getattr(config, "num_kv_heads", None) or config.num_heads,
        "intermediate_size": config.intermediate_size or 4 * config.hidden_size,
    }
    for name, width in widths.items():
        if width % size:
            raise ModelInputError(
                f"{name} is {width}: it can't be cut into {size} equal parts; give a"
                " tensor parallel size that divides"
                f" {', '.join(map(str, widths.values()))}"
            )


def split(model: nn.Module, shard: Shard) -> None:
    """Leave this rank's slices in a GPT or a LLaMA, in place.

    `model.config` goes on to tell of the whole model.
    """
    check_divides(model.config, shard.size)
    for block in model.blocks:
        attention, feed_forward = block.attention, block.feed_forward
        if hasattr(attention, "qkv"):
            keep_columns(attention.qkv, shard, parts=3)
        else:
            for layer in (attention.query, attention.key, attention.value):
                keep_columns(layer, shard)
            attention.num_kv_heads //= shard.size
        attention.num_heads //= shard.size
        attention.output = RowParallelLinear(attention.output, shard)
        keep_columns(feed_forward.up, shard)
        if hasattr(feed_forward, "gate"):
            keep_columns(feed_forward.gate, shard)
        feed_forward.down = RowParallelLinear(feed_forward.down, shard)
