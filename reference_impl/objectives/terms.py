"""What every objective returns: the sum of its loss terms, and how many there are.

A mean over a batch hides how many tokens it was taken over. Averaging such means over
micro-batches (accumulation) or over processes gives a short sequence's token more
weight than a long one's, and the result depends on how the batch was cut. With sum and
count the training loop divides once, by the count of the whole batch: any cut gives the
same gradient.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from reference_impl.objectives.batches import check_labels

IGNORED = -100
"""The label of a position that is not trained on; torch's cross_entropy and
transformers use the same number."""


class Terms(NamedTuple):
    """The sum of loss terms, a scalar with gradient, and their number."""

    total: Float[Tensor, ""]
    count: int

    @property
    def mean(self) -> Float[Tensor, ""]:
        """The loss as it is reported: zero, with zero gradient, if nothing was
        counted.
        """
        return self.total / max(self.count, 1)

    def plus(self, other: "Terms", weight: float = 1.0) -> "Terms":
        """A joint loss: its mean is this mean plus `weight` times the other's; its
        count is this one's.

        A part of a batch then weighs as many as it has of these terms, the other's too.
        That is the whole batch's joint loss to the degree that all parts have as many
        of the others for each of these.
        """
        if not other.count:
            return self
        return Terms(
            self.total + weight * other.total * (self.count / other.count), self.count
        )


def token_terms(
    logits: Float[Tensor, "*batch V"],
    labels: Int[Tensor, "*batch"],
    smoothing: float = 0.0,
) -> Terms:
    """Cross-entropy in nats, summed over the positions whose label is not IGNORED.

    `smoothing` is the share of each label's weight that is spread over all V. Raises
    ObjectiveError for a label that is no entry of the vocabulary.
    """
    check_labels(labels, logits.shape[-1], IGNORED)
    total = cross_entropy(
        logits.flatten(0, -2),
        labels.flatten(),
        ignore_index=IGNORED,
        reduction="sum",
        label_smoothing=smoothing,
    )
    return Terms(total, int((labels != IGNORED).sum()))


def mean_terms(values: Float[Tensor, "..."]) -> Terms:
    """Values that each count once: sequence losses, rewards' losses, squared errors."""
    return Terms(torch.sum(values), values.numel())
