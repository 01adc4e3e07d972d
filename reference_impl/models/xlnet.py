"""XLNet: says the tokens of a text one after the other in a random order, so that each
may see both sides.

Yang et al. 2019, sections 2.3 (two streams), 2.4 (Transformer-XL's distances and
memory) and 2.5 (relative segments). The content stream h reads a token; the query
stream g stands at its place without having read it, and predicts it. Both have the same
weights, and both look at h.

A place that may see nothing gets zeros from attention; `transformers` gives it the mean
of all values, its own too. Not here: drawing the order and the loss (see
`objectives.permutation`), heads for tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import merge_heads
from reference_impl.layers.checks import (
    ModelInputError,
    check_heads,
    check_ids,
    check_mask,
)
from reference_impl.layers.feed_forward import FeedForward
from reference_impl.layers.initial import start_normal
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.relative import distance_vectors, transformer_xl_scores
from reference_impl.layers.settings import Activation, Count, Positive, Rate, Settings
from reference_impl.weights.families import xlnet
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class XLNetConfig(Settings):
    """XLNet-base.

    XLNet-large has hidden_size=1024, num_layers=24, num_heads=16,
    intermediate_size=4096.
    """

    vocab_size: Count = 32_000
    hidden_size: Count = 768
    num_layers: Count = 12
    num_heads: Count = 12
    intermediate_size: Count = 3072
    hidden_act: Activation = "gelu"
    layer_norm_eps: Positive = 1e-12
    dropout: Rate = 0.1

    formats: ClassVar = (xlnet.CONFIG,)

    def check_together(self) -> None:
        """Distances are sines and cosines."""
        super().check_together()
        if self.hidden_size % 2:
            raise ModelInputError(
                f"hidden_size is {self.hidden_size}: give an even number, sines and"
                " cosines come in pairs"
            )


class RelativeAttention(nn.Module):
    """Transformer-XL's four terms and a fifth for segments.

    The fifth is (q + s) . e, where e says whether the key's segment differs from the
    query's.

    Weights are (C, H, D), as published.
    """

    def __init__(self, config: XLNetConfig):
        super().__init__()
        check_heads(config.hidden_size, config.num_heads, config.num_heads)
        heads = config.num_heads, config.hidden_size // config.num_heads

        def weight(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(*shape) * 0.02)

        self.query, self.key, self.value, self.distance, self.output = (
            weight(config.hidden_size, *heads) for _ in range(5)
        )
        self.content_bias, self.distance_bias, self.segment_bias = (
            weight(*heads) for _ in range(3)
        )  # u, v, s
        self.segments = weight(2, *heads)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        source: Float[Tensor, "B S C"],
        distances: Float[Tensor, "R C"],
        mask: Bool[Tensor, "B 1 T S"] | None,
        differ: Bool[Tensor, "B 1 T S"] | None,
        places: Int[Tensor, "B T"] | None,
    ) -> Float[Tensor, "B T C"]:
        """Attend from x to the source.

        `mask` is True where a query may see a key, `differ` where segments differ.
        """
        q = torch.einsum("btc,chd->bhtd", x, self.query)
        k = torch.einsum("bsc,chd->bhsd", source, self.key)
        v = torch.einsum("bsc,chd->bhsd", source, self.value)
        r = torch.einsum("rc,chd->hrd", distances, self.distance)
        scores = transformer_xl_scores(
            q, k, r, self.content_bias, self.distance_bias, places
        )  # (B, H, T, S)
        if differ is not None:
            same, other = torch.einsum(
                "bhtd,ehd->ebht", q + self.segment_bias[:, None], self.segments
            )[..., None]
            scores = scores + torch.where(differ, other, same)
        scores = scores * q.shape[-1] ** -0.5
        if mask is None:
            weights = scores.softmax(-1)
        else:
            weights = (
                scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
                .softmax(-1)
                .masked_fill(~mask, 0)
            )
        mixed = merge_heads(self.dropout(weights) @ v)  # (B, T, H D)
        return mixed @ self.output.flatten(1).T


class Block(nn.Module):
    """Attention, then feed-forward, each with a residual and a norm after the sum
    (post-norm).
    """

    def __init__(self, config: XLNetConfig):
        super().__init__()
        self.attention = RelativeAttention(config)
        self.attention_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.feed_forward = FeedForward(
            config.hidden_size,
            config.intermediate_size,
            config.hidden_act,
            dropout=config.dropout,
        )
        self.feed_forward_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        source: Float[Tensor, "B S C"],
        distances: Float[Tensor, "R C"],
        mask: Bool[Tensor, "B 1 T S"] | None,
        differ: Bool[Tensor, "B 1 T S"] | None,
        places: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """One stream's step: x is h or g, the source is h behind the memory."""
        x = self.attention_norm(
            x + self.dropout(self.attention(x, source, distances, mask, differ, places))
        )
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


class XLNetOutput(NamedTuple):
    """Vectors of the targets, or of all tokens without targets; and what each layer
    read, for the segment after.
    """

    vectors: Float[Tensor, "B T C"]
    memory: list[Float[Tensor, "B S C"]]


class XLNet(Pretrained, nn.Module):
    """The encoder, with one stream or two."""

    config_class = XLNetConfig
    files = xlnet.FILES

    def __init__(self, config: XLNetConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.unread = nn.Parameter(
            torch.randn(1, 1, config.hidden_size) * 0.02
        )  # w, where g starts (section 2.3)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.dropout = nn.Dropout(config.dropout)
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B T"] | None = None,
        visible: Bool[Tensor, "B T T"] | None = None,
        targets: Bool[Tensor, "B M T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        memory: Sequence[Float[Tensor, "B P C"]] | None = None,
    ) -> XLNetOutput:
        """Read the tokens and, with targets, predict at their places.

        mask      True where there is a token; None: no padding
        visible   True where place i may see place j; None: everywhere. The content
                  stream sees its own token too
        targets   True where the m-th prediction stands; None: there is no query stream.
                  All False: it is at place 0
        segments  which sentence a token is of; only whether two differ is used. None:
                  not at all
        memory    what each layer read of the text before, which all see; it is of
                  segment 0 and gets no gradient
        """
        self._check(ids, mask, visible, targets, segments, memory)
        num_tokens = ids.shape[1]
        before = 0 if memory is None else memory[0].shape[1]
        content_mask, query_mask = _masks(ids, mask, visible, before)  # (B, T, S)
        differ = None
        if segments is not None:
            differ = (
                segments[:, :, None]
                != nn.functional.pad(segments, (before, 0))[:, None]
            )  # (B, T, S)
        h = self.dropout(self.embedding(ids))  # (B, T, C)
        places = None if targets is None else targets.int().argmax(-1)  # (B, M)
        g = (
            None
            if targets is None
            else self.dropout(self.unread.expand(*places.shape, -1))
        )  # (B, M, C)
        distances = self.dropout(
            distance_vectors(num_tokens, before + num_tokens, h.shape[-1], h.dtype).to(
                h.device
            )
        )
        read = []
        for i, block in enumerate(self.blocks):
            read.append(h.detach())
            source = (
                h if memory is None else torch.cat((memory[i].detach(), h), dim=1)
            )  # (B, S, C)
            if g is not None:
                g = block(
                    g,
                    source,
                    distances,
                    _rows(query_mask, places),
                    _rows(differ, places),
                    places,
                )
            h = block(h, source, distances, _rows(content_mask), _rows(differ))
        return XLNetOutput(self.dropout(h if g is None else g), read)

    def _check(
        self,
        ids: Tensor,
        mask: Tensor | None,
        visible: Tensor | None,
        targets: Tensor | None,
        segments: Tensor | None,
        memory: Sequence[Tensor] | None,
    ) -> None:
        check_ids(ids, self.config.vocab_size)
        check_mask(mask, ids.shape)
        check_mask(visible, (*ids.shape, ids.shape[1]))
        if targets is not None:
            check_mask(
                targets,
                (
                    ids.shape[0],
                    targets.shape[1] if targets.ndim == 3 else 1,
                    ids.shape[1],
                ),
            )
        if memory is not None:
            shapes = {tuple(layer.shape) for layer in memory}
            if (
                len(memory) != len(self.blocks)
                or len(shapes) != 1
                or next(iter(shapes))[::2] != (len(ids), self.config.hidden_size)
            ):
                raise ModelInputError(
                    f"a memory of {len(memory)} layers, {sorted(shapes)}: give"
                    f" ({len(ids)}, P, {self.config.hidden_size}) for each of"
                    f" {len(self.blocks)} layers, as the text before gave it"
                )
        if segments is not None and segments.shape != ids.shape:
            raise ModelInputError(
                f"segments have shape {tuple(segments.shape)} but the ids"
                f" {tuple(ids.shape)}: one entry for each token"
            )


def _masks(
    ids: Tensor, mask: Tensor | None, visible: Tensor | None, before: int
) -> tuple[Bool[Tensor, "B T S"], Bool[Tensor, "B T S"]] | tuple[None, None]:
    """What the content stream sees, its own token among it, and what the query stream
    sees; memory is seen by all.
    """
    if mask is None and visible is None:
        return None, None
    seen = (
        torch.ones(*ids.shape, ids.shape[1], dtype=torch.bool, device=ids.device)
        if visible is None
        else visible
    )
    seen = seen if mask is None else seen & mask[:, None]
    own = torch.eye(ids.shape[1], dtype=torch.bool, device=ids.device)
    content, query = (
        nn.functional.pad(one, (before, 0), value=True) for one in (seen | own, seen)
    )
    return content, query


def _rows(
    mask: Tensor | None, places: Tensor | None = None
) -> Bool[Tensor, "B 1 T S"] | None:
    """The rows of these places, or all, for every head."""
    if mask is None:
        return None
    if places is not None:
        mask = mask.gather(1, places[..., None].expand(-1, -1, mask.shape[2]))
    return mask.unsqueeze(1)


class XLNetLM(Pretrained, nn.Module):
    """The language model; its output layer is its embedding once more, with a bias."""

    config_class = XLNetConfig
    files = xlnet.LM

    def __init__(self, config: XLNetConfig):
        super().__init__()
        self.config = config
        self.xlnet = XLNet(config)
        self.output = nn.Linear(config.hidden_size, config.vocab_size)
        self.output.weight = self.xlnet.embedding.weight
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B T"] | None = None,
        visible: Bool[Tensor, "B T T"] | None = None,
        targets: Bool[Tensor, "B M T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        memory: Sequence[Float[Tensor, "B P C"]] | None = None,
    ) -> Float[Tensor, "B M V"]:
        """Logits of the targets (or of all tokens, which have seen themselves).

        Arguments as in XLNet.
        """
        return self.output(
            self.xlnet(ids, mask, visible, targets, segments, memory).vectors
        )
