"""Gemma 3: five layers with a sliding window to each that sees everything.

Gemma Team 2025, section 2: local and global layers with RoPE bases of their own,
queries and keys that are normed, and norms before and after each sublayer. The text
model only.

Not here: images, generating (see `generation`).
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
from reference_impl.layers.checks import ModelInputError, check_decoding
from reference_impl.layers.feed_forward import GatedFeedForward
from reference_impl.layers.initial import start_normal
from reference_impl.layers.joined import products
from reference_impl.layers.long_context import layer_windows
from reference_impl.layers.masks import join, key_mask
from reference_impl.layers.norms import rms_norm
from reference_impl.layers.rotary import Tables, rotary_tables, rotate
from reference_impl.layers.settings import Count, Positive, Settings
from reference_impl.weights.families import gemma3
from reference_impl.weights.pretrained import Pretrained


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


class Gemma3(Pretrained, nn.Module):
    """The language model."""

    config_class = Gemma3Config
    files = gemma3.FILES

    def __init__(self, config: Gemma3Config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = OffsetNorm(config.hidden_size, config.rms_norm_eps)
        self.output = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        if config.tie_word_embeddings:
            self.output.weight = self.embedding.weight
        start_normal(self)

    def hidden(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B S"] | None = None,
        positions: Int[Tensor, "B T"] | None = None,
        cache: Sequence[LayerCache] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """The last layer's vectors; arguments as in `Llama.forward`."""
        config, before = self.config, cache[0] if cache else LayerCache()
        start = check_decoding(ids, mask, positions, cache, config)
        num_tokens = ids.shape[1]
        if positions is None:
            positions = torch.arange(start, start + num_tokens, device=ids.device)
        x = self.embedding(ids)  # (B, T, C)
        x = x * torch.tensor(config.hidden_size**0.5, dtype=x.dtype, device=x.device)
        everything = key_mask(mask)
        nearby = join(
            everything, before.window_mask(num_tokens, config.window, ids.device)
        )
        local, wide = (
            rotary_tables(positions, config.head_dim, base, interpolation, x.dtype)
            for base, interpolation in (
                (config.local_theta, 1.0),
                (config.global_theta, config.global_interpolation),
            )
        )
        for i, (block, window) in enumerate(
            zip(self.blocks, config.layer_windows, strict=True)
        ):
            tables, seen = (wide, everything) if window is None else (local, nearby)
            x = block(x, tables, seen, cache[i] if cache else None)
        return self.norm(x)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B S"] | None = None,
        positions: Int[Tensor, "B T"] | None = None,
        cache: Sequence[LayerCache] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each; arguments as in `Llama.forward`."""
        return self.output(self.hidden(ids, mask, positions, cache))
