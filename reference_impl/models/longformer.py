"""Longformer: RoBERTa for long documents.

A token sees its neighbours, a few chosen tokens see all and are seen by all.

Beltagy et al. 2020, sections 3.1 (sliding window, global attention, separate
projections) and 5 (from RoBERTa). Scores are computed chunk by chunk, so time and
memory grow with T x window and not with T x T; `dense` is the same with all T x T
scores and a mask.

Not here: dilated windows (section 3.1), the causal form (section 4), a window of its
own for each layer.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.functional import dropout, pad

from reference_impl.layers.attention import attention, merge_heads, split_heads
from reference_impl.layers.checks import (
    ModelInputError,
    check_heads,
    check_ids,
    check_mask,
)
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import key_mask, window_mask
from reference_impl.layers.settings import Count
from reference_impl.models.bert import Block as BertBlock
from reference_impl.models.heads import MaskedLMHead
from reference_impl.models.roberta import OFFSET, Embeddings, RobertaConfig
from reference_impl.weights.families import long_documents
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class LongformerConfig(RobertaConfig):
    """Longformer-base. Its 4098 positions are rows of the table: 4096 tokens fit."""

    max_position_embeddings: Count = 4098
    attention_window: Count = 512  # half of it to each side, and the token itself

    formats: ClassVar = (long_documents.LONGFORMER,)

    def check_together(self) -> None:
        """Half of a window lies to each side."""
        super().check_together()
        if self.attention_window % 2:
            raise ModelInputError(
                f"attention_window is {self.attention_window}: give an even number,"
                " half of it lies to each side"
            )


class Global(NamedTuple):
    """Where the global tokens stand, G the most of a sequence; `exists` is False where
    a sequence has fewer.
    """

    places: Int[Tensor, "B G"]
    exists: Bool[Tensor, "B G"]

    def pick(self, x: Float[Tensor, "B H T D"]) -> Float[Tensor, "B H G D"]:
        """These tokens' vectors."""
        return x.gather(
            2, self.places[:, None, :, None].expand(-1, x.shape[1], -1, x.shape[3])
        )


def find_global(is_global: Bool[Tensor, "B T"]) -> Global:
    """The places where `is_global` is True, in order."""
    counts = is_global.sum(1)
    most = int(counts.max())
    places = is_global.int().argsort(dim=1, descending=True, stable=True)[
        :, :most
    ]  # True comes first
    return Global(places, torch.arange(most, device=places.device) < counts[:, None])


def chunks(x: Float[Tensor, "B H T D"], size: int) -> Float[Tensor, "B H N W D"]:
    """Cut T into N chunks of W = size, the last one filled up with zeros."""
    return pad(x, (0, 0, 0, -x.shape[2] % size)).unflatten(2, (-1, size))


def surroundings(
    x: Shaped[Tensor, "B H T D"], size: int
) -> Shaped[Tensor, "B H N D W3"]:
    """For each chunk, itself with the chunk before and the chunk after: a view, nothing
    is copied but the padding.
    """
    return pad(x, (0, 0, size, size + -x.shape[2] % size)).unfold(2, 3 * size, size)


def window_attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H T D"],
    v: Float[Tensor, "B H T D"],
    side: int,
    nearby: Bool[Tensor, "B T"],
    chosen: Global,
    drop: float = 0.0,
) -> Float[Tensor, "B H T D"]:
    """Every query sees the keys up to `side` away that `nearby` allows, and all
    `chosen` ones: one softmax for both.

    With chunks of `side` tokens, what a chunk's queries see lies in three chunks of
    keys. Tensors have up to B H T (3 side + G) numbers, the scores, or B H T 3 D, each
    chunk's keys.
    """
    queries = chunks(q, side) * q.shape[-1] ** -0.5  # (B, H, N, W, D)
    near = queries @ surroundings(k, side)  # (B, H, N, W, 3W)
    far = queries @ chosen.pick(k)[:, :, None].transpose(-2, -1)  # (B, H, N, W, G)
    in_chunk = torch.arange(side, device=q.device)
    distance = (
        torch.arange(-side, 2 * side, device=q.device) - in_chunk[:, None]
    )  # (W, 3W)
    near_seen = (distance.abs() <= side) & surroundings(
        nearby[:, None, :, None], side
    )  # (B, 1, N, W, 3W)
    far_seen = chosen.exists[:, None, None, None].expand(*near_seen.shape[:4], -1)
    seen = torch.cat((near_seen, far_seen), dim=-1)
    scores = torch.cat((near, far), dim=-1).masked_fill(~seen, torch.finfo(q.dtype).min)
    weights = dropout(
        scores.softmax(-1).masked_fill(~seen, 0), drop
    )  # a padding's row may see no key
    near, far = weights.split((near.shape[-1], far.shape[-1]), dim=-1)
    mixed = (
        near @ surroundings(v, side).transpose(-2, -1)
        + far @ chosen.pick(v)[:, :, None]
    )  # (B, H, N, W, D)
    return mixed.flatten(2, 3)[:, :, : q.shape[2]]


class LongformerAttention(nn.Module):
    """Two kinds of attention, each with its own queries, keys and values: local, and
    that of the global tokens.
    """

    def __init__(self, config: LongformerConfig):
        super().__init__()
        check_heads(config.hidden_size, config.num_heads, config.num_heads)
        self.num_heads, self.side = config.num_heads, config.attention_window // 2
        width, self.dropout = config.hidden_size, config.attention_dropout
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.query_global, self.key_global, self.value_global = (
            nn.Linear(width, width) for _ in range(3)
        )
        self.output = nn.Linear(width, width)

    def project(
        self, x: Float[Tensor, "B T C"], *layers: nn.Module
    ) -> list[Float[Tensor, "B H T D"]]:
        """x through each layer, in heads."""
        return [split_heads(layer(x), self.num_heads) for layer in layers]

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        tokens: Bool[Tensor, "B T"],
        is_global: Bool[Tensor, "B T"],
    ) -> Float[Tensor, "B T C"]:
        """`tokens` is False for padding; a global token is a token.

        No tensor has T x T numbers.
        """
        drop = self.dropout if self.training else 0.0
        chosen = find_global(is_global)
        q, k, v = self.project(x, self.query, self.key, self.value)  # (B, H, T, D) each
        mixed = window_attention(q, k, v, self.side, tokens & ~is_global, chosen, drop)
        if chosen.places.shape[1]:
            k, v = self.project(x, self.key_global, self.value_global)
            picked = x.gather(
                1, chosen.places[..., None].expand(-1, -1, x.shape[2])
            )  # (B, G, C)
            (q,) = self.project(picked, self.query_global)  # (B, H, G, D)
            seen = attention(q, k, v, key_mask(tokens), dropout=drop)
            row, which = chosen.exists.nonzero(as_tuple=True)
            place = row, slice(None), chosen.places[row, which]
            mixed = mixed.clone()
            mixed[place] = seen[row, :, which]
        return self.output(merge_heads(mixed))

    def dense(
        self,
        x: Float[Tensor, "B T C"],
        tokens: Bool[Tensor, "B T"],
        is_global: Bool[Tensor, "B T"],
    ) -> Float[Tensor, "B T C"]:
        """What `forward` gives, from all T x T scores and a mask, twice: section 3.1 as
        it is written.
        """
        q, k, v = self.project(x, self.query, self.key, self.value)
        window = window_mask(
            x.shape[1], before=self.side, after=self.side, device=x.device
        )  # (T, T)
        local = attention(q, k, v, key_mask(tokens) & (window | key_mask(is_global)))
        q, k, v = self.project(x, self.query_global, self.key_global, self.value_global)
        mixed = attention(q, k, v, key_mask(tokens)).where(
            is_global[:, None, :, None], local
        )
        return self.output(merge_heads(mixed))


class Block(BertBlock):
    """BERT's, around this attention."""

    def __init__(self, config: LongformerConfig):
        super().__init__(config, LongformerAttention(config))

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        tokens: Bool[Tensor, "B T"],
        is_global: Bool[Tensor, "B T"],
    ) -> Float[Tensor, "B T C"]:
        """Masks as in the attention."""
        return self.add(x, self.attention(x, tokens, is_global))


class Longformer(Pretrained, nn.Module):
    """The encoder."""

    config_class = LongformerConfig
    files = long_documents.LONGFORMER_FILES

    def __init__(self, config: LongformerConfig):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B T"] | None = None,
        is_global: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """A vector for each token.

        `mask` is True where there is a token; None: no padding.

        `is_global` is True for the tokens that see all and that all see: the first one
        for classification, the question's for answers (section 3.1). None: there are
        none.
        """
        check_ids(
            ids, self.config.vocab_size, self.config.max_position_embeddings - OFFSET
        )
        check_mask(mask, ids.shape)
        check_mask(is_global, ids.shape)
        tokens = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask
        is_global = (
            torch.zeros_like(tokens) if is_global is None else is_global & tokens
        )
        x = self.embeddings(ids)  # (B, T, C)
        for block in self.blocks:
            x = block(x, tokens, is_global)
        return x


class LongformerForMaskedLM(Pretrained, nn.Module):
    """Which token stood here: how pre-training goes on from RoBERTa's weights (section
    5).
    """

    config_class = LongformerConfig
    files = long_documents.LONGFORMER_MASKED_LM

    def __init__(self, config: LongformerConfig):
        super().__init__()
        self.config = config
        self.longformer = Longformer(config)
        self.masked_lm = MaskedLMHead(
            self.longformer.embeddings.word,
            config.hidden_size,
            "gelu",
            config.layer_norm_eps,
        )
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B T"] | None = None,
        is_global: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of each token."""
        return self.masked_lm(self.longformer(ids, mask, is_global))
