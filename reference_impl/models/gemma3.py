"""Gemma 3: five layers with a sliding window to each that sees everything.

Gemma Team 2025, section 2: local and global layers with RoPE bases of their own,
queries and keys that are normed, and norms before and after each sublayer. The text
model only.

Not here: images, generating (see `generation`).
"""

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
from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.feed_forward import GatedFeedForward
from reference_impl.layers.joined import products
from reference_impl.layers.long_context import layer_windows
from reference_impl.layers.norms import rms_norm
from reference_impl.layers.rotary import Tables, rotary_tables, rotate
from reference_impl.layers.settings import Count, Positive, Settings
from reference_impl.models.rotary_decoder import RotaryDecoder
from reference_impl.weights.families import gemma3


@dataclass(frozen=True)
class Gemma3Config(Settings):
    """The text model of Gemma 3 4B."""

    vocab_size: Count = 262_208
    hidden_size: Count = 2560
    intermediate_size: Count = 10_240
    num_layers: Count = 34
    num_heads: Count = 8
    num_kv_heads: Count = 4
    head_dim: Count = 256
    max_position_embeddings: Count = 131_072
    rms_norm_eps: Positive = 1e-6
    window: Count = 1024  # of the local layers
    global_every: Count = 6
    global_theta: Positive = 1_000_000.0
    global_interpolation: Positive = 8.0
    local_theta: Positive = 10_000.0
    score_width: Count = 256  # scores are divided by its root
    tie_word_embeddings: bool = True

    formats: ClassVar = gemma3.FORMATS

    def check_together(self) -> None:
        """Rotary positions turn pairs."""
        super().check_together()
        if self.head_dim % 2:
            raise ModelInputError(
                f"head_dim is {self.head_dim}: give an even number, rotary positions"
                " turn pairs"
            )

    @property
    def layer_windows(self) -> list[int | None]:
        """Of each layer; None for a global one."""
        return layer_windows(self.num_layers, self.window, self.global_every)


class OffsetNorm(nn.Module):
    """RMSNorm whose weight is stored as its distance from 1."""

    def __init__(self, size: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(size))

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... C"]:
        """Norm the last dimension, in float32 at least."""
        wide = torch.promote_types(x.dtype, torch.float32)
        return rms_norm(x.to(wide), 1 + self.weight.to(wide), self.eps).to(x.dtype)


class NormedAttention(nn.Module):
    """Grouped-query attention whose queries and keys are normed before RoPE."""

    def __init__(self, config: Gemma3Config):
        super().__init__()
        self.config = config
        queries = config.num_heads * config.head_dim
        keys = config.num_kv_heads * config.head_dim
        self.query = nn.Linear(config.hidden_size, queries, bias=False)
        self.key = nn.Linear(config.hidden_size, keys, bias=False)
        self.value = nn.Linear(config.hidden_size, keys, bias=False)
        self.output = nn.Linear(queries, config.hidden_size, bias=False)
        self.query_norm = OffsetNorm(config.head_dim, config.rms_norm_eps)
        self.key_norm = OffsetNorm(config.head_dim, config.rms_norm_eps)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        mask: Bool[Tensor, "..."] | None,
        cache: LayerCache | None,
    ) -> Float[Tensor, "B T C"]:
        """With a cache, x are the last T of S tokens; cached keys are rotated."""
        config = self.config
        q, k, v = products(x, self.query, self.key, self.value)
        q = rotate(self.query_norm(split_heads(q, config.num_heads)), rotary)
        k = rotate(self.key_norm(split_heads(k, config.num_kv_heads)), rotary)
        v = split_heads(v, config.num_kv_heads)  # (B, K, T, D)
        # The attention below divides by the root of head_dim.
        q = q * (config.head_dim / config.score_width) ** 0.5
        return self.output(merge_heads(causal_attention(q, k, v, mask, cache)))


class Block(nn.Module):
    """Attention, then GeGLU: each with norms before and after, a residual around."""

    def __init__(self, config: Gemma3Config):
        super().__init__()
        size, eps = config.hidden_size, config.rms_norm_eps
        self.attention_norm = OffsetNorm(size, eps)
        self.attention = NormedAttention(config)
        self.attention_post_norm = OffsetNorm(size, eps)
        self.feed_forward_norm = OffsetNorm(size, eps)
        self.feed_forward = GatedFeedForward(
            size, config.intermediate_size, "gelu_pytorch_tanh"
        )
        self.feed_forward_post_norm = OffsetNorm(size, eps)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        mask: Bool[Tensor, "..."] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """`mask` is True where a query may see a key, besides the causal one."""
        mixed = self.attention(self.attention_norm(x), rotary, mask, cache)
        x = x + self.attention_post_norm(mixed)
        changed = self.feed_forward(self.feed_forward_norm(x))
        return x + self.feed_forward_post_norm(changed)


class Gemma3(RotaryDecoder):
    """The language model."""

    config_class = Gemma3Config
    files = gemma3.FILES

    def block(self, layer: int) -> Block:
        """Local and global ones have the same parts."""
        return Block(self.config)

    def last_norm(self) -> OffsetNorm:
        """As in the blocks."""
        return OffsetNorm(self.config.hidden_size, self.config.rms_norm_eps)

    def embed(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """Embeddings times the root of their dimension, which is rounded to their
        dtype.
        """
        x = self.embedding(ids)
        root = self.config.hidden_size**0.5
        return x * torch.tensor(root, dtype=x.dtype, device=x.device)

    def rotary(
        self, positions: Int[Tensor, "*B T"], dtype: torch.dtype, window: int | None
    ) -> Tables:
        """Global layers have a base and an interpolation of their own."""
        config = self.config
        base, interpolation = config.local_theta, 1.0
        if window is None:
            base, interpolation = config.global_theta, config.global_interpolation
        return rotary_tables(positions, config.head_dim, base, interpolation, dtype)
