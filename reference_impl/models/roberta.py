"""RoBERTa: BERT trained better.

No sentence pairs, so no segments and no pooler; positions of their own count.

Liu et al. 2019, sections 3 and 4. The model is BERT's; what changed is the training:
160 GB of text in the place of 16, masks drawn anew each time a text is seen, no
next-sentence task, large batches, byte-level BPE (50,265 entries).

Not here: tasks to fine-tune on (BERT's heads fit), the training itself.
"""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.checks import ModelInputError, check_ids, check_mask
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import key_mask
from reference_impl.layers.norms import LayerNorm
from reference_impl.layers.positions import LearnedPositions
from reference_impl.layers.settings import Count, Positive
from reference_impl.models.bert import BertConfig, Block
from reference_impl.models.heads import MaskedLMHead
from reference_impl.weights.families import bert_relatives
from reference_impl.weights.pretrained import Pretrained

# fairseq numbers positions from the padding's id on: padding has that row, the first
# token the next one.
PADDING = 1
OFFSET = PADDING + 1


@dataclass(frozen=True)
class RobertaConfig(BertConfig):
    """RoBERTa-base. Its 514 positions are rows of the table: 512 tokens fit."""

    vocab_size: Count = 50_265
    max_position_embeddings: Count = 514
    type_vocab_size: Count = 1
    layer_norm_eps: Positive = 1e-5

    formats: ClassVar = (bert_relatives.ROBERTA,)

    def check_together(self) -> None:
        """Positions need rows behind those that are left over."""
        super().check_together()
        if self.max_position_embeddings <= OFFSET:
            raise ModelInputError(
                f"max_position_embeddings is {self.max_position_embeddings}: give more"
                f" than {OFFSET}, the rows that are left over"
            )


class Embeddings(nn.Module):
    """The sum of a token's word and place, and one vector that all tokens share, the
    only segment.
    """

    def __init__(self, config: RobertaConfig):
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = LearnedPositions(
            config.max_position_embeddings, config.hidden_size, OFFSET
        )
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """Positions count tokens and skip padding, on whichever side it is: it is known
        by its id, mask or none.
        """
        tokens = ids != PADDING
        positions = (tokens.cumsum(1) - 1).masked_fill(
            ~tokens, PADDING - OFFSET
        )  # (B, T)
        return self.dropout(
            self.norm(
                self.word(ids) + self.position.at(positions) + self.segment.weight[0]
            )
        )


class Roberta(Pretrained, nn.Module):
    """The encoder: BERT's blocks on these embeddings."""

    config_class = RobertaConfig
    files = bert_relatives.ROBERTA_FILES

    def __init__(self, config: RobertaConfig):
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
        check_ids(
            ids, self.config.vocab_size, self.config.max_position_embeddings - OFFSET
        )
        check_mask(mask, ids.shape)
        x = self.embeddings(ids)  # (B, T, C)
        for block in self.blocks:
            x = block(x, key_mask(mask))
        return x


class RobertaForMaskedLM(Pretrained, nn.Module):
    """Which token stood here: the one task of pre-training."""

    config_class = RobertaConfig
    files = bert_relatives.ROBERTA_MASKED_LM

    def __init__(self, config: RobertaConfig):
        super().__init__()
        self.config = config
        self.roberta = Roberta(config)
        self.masked_lm = MaskedLMHead(
            self.roberta.embeddings.word,
            config.hidden_size,
            "gelu",
            config.layer_norm_eps,
        )
        start_normal(self)

    def forward(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Logits of each token."""
        return self.masked_lm(self.roberta(ids, mask))
