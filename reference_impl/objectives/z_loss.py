"""The z-loss: a pull of each position's log normalizer towards 0.

Cross-entropy does not change when the same number is added to all logits, so nothing
holds their level. Chowdhery et al. 2023, section 5, add 0.0001 log(Z)^2, where Z is the
softmax's denominator.

Not here: the router's z-loss of a mixture of experts.
"""

from torch import nn

from reference_impl.objectives.batches import Batch, needs
from reference_impl.objectives.terms import IGNORED, Terms, token_terms


def causal_lm_with_z_loss(
    model: nn.Module, batch: Batch, weight: float = 1e-4
) -> Terms:
    """`causal_lm` plus `weight` times the squared log normalizer of each position."""
    needs(batch, "ids", "labels")
    logits, labels = model(batch["ids"][:, :-1]), batch["labels"][:, 1:]
    log_z = logits.logsumexp(-1)[labels != IGNORED]
    terms = token_terms(logits, labels)
    return Terms(terms.total + weight * log_z.square().sum(), terms.count)
