"""T5: an encoder-decoder for which every task is text to text, with positions as a bias
on the scores.

Raffel et al. 2020, section 2.1, and the released program. Against the Transformer of
2017: norms first and without bias or mean (RMSNorm), no biases at all, no 1 / sqrt(D)
in attention, relative positions from one table a stack, shared by its layers; before
the output layer, which is the embedding, vectors are divided by sqrt(C). Version 1.1
(released program; Shazeer 2020 for GeGLU) has a gated feed-forward and an output layer
of its own, undivided.

Not here: span corruption (see `objectives`), generating (see `generation`).
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import LayerCache, MultiHeadAttention
from reference_impl.layers.checks import (
    ModelInputError,
    check_ids,
    check_mask,
    check_memory,
)
from reference_impl.layers.feed_forward import FeedForward, GatedFeedForward
from reference_impl.layers.masks import key_mask
from reference_impl.layers.norms import RMSNorm
from reference_impl.layers.relative import RelativeBias
from reference_impl.layers.settings import Count, Positive, Rate, Settings
from reference_impl.weights.families import t5
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class T5Config(Settings):
    """T5-small.

    Base has hidden_size=768, intermediate_size=3072, 12 layers a stack and
    num_heads=12.

    Version 1.1's small has version_1_1=True, intermediate_size=1024, 8 layers a stack
    and num_heads=6.
    """

    vocab_size: Count = 32_128
    hidden_size: Count = 512
    head_dim: Count = 64  # need not be hidden_size / num_heads
    intermediate_size: Count = 2048
    num_layers: Count = 6
    num_decoder_layers: Count | None = None  # None: as many as in the encoder
    num_heads: Count = 8
    num_buckets: Count = 32
    max_distance: Count = 128
    layer_norm_eps: Positive = 1e-6
    dropout: Rate = 0.1
    version_1_1: bool = False

    formats: ClassVar = (t5.CONFIG,)

    def check_together(self) -> None:
        """Buckets need distances to be spread over."""
        super().check_together()
        if self.num_buckets < 4:
            raise ModelInputError(
                f"num_buckets is {self.num_buckets}: give 4 or more; the encoder has"
                " half of them for each direction, and half of those for single"
                " distances"
            )
        if self.max_distance <= self.num_buckets // 2:
            raise ModelInputError(
                f"max_distance is {self.max_distance} but {self.num_buckets // 2} of"
                f" {self.num_buckets} buckets are for single distances: give a"
                " larger one"
            )


def _attention(config: T5Config) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.hidden_size,
        config.num_heads,
        head_dim=config.head_dim,
        bias=False,
        scale=1.0,
        dropout=config.dropout,
    )


@dataclass
class DecoderCache:
    """Of one layer of the decoder: keys and values of the target so far, and of the
    memory, which are made once.
    """

    target: LayerCache
    memory: tuple[Float[Tensor, "B H S D"], Float[Tensor, "B H S D"]] | None = None


class Block(nn.Module):
    """Attention, in the decoder attention to the encoder's output too, then
    feed-forward; each with a norm before.
    """

    def __init__(self, config: T5Config, decoder: bool):
        super().__init__()
        self.causal = decoder
        self.attention_norm = RMSNorm(config.hidden_size, config.layer_norm_eps)
        self.attention = _attention(config)
        self.cross_norm = (
            RMSNorm(config.hidden_size, config.layer_norm_eps) if decoder else None
        )
        self.cross_attention = _attention(config) if decoder else None
        self.feed_forward_norm = RMSNorm(config.hidden_size, config.layer_norm_eps)
        layer, act = (
            (GatedFeedForward, "gelu_new")
            if config.version_1_1
            else (FeedForward, "relu")
        )
        self.feed_forward = layer(
            config.hidden_size,
            config.intermediate_size,
            act,
            bias=False,
            dropout=config.dropout,
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        bias: Float[Tensor, "H T S"],
        mask: Bool[Tensor, "B 1 1 S"] | None = None,
        memory: Float[Tensor, "B M C"] | None = None,
        memory_mask: Bool[Tensor, "B 1 1 M"] | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Masks are True for the keys that are tokens.

        Attention to the memory has no positions.

        With a cache, x are the last T of S tokens.
        """
        normed, known, of_memory = self.attention_norm(x), None, None
        if cache is not None:
            known = cache.target.append(*self.attention.keys_values(normed))
            of_memory = cache.memory = cache.memory or self.cross_attention.keys_values(
                memory
            )
        x = x + self.dropout(
            self.attention(
                normed, mask=mask, bias=bias, causal=self.causal, known=known
            )
        )
        if self.cross_attention is not None:
            x = x + self.dropout(
                self.cross_attention(
                    self.cross_norm(x), memory, mask=memory_mask, known=of_memory
                )
            )
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


class Stack(nn.Module):
    """The encoder or the decoder: one table of positions, blocks, one last norm."""

    def __init__(self, config: T5Config, num_layers: int, decoder: bool):
        super().__init__()
        self.positions = RelativeBias(
            config.num_heads,
            config.num_buckets,
            config.max_distance,
            both_directions=not decoder,
        )
        self.blocks = nn.ModuleList(Block(config, decoder) for _ in range(num_layers))
        self.norm = RMSNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        cache: Sequence[DecoderCache] | None = None,
        **others: Tensor | None,
    ) -> Float[Tensor, "B T C"]:
        """x are embeddings, with a cache, one a block, of the new tokens; the rest goes
        to every block.
        """
        start = cache[0].target.length if cache else 0
        bias = self.positions(x.shape[1], start + x.shape[1])  # (H, T, S)
        x = self.dropout(x)
        for i, block in enumerate(self.blocks):
            x = block(x, bias, cache=cache[i] if cache else None, **others)
        return self.dropout(self.norm(x))


class T5(Pretrained, nn.Module):
    """From ids of a source and of the target so far to logits of the target's next
    token.
    """

    config_class = T5Config
    files = t5.FILES

    def __init__(self, config: T5Config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.encoder = Stack(config, config.num_layers, decoder=False)
        self.decoder = Stack(
            config, config.num_decoder_layers or config.num_layers, decoder=True
        )
        self.output = (
            nn.Linear(config.hidden_size, config.vocab_size, bias=False)
            if config.version_1_1
            else None
        )
        self._start()

    def tie_as_in(self, names: Container[str]) -> None:
        """A file of version 1.1 without an output layer has the embedding there."""
        if self.output is not None and "lm_head.weight" not in names:
            self.output.weight = self.embedding.weight

    def _start(self) -> None:
        """As released: without a scale in attention, queries start smaller by
        sqrt(D).
        """
        for name, weight in self.named_parameters():
            if name == "embedding.weight":
                nn.init.normal_(weight)
            elif weight.ndim == 2:
                width = (
                    weight.shape[1] * self.config.head_dim
                    if name.endswith("query.weight")
                    else weight.shape[1]
                )
                nn.init.normal_(weight, std=width**-0.5)

    def encode(
        self, source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"] | None = None
    ) -> Float[Tensor, "B S C"]:
        """What the encoder makes of a source; `mask` is True where there is a token."""
        check_ids(source, self.config.vocab_size)
        check_mask(mask, source.shape)
        return self.encoder(self.embedding(source), mask=key_mask(mask))

    def decode(
        self,
        target: Int[Tensor, "B T"],
        memory: Float[Tensor, "B S C"],
        memory_mask: Bool[Tensor, "B S"] | None = None,
        cache: Sequence[DecoderCache] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each of `target`'s, which starts with the padding's
        id, 0, as released.

        With a cache, one a layer of the decoder, `target` are the new tokens; the
        memory must stay the same.
        """
        check_ids(target, self.config.vocab_size)
        check_memory(target, memory)
        check_mask(memory_mask, memory.shape[:2])
        x = self.decoder(
            self.embedding(target),
            cache,
            memory=memory,
            memory_mask=key_mask(memory_mask),
        )
        if self.output is not None:
            return self.output(x)
        return (x * self.config.hidden_size**-0.5) @ self.embedding.weight.T

    def forward(
        self,
        source: Int[Tensor, "B S"],
        target: Int[Tensor, "B T"],
        source_mask: Bool[Tensor, "B S"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Read the source, then score every prefix of the target at once."""
        return self.decode(target, self.encode(source, source_mask), source_mask)
