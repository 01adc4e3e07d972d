"""Permutation language modelling: say the tokens one after the other, but in an order
drawn at random.

Yang et al. 2019, sections 2.2 and 2.3. The text stays as it is; only what each place
may see changes. A token that is said last sees all others, from both sides, and never
itself. Only the last sixth of the order is predicted (equation 5, K = 6): those said
first have too little to go by.

    visible  (B, T, T)  True where place i may see place j: j is given, or said before
                        i. A given place sees all given
    targets  (B, M, T)  True where the m-th prediction stands at place j
    labels   (B, M)     the token there

transformers' XLNet takes the same as numbers, `perm_mask = ~visible` and
`target_mapping = targets`. In the content stream a predicted place sees itself too;
that is for the model to add.

But: places are drawn one by one, where the release draws spans of up to five tokens;
there is no recurrence between segments.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from reference_impl.objectives.batches import (
    Batch,
    ObjectiveError,
    check_share,
    needs,
    pad_rows,
    token_mask,
)
from reference_impl.objectives.terms import IGNORED, Terms, token_terms

GIVEN = -1


@dataclass(frozen=True)
class Permutation:
    """Draws an order for each row. Special tokens are always given."""

    special_ids: Collection[int]
    pad_id: int = 0
    predicted: float = 1 / 6

    def __post_init__(self):
        check_share("predicted", self.predicted)

    def __call__(
        self, rows: Sequence[Sequence[int]], generator: torch.Generator
    ) -> Batch:
        """A batch of ids, mask, visible, targets and labels; M is the most predictions
        that a row has.
        """
        ids, mask = pad_rows(rows, self.pad_id), token_mask(rows)
        turns = torch.full(ids.shape, GIVEN)
        for row, tokens in enumerate(rows):
            free = torch.tensor(
                [
                    place
                    for place, token in enumerate(tokens)
                    if token not in self.special_ids
                ]
            )
            if not len(free):
                raise ObjectiveError(
                    f"example {row} has special tokens only: there is nothing to"
                    " predict"
                )
            last = max(round(self.predicted * len(free)), 1)
            order = free[torch.randperm(len(free), generator=generator)]
            turns[row, order[-last:]] = torch.arange(last)
        return {
            "ids": ids,
            "mask": mask,
            "visible": visible(turns, mask),
            **_predictions(ids, turns),
        }


def visible(
    turns: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
) -> Bool[Tensor, "B T T"]:
    """Place i sees place j if j's turn came before i's, or j is given.

    Nothing sees padding.
    """
    earlier = turns[:, None, :] < turns[:, :, None]
    return (earlier | (turns == GIVEN)[:, None, :]) & mask[:, None, :]


def _predictions(ids: Int[Tensor, "B T"], turns: Int[Tensor, "B T"]) -> Batch:
    """targets and labels, in the order of the turns; a row with fewer predictions is
    filled up with ignored ones.
    """
    wanted = torch.arange(int(turns.max()) + 1)  # (M,)
    targets = turns[:, None, :] == wanted[:, None]  # (B, M, T)
    labels = (targets * ids[:, None, :]).sum(-1)
    return {"targets": targets, "labels": labels.masked_fill(~targets.any(-1), IGNORED)}


def permutation_lm(model: nn.Module, batch: Batch) -> Terms:
    """Cross-entropy of the predictions.

    The model takes ids, mask, visible and targets and gives logits (B, M, V).
    """
    needs(batch, "mask", "visible", "targets", "labels")
    logits = model(
        batch["ids"],
        mask=batch["mask"],
        visible=batch["visible"],
        targets=batch["targets"],
    )
    return token_terms(logits, batch["labels"])
