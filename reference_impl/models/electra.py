"""ELECTRA: a small generator fills blanks, and the model learns to tell which tokens it
replaced.

Clark et al. 2020, sections 2 and 3.2. The discriminator learns from every position, not
from the 15 % that were masked. It is kept; the generator, a quarter to a half of its
size, is thrown away. Both share their embeddings.

Not here: sampling the replacements and the joint loss (see `objectives`).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.checks import (
    ModelInputError,
    check_ids,
    check_mask,
    check_segments,
)
from reference_impl.layers.feed_forward import activation
from reference_impl.layers.initial import start_normal
from reference_impl.layers.masks import key_mask
from reference_impl.layers.settings import Count
from reference_impl.models.bert import BertConfig, Block, Embeddings
from reference_impl.models.heads import MaskedLMHead
from reference_impl.weights.families import bert_relatives
from reference_impl.weights.pretrained import Pretrained


@dataclass(frozen=True)
class ElectraConfig(BertConfig):
    """ELECTRA-small's discriminator."""

    hidden_size: Count = 256
    embedding_size: Count = 128
    num_heads: Count = 4
    intermediate_size: Count = 1024

    formats: ClassVar = (bert_relatives.ELECTRA,)


class Electra(Pretrained, nn.Module):
    """The encoder: BERT's, with embeddings that may be narrower and are then widened by
    a matrix.
    """

    config_class = ElectraConfig
    files = bert_relatives.ELECTRA_FILES

    def __init__(self, config: ElectraConfig):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config, config.embedding_size)
        self.widen = (
            nn.Identity()
            if config.embedding_size == config.hidden_size
            else nn.Linear(config.embedding_size, config.hidden_size)
        )
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """`mask` is True where there is a token and False for padding; None: no
        padding. No segments: all the first.
        """
        check_ids(ids, self.config.vocab_size, self.config.max_position_embeddings)
        check_mask(mask, ids.shape)
        segments = torch.zeros_like(ids) if segments is None else segments
        check_segments(segments, ids.shape, self.config.type_vocab_size)
        x = self.widen(self.embeddings(ids, segments))  # (B, T, E) to (B, T, C)
        for block in self.blocks:
            x = block(x, key_mask(mask))
        return x


class ElectraForPreTraining(Pretrained, nn.Module):
    """The discriminator: for each token, was it replaced."""

    config_class = ElectraConfig
    files = bert_relatives.ELECTRA_PRE_TRAINING

    def __init__(self, config: ElectraConfig):
        super().__init__()
        self.config = config
        self.electra = Electra(config)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.act = activation(config.hidden_act)
        self.replaced = nn.Linear(config.hidden_size, 1)
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T"]:
        """One logit a token: above zero means replaced."""
        return self.replaced(
            self.act(self.dense(self.electra(ids, segments, mask)))
        ).squeeze(-1)


class ElectraForMaskedLM(Pretrained, nn.Module):
    """The generator: BERT's masked language model, small, so that its mistakes are
    plausible and not too good.
    """

    config_class = ElectraConfig
    files = bert_relatives.ELECTRA_MASKED_LM

    def __init__(self, config: ElectraConfig):
        super().__init__()
        self.config = config
        self.electra = Electra(config)
        self.masked_lm = MaskedLMHead(
            self.electra.embeddings.word,
            config.hidden_size,
            "gelu",
            config.layer_norm_eps,
        )
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of each token."""
        return self.masked_lm(self.electra(ids, segments, mask))


def share_embeddings(
    generator: ElectraForMaskedLM, discriminator: ElectraForPreTraining
) -> None:
    """Make both use the discriminator's embeddings of words, places and segments
    (section 3.2).
    """
    one, other = generator.config, discriminator.config
    if (one.vocab_size, one.embedding_size) != (other.vocab_size, other.embedding_size):
        raise ModelInputError(
            f"the generator embeds {one.vocab_size} entries in {one.embedding_size}"
            f" numbers, the discriminator {other.vocab_size} in {other.embedding_size}:"
            " give both the same"
        )
    generator.electra.embeddings = discriminator.electra.embeddings
    generator.masked_lm.decoder.weight = discriminator.electra.embeddings.word.weight
