"""GPT with its mask taken off: what a language model becomes that can see the word it
is asked for.

The model and its numbers are GPT's (see `gpt`); only who may look at whom differs.
Radford et al. 2018, section 3.1, mask "future tokens" so that the product of the
conditional probabilities is one of the text. Without the mask the loss of training says
nothing about writing: chapter 8 trains both and shows it.

Not here: anything to use. There is no cache: with a new token every vector before it
changes.
"""

from collections.abc import Sequence

from jaxtyping import Bool, Float, Int
from torch import Tensor

from reference_impl.layers.attention import (
    LayerCache,
    attention,
    merge_heads,
    split_heads,
)
from reference_impl.layers.checks import ModelInputError
from reference_impl.models.gpt import GPT, CausalSelfAttention, GPTConfig


class OpenSelfAttention(CausalSelfAttention):
    """Each token looks at all of them."""

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        mask: Bool[Tensor, "B 1 1 S"] | None,
        cache: LayerCache | None,
    ) -> Float[Tensor, "B T C"]:
        """As GPT's, without `causal`."""
        q, k, v = (
            split_heads(part, self.num_heads) for part in self.qkv(x).chunk(3, dim=-1)
        )  # (B, H, T, D) each
        return self.output(
            merge_heads(
                attention(q, k, v, mask, dropout=self.dropout if self.training else 0.0)
            )
        )


class UnmaskedGPT(GPT):
    """The same parameters under the same names, drawn as GPT draws them."""

    def __init__(self, config: GPTConfig):
        super().__init__(config)
        for block in self.blocks:
            block.attention.__class__ = OpenSelfAttention

    def hidden(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B S"] | None = None,
        positions: Int[Tensor, "B T"] | None = None,
        cache: Sequence[LayerCache] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """As GPT's. Raises ModelInputError if there is a cache."""
        if cache is not None:
            raise ModelInputError(
                "a cache, but no mask: a new token changes the vectors of those before"
                " it, so nothing can be kept"
            )
        return super().hidden(ids, mask, positions)
