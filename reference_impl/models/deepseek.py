"""DeepSeek-V3: LLaMA's blocks with latent attention and, after the first layers,
experts.

DeepSeek-AI 2024 (DeepSeek-V3), section 2.1: latent attention (see
`layers.latent_attention`) and a mixture of experts whose load is balanced by a bias
(see `layers.moe`). YaRN (section 4.3) extends the context.

Not here: predicting several tokens (see `engine.draft_heads`), generating.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import LayerCache
from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.feed_forward import GatedFeedForward
from reference_impl.layers.latent_attention import LatentAttention, LatentConfig
from reference_impl.layers.long_context import yarn
from reference_impl.layers.moe import MixtureOfExperts, Router
from reference_impl.layers.norms import RMSNorm
from reference_impl.layers.rotary import Tables, rotary_tables
from reference_impl.layers.settings import Count, CountOrZero, Positive, Settings
from reference_impl.models.rotary_decoder import RotaryDecoder
from reference_impl.weights.families import deepseek


@dataclass(frozen=True)
class DeepseekConfig(Settings):
    """DeepSeek-V3, before its context was extended."""

    vocab_size: Count = 129_280
    hidden_size: Count = 7168
    intermediate_size: Count = 18_432  # of the dense layers
    num_layers: Count = 61
    num_heads: Count = 128
    query_rank: Count | None = 1536  # None: queries are not compressed
    rank: Count = 512  # of the latent
    rotary_dim: Count = 64
    plain_dim: Count = 128  # of a head's queries and keys, without RoPE
    value_dim: Count = 128
    max_position_embeddings: Count = 4096
    rms_norm_eps: Positive = 1e-6
    rope_theta: Positive = 10_000.0
    rope_yarn: tuple[float, float, float, int] | None = (
        None  # factor, rounds of the slow, of the fast, trained length
    )
    yarn_temperature: Positive = 1.0  # `mscale_all_dim`
    tie_word_embeddings: bool = False
    num_dense_layers: CountOrZero = 3
    num_experts: Count = 256
    experts_per_token: Count = 8
    expert_size: Count = 2048
    num_shared_experts: Count = 1
    num_groups: Count = 8
    kept_groups: Count = 4
    normalize_experts: bool = True
    expert_scale: Positive = 2.5

    formats: ClassVar = deepseek.FORMATS
    values_in_keys: ClassVar = True  # of the cache

    def check_together(self) -> None:
        """Groups have two experts or more each, and enough of them are kept."""
        if self.rotary_dim % 2:
            raise ModelInputError(
                f"rotary_dim is {self.rotary_dim}: give an even number, rotary"
                " positions turn pairs"
            )
        size, rest = divmod(self.num_experts, self.num_groups)
        if rest or (size < 2 and self.num_groups > 1):
            raise ModelInputError(
                f"{self.num_experts} experts in {self.num_groups} groups: give groups"
                " of equal size, of two experts or more"
            )
        if not self.experts_per_token <= size * self.kept_groups:
            raise ModelInputError(
                f"{self.experts_per_token} experts per token of {self.kept_groups}"
                f" groups of {size}: keep more groups"
            )

    @property
    def num_kv_heads(self) -> int:
        """What a cache holds, absorbed: one key for all heads."""
        return 1

    @property
    def head_dim(self) -> int:
        """Of that key."""
        return self.rank + self.rotary_dim

    @property
    def layer_windows(self) -> list[None]:
        """No layer has one."""
        return [None] * self.num_layers

    @property
    def latent(self) -> LatentConfig:
        """The settings of a layer's attention."""
        factor = self.rope_yarn[0] if self.rope_yarn else 1.0
        temperature = 0.1 * self.yarn_temperature * math.log(factor) + 1
        return LatentConfig(
            self.hidden_size,
            self.num_heads,
            self.query_rank,
            self.rank,
            self.rotary_dim,
            self.plain_dim,
            self.value_dim,
            temperature**2 if factor > 1 else 1.0,
        )


def experts(config: DeepseekConfig) -> MixtureOfExperts:
    """Routed experts, and the shared ones as one layer of their joint width."""
    router = Router(
        config.hidden_size,
        config.num_experts,
        config.experts_per_token,
        normalize=config.normalize_experts,
        scoring="sigmoid",
        scale=config.expert_scale,
        num_groups=config.num_groups,
        kept_groups=config.kept_groups,
    )
    # Published with the weights, and trained by its own rule: see `moe.update_bias`.
    router.bias = nn.Parameter(router.bias, requires_grad=False)
    shared_size = config.num_shared_experts * config.expert_size
    return MixtureOfExperts(router, config.expert_size, shared_size)


class Block(nn.Module):
    """Latent attention, then a feed-forward layer or experts, each with a norm before
    and a residual around.
    """

    def __init__(self, config: DeepseekConfig, layer: int):
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.attention = LatentAttention(config.latent)
        self.feed_forward_norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.feed_forward = (
            GatedFeedForward(config.hidden_size, config.intermediate_size, "silu")
            if layer < config.num_dense_layers
            else experts(config)
        )

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        mask: Bool[Tensor, "..."] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Keys and values are expanded for whole texts without padding only."""
        normed = self.attention_norm(x)
        if mask is None and cache is None:
            x = x + self.attention(normed, rotary)
        else:
            x = x + self.attention.multi_query(normed, rotary, mask, cache)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Deepseek(RotaryDecoder):
    """The language model."""

    config_class = DeepseekConfig
    files = deepseek.FILES

    def block(self, layer: int) -> Block:
        """The first ones are dense."""
        return Block(self.config, layer)

    def last_norm(self) -> RMSNorm:
        """As in the blocks."""
        return RMSNorm(self.config.hidden_size, self.config.rms_norm_eps)

    def rotary(
        self, positions: Int[Tensor, "*B T"], dtype: torch.dtype, window: int | None
    ) -> Tables:
        """The same tables for all layers; the temperature is in `LatentConfig`."""
        config, interpolation = self.config, 1.0
        if config.rope_yarn is not None:
            factor, slow, fast, length = config.rope_yarn
            interpolation = yarn(
                config.rotary_dim,
                config.rope_theta,
                factor,
                length,
                rotations=(slow, fast),
            ).interpolation
        return rotary_tables(
            positions, config.rotary_dim, config.rope_theta, interpolation, dtype
        )
