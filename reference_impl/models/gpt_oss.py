"""gpt-oss: attention with sinks, a window in every other layer, and experts.

OpenAI 2025 (gpt-oss), section 2: grouped-query attention with biases and a learned
sink per head, YaRN from 4,096 to 131,072 tokens, a mixture of experts in every layer.
What the report leaves out is as in the released program: the router has biases, and
SwiGLU clamps its inputs and adds 1 to the linear part.

Not here: experts in four bits (`weights.families.gpt_oss` unpacks them), the chat
format harmony, generating (see `generation`).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import (
    LayerCache,
    causal_sink_attention,
    merge_heads,
    split_heads,
)
from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.joined import products
from reference_impl.layers.long_context import layer_windows, with_temperature, yarn
from reference_impl.layers.norms import RMSNorm
from reference_impl.layers.rotary import Tables, rotary_tables, rotate
from reference_impl.layers.settings import Count, Positive, Settings
from reference_impl.models.rotary_decoder import RotaryDecoder
from reference_impl.weights.families import gpt_oss


@dataclass(frozen=True)
class GptOssConfig(Settings):
    """gpt-oss-120b; gpt-oss-20b has 24 layers of 32 experts."""

    vocab_size: Count = 201_088
    hidden_size: Count = 2880
    expert_size: Count = 2880
    num_layers: Count = 36
    num_heads: Count = 64
    num_kv_heads: Count = 8
    head_dim: Count = 64
    max_position_embeddings: Count = 131_072
    rms_norm_eps: Positive = 1e-5
    window: Count = 128  # of the local layers
    global_every: Count = 2
    rope_theta: Positive = 150_000.0
    # factor, rounds of the slow, of the fast, trained length
    rope_yarn: tuple[float, float, float, int] | None = (32.0, 1.0, 32.0, 4096)
    truncate_yarn: bool = False
    num_experts: Count = 128
    experts_per_token: Count = 4
    swiglu_alpha: Positive = 1.702
    swiglu_limit: Positive = 7.0
    tie_word_embeddings: bool = False

    formats: ClassVar = gpt_oss.FORMATS

    def check_together(self) -> None:
        """Rotary positions turn pairs, and there are experts enough for a token."""
        super().check_together()
        if self.head_dim % 2:
            raise ModelInputError(
                f"head_dim is {self.head_dim}: give an even number, rotary positions"
                " turn pairs"
            )
        if self.experts_per_token > self.num_experts:
            raise ModelInputError(
                f"{self.experts_per_token} experts per token of {self.num_experts}:"
                f" give 1 to {self.num_experts}"
            )

    @property
    def layer_windows(self) -> list[int | None]:
        """Of each layer; None for a global one."""
        return layer_windows(self.num_layers, self.window, self.global_every)


class SinkAttention(nn.Module):
    """Grouped-query attention with biases and a sink per head."""

    def __init__(self, config: GptOssConfig):
        super().__init__()
        self.num_heads, self.num_kv_heads = config.num_heads, config.num_kv_heads
        queries = config.num_heads * config.head_dim
        keys = config.num_kv_heads * config.head_dim
        self.query = nn.Linear(config.hidden_size, queries)
        self.key = nn.Linear(config.hidden_size, keys)
        self.value = nn.Linear(config.hidden_size, keys)
        self.output = nn.Linear(queries, config.hidden_size)
        self.sinks = nn.Parameter(torch.zeros(config.num_heads))

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        mask: Bool[Tensor, "..."] | None,
        cache: LayerCache | None,
    ) -> Float[Tensor, "B T C"]:
        """With a cache, x are the last T of S tokens; cached keys are rotated."""
        q, k, v = products(x, self.query, self.key, self.value)
        q = rotate(split_heads(q, self.num_heads), rotary)  # (B, H, T, D)
        k = rotate(split_heads(k, self.num_kv_heads), rotary)  # (B, K, T, D)
        v = split_heads(v, self.num_kv_heads)
        mixed = causal_sink_attention(q, k, v, self.sinks, mask, cache)
        return self.output(merge_heads(mixed))


class ClampedExperts(nn.Module):
    """A router, and E experts whose matrices lie in one tensor, as they are published:
    columns of gate and up take turns.
    """

    def __init__(self, config: GptOssConfig):
        super().__init__()
        count, size, inner = config.num_experts, config.hidden_size, config.expert_size
        self.top_k = config.experts_per_token
        self.alpha, self.limit = config.swiglu_alpha, config.swiglu_limit
        self.router = nn.Linear(size, count)
        self.gate_up = nn.Parameter(torch.empty(count, size, 2 * inner))
        self.gate_up_bias = nn.Parameter(torch.zeros(count, 2 * inner))
        self.down = nn.Parameter(torch.empty(count, inner, size))
        self.down_bias = nn.Parameter(torch.zeros(count, size))
        for matrix in (self.gate_up, self.down):
            nn.init.normal_(matrix, std=0.02)

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """The weighted sum of the chosen experts; each computes its own tokens only.

        The softmax is over the chosen experts' scores, in float32 at least.
        """
        tokens = x.flatten(0, 1)  # (N, C)
        scores, experts = self.router(tokens).topk(self.top_k, dim=-1)  # (N, k) each
        wide = torch.promote_types(x.dtype, torch.float32)
        weights = scores.softmax(-1, dtype=wide).to(x.dtype)
        out = torch.zeros_like(tokens)
        for e in experts.unique().tolist():
            token, choice = torch.where(experts == e)
            mixed = self.expert(tokens[token], e) * weights[token, choice, None]
            out = out.index_add(0, token, mixed)
        return out.view_as(x)

    def expert(self, x: Float[Tensor, "N C"], e: int) -> Float[Tensor, "N C"]:
        """SwiGLU of gates up to the limit, times the clamped linear part plus 1."""
        joined = x @ self.gate_up[e] + self.gate_up_bias[e]  # (N, 2 F)
        gate = joined[:, 0::2].clamp(max=self.limit)
        up = joined[:, 1::2].clamp(-self.limit, self.limit)
        inner = gate * torch.sigmoid(self.alpha * gate) * (up + 1)
        return inner @ self.down[e] + self.down_bias[e]


class Block(nn.Module):
    """Attention, then experts, each with a norm before and a residual around."""

    def __init__(self, config: GptOssConfig):
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.attention = SinkAttention(config)
        self.feed_forward_norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.feed_forward = ClampedExperts(config)

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


class GptOss(RotaryDecoder):
    """The language model."""

    config_class = GptOssConfig
    files = gpt_oss.FILES

    def block(self, layer: int) -> Block:
        """Local and global ones have the same parts."""
        return Block(self.config)

    def last_norm(self) -> RMSNorm:
        """As in the blocks."""
        return RMSNorm(self.config.hidden_size, self.config.rms_norm_eps)

    def rotary(
        self, positions: Int[Tensor, "*B T"], dtype: torch.dtype, window: int | None
    ) -> Tables:
        """The same tables for all layers, with YaRN's temperature."""
        config, interpolation, temperature = self.config, 1.0, 1.0
        if config.rope_yarn is not None:
            factor, slow, fast, length = config.rope_yarn
            interpolation, temperature = yarn(
                config.head_dim,
                config.rope_theta,
                factor,
                length,
                rotations=(slow, fast),
                truncate=config.truncate_yarn,
            )
        wide = torch.promote_types(dtype, torch.float32)  # rounded once, at the end
        tables = rotary_tables(
            positions, config.head_dim, config.rope_theta, interpolation, wide
        )
        cos, sin = with_temperature(tables, temperature)
        return Tables(cos.to(dtype), sin.to(dtype))
