"""Pairs of answers of which people preferred one: what reward models and DPO learn
from.

Stiennon et al. 2020, section 3.3. A batch of B pairs has 2 B rows: the B that were
chosen, then the B rejected, so that one pass through the model serves both.

Not here: more than two answers to a prompt, how sure people were (put `margins` beside,
see `reward_model`).
"""

from collections.abc import Sequence
from typing import NamedTuple

from reference_impl.objectives.batches import Batch, ObjectiveError
from reference_impl.objectives.supervised import answer_example, supervised_batch


class Preference(NamedTuple):
    """A prompt, the better and the worse answer, as ids; answers end with the token
    that ends a text.
    """

    prompt: Sequence[int]
    chosen: Sequence[int]
    rejected: Sequence[int]


def preference_batch(pairs: Sequence[Preference], pad_id: int = 0) -> Batch:
    """ids, mask and labels (2 B, T): rows 0 to B - 1 chosen, rows B to 2 B - 1
    rejected.
    """
    same = next(
        (
            place
            for place, pair in enumerate(pairs)
            if list(pair.chosen) == list(pair.rejected)
        ),
        None,
    )
    if same is not None:
        raise ObjectiveError(
            f"example {same} has the same answer twice: nothing was preferred"
        )
    rows = [answer_example(pair.prompt, pair.chosen) for pair in pairs]
    return supervised_batch(
        rows + [answer_example(pair.prompt, pair.rejected) for pair in pairs], pad_id
    )
