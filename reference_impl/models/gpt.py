"""GPT: a stack of blocks that see only what came before, trained to say the next token.

GPT-1: Radford et al. 2018, section 3.1 and 4.1. GPT-2: Radford et al. 2019, section 2.3
(the norm moves to the front of each sublayer, one more stands at the end). GPT-3: Brown
et al. 2020, section 2.1 and table 2.1: GPT-2's block, larger.

Not here: GPT-3's alternating sparse attention, GPT-1's tasks (see `gpt_tasks`),
generating (see `generation`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import (
    LayerCache,
    causal_attention,
    merge_heads,
    split_heads,
)
from reference_impl.layers.checks import check_decoding, check_heads
from reference_impl.layers.feed_forward import FeedForward
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import key_mask
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.positions import LearnedPositions
from reference_impl.layers.settings import Activation, Count, Positive, Rate, Settings
from reference_impl.weights.families import gpt
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class GPTConfig(Settings):
    """GPT-2 small. The configurations of the papers are below."""

    vocab_size: Count = 50_257
    hidden_size: Count = 768
    num_layers: Count = 12
    num_heads: Count = 12
    max_position_embeddings: Count = 1024
    intermediate_size: Count | None = None  # None: four times hidden_size
    hidden_act: Activation = "gelu_new"
    layer_norm_eps: Positive = 1e-5
    dropout: Rate = 0.1
    embedding_dropout: Rate | None = None  # None: as all others
    attention_dropout: Rate | None = None  # None: as all others
    norm_first: bool = True  # False: GPT-1

    formats: ClassVar = gpt.FORMATS


GPT1 = GPTConfig(vocab_size=40_478, max_position_embeddings=512, norm_first=False)
GPT2_SMALL = GPTConfig()
GPT2_MEDIUM = GPTConfig(hidden_size=1024, num_layers=24, num_heads=16)
GPT2_LARGE = GPTConfig(hidden_size=1280, num_layers=36, num_heads=20)
GPT2_XL = GPTConfig(hidden_size=1600, num_layers=48, num_heads=25)
GPT3 = GPTConfig(
    hidden_size=12_288, num_layers=96, num_heads=96, max_position_embeddings=2048
)


class CausalSelfAttention(nn.Module):
    """Each token looks at itself and at those before it.

    One matrix makes queries, keys and values.
    """

    def __init__(self, config: GPTConfig):
        super().__init__()
        check_heads(config.hidden_size, config.num_heads, config.num_heads)
        self.num_heads = config.num_heads
        self.dropout = (
            config.dropout
            if config.attention_dropout is None
            else config.attention_dropout
        )
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        mask: Bool[Tensor, "B 1 1 S"] | None,
        cache: LayerCache | None,
    ) -> Float[Tensor, "B T C"]:
        """With a cache, x are the last T of S tokens."""
        q, k, v = (
            split_heads(part, self.num_heads) for part in self.qkv(x).chunk(3, dim=-1)
        )  # (B, H, T, D) each
        mixed = causal_attention(
            q, k, v, mask, cache, self.dropout if self.training else 0.0
        )
        return self.output(merge_heads(mixed))


class Block(nn.Module):
    """Attention, then feed-forward, each with a residual; the norm is before each
    (GPT-2) or after the sum (GPT-1).
    """

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.norm_first = config.norm_first
        self.attention_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.attention = CausalSelfAttention(config)
        self.feed_forward_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.feed_forward = FeedForward(
            config.hidden_size,
            config.intermediate_size or 4 * config.hidden_size,
            config.hidden_act,
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        mask: Bool[Tensor, "B 1 1 S"] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """`mask` is True for the keys that are tokens."""
        if self.norm_first:
            x = x + self.dropout(self.attention(self.attention_norm(x), mask, cache))
            return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        x = self.attention_norm(x + self.dropout(self.attention(x, mask, cache)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


class GPT(Pretrained, nn.Module):
    """The language model; its output layer is its input embedding once more."""

    config_class = GPTConfig
    files = gpt.FILES

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = LearnedPositions(
            config.max_position_embeddings, config.hidden_size
        )
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = (
            LayerNorm(config.hidden_size, config.layer_norm_eps)
            if config.norm_first
            else nn.Identity()
        )
        self.output = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.output.weight = self.embedding.weight
        self.dropout = nn.Dropout(
            config.dropout
            if config.embedding_dropout is None
            else config.embedding_dropout
        )
        start_normal(self)
        # so that the sum of 2 L residuals starts at the size of one (GPT-2, section
        # 2.3)
        if config.norm_first:
            for name, weight in self.named_parameters():
                if name.endswith(
                    ("attention.output.weight", "feed_forward.down.weight")
                ):
                    nn.init.normal_(weight, std=0.02 / (2 * config.num_layers) ** 0.5)

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
        start = check_decoding(ids, mask, positions, cache, self.config)
        places = (
            self.position(ids.shape[1], start)
            if positions is None
            else self.position.at(positions)
        )
        x = self.dropout(self.embedding(ids) + places)  # (B, T, C)
        for i, block in enumerate(self.blocks):
            x = block(x, key_mask(mask), cache[i] if cache else None)
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
        padding on the left, together with `positions` that start at 0 after it: padding
        on the right is never seen. With a cache, ids are the new ones.
        """
        return self.output(self.hidden(ids, mask, positions, cache))
