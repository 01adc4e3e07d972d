"""ModernBERT: BERT rebuilt with what decoders had learned since.

Warner et al. 2024, section 2.1 and appendix A: rotary positions, GeGLU, norms first,
hardly any bias, and two kinds of layers in turn: one in three sees the whole text, the
others 64 tokens to each side, with a rotary base of their own.

Not here: the released model's staged training.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import attention, merge_heads, split_heads
from reference_impl.layers.checks import ModelInputError, check_heads
from reference_impl.layers.feed_forward import activation
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import join, key_mask, window_mask
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.packing import Packing, check_tokens, packed_attention
from reference_impl.layers.rotary import Tables, rotary_tables, rotate
from reference_impl.layers.settings import Count, Positive, Settings
from reference_impl.weights.families import modernbert
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class ModernBertConfig(Settings):
    """ModernBERT-base.

    Large has hidden_size=1024, intermediate_size=2624, num_layers=28, num_heads=16.
    """

    vocab_size: Count = 50_368
    hidden_size: Count = 768
    intermediate_size: Count = 1152
    num_layers: Count = 22
    num_heads: Count = 12
    max_position_embeddings: Count = 8192
    norm_eps: Positive = 1e-5
    global_every: Count = 3  # layers 0, 3, 6, ... see the whole text
    local_attention: Count = 128  # half of it to each side
    global_rope_theta: Positive = 160_000.0
    local_rope_theta: Positive = 10_000.0

    formats: ClassVar = (modernbert.CONFIG,)

    def check_together(self) -> None:
        """Rotary positions turn pairs."""
        super().check_together()
        if (head_dim := self.hidden_size // self.num_heads) % 2:
            raise ModelInputError(
                f"heads of {head_dim} numbers: rotary positions turn pairs; give"
                " another num_heads"
            )


class Attention(nn.Module):
    """Attention with rotary positions. One matrix makes queries, keys and values."""

    def __init__(self, config: ModernBertConfig):
        super().__init__()
        check_heads(config.hidden_size, config.num_heads, config.num_heads)
        self.num_heads = config.num_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=False)
        self.output = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        mask: Bool[Tensor, "..."] | None,
        packing: Packing | None,
    ) -> Float[Tensor, "B T C"]:
        """`mask` is True where a query may see a key; a packing says it of sequences
        that lie end to end.
        """
        q, k, v = (
            split_heads(part, self.num_heads) for part in self.qkv(x).chunk(3, dim=-1)
        )  # (B, H, T, D) each
        q, k = rotate(q, rotary), rotate(k, rotary)
        if packing is None:
            return self.output(merge_heads(attention(q, k, v, mask)))
        return self.output(
            merge_heads(
                packed_attention(q, k, v, packing.cu_seqlens, window=packing.window)
            )
        )


class GeGLU(nn.Module):
    """down(gelu(gate) * up), gate and up from one matrix."""

    def __init__(self, config: ModernBertConfig):
        super().__init__()
        self.gate_up = nn.Linear(
            config.hidden_size, 2 * config.intermediate_size, bias=False
        )
        self.down = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)
        self.act = activation("gelu")

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Each token alone."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)  # (B, T, F) each
        return self.down(self.act(gate) * up)


class Block(nn.Module):
    """Attention, then GeGLU, each with a norm before and a residual around.

    The first block has no norm before its attention: the embeddings were normed a
    moment ago.
    """

    def __init__(self, config: ModernBertConfig, first: bool):
        super().__init__()
        self.attention_norm = (
            nn.Identity()
            if first
            else LayerNorm(config.hidden_size, config.norm_eps, bias=False)
        )
        self.attention = Attention(config)
        self.feed_forward_norm = LayerNorm(
            config.hidden_size, config.norm_eps, bias=False
        )
        self.feed_forward = GeGLU(config)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        rotary: Tables,
        mask: Bool[Tensor, "..."] | None,
        packing: Packing | None = None,
    ) -> Float[Tensor, "B T C"]:
        """`mask` is True where a query may see a key."""
        x = x + self.attention(self.attention_norm(x), rotary, mask, packing)
        return x + self.feed_forward(self.feed_forward_norm(x))


class ModernBert(Pretrained, nn.Module):
    """The encoder."""

    config_class = ModernBertConfig
    files = modernbert.FILES

    def __init__(self, config: ModernBertConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.embedding_norm = LayerNorm(config.hidden_size, config.norm_eps, bias=False)
        self.blocks = nn.ModuleList(
            Block(config, first=i == 0) for i in range(config.num_layers)
        )
        self.norm = LayerNorm(config.hidden_size, config.norm_eps, bias=False)
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B T"] | None = None,
        packing: Packing | None = None,
    ) -> Float[Tensor, "B T C"]:
        """A vector for each token.

        `mask` is True where there is a token and False for padding; None: no padding.

        With a packing the one row is many sequences end to end (see `layers.packing`).
        """
        config = self.config
        check_tokens(
            ids, mask, packing, config.vocab_size, config.max_position_embeddings
        )
        x = self.embedding_norm(self.embedding(ids))  # (B, T, C)
        head_dim, side = (
            config.hidden_size // config.num_heads,
            config.local_attention // 2,
        )
        if packing is None:
            positions = torch.arange(ids.shape[1], device=ids.device)
            everywhere = key_mask(mask), None
            nearby = (
                join(
                    everywhere[0],
                    window_mask(
                        len(positions), before=side, after=side, device=ids.device
                    ),
                ),
                None,
            )
        else:
            positions, everywhere, nearby = (
                packing.positions,
                (None, packing),
                (None, packing.within(side, side)),
            )
        global_tables = rotary_tables(
            positions, head_dim, config.global_rope_theta, dtype=x.dtype
        )
        local_tables = rotary_tables(
            positions, head_dim, config.local_rope_theta, dtype=x.dtype
        )
        for i, block in enumerate(self.blocks):
            x = (
                block(x, local_tables, *nearby)
                if i % config.global_every
                else block(x, global_tables, *everywhere)
            )
        return self.norm(x)


class ModernBertForMaskedLM(Pretrained, nn.Module):
    """Which token stood here: one more layer, then the embedding once more as the
    output layer.
    """

    config_class = ModernBertConfig
    files = modernbert.MASKED_LM

    def __init__(self, config: ModernBertConfig):
        super().__init__()
        self.config = config
        self.encoder = ModernBert(config)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.norm = LayerNorm(config.hidden_size, config.norm_eps, bias=False)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.decoder.weight = self.encoder.embedding.weight
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B T"] | None = None,
        packing: Packing | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of each token."""
        return self.decoder(
            self.norm(activation("gelu")(self.dense(self.encoder(ids, mask, packing))))
        )
