"""One small decoder that can be told in six ways where its tokens stand, or not at all:
chapter 4's comparison.

GPT-2's block (Radford et al. 2019, section 2.3) with separate matrices for queries,
keys and values. Into the vectors: a trained row a place, or sinusoids (Vaswani et al.
2017, section 3.5). Into the scores: T5's bias (Raffel et al. 2020, section 2.1), ALiBi
(Press et al. 2022, section 3), Transformer-XL's four terms (Dai et al. 2019, section
3.3). Into query and key: rotary (Su et al. 2021, section 3.2). All scores are scaled by
1 / sqrt(D), T5's too.

Not here: dropout, a cache, padding. It is for comparing positions; `gpt` and `llama`
are for the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import (
    MultiHeadAttention,
    attention_weights,
    merge_heads,
    split_heads,
)
from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.feed_forward import FeedForward
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import causal_mask
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.positions import (
    LearnedPositions,
    alibi_bias,
    sinusoidal_positions,
)
from reference_impl.layers.relative import (
    RelativeBias,
    distance_vectors,
    transformer_xl_scores,
)
from reference_impl.layers.rotary import rotary_tables, rotate
from reference_impl.layers.settings import Count, Positive, Settings

KINDS = ("none", "learned", "sinusoidal", "T5", "Transformer-XL", "ALiBi", "RoPE")


@dataclass(frozen=True)
class PlacedConfig(Settings):
    """The sizes of one decoder; `kinds` are what `PlacedDecoders` holds one of
    each of.
    """

    kinds: tuple[str, ...] = KINDS
    vocab_size: Count = 512
    hidden_size: Count = 64
    num_heads: Count = 4
    num_layers: Count = 2
    intermediate_size: Count = 256
    max_positions: Count = 512  # rows of the learned kind
    sinusoids_times: Positive = 0.05  # so that they start at the size of the embeddings


class XLAttention(MultiHeadAttention):
    """Transformer-XL's scores in the place of q . k."""

    def __init__(self, config: PlacedConfig):
        super().__init__(config.hidden_size, config.num_heads)
        self.distance = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.u, self.v = (
            nn.Parameter(
                torch.zeros(config.num_heads, config.hidden_size // config.num_heads)
            )
            for _ in range(2)
        )

    def scores(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B H T T"]:
        """Scaled; the mask is not in it."""
        _, length, width = x.shape
        r = split_heads(
            self.distance(distance_vectors(length, length, width))[None], self.num_heads
        )[0]  # (H, R, D)
        q, (k, _) = split_heads(self.query(x), self.num_heads), self.keys_values(x)
        return (
            transformer_xl_scores(q, k, r, self.u, self.v)
            * (width // self.num_heads) ** -0.5
        )

    def forward(
        self, x: Float[Tensor, "B T C"], **given: object
    ) -> Float[Tensor, "B T C"]:
        """Causal, as all here."""
        weights = (
            self.scores(x).masked_fill(~causal_mask(x.shape[1]), -torch.inf).softmax(-1)
        )
        return self.output(merge_heads(weights @ self.keys_values(x)[1]))


class Block(nn.Module):
    """GPT-2's block: the norm is before each sublayer."""

    def __init__(self, config: PlacedConfig):
        super().__init__()
        self.attention_norm, self.feed_forward_norm = (
            LayerNorm(config.hidden_size),
            LayerNorm(config.hidden_size),
        )
        self.attention = MultiHeadAttention(config.hidden_size, config.num_heads)
        self.feed_forward = FeedForward(config.hidden_size, config.intermediate_size)

    def forward(
        self, x: Float[Tensor, "B T C"], given: dict[str, object]
    ) -> Float[Tensor, "B T C"]:
        """`given` is what attention is told of positions."""
        x = x + self.attention(self.attention_norm(x), causal=True, **given)
        return x + self.feed_forward(self.feed_forward_norm(x))


class PlacedDecoder(nn.Module):
    """A language model with one kind of positions.

    What all kinds share is drawn first, and so alike under one seed.
    """

    def __init__(self, kind: str, config: PlacedConfig):
        super().__init__()
        if kind not in KINDS:
            raise ModelInputError(
                f"positions of kind {kind!r}; there are {', '.join(KINDS)}"
            )
        self.kind, self.config = kind, config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = LayerNorm(config.hidden_size)
        start_normal(self)
        if kind == "learned":
            self.position = LearnedPositions(config.max_positions, config.hidden_size)
            nn.init.normal_(self.position.weight, std=0.02)
        if kind == "T5":
            self.position = RelativeBias(config.num_heads, both_directions=False)
            nn.init.zeros_(self.position.table.weight)
        if kind == "Transformer-XL":
            for block in self.blocks:
                shared, block.attention = block.attention, XLAttention(config)
                block.attention.load_state_dict(shared.state_dict(), strict=False)
                nn.init.normal_(block.attention.distance.weight, std=0.02)

    def start(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """Embeddings, and vectors of places where the kind has any."""
        x, length = self.embedding(ids), ids.shape[1]
        if self.kind == "learned":
            return x + self.position(length)
        if self.kind == "sinusoidal":
            return x + self.config.sinusoids_times * sinusoidal_positions(
                torch.arange(length), self.config.hidden_size
            )
        return x

    def given(self, length: int) -> dict[str, object]:
        """What attention is told, for all layers alike."""
        if self.kind == "T5":
            return {"bias": self.position(length)}
        if self.kind == "ALiBi":
            return {"bias": alibi_bias(self.config.num_heads, length)}
        if self.kind == "RoPE":
            return {
                "rotary": rotary_tables(
                    torch.arange(length),
                    self.config.hidden_size // self.config.num_heads,
                )
            }
        return {}

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits of the token after each."""
        x, given = self.start(ids), self.given(ids.shape[1])
        for block in self.blocks:
            x = block(x, given)
        return self.norm(x) @ self.embedding.weight.T

    def first_scores(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B H T T"]:
        """The first layer's scores for every query and key, without the mask."""
        attention, given = self.blocks[0].attention, self.given(ids.shape[1])
        x = self.blocks[0].attention_norm(self.start(ids))
        if isinstance(attention, XLAttention):
            return attention.scores(x)
        q, k = (
            split_heads(attention.query(x), attention.num_heads),
            attention.keys_values(x)[0],
        )
        if "rotary" in given:
            q, k = rotate(q, given["rotary"]), rotate(k, given["rotary"])
        return q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5 + given.get("bias", 0)

    def weights(self, ids: Int[Tensor, "B T"]) -> list[Float[Tensor, "B H T T"]]:
        """The attention weights of every layer; not for Transformer-XL's kind."""
        x, given, found = self.start(ids), self.given(ids.shape[1]), []
        for block in self.blocks:
            attention, normed = block.attention, block.attention_norm(x)
            q = split_heads(attention.query(normed), attention.num_heads)
            k = attention.keys_values(normed)[0]
            if "rotary" in given:
                q, k = rotate(q, given["rotary"]), rotate(k, given["rotary"])
            found.append(
                attention_weights(q, k, causal_mask(ids.shape[1]), given.get("bias"))
            )
            x = block(x, given)
        return found

    def first_weights(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B H T T"]:
        """The same behind the causal mask and the softmax."""
        return (
            self.first_scores(ids)
            .masked_fill(~causal_mask(ids.shape[1]), -torch.inf)
            .softmax(-1)
        )


class PlacedDecoders(nn.ModuleDict):
    """One decoder of each kind, by its name."""

    def __init__(
        self, config: PlacedConfig, decoders: Sequence[PlacedDecoder] | None = None
    ):
        super().__init__(
            {
                one.kind: one
                for one in decoders
                or [PlacedDecoder(kind, config) for kind in config.kinds]
            }
        )
        self.config = config
