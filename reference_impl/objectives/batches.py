"""What every collator shares: rows of different lengths made into one tensor, and
refusals in words.

A batch is a dictionary of tensors. The names mean the same everywhere:

    ids       (B, T)  tokens, filled up on the right with the padding's id
    mask      (B, T)  True where there is a token
    segments  (B, T)  0 for the first sentence of a pair, 1 for the second
    labels            what to predict; IGNORED where nothing is

Not here: batches without padding (see `layers.packing`), reading text (see `corpora`).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

Batch = dict[str, Tensor]


class ObjectiveError(ValueError):
    """Examples or a batch that an objective can't be trained on."""


def pad_rows(rows: Sequence[Sequence[int]], value: int) -> Int[Tensor, "B T"]:
    """One tensor of rows, each filled up on its right with `value` to the length of the
    longest.

    Raises ObjectiveError if there is no row, or one without tokens.
    """
    check_rows(rows)
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows])


def check_rows(rows: Sequence[Sequence[int]]) -> None:
    """Refuse no rows, or one without tokens."""
    if not rows:
        raise ObjectiveError("a batch of no examples: give at least one")
    empty = next((place for place, row in enumerate(rows) if not row), None)
    if empty is not None:
        raise ObjectiveError(f"example {empty} has no tokens: leave empty texts out")


def token_mask(rows: Sequence[Sequence[int]]) -> Bool[Tensor, "B T"]:
    """True for the tokens of rows as `pad_rows` lays them out, False for the
    filling.
    """
    lengths = torch.tensor([len(row) for row in rows])
    return torch.arange(int(lengths.max())) < lengths[:, None]


def model_inputs(batch: Batch) -> Batch:
    """What an encoder takes besides ids: its mask, and segments if the batch has them.

    Raises ObjectiveError without a mask: padding would be read, and trained on, as
    text.
    """
    needs(batch, "ids", "mask")
    return {name: batch[name] for name in ("segments", "mask") if name in batch}


def needs(batch: Batch, *names: str) -> None:
    """Refuse a batch that lacks one of these."""
    missing = [name for name in names if name not in batch]
    if missing:
        raise ObjectiveError(
            f"the batch has {', '.join(sorted(batch)) or 'nothing'} but no"
            f" {', '.join(missing)}: was it made by another objective's collator?"
        )


def check_share(name: str, value: float) -> None:
    """Refuse what is no probability."""
    if not 0 <= value <= 1:
        raise ObjectiveError(f"{name} is {value}: give a share between 0 and 1")


def check_labels(labels: Tensor, num_classes: int, ignored: int | None = None) -> None:
    """Refuse labels outside [0, num_classes), other than `ignored`.

    Looked at on the CPU only.
    """
    if labels.device.type != "cpu":
        return
    wrong = (labels < 0) | (labels >= num_classes)
    if ignored is not None:
        wrong &= labels != ignored
    if bool(wrong.any()):
        raise ObjectiveError(
            f"label {int(labels[wrong][0])} but {num_classes} classes: labels count"
            " from 0"
            + (
                ""
                if ignored is None
                else f", and {ignored} marks what is not trained on"
            )
        )
