"""BERT: an encoder that sees both sides of a token at once, trained to predict masked
tokens and next sentences.

Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers", sections 3
and 3.1. Tasks to fine-tune on are in `bert_tasks`; the heads themselves in `heads`.

Not here: choosing and masking tokens (see `objectives`), training (see `training`).
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.attention import MultiHeadAttention
from reference_impl.layers.checks import check_segments
from reference_impl.layers.feed_forward import FeedForward
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import key_mask
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.packing import Packing, check_tokens
from reference_impl.layers.positions import LearnedPositions
from reference_impl.layers.settings import Activation, Count, Positive, Rate, Settings
from reference_impl.models.heads import MaskedLMHead, Pooler
from reference_impl.weights.families import bert
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class BertConfig(Settings):
    """BERT-base.

    BERT-large has hidden_size=1024, num_layers=24, num_heads=16,
    intermediate_size=4096.
    """

    vocab_size: Count = 30_522
    hidden_size: Count = 768
    num_layers: Count = 12
    num_heads: Count = 12
    intermediate_size: Count = 3072
    hidden_act: Activation = "gelu"
    max_position_embeddings: Count = 512
    type_vocab_size: Count = 2
    layer_norm_eps: Positive = 1e-12
    hidden_dropout: Rate = 0.1
    attention_dropout: Rate = 0.1
    classifier_dropout: Rate | None = None  # None: hidden_dropout

    formats: ClassVar = (bert.CONFIG,)


class Embeddings(nn.Module):
    """The input embeddings: token, position and segment embedding (figure 2), summed
    and normalized.

    They have hidden_size dimensions unless a width is given.
    """

    def __init__(self, config: BertConfig, width: int | None = None):
        super().__init__()
        width = width or config.hidden_size
        self.word = nn.Embedding(config.vocab_size, width)
        self.position = LearnedPositions(config.max_position_embeddings, width)
        self.segment = nn.Embedding(config.type_vocab_size, width)
        self.norm = LayerNorm(width, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"],
        positions: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Segments are 0 for the first sentence and 1 for the second; positions count
        from 0 unless given.
        """
        position = (
            self.position(ids.shape[1])
            if positions is None
            else self.position.at(positions)
        )
        x = self.word(ids) + position + self.segment(segments)  # (B, T, C)
        return self.dropout(self.norm(x))


class Block(nn.Module):
    """Attention, then feed-forward, each with a residual and a norm after the sum
    (post-norm).

    Relatives of BERT whose attention is another one give theirs.
    """

    def __init__(self, config: BertConfig, attention: nn.Module | None = None):
        super().__init__()
        self.attention = attention or MultiHeadAttention(
            config.hidden_size, config.num_heads, dropout=config.attention_dropout
        )
        self.attention_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.feed_forward = FeedForward(
            config.hidden_size, config.intermediate_size, config.hidden_act
        )
        self.feed_forward_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        mask: Bool[Tensor, "B 1 1 T"] | None,
        packing: Packing | None = None,
    ) -> Float[Tensor, "B T C"]:
        """`mask` is True for the keys that are tokens."""
        return self.add(x, self.attention(x, mask=mask, packing=packing))

    def add(
        self, x: Float[Tensor, "B T C"], attended: Float[Tensor, "B T C"]
    ) -> Float[Tensor, "B T C"]:
        """Attention's output added to x, then that of the feed-forward layer."""
        x = self.attention_norm(x + self.dropout(attended))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


class BertOutput(NamedTuple):
    """A vector for each token, and one for the sequence if there is a pooler."""

    tokens: Float[Tensor, "B T C"]
    pooled: Float[Tensor, "B C"] | None


class Bert(Pretrained, nn.Module):
    """The encoder.

    `pooler=False` leaves the last layer away that only whole-sequence tasks use.
    """

    config_class = BertConfig
    files = bert.ENCODER_FILES

    def __init__(self, config: BertConfig, pooler: bool = True):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.pooler = Pooler(config.hidden_size) if pooler else None
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
        packing: Packing | None = None,
    ) -> BertOutput:
        """`mask` is True where there is a token and False for padding; None: no
        padding. No segments: all the first.

        With a packing the one row is many sequences (see `layers.packing`), each pooled
        from its own first token.
        """
        check_tokens(
            ids,
            mask,
            packing,
            self.config.vocab_size,
            self.config.max_position_embeddings,
        )
        segments = torch.zeros_like(ids) if segments is None else segments
        check_segments(segments, ids.shape, self.config.type_vocab_size)
        x = self.embeddings(
            ids, segments, None if packing is None else packing.positions[None]
        )  # (B, T, C)
        for block in self.blocks:
            x = block(x, key_mask(mask), packing)
        if self.pooler is None:
            return BertOutput(x, None)
        return BertOutput(
            x, self.pooler(x if packing is None else packing.first_tokens(x))
        )


class BertForPreTraining(Pretrained, nn.Module):
    """The two tasks of pre-training: which token was here, and do the sentences follow
    each other (section 3.1).
    """

    config_class = BertConfig
    files = bert.PRE_TRAINING

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.masked_lm = MaskedLMHead(
            self.bert.embeddings.word,
            config.hidden_size,
            config.hidden_act,
            config.layer_norm_eps,
        )
        self.next_sentence = nn.Linear(config.hidden_size, 2)
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B 2"]]:
        """Logits of each token, and of the sentences: 0 for "follows", 1 for "from
        elsewhere", as released.
        """
        tokens, pooled = self.bert(ids, segments, mask)
        return self.masked_lm(tokens), self.next_sentence(pooled)


class BertForMaskedLM(Pretrained, nn.Module):
    """The MLM head alone: fill-mask, and continued pre-training without sentence
    pairs.
    """

    config_class = BertConfig
    files = bert.MASKED_LM_FILES

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        self.bert = Bert(config, pooler=False)
        self.masked_lm = MaskedLMHead(
            self.bert.embeddings.word,
            config.hidden_size,
            config.hidden_act,
            config.layer_norm_eps,
        )
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
        packing: Packing | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of each token."""
        return self.masked_lm(self.bert(ids, segments, mask, packing).tokens)
