"""BERT: an encoder that sees both sides of a token at once, trained to fill blanks and to pair sentences.

Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers", sections 3 and 3.1.
Tasks to fine-tune on are in `bert_tasks`; the heads themselves in `heads`.

Not here: choosing and masking tokens (see `objectives`), training (see `training`).
"""
from dataclasses import dataclass
from pathlib import Path
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
from reference_impl.models.heads import MaskedLMHead, Pooler
from reference_impl.weights.names import Names
from reference_impl.weights.pretrained import from_pretrained


@dataclass(frozen=True)
class BertConfig:
    """BERT-base. BERT-large has hidden_size=1024, num_layers=24, num_heads=16, intermediate_size=4096."""

    vocab_size: int = 30_522
    hidden_size: int = 768
    num_layers: int = 12
    num_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    hidden_dropout: float = 0.1
    attention_dropout: float = 0.1

    model_types: ClassVar = ("bert",)
    published: ClassVar = {"num_layers": "num_hidden_layers", "num_heads": "num_attention_heads",
                           "hidden_dropout": "hidden_dropout_prob", "attention_dropout": "attention_probs_dropout_prob"}
    only: ClassVar = {"position_embedding_type": ("absolute", "relative ones are not built"),
                      "is_decoder": (False, "BERT is an encoder")}


class Embeddings(nn.Module):
    """What a token starts from: the sum of its word, its place and its sentence (figure 2), normed."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = LearnedPositions(config.max_position_embeddings, config.hidden_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(self, ids: Int[Tensor, "B T"], segments: Int[Tensor, "B T"],
                positions: Int[Tensor, "B T"] | None = None) -> Float[Tensor, "B T C"]:
        """Segments are 0 for the first sentence and 1 for the second; positions count from 0 unless given."""
        places = self.position(ids.shape[1]) if positions is None else self.position.at(positions)
        x = self.word(ids) + places + self.segment(segments)  # (B, T, C)
        return self.dropout(self.norm(x))


class Block(nn.Module):
    """Attention, then feed-forward, each with a residual and a norm after the sum (post-norm)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.attention = MultiHeadAttention(config.hidden_size, config.num_heads, dropout=config.attention_dropout)
        self.attention_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.feed_forward = FeedForward(config.hidden_size, config.intermediate_size, config.hidden_act)
        self.feed_forward_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(self, x: Float[Tensor, "B T C"], mask: Bool[Tensor, "B 1 1 T"] | None,
                packing: Packing | None = None) -> Float[Tensor, "B T C"]:
        """`mask` is True for the keys that are tokens."""
        x = self.attention_norm(x + self.dropout(self.attention(x, mask=mask, packing=packing)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


class BertOutput(NamedTuple):
    """A vector for each token, and one for the sequence if there is a pooler."""

    tokens: Float[Tensor, "B T C"]
    pooled: Float[Tensor, "B C"] | None


class Bert(nn.Module):
    """The encoder. `pooler=False` leaves the last layer away that only whole-sequence tasks use."""

    config_class = BertConfig

    def __init__(self, config: BertConfig, pooler: bool = True):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.pooler = Pooler(config.hidden_size) if pooler else None
        start_normal(self)

    def forward(self, ids: Int[Tensor, "B T"], segments: Int[Tensor, "B T"] | None = None,
                mask: Bool[Tensor, "B T"] | None = None, packing: Packing | None = None) -> BertOutput:
        """`mask` is True where there is a token and False for padding; None: no padding. No segments: all the first.

        With a packing the one row is many sequences (see `layers.packing`), each pooled from its own first token.
        """
        check_tokens(ids, mask, packing, self.config.vocab_size, self.config.max_position_embeddings)
        segments = torch.zeros_like(ids) if segments is None else segments
        check_segments(segments, ids.shape, self.config.type_vocab_size)
        x = self.embeddings(ids, segments, None if packing is None else packing.positions[None])  # (B, T, C)
        for block in self.blocks:
            x = block(x, key_mask(mask), packing)
        if self.pooler is None:
            return BertOutput(x, None)
        return BertOutput(x, self.pooler(x if packing is None else packing.first_tokens(x)))

    @classmethod
    def from_pretrained(cls, path: Path | str) -> "Bert":
        """Read config.json and safetensors of a folder; of a model with a head, its encoder with its pooler."""
        return from_pretrained(cls, path, inside="bert")

    names = Names({
        "embeddings.word": "embeddings.word_embeddings",
        "embeddings.position": "embeddings.position_embeddings",
        "embeddings.segment": "embeddings.token_type_embeddings",
        "embeddings.norm": "embeddings.LayerNorm",
        "blocks.*.attention.query": "encoder.layer.*.attention.self.query",
        "blocks.*.attention.key": "encoder.layer.*.attention.self.key",
        "blocks.*.attention.value": "encoder.layer.*.attention.self.value",
        "blocks.*.attention.output": "encoder.layer.*.attention.output.dense",
        "blocks.*.attention_norm": "encoder.layer.*.attention.output.LayerNorm",
        "blocks.*.feed_forward.up": "encoder.layer.*.intermediate.dense",
        "blocks.*.feed_forward.down": "encoder.layer.*.output.dense",
        "blocks.*.feed_forward_norm": "encoder.layer.*.output.LayerNorm",
        "pooler.dense": "pooler.dense",
    })


class BertForPreTraining(nn.Module):
    """The two tasks of pre-training: which token was here, and do the sentences follow each other (section 3.1)."""

    config_class = BertConfig

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.masked_lm = MaskedLMHead(self.bert.embeddings.word, config.hidden_size, config.hidden_act,
                                      config.layer_norm_eps)
        self.next_sentence = nn.Linear(config.hidden_size, 2)
        start_normal(self)

    def forward(self, ids: Int[Tensor, "B T"], segments: Int[Tensor, "B T"] | None = None,
                mask: Bool[Tensor, "B T"] | None = None) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B 2"]]:
        """Logits of each token, and of the sentences: 0 for "follows", 1 for "from elsewhere", as released."""
        tokens, pooled = self.bert(ids, segments, mask)
        return self.masked_lm(tokens), self.next_sentence(pooled)

    @classmethod
    def from_pretrained(cls, path: Path | str) -> "BertForPreTraining":
        """Read config.json and safetensors of a folder that has both heads."""
        return from_pretrained(cls, path)

    masked_lm_names: ClassVar = {
        "masked_lm.dense": "cls.predictions.transform.dense",
        "masked_lm.norm": "cls.predictions.transform.LayerNorm",
        "masked_lm.decoder": "cls.predictions.decoder",
    }
    names = Names(Bert.names.inside("bert", "bert", {**masked_lm_names, "next_sentence": "cls.seq_relationship"}).table,
                  twice={"cls.predictions.bias": "cls.predictions.decoder.bias"})


class BertForMaskedLM(nn.Module):
    """The first task alone: fill-mask, and continued pre-training without sentence pairs."""

    config_class = BertConfig

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        self.bert = Bert(config, pooler=False)
        self.masked_lm = MaskedLMHead(self.bert.embeddings.word, config.hidden_size, config.hidden_act,
                                      config.layer_norm_eps)
        start_normal(self)

    def forward(self, ids: Int[Tensor, "B T"], segments: Int[Tensor, "B T"] | None = None,
                mask: Bool[Tensor, "B T"] | None = None, packing: Packing | None = None) -> Float[Tensor, "B T V"]:
        """Logits of each token."""
        return self.masked_lm(self.bert(ids, segments, mask, packing).tokens)

    @classmethod
    def from_pretrained(cls, path: Path | str) -> "BertForMaskedLM":
        """Read config.json and safetensors of a folder; pooler and next-sentence head are left there."""
        return from_pretrained(cls, path, leave=("bert.pooler.", "cls.seq_relationship."))

    names = Names(Bert.names.inside("bert", "bert", BertForPreTraining.masked_lm_names).table,
                  twice=BertForPreTraining.names.twice)
