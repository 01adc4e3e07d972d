"""The parallel block: attention and feed-forward read the same vectors, and their
results are added at once.

Wang and Komatsuzaki 2021 (GPT-J) began it; Black et al. 2022, section 2.1
(GPT-NeoX-20B), is what is built here; PaLM (Chowdhery et al. 2022, section 2) has the
same sum, y = x + attention(norm(x)) + feed_forward(norm(x)), and writes that the
matrices that read x can then be multiplied as one, 15 % faster at its size.

NeoX has a norm for each of the two, PaLM one for both: with equal weights in the two
norms this block is PaLM's sum. NeoX turns only a quarter of each head by position.

Not here: PaLM's other choices (one head of keys and values, SwiGLU, no biases): see
`llama` for those parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import (
    LayerCache,
    causal_attention,
    merge_heads,
    split_heads,
)
from reference_impl.layers.checks import ModelInputError, check_decoding, check_heads
from reference_impl.layers.feed_forward import FeedForward
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import key_mask
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.rotary import Tables, rotary_tables, rotate
from reference_impl.layers.settings import Activation, Count, Positive, Settings, Share
from reference_impl.weights.families import gpt_neox
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class GPTNeoXConfig(Settings):
    """GPT-NeoX-20B. `parallel=False` gives GPT-2's order, attention first."""

    vocab_size: Count = 50_432
    hidden_size: Count = 6144
    num_layers: Count = 44
    num_heads: Count = 64
    intermediate_size: Count = 24_576
    hidden_act: Activation = "gelu"
    max_position_embeddings: Count = 2048
    layer_norm_eps: Positive = 1e-5
    rope_theta: Positive = 10_000.0
    rotary_share: Share = 0.25  # of each head's numbers
    parallel: bool = True

    formats: ClassVar = (gpt_neox.CONFIG,)

    def check_together(self) -> None:
        """Rotary positions turn pairs."""
        super().check_together()
        if (turned := self.turned) % 2 or not turned:
            raise ModelInputError(
                f"{turned} of {self.hidden_size // self.num_heads} numbers of a head"
                " are turned: rotary positions turn pairs; give another rotary_share"
                " or head size"
            )

    @property
    def turned(self) -> int:
        """How many numbers of each head are turned by position."""
        return int(self.hidden_size // self.num_heads * self.rotary_share)


class Attention(nn.Module):
    """Attention to what came before.

    The one matrix keeps query, key and value of a head side by side.
    """

    def __init__(self, config: GPTNeoXConfig):
        super().__init__()
        check_heads(config.hidden_size, config.num_heads, config.num_heads)
        self.num_heads = config.num_heads
        self.turned = config.turned
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)

    def _rotate(
        self, x: Float[Tensor, "B H T D"], rotary: Tables
    ) -> Float[Tensor, "B H T D"]:
        return torch.cat(
            (rotate(x[..., : self.turned], rotary), x[..., self.turned :]), dim=-1
        )

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        mask: Bool[Tensor, "B 1 1 S"] | None,
        cache: LayerCache | None,
    ) -> Float[Tensor, "B T C"]:
        """With a cache, x are the last T of S tokens."""
        q, k, v = split_heads(self.qkv(x), self.num_heads).chunk(
            3, dim=-1
        )  # (B, H, T, 3 D) to (B, H, T, D) each
        q, k = self._rotate(q, rotary), self._rotate(k, rotary)
        return self.output(merge_heads(causal_attention(q, k, v, mask, cache)))


class Block(nn.Module):
    """x + attention(norm(x)) + feed_forward(norm(x)): neither waits for the other."""

    def __init__(self, config: GPTNeoXConfig):
        super().__init__()
        self.parallel = config.parallel
        self.attention_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.attention = Attention(config)
        self.feed_forward_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.feed_forward = FeedForward(
            config.hidden_size, config.intermediate_size, config.hidden_act
        )

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        mask: Bool[Tensor, "B 1 1 S"] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """`mask` is True for the keys that are tokens."""
        attended = self.attention(self.attention_norm(x), rotary, mask, cache)
        if self.parallel:
            return x + attended + self.feed_forward(self.feed_forward_norm(x))
        x = x + attended
        return x + self.feed_forward(self.feed_forward_norm(x))


class GPTNeoX(Pretrained, nn.Module):
    """The language model."""

    config_class = GPTNeoXConfig
    files = gpt_neox.FILES

    def __init__(self, config: GPTNeoXConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.output = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        start_normal(self)

    def hidden(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B S"] | None = None,
        positions: Int[Tensor, "B T"] | None = None,
        cache: Sequence[LayerCache] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """The last layer's vectors: what the output layer and other heads read.

        Arguments as in `forward`.
        """
        config = self.config
        start = check_decoding(ids, mask, positions, cache, config)
        x = self.embedding(ids)  # (B, T, C)
        if positions is None:
            positions = torch.arange(start, start + ids.shape[1], device=ids.device)
        rotary = rotary_tables(
            positions, config.turned, config.rope_theta, dtype=x.dtype
        )
        for i, block in enumerate(self.blocks):
            x = block(x, rotary, key_mask(mask), cache[i] if cache else None)
        return self.norm(x)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B S"] | None = None,
        positions: Int[Tensor, "B T"] | None = None,
        cache: Sequence[LayerCache] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each.

        `mask` is True where there is a token, for all S tokens so far; needed only for
        padding on the left. With `positions` a row may be wider than the positions
        there are: packed, or padded. With a cache, ids are the new ones.
        """
        return self.output(self.hidden(ids, mask, positions, cache))
