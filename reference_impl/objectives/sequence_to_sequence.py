"""From one sequence to another: say each token of the target from the source and the
target's tokens before.

Sutskever et al. 2014, equation 1; Vaswani et al. 2017, section 5.1. The decoder is fed
the target moved by one place to the right, behind a start token (teacher forcing); its
labels end with the token that ends a text.

Not here: producing a target (see `generation`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from reference_impl.objectives.batches import (
    Batch,
    check_rows,
    needs,
    pad_rows,
    token_mask,
)
from reference_impl.objectives.terms import IGNORED, Terms, token_terms


@dataclass(frozen=True)
class PairedSequences:
    """Makes a batch of (source, target) pairs of ids.

    T5 starts a target with its padding, 0.
    """

    end_id: int
    start_id: int = 0
    pad_id: int = 0

    def __call__(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Batch:
        """source (B, S) and source_mask, both with the end token; target (B, T), what
        the decoder reads; labels (B, T).

        A target may be empty: the end token is predicted then.
        """
        check_rows([source for source, _ in pairs])
        sources = [[*source, self.end_id] for source, _ in pairs]
        targets = [[*target, self.end_id] for _, target in pairs]
        return {
            "source": pad_rows(sources, self.pad_id),
            "source_mask": token_mask(sources),
            "target": pad_rows(
                [[self.start_id, *target[:-1]] for target in targets], self.pad_id
            ),
            "labels": pad_rows(targets, IGNORED),
        }


def sequence_to_sequence(
    model: nn.Module, batch: Batch, smoothing: float = 0.0
) -> Terms:
    """Cross-entropy of the target's tokens.

    The model takes source, target and source_mask.

    `smoothing` is the share of a label's weight that is spread over the whole
    vocabulary (Vaswani et al., section 5.4: 0.1).
    """
    needs(batch, "source", "source_mask", "target", "labels")
    return token_terms(
        model(batch["source"], batch["target"], batch["source_mask"]),
        batch["labels"],
        smoothing,
    )
