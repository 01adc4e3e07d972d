"""ALBERT: BERT with far fewer parameters, by using one block for all layers and a
narrow embedding.

Lan et al. 2020, section 3.1: factorised embedding (V x E + E x C in the place of V x
C), parameters shared across layers, sentence-order prediction in the place of
next-sentence. A pass costs what BERT's costs: as many layers are computed.

Not here: the authors' groups of layers, n-gram masking.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.checks import check_ids, check_mask, check_segments
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import key_mask
from reference_impl.layers.settings import Activation, Count, Rate
from reference_impl.models.bert import BertConfig, BertOutput, Block, Embeddings
from reference_impl.models.heads import Classifier, MaskedLMHead, Pooler
from reference_impl.weights.families import bert_relatives
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class AlbertConfig(BertConfig):
    """ALBERT-base, version 2.

    xxlarge has hidden_size=4096, num_heads=64, intermediate_size=16384.
    """

    vocab_size: Count = 30_000
    embedding_size: Count = 128
    hidden_act: Activation = "gelu_new"
    hidden_dropout: Rate = 0.0
    attention_dropout: Rate = 0.0
    classifier_dropout: Rate = 0.1

    formats: ClassVar = (bert_relatives.ALBERT,)


class Albert(Pretrained, nn.Module):
    """The encoder: narrow embeddings, a matrix that widens them, one block run
    `num_layers` times.
    """

    config_class = AlbertConfig
    files = bert_relatives.ALBERT_FILES

    def __init__(self, config: AlbertConfig):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config, config.embedding_size)
        self.widen = nn.Linear(config.embedding_size, config.hidden_size)
        self.block = Block(config)
        self.pooler = Pooler(config.hidden_size)
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> BertOutput:
        """`mask` is True where there is a token and False for padding; None: no
        padding. No segments: all the first.
        """
        check_ids(ids, self.config.vocab_size, self.config.max_position_embeddings)
        check_mask(mask, ids.shape)
        segments = torch.zeros_like(ids) if segments is None else segments
        check_segments(segments, ids.shape, self.config.type_vocab_size)
        x = self.widen(self.embeddings(ids, segments))  # (B, T, E) to (B, T, C)
        for _ in range(self.config.num_layers):
            x = self.block(x, key_mask(mask))
        return BertOutput(x, self.pooler(x))


class AlbertForPreTraining(Pretrained, nn.Module):
    """Which token was here, and do the sentences stand in their order or exchanged."""

    config_class = AlbertConfig
    files = bert_relatives.ALBERT_PRE_TRAINING

    def __init__(self, config: AlbertConfig):
        super().__init__()
        self.config = config
        self.albert = Albert(config)
        self.masked_lm = MaskedLMHead(
            self.albert.embeddings.word,
            config.hidden_size,
            config.hidden_act,
            config.layer_norm_eps,
        )
        self.sentence_order = Classifier(
            config.hidden_size, 2, config.classifier_dropout
        )
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B 2"]]:
        """Logits of each token, and of the order: 0 for "as written", 1 for
        "exchanged".
        """
        tokens, pooled = self.albert(ids, segments, mask)
        return self.masked_lm(tokens), self.sentence_order(pooled)
