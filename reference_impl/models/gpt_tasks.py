"""GPT-1's tasks: one pretrained decoder, a linear layer on its last vector, and inputs
written out as one text.

Radford et al. 2018, sections 3.2 (fine-tuning, equations 3 to 5) and 3.3 with figure 1
(inputs). The token after which the model would go on has seen the whole text: its
vector is the text's.

    classification   <s> text <e>
    entailment       <s> premise $ hypothesis <e>
    similarity       both orders of a pair; their two vectors are added
    multiple choice  <s> context $ answer <e> for each answer; a softmax over the
                     answers

All that is new to the model are the linear layer and three rows of the embedding. Start
from pretrained weights by `model.gpt, markers =
with_markers(GPT.from_pretrained(path))`.

Not here: truncating texts (see `tokenizers`), the loss (see
`objectives.task_losses.label_and_language`), metrics (see `measure.metrics`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.checks import ModelInputError, check_choices, check_mask
from reference_impl.layers.initial import start_normal
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.weights.families import gpt
from reference_impl.weights.pretrained import Pretrained


class Markers(NamedTuple):
    """Ids of <s>, $ and <e>, which no pretraining text had."""

    start: int
    delimiter: int
    end: int

    def text(self, ids: Sequence[int]) -> list[int]:
        """A text for classification."""
        return [self.start, *ids, self.end]

    def pair(self, first: Sequence[int], second: Sequence[int]) -> list[int]:
        """Premise and hypothesis, or a context (with its question) and an answer."""
        return [self.start, *first, self.delimiter, *second, self.end]

    def both_orders(self, one: Sequence[int], other: Sequence[int]) -> list[list[int]]:
        """Similarity has no order, so both are read."""
        return [self.pair(one, other), self.pair(other, one)]

    def choices(
        self, context: Sequence[int], answers: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """One row an answer; none sees the others."""
        return [self.pair(context, answer) for answer in answers]


def with_markers(gpt: GPT) -> tuple[GPT, Markers]:
    """The same model with three more rows in its embedding, random ones, and
    their ids.
    """
    known = gpt.config.vocab_size
    larger = GPT(replace(gpt.config, vocab_size=known + 3)).to(gpt.embedding.weight)
    weights = gpt.state_dict()
    for name in ("embedding.weight", "output.weight"):
        weights[name] = torch.cat(
            (weights[name], larger.embedding.weight.detach()[known:])
        )
    larger.load_state_dict(weights)
    return larger.train(gpt.training), Markers(known, known + 1, known + 2)


def last_vectors(
    x: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"] | None
) -> Float[Tensor, "B C"]:
    """The vector of each row's last token; padding stands after it."""
    check_mask(mask, x.shape[:2])
    if mask is None:
        return x[:, -1]
    if not bool((mask[:, :-1] >= mask[:, 1:]).all() and mask[:, 0].all()):
        raise ModelInputError(
            "a row starts with padding, or has some inside: give texts first and"
            " padding after"
        )
    return x[torch.arange(len(x), device=x.device), mask.sum(1) - 1]


class TaskOutput(NamedTuple):
    """Logits of the task, and of the token after each for the auxiliary loss."""

    labels: Float[Tensor, "B L"]
    tokens: Float[Tensor, "*B T V"]


class _GPTWithHead(Pretrained, nn.Module):
    config_class = GPTConfig

    def __init__(self, config: GPTConfig, num_labels: int, bias: bool):
        super().__init__()
        self.config = config
        self.gpt = GPT(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden_size, num_labels, bias)
        start_normal(self.classifier)


class GPTForSequenceClassification(_GPTWithHead):
    """A label for a text or a pair: softmax(h W) of the last token's vector (equation
    3).
    """

    files = gpt.CLASSIFIER

    def __init__(self, config: GPTConfig, num_labels: int = 2):
        super().__init__(config, num_labels, bias=False)

    def forward(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None = None
    ) -> TaskOutput:
        """`mask` is True where there is a token; padding stands after them."""
        x = self.gpt.hidden(ids)  # (B, T, C): padding after a token is never seen
        return TaskOutput(
            self.classifier(self.dropout(last_vectors(x, mask))), self.gpt.output(x)
        )


class GPTForSimilarity(GPTForSequenceClassification):
    """A label for a pair that has no order: the vectors of both orders, added, then the
    linear layer.
    """

    def forward(
        self, ids: Int[Tensor, "B 2 T"], mask: Bool[Tensor, "B 2 T"] | None = None
    ) -> TaskOutput:
        """Both orders of each pair, as `Markers.both_orders` writes them."""
        check_choices(ids)
        x = self.gpt.hidden(ids.flatten(0, 1))  # (2 B, T, C)
        vectors = (
            last_vectors(x, None if mask is None else mask.flatten(0, 1))
            .unflatten(0, (-1, 2))
            .sum(1)
        )  # (B, C)
        return TaskOutput(
            self.classifier(self.dropout(vectors)),
            self.gpt.output(x).unflatten(0, (-1, 2)),
        )


class GPTForMultipleChoice(_GPTWithHead):
    """Which of N answers: a number for each, a softmax over the N."""

    files = gpt.CHOICE

    def __init__(self, config: GPTConfig):
        super().__init__(config, 1, bias=True)

    def forward(
        self, ids: Int[Tensor, "B N T"], mask: Bool[Tensor, "B N T"] | None = None
    ) -> TaskOutput:
        """One row an answer, as `Markers.choices` writes them."""
        check_choices(ids)
        x = self.gpt.hidden(ids.flatten(0, 1))  # (B N, T, C)
        vectors = last_vectors(
            x, None if mask is None else mask.flatten(0, 1)
        )  # (B N, C)
        scores = self.classifier(self.dropout(vectors)).view(ids.shape[:2])  # (B, N)
        return TaskOutput(scores, self.gpt.output(x).unflatten(0, ids.shape[:2]))
