"""DistilBERT: every second layer of BERT, taught by BERT.

Sanh et al. 2019, sections 2 and 3: half the layers, no segments, no pooler; started
from the teacher's layers and trained on the teacher's logits, the masked tokens and the
direction of the hidden vectors (those losses are in `objectives`).

Not here: the tasks' heads (BERT's fit).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.checks import ModelInputError, check_ids, check_mask
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import key_mask
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.positions import LearnedPositions
from reference_impl.layers.settings import Count
from reference_impl.models.bert import BertConfig, BertForPreTraining, Block
from reference_impl.models.heads import MaskedLMHead
from reference_impl.weights.families import bert_relatives
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class DistilBertConfig(BertConfig):
    """Half of BERT-base's layers."""

    num_layers: Count = 6

    formats: ClassVar = (bert_relatives.DISTILBERT,)


class Embeddings(nn.Module):
    """The sum of a token's word and place, normed."""

    def __init__(self, config: DistilBertConfig):
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = LearnedPositions(
            config.max_position_embeddings, config.hidden_size
        )
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """There are no segments: two sentences are told apart by [SEP] alone."""
        return self.dropout(self.norm(self.word(ids) + self.position(ids.shape[1])))


class DistilBert(Pretrained, nn.Module):
    """The encoder: BERT's blocks on these embeddings."""

    config_class = DistilBertConfig
    files = bert_relatives.DISTILBERT_FILES

    def __init__(self, config: DistilBertConfig):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        start_normal(self)

    def forward(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T C"]:
        """A vector for each token.

        `mask` is True where there is a token and False for padding; None: no padding.
        """
        check_ids(ids, self.config.vocab_size, self.config.max_position_embeddings)
        check_mask(mask, ids.shape)
        x = self.embeddings(ids)  # (B, T, C)
        for block in self.blocks:
            x = block(x, key_mask(mask))
        return x


class DistilBertForMaskedLM(Pretrained, nn.Module):
    """Which token stood here."""

    config_class = DistilBertConfig
    files = bert_relatives.DISTILBERT_MASKED_LM

    def __init__(self, config: DistilBertConfig):
        super().__init__()
        self.config = config
        self.distilbert = DistilBert(config)
        self.masked_lm = MaskedLMHead(
            self.distilbert.embeddings.word,
            config.hidden_size,
            config.hidden_act,
            config.layer_norm_eps,
        )
        start_normal(self)

    def forward(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Logits of each token."""
        return self.masked_lm(self.distilbert(ids, mask))


@torch.no_grad()
def start_from_teacher(
    student: DistilBertForMaskedLM, teacher: BertForPreTraining
) -> None:
    """Copy embeddings, every second layer (0, 2, 4, ...) and the head (section 2,
    "student initialization").
    """
    needed = 2 * student.config.num_layers - 1
    if teacher.config.num_layers < needed:
        raise ModelInputError(
            f"{student.config.num_layers} layers need a teacher of {needed} or more,"
            f" but this one has {teacher.config.num_layers}"
        )
    pairs = [
        (student.distilbert.embeddings, teacher.bert.embeddings),
        (student.masked_lm, teacher.masked_lm),
        *zip(student.distilbert.blocks, teacher.bert.blocks[::2]),
    ]
    for ours, theirs in pairs:
        given = theirs.state_dict()
        ours.load_state_dict({name: given[name] for name in ours.state_dict()})
