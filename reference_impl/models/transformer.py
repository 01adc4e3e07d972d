"""The Transformer: an encoder that reads, a decoder that writes and looks at what was
read.

Vaswani et al. 2017, "Attention Is All You Need", section 3 and table 3 (base).
`norm_first` moves the norm before each sublayer: Xiong et al. 2020, section 3, which
trains without warm-up and ends each stack with one more norm.

Not here: beam search, label smoothing (see `objectives`), the released program's later
changes.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import MultiHeadAttention
from reference_impl.layers.checks import check_ids, check_mask, check_memory
from reference_impl.layers.feed_forward import FeedForward
from reference_impl.layers.masks import key_mask
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.positions import sinusoidal_positions
from reference_impl.layers.settings import Count, CountOrZero, Rate, Settings


@dataclass(frozen=True)
class TransformerConfig(Settings):
    """The base model of table 3.

    One vocabulary serves both languages and the output (section 3.4).
    """

    vocab_size: Count = 37_000
    hidden_size: Count = 512
    num_layers: CountOrZero = 6
    num_heads: Count = 8
    intermediate_size: Count = 2048
    dropout: Rate = 0.1
    norm_first: bool = False


class Sublayer(nn.Module):
    """What stands around attention and feed-forward: a residual, dropout, a norm after
    the sum or before the layer.
    """

    def __init__(self, config: TransformerConfig, layer: nn.Module):
        super().__init__()
        self.layer, self.norm_first = layer, config.norm_first
        self.norm = LayerNorm(config.hidden_size)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "B T C"], *args, **kwargs
    ) -> Float[Tensor, "B T C"]:
        """norm(x + layer(x)), or x + layer(norm(x)) with the norm first."""
        if self.norm_first:
            return x + self.dropout(self.layer(self.norm(x), *args, **kwargs))
        return self.norm(x + self.dropout(self.layer(x, *args, **kwargs)))


class EncoderBlock(nn.Module):
    """Attention among all tokens, then the feed-forward layer on each."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.attention = Sublayer(
            config, MultiHeadAttention(config.hidden_size, config.num_heads)
        )
        self.feed_forward = Sublayer(
            config, FeedForward(config.hidden_size, config.intermediate_size, "relu")
        )

    def forward(
        self, x: Float[Tensor, "B S C"], mask: Bool[Tensor, "B 1 1 S"] | None = None
    ) -> Float[Tensor, "B S C"]:
        """`mask` is True for the keys that are tokens."""
        return self.feed_forward(self.attention(x, mask=mask))


class DecoderBlock(nn.Module):
    """Causal attention, cross-attention to the encoder's output, then the feed-forward
    layer on each token.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.attention = Sublayer(
            config, MultiHeadAttention(config.hidden_size, config.num_heads)
        )
        self.cross_attention = Sublayer(
            config, MultiHeadAttention(config.hidden_size, config.num_heads)
        )
        self.feed_forward = Sublayer(
            config, FeedForward(config.hidden_size, config.intermediate_size, "relu")
        )

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        memory: Float[Tensor, "B S C"],
        memory_mask: Bool[Tensor, "B 1 1 S"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """`memory_mask` is True for the keys of `memory` that are tokens."""
        x = self.attention(x, causal=True)
        x = self.cross_attention(x, memory, mask=memory_mask)
        return self.feed_forward(x)


class Transformer(nn.Module):
    """From ids of a source and of the target so far to logits of the target's next
    token, at every position.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.encoder = nn.ModuleList(
            EncoderBlock(config) for _ in range(config.num_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(config) for _ in range(config.num_layers)
        )
        # A post-norm block ends with a norm; a pre-norm one with a bare sum, so the
        # stack needs one more.
        self.encoder_norm = (
            LayerNorm(config.hidden_size) if config.norm_first else nn.Identity()
        )
        self.decoder_norm = (
            LayerNorm(config.hidden_size) if config.norm_first else nn.Identity()
        )
        self.dropout = nn.Dropout(config.dropout)
        for matrix in self.parameters():
            if matrix.ndim == 2:
                nn.init.xavier_uniform_(matrix)
        nn.init.normal_(self.embedding.weight, std=config.hidden_size**-0.5)

    def embed(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """Embeddings times sqrt(C), so that they are of the positions' size (section
        3.4), plus positions.
        """
        check_ids(ids, self.config.vocab_size)
        scaled = self.embedding(ids) * self.config.hidden_size**0.5  # (B, T, C)
        positions = torch.arange(ids.shape[1], device=ids.device)
        return self.dropout(
            scaled
            + sinusoidal_positions(
                positions, self.config.hidden_size, dtype=scaled.dtype
            )
        )

    def encode(
        self, source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"] | None = None
    ) -> Float[Tensor, "B S C"]:
        """One vector per source token; `mask` is True where there is a token."""
        x = self.embed(source)
        check_mask(mask, source.shape)
        for block in self.encoder:
            x = block(x, key_mask(mask))
        return self.encoder_norm(x)

    def decode(
        self,
        target: Int[Tensor, "B T"],
        memory: Float[Tensor, "B S C"],
        memory_mask: Bool[Tensor, "B S"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the next token at each position of `target`.

        Padding of the target comes last, where no token attends to it.
        """
        x = self.embed(target)
        check_memory(target, memory)
        check_mask(memory_mask, memory.shape[:2])
        for block in self.decoder:
            x = block(x, memory, key_mask(memory_mask))
        return self.decoder_norm(x) @ self.embedding.weight.T

    def forward(
        self,
        source: Int[Tensor, "B S"],
        target: Int[Tensor, "B T"],
        source_mask: Bool[Tensor, "B S"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Encode the source, then predict after every prefix of the target at once."""
        return self.decode(target, self.encode(source, source_mask), source_mask)
