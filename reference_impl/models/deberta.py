"""DeBERTa: BERT whose attention keeps what a token says and where it stands apart.

He et al. 2021, "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", sections
3.1 and 3.1.1. A token has no position of its own; each layer scores content against
content, content against distance, and distance against content.

Not here: version 2 and 3 (buckets of distances, a convolution, ELECTRA's task), section
3.2's mask decoder that adds absolute positions at the end (`transformers` lacks it
too), scale-invariant fine-tuning, segments.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import attention, merge_heads, split_heads
from reference_impl.layers.checks import check_heads, check_ids, check_mask
from reference_impl.layers.feed_forward import FeedForward, activation
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import key_mask
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.settings import Activation, Count, Positive, Rate, Settings
from reference_impl.models.heads import Classifier, MaskedLMHead
from reference_impl.weights.families import bert_relatives
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class DebertaConfig(Settings):
    """DeBERTa-base."""

    vocab_size: Count = 50_265
    hidden_size: Count = 768
    num_layers: Count = 12
    num_heads: Count = 12
    intermediate_size: Count = 3072
    hidden_act: Activation = "gelu"
    max_distance: Count = (
        512  # k of section 3.1: those of k and more share a vector; no text is too long
    )
    layer_norm_eps: Positive = 1e-7
    hidden_dropout: Rate = 0.1
    attention_dropout: Rate = 0.1
    pooler_hidden_act: Activation = "gelu"
    pooler_dropout: Rate = 0.0
    classifier_dropout: Rate | None = None  # None: hidden_dropout

    formats: ClassVar = (bert_relatives.DEBERTA,)


def distance_rows(
    num_tokens: int, span: int, device: torch.device | None = None
) -> Int[Tensor, "T T"]:
    """Equation 3: the row of token i's place as seen from j is i - j + span, held
    between 0 and 2 span - 1.
    """
    places = torch.arange(num_tokens, device=device)
    return (places[:, None] - places + span).clamp(0, 2 * span - 1)


class DisentangledAttention(nn.Module):
    """Disentangled attention scores (equation 4), before mask and softmax.

    (Qc . Kc + Qc . Kr[i - j] + Kc . Qr[i - j]) / sqrt(3 D)

    Kr and Qr are projections of one table of distance vectors that all layers share.
    The paper has j - i in the last term; the released program has i - j in both, and
    released weights are trained for that.
    """

    def __init__(self, config: DebertaConfig):
        super().__init__()
        check_heads(config.hidden_size, config.num_heads, config.num_heads)
        width = config.hidden_size
        self.num_heads, self.dropout = config.num_heads, config.attention_dropout
        self.qkv = nn.Linear(
            width, 3 * width, bias=False
        )  # rows of a head side by side: its query, key, value
        self.query_bias = nn.Parameter(torch.zeros(width))
        self.value_bias = nn.Parameter(torch.zeros(width))
        self.distance_key = nn.Linear(width, width, bias=False)
        self.distance_query = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        distances: Float[Tensor, "R C"],
        mask: Bool[Tensor, "B 1 1 T"] | None,
    ) -> Float[Tensor, "B T C"]:
        """`distances` has R = 2 span rows; `mask` is True for the keys that
        are tokens.
        """
        q, k, v = split_heads(self.qkv(x), self.num_heads).chunk(
            3, dim=-1
        )  # (B, H, T, D) each
        q = q + split_heads(self.query_bias[None, None], self.num_heads)
        v = v + split_heads(self.value_bias[None, None], self.num_heads)
        scale = (3 * q.shape[-1]) ** -0.5
        bias = scale * self.position_scores(q, k, distances)  # (B, H, T, T)
        mixed = attention(
            q, k, v, mask, bias, scale, dropout=self.dropout if self.training else 0.0
        )
        return self.output(merge_heads(mixed))

    def position_scores(
        self,
        q: Float[Tensor, "B H T D"],
        k: Float[Tensor, "B H T D"],
        distances: Float[Tensor, "R C"],
    ) -> Float[Tensor, "B H T T"]:
        """Content to position and position to content: a column a distance, then picked
        for each pair (algorithm 1).
        """
        key_r = split_heads(
            self.distance_key(distances)[None], self.num_heads
        )  # (1, H, R, D)
        query_r = split_heads(self.distance_query(distances)[None], self.num_heads)
        rows = distance_rows(q.shape[2], distances.shape[0] // 2, q.device).expand(
            *q.shape[:2], -1, -1
        )
        content_to_position = (q @ key_r.transpose(-2, -1)).gather(
            -1, rows
        )  # (B, H, T, T): query i, key j
        position_to_content = (k @ query_r.transpose(-2, -1)).gather(
            -1, rows.transpose(-2, -1)
        )  # key j, query i
        return content_to_position + position_to_content.transpose(-2, -1)


class Block(nn.Module):
    """Attention, then feed-forward, each with a residual and a norm after the sum
    (post-norm), as in BERT.
    """

    def __init__(self, config: DebertaConfig):
        super().__init__()
        self.attention = DisentangledAttention(config)
        self.attention_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.feed_forward = FeedForward(
            config.hidden_size, config.intermediate_size, config.hidden_act
        )
        self.feed_forward_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        distances: Float[Tensor, "R C"],
        mask: Bool[Tensor, "B 1 1 T"] | None,
    ) -> Float[Tensor, "B T C"]:
        """`mask` is True for the keys that are tokens."""
        x = self.attention_norm(
            x + self.dropout(self.attention(x, self.dropout(distances), mask))
        )
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


class Deberta(Pretrained, nn.Module):
    """The encoder."""

    config_class = DebertaConfig
    files = bert_relatives.DEBERTA_FILES

    def __init__(self, config: DebertaConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.embedding_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.distances = nn.Embedding(2 * config.max_distance, config.hidden_size)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.dropout = nn.Dropout(config.hidden_dropout)
        start_normal(self)

    def forward(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T C"]:
        """A vector for each token.

        `mask` is True where there is a token and False for padding; None: no padding.
        """
        check_ids(ids, self.config.vocab_size)
        check_mask(mask, ids.shape)
        x = self.dropout(self.embedding_norm(self.embedding(ids)))  # (B, T, C)
        span, middle = (
            min(ids.shape[1], self.config.max_distance),
            self.config.max_distance,
        )
        distances = self.distances.weight[
            middle - span : middle + span
        ]  # only those that occur
        for block in self.blocks:
            x = block(x, distances, key_mask(mask))
        return x


class DebertaForMaskedLM(Pretrained, nn.Module):
    """Which token stood here; the head as released, without absolute positions."""

    config_class = DebertaConfig
    files = bert_relatives.DEBERTA_MASKED_LM

    def __init__(self, config: DebertaConfig):
        super().__init__()
        self.config = config
        self.deberta = Deberta(config)
        self.masked_lm = MaskedLMHead(
            self.deberta.embedding,
            config.hidden_size,
            config.hidden_act,
            config.layer_norm_eps,
        )
        start_normal(self)

    def forward(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Logits of each token."""
        return self.masked_lm(self.deberta(ids, mask))


class DebertaForSequenceClassification(Pretrained, nn.Module):
    """A label for a sentence or a pair: the first token's vector through one more
    layer, then the classifier.
    """

    config_class = DebertaConfig
    files = bert_relatives.DEBERTA_CLASSIFIER

    def __init__(self, config: DebertaConfig, num_labels: int = 2):
        super().__init__()
        self.config = config
        self.deberta = Deberta(config)
        self.pooler_dropout = nn.Dropout(config.pooler_dropout)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.act = activation(config.pooler_hidden_act)
        dropout = (
            config.hidden_dropout
            if config.classifier_dropout is None
            else config.classifier_dropout
        )
        self.classifier = Classifier(config.hidden_size, num_labels, dropout)
        start_normal(self)

    def forward(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B L"]:
        """Logits of the labels."""
        first = self.pooler_dropout(self.deberta(ids, mask)[:, 0])  # (B, C)
        return self.classifier(self.act(self.dense(first)))
