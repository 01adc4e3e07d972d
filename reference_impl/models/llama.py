"""LLaMA: GPT with the parts that later work found better, and the families next to it.

Touvron et al. 2023a, section 2.2: RMSNorm before each sublayer, SwiGLU, rotary
positions, no biases. Touvron et al. 2023b, section 2.2: grouped-query attention (in the
two larger models of LLaMA 2). Mistral (Jiang et al. 2023, section 2) adds a sliding
window; Qwen2 (Yang et al. 2024, section 2.2) has biases in queries, keys and values,
and Qwen3 (Yang et al. 2025, section 2) norms queries and keys in their place. LLaMA 3.1
slows some rotary angles (see `layers.rotary`). Mixtral (Jiang et al. 2024) and Qwen3's
larger models have a mixture of experts in the place of each feed-forward layer.

Not here: generating (see `generation`).
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
from reference_impl.layers.checks import ModelInputError, check_heads
from reference_impl.layers.feed_forward import GatedFeedForward
from reference_impl.layers.joined import products
from reference_impl.layers.moe import MixtureOfExperts, Router
from reference_impl.layers.norms import RMSNorm
from reference_impl.layers.rotary import (
    Tables,
    rotary_tables,
    rotate,
    slow_interpolation,
)
from reference_impl.layers.settings import Count, CountOrZero, Positive, Settings, is_of
from reference_impl.models.rotary_decoder import RotaryDecoder
from reference_impl.weights.families import llama


@dataclass(frozen=True)
class LlamaConfig(Settings):
    """LLaMA-7B.

    LLaMA 2 70B has num_kv_heads=8; Mistral 7B v0.1 has sliding_window=4096; a Qwen2
    has qkv_bias=True, a Qwen3 qk_norm=True; a Mixtral has num_experts=8.
    """

    vocab_size: Count = 32_000
    hidden_size: Count = 4096
    intermediate_size: Count = 11_008
    num_layers: Count = 32
    num_heads: Count = 32
    num_kv_heads: Count | None = None  # None: as many as heads
    head_dim: Count | None = None  # None: hidden_size / num_heads
    max_position_embeddings: Count = 2048
    rms_norm_eps: Positive = 1e-6
    rope_theta: Positive = 10_000.0
    rope_interpolation: Positive = 1.0
    rope_bands: tuple[float, float, int] | None = (
        None  # LLaMA 3.1: rounds of the slow, of the fast, trained length
    )
    sliding_window: Count | None = None
    qkv_bias: bool = False
    qk_norm: bool = False
    tie_word_embeddings: bool = False
    num_experts: CountOrZero = 0  # 0: one feed-forward layer for all tokens
    experts_per_token: Count = 2
    expert_size: Count | None = None  # None: intermediate_size
    normalize_experts: bool = True  # weights of the chosen experts add up to 1

    formats: ClassVar = llama.FORMATS

    def check_together(self) -> None:
        """Rotary positions turn pairs, and there are slow and fast ones."""
        super().check_together()
        if (head_dim := self.head_dim or self.hidden_size // self.num_heads) % 2:
            raise ModelInputError(
                f"head_dim is {head_dim}: give an even number, rotary positions turn"
                " pairs"
            )
        if self.rope_bands is not None:
            slowest, fastest, length = self.rope_bands
            if not (
                is_of(slowest, Positive)
                and is_of(fastest, Positive)
                and slowest < fastest
                and is_of(length, Count)
                and length < 2**31
            ):
                raise ModelInputError(
                    f"rope_bands is {self.rope_bands}: give the rounds of the slow"
                    " angles, more rounds of the fast ones, and the length that was"
                    " trained on"
                )

    @property
    def layer_windows(self) -> list[int | None]:
        """The same for every layer."""
        return [self.sliding_window] * self.num_layers


class GroupedQueryAttention(nn.Module):
    """Attention to what came before, with rotary positions; each key head serves
    num_heads / num_kv_heads query heads.

    Only keys and values are cached, so fewer heads of them are fewer bytes a token.
    """

    def __init__(self, config: LlamaConfig):
        super().__init__()
        self.num_heads, self.num_kv_heads = (
            config.num_heads,
            config.num_kv_heads or config.num_heads,
        )
        head_dim = config.head_dim or config.hidden_size // config.num_heads
        width = self.num_heads * head_dim if config.head_dim else config.hidden_size
        check_heads(width, self.num_heads, self.num_kv_heads)
        self.query = nn.Linear(
            config.hidden_size, self.num_heads * head_dim, config.qkv_bias
        )
        self.key = nn.Linear(
            config.hidden_size, self.num_kv_heads * head_dim, config.qkv_bias
        )
        self.value = nn.Linear(
            config.hidden_size, self.num_kv_heads * head_dim, config.qkv_bias
        )
        self.output = nn.Linear(
            self.num_heads * head_dim, config.hidden_size, bias=False
        )
        # One norm for all heads; scores can't grow with the size of queries and keys.
        self.query_norm = (
            RMSNorm(head_dim, config.rms_norm_eps) if config.qk_norm else nn.Identity()
        )
        self.key_norm = (
            RMSNorm(head_dim, config.rms_norm_eps) if config.qk_norm else nn.Identity()
        )

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        mask: Bool[Tensor, "..."] | None,
        cache: LayerCache | None,
    ) -> Float[Tensor, "B T C"]:
        """With a cache, x are the last T of S tokens; cached keys are rotated."""
        q, k, v = products(x, self.query, self.key, self.value)
        q = rotate(
            self.query_norm(split_heads(q, self.num_heads)), rotary
        )  # (B, H, T, D)
        k = rotate(
            self.key_norm(split_heads(k, self.num_kv_heads)), rotary
        )  # (B, K, T, D)
        v = split_heads(v, self.num_kv_heads)
        return self.output(merge_heads(causal_attention(q, k, v, mask, cache)))


def feed_forward(config: LlamaConfig) -> GatedFeedForward | MixtureOfExperts:
    """SwiGLU, or a mixture of such layers."""
    if not config.num_experts:
        return GatedFeedForward(config.hidden_size, config.intermediate_size, "silu")
    router = Router(
        config.hidden_size,
        config.num_experts,
        config.experts_per_token,
        normalize=config.normalize_experts,
    )
    return MixtureOfExperts(router, config.expert_size or config.intermediate_size)


class Block(nn.Module):
    """Attention, then SwiGLU, each with a norm before and a residual around."""

    def __init__(self, config: LlamaConfig):
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.attention = GroupedQueryAttention(config)
        self.feed_forward_norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.feed_forward = feed_forward(config)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        mask: Bool[Tensor, "..."] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """`mask` is True where a query may see a key, besides the causal one."""
        x = x + self.attention(self.attention_norm(x), rotary, mask, cache)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Llama(RotaryDecoder):
    """The language model."""

    config_class = LlamaConfig
    files = llama.FILES

    def block(self, layer: int) -> Block:
        """One of equal layers."""
        return Block(self.config)

    def last_norm(self) -> RMSNorm:
        """As in the blocks."""
        return RMSNorm(self.config.hidden_size, self.config.rms_norm_eps)

    def rotary(
        self, positions: Int[Tensor, "*B T"], dtype: torch.dtype, window: int | None
    ) -> Tables:
        """The same tables for all layers."""
        config = self.config
        head_dim, interpolation = (
            config.head_dim or config.hidden_size // config.num_heads,
            config.rope_interpolation,
        )
        if config.rope_bands is not None:
            interpolation = slow_interpolation(
                head_dim,
                config.rope_theta,
                interpolation,
                *config.rope_bands,
                positions.device,
            )
        return rotary_tables(
            positions, head_dim, config.rope_theta, interpolation, dtype
        )
