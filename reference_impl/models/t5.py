"""T5: an encoder-decoder for which every task is text to text, with positions as a bias on the scores.

Raffel et al. 2020, section 2.1, and the released program. Against the Transformer of 2017: norms first and without
bias or mean (RMSNorm), no biases at all, no 1 / sqrt(D) in attention, relative positions from one table a stack,
shared by its layers; before the output layer, which is the embedding, vectors are divided by sqrt(C). Version 1.1
(released program; Shazeer 2020 for GeGLU) has a gated feed-forward and an output layer of its own, undivided.

Not here: span corruption (see `objectives`), generating (see `generation`).
"""
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import LayerCache, MultiHeadAttention
from reference_impl.layers.checks import check_ids, check_mask
from reference_impl.layers.feed_forward import FeedForward, GatedFeedForward
from reference_impl.layers.masks import key_mask
from reference_impl.layers.norms import RMSNorm
from reference_impl.layers.relative import RelativeBias
from reference_impl.weights.names import Names
from reference_impl.weights.pretrained import from_pretrained
from reference_impl.weights.safetensors_files import WeightsError


@dataclass(frozen=True)
class T5Config:
    """T5-small. Base has hidden_size=768, intermediate_size=3072, 12 layers a stack and num_heads=12.

    Version 1.1's small has version_1_1=True, intermediate_size=1024, 8 layers a stack and num_heads=6.
    """

    vocab_size: int = 32_128
    hidden_size: int = 512
    head_dim: int = 64  # need not be hidden_size / num_heads
    intermediate_size: int = 2048
    num_layers: int = 6
    num_decoder_layers: int | None = None  # None: as many as in the encoder
    num_heads: int = 8
    num_buckets: int = 32
    max_distance: int = 128
    layer_norm_eps: float = 1e-6
    dropout: float = 0.1
    version_1_1: bool = False

    model_types: ClassVar = ("t5",)
    published: ClassVar = {"hidden_size": "d_model", "head_dim": "d_kv", "intermediate_size": "d_ff",
                           "num_buckets": "relative_attention_num_buckets",
                           "max_distance": "relative_attention_max_distance",
                           "layer_norm_eps": "layer_norm_epsilon", "dropout": "dropout_rate"}

    @staticmethod
    def read(published: dict) -> dict:
        """What is told by two settings is one version: the feed-forward and whether output and embedding are tied."""
        feed_forward = published.get("feed_forward_proj", "relu")
        tied = published.get("scale_decoder_outputs", published.get("tie_word_embeddings", True))  # newer files, older
        if (feed_forward, tied) not in (("relu", True), ("gated-gelu", False)):
            raise WeightsError(f"config.json has the feed-forward {feed_forward!r} and an output layer that is "
                               f"{'' if tied else 'not '}the embedding: T5Config can 'relu' with one that is (T5), "
                               "'gated-gelu' with one that is not (1.1)")
        return {**published, "version_1_1": not tied}


def _attention(config: T5Config) -> MultiHeadAttention:
    return MultiHeadAttention(config.hidden_size, config.num_heads, head_dim=config.head_dim, bias=False, scale=1.0,
                              dropout=config.dropout)


@dataclass
class DecoderCache:
    """Of one layer of the decoder: keys and values of the target so far, and of the memory, which are made once."""

    target: LayerCache
    memory: tuple[Float[Tensor, "B H S D"], Float[Tensor, "B H S D"]] | None = None


class Block(nn.Module):
    """Attention, in the decoder attention to the encoder's output too, then feed-forward; each with a norm before."""

    def __init__(self, config: T5Config, decoder: bool):
        super().__init__()
        self.causal = decoder
        self.attention_norm = RMSNorm(config.hidden_size, config.layer_norm_eps)
        self.attention = _attention(config)
        self.cross_norm = RMSNorm(config.hidden_size, config.layer_norm_eps) if decoder else None
        self.cross_attention = _attention(config) if decoder else None
        self.feed_forward_norm = RMSNorm(config.hidden_size, config.layer_norm_eps)
        layer, act = (GatedFeedForward, "gelu_new") if config.version_1_1 else (FeedForward, "relu")
        self.feed_forward = layer(config.hidden_size, config.intermediate_size, act, bias=False,
                                  dropout=config.dropout)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Float[Tensor, "B T C"], bias: Float[Tensor, "H T S"],
                mask: Bool[Tensor, "B 1 1 S"] | None = None, memory: Float[Tensor, "B M C"] | None = None,
                memory_mask: Bool[Tensor, "B 1 1 M"] | None = None,
                cache: DecoderCache | None = None) -> Float[Tensor, "B T C"]:
        """Masks are True for the keys that are tokens. Attention to the memory has no positions.

        With a cache, x are the last T of S tokens.
        """
        normed, known, of_memory = self.attention_norm(x), None, None
        if cache is not None:
            known = cache.target.append(*self.attention.keys_values(normed))
            of_memory = cache.memory = cache.memory or self.cross_attention.keys_values(memory)
        x = x + self.dropout(self.attention(normed, mask=mask, bias=bias, causal=self.causal, known=known))
        if self.cross_attention is not None:
            x = x + self.dropout(self.cross_attention(self.cross_norm(x), memory, mask=memory_mask, known=of_memory))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


class Stack(nn.Module):
    """The encoder or the decoder: one table of positions, blocks, one last norm."""

    def __init__(self, config: T5Config, num_layers: int, decoder: bool):
        super().__init__()
        self.positions = RelativeBias(config.num_heads, config.num_buckets, config.max_distance,
                                      both_directions=not decoder)
        self.blocks = nn.ModuleList(Block(config, decoder) for _ in range(num_layers))
        self.norm = RMSNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Float[Tensor, "B T C"], cache: Sequence[DecoderCache] | None = None,
                **others: Tensor | None) -> Float[Tensor, "B T C"]:
        """x are embeddings, with a cache, one a block, of the new tokens; the rest goes to every block."""
        start = cache[0].target.length if cache else 0
        bias = self.positions(x.shape[1], start + x.shape[1])  # (H, T, S)
        x = self.dropout(x)
        for i, block in enumerate(self.blocks):
            x = block(x, bias, cache=cache[i] if cache else None, **others)
        return self.dropout(self.norm(x))


class T5(nn.Module):
    """From ids of a source and of the target so far to logits of the target's next token."""

    config_class = T5Config

    def __init__(self, config: T5Config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.encoder = Stack(config, config.num_layers, decoder=False)
        self.decoder = Stack(config, config.num_decoder_layers or config.num_layers, decoder=True)
        self.output = nn.Linear(config.hidden_size, config.vocab_size, bias=False) if config.version_1_1 else None
        self._start()

    def _start(self) -> None:
        """As released: without a scale in attention, queries start smaller by sqrt(D)."""
        for name, weight in self.named_parameters():
            if name == "embedding.weight":
                nn.init.normal_(weight)
            elif weight.ndim == 2:
                width = weight.shape[1] * self.config.head_dim if name.endswith("query.weight") else weight.shape[1]
                nn.init.normal_(weight, std=width ** -0.5)

    def encode(self, source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"] | None = None) -> Float[Tensor, "B S C"]:
        """What the encoder makes of a source; `mask` is True where there is a token."""
        check_ids(source, self.config.vocab_size)
        check_mask(mask, source.shape)
        return self.encoder(self.embedding(source), mask=key_mask(mask))

    def decode(self, target: Int[Tensor, "B T"], memory: Float[Tensor, "B S C"],
               memory_mask: Bool[Tensor, "B S"] | None = None,
               cache: Sequence[DecoderCache] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the token after each of `target`'s, which starts with the padding's id, 0, as released.

        With a cache, one a layer of the decoder, `target` are the new tokens; the memory must stay the same.
        """
        check_ids(target, self.config.vocab_size)
        check_mask(memory_mask, memory.shape[:2])
        x = self.decoder(self.embedding(target), cache, memory=memory,
                         memory_mask=key_mask(memory_mask))
        if self.output is not None:
            return self.output(x)
        return (x * self.config.hidden_size ** -0.5) @ self.embedding.weight.T

    def forward(self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"],
                source_mask: Bool[Tensor, "B S"] | None = None) -> Float[Tensor, "B T V"]:
        """Read the source, then score every prefix of the target at once."""
        return self.decode(target, self.encode(source, source_mask), source_mask)

    @classmethod
    def from_pretrained(cls, path: Path | str) -> "T5":
        """Read config.json and safetensors of a folder."""
        return from_pretrained(cls, path)

    @property
    def names(self) -> Names:
        """Hugging Face's names; the two versions differ in feed-forward and output."""
        return NAMES_1_1 if self.config.version_1_1 else NAMES


def _stack_names(stack: str, last: int) -> dict[str, str]:
    """A stack's names; `last` is the number of the feed-forward among a block's layers."""
    return {f"{stack}.{ours}": f"{stack}.{theirs}" for ours, theirs in {
        "positions.table": "block.0.layer.0.SelfAttention.relative_attention_bias",
        "blocks.*.attention_norm": "block.*.layer.0.layer_norm",
        "blocks.*.attention.query": "block.*.layer.0.SelfAttention.q",
        "blocks.*.attention.key": "block.*.layer.0.SelfAttention.k",
        "blocks.*.attention.value": "block.*.layer.0.SelfAttention.v",
        "blocks.*.attention.output": "block.*.layer.0.SelfAttention.o",
        "blocks.*.feed_forward_norm": f"block.*.layer.{last}.layer_norm",
        "blocks.*.feed_forward.down": f"block.*.layer.{last}.DenseReluDense.wo",
        "norm": "final_layer_norm",
    }.items()}


_COMMON = {
    "embedding": "shared",
    **_stack_names("encoder", last=1),
    **_stack_names("decoder", last=2),
    "decoder.blocks.*.cross_norm": "decoder.block.*.layer.1.layer_norm",
    "decoder.blocks.*.cross_attention.query": "decoder.block.*.layer.1.EncDecAttention.q",
    "decoder.blocks.*.cross_attention.key": "decoder.block.*.layer.1.EncDecAttention.k",
    "decoder.blocks.*.cross_attention.value": "decoder.block.*.layer.1.EncDecAttention.v",
    "decoder.blocks.*.cross_attention.output": "decoder.block.*.layer.1.EncDecAttention.o",
}
_TWICE = {"encoder.embed_tokens.weight": "shared.weight", "decoder.embed_tokens.weight": "shared.weight"}
NAMES = Names({
    **_COMMON,
    "encoder.blocks.*.feed_forward.up": "encoder.block.*.layer.1.DenseReluDense.wi",
    "decoder.blocks.*.feed_forward.up": "decoder.block.*.layer.2.DenseReluDense.wi",
}, twice={**_TWICE, "lm_head.weight": "shared.weight"})
NAMES_1_1 = Names({
    **_COMMON,
    "encoder.blocks.*.feed_forward.gate": "encoder.block.*.layer.1.DenseReluDense.wi_0",
    "encoder.blocks.*.feed_forward.up": "encoder.block.*.layer.1.DenseReluDense.wi_1",
    "decoder.blocks.*.feed_forward.gate": "decoder.block.*.layer.2.DenseReluDense.wi_0",
    "decoder.blocks.*.feed_forward.up": "decoder.block.*.layer.2.DenseReluDense.wi_1",
    "output": "lm_head",
}, twice=_TWICE)
