"""Two language models in one loss: say the next word from those before it, and the one
before from those after it.

Peters et al. 2018, section 3.1: the sum of both log-likelihoods. Each word of a text
but the first is predicted forward, each but the last backward; texts that begin and end
with marks of their own have every word predicted twice.

Not here: the model (see `models.elmo`), one that sees both sides at once (see
`masked_lm`).
"""

from torch import nn

from reference_impl.objectives.batches import Batch, needs
from reference_impl.objectives.terms import IGNORED, Terms, token_terms


def bidirectional_lm(model: nn.Module, batch: Batch) -> Terms:
    """Cross-entropy in both directions, summed, and the number of predictions of both.

    The batch has `characters` (B, T, W), `mask` (B, T) and `labels` (B, T), each word's
    id at its own place. The model gives logits of the word after each and of the word
    before each.
    """
    needs(batch, "characters", "mask", "labels")
    after, before = model(batch["characters"], batch["mask"])
    ahead = token_terms(after[:, :-1], batch["labels"][:, 1:])
    # Without the mask, the padding after a text would be asked for the text's last
    # word.
    behind = token_terms(
        before[:, 1:],
        batch["labels"][:, :-1].masked_fill(~batch["mask"][:, 1:], IGNORED),
    )
    return Terms(ahead.total + behind.total, ahead.count + behind.count)
