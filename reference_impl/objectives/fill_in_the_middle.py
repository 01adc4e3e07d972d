"""Fill in the middle: a decoder learns to write what is missing between two texts.

Bavarian et al. 2022, sections 2 and 3. A text is cut at two random positions into
prefix, middle and suffix, and rearranged so that a causal model has read both sides
when it predicts the middle. A fraction of the texts stays as it is, so that the model
remains a left-to-right language model.

    text   p p p m m s s
    PSM    <PRE> p p p <SUF> s s <MID> m m <END>
    SPM    <PRE> <SUF> s s <MID> p p p m m <END>

In SPM the middle follows its prefix directly. The loss is that of `causal_lm`, on
every token of the rearranged text.

Not here: cutting at characters inside a token.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from reference_impl.objectives.batches import ObjectiveError


@dataclass(frozen=True)
class FillInTheMiddle:
    """The ids of the four special tokens, and the fraction of texts to rearrange."""

    prefix_id: int
    suffix_id: int
    middle_id: int
    end_id: int
    rate: float = 0.5
    suffix_first: bool = False  # SPM

    def __post_init__(self):
        if not 0 <= self.rate <= 1:
            raise ObjectiveError(f"rate is {self.rate}: give a fraction from 0 to 1")
        if len(set(self.special_ids)) < 4:
            raise ObjectiveError(f"the special ids {self.special_ids} must all differ")

    @property
    def special_ids(self) -> tuple[int, int, int, int]:
        """Prefix, suffix, middle, end."""
        return self.prefix_id, self.suffix_id, self.middle_id, self.end_id

    def prompt(self, prefix: Sequence[int], suffix: Sequence[int]) -> list[int]:
        """What a model reads before it writes the middle."""
        if self.suffix_first:
            return [self.prefix_id, self.suffix_id, *suffix, self.middle_id, *prefix]
        return [self.prefix_id, *prefix, self.suffix_id, *suffix, self.middle_id]

    def __call__(self, ids: Sequence[int], generator: torch.Generator) -> list[int]:
        """The training sequence of one text, rearranged or not, with its end token."""
        if set(ids) & set(self.special_ids):
            raise ObjectiveError("a text must not have any of the special ids")
        if torch.rand((), generator=generator) >= self.rate:
            return [*ids, self.end_id]
        first, second = (
            torch.randint(len(ids) + 1, (2,), generator=generator)
            .sort()
            .values.tolist()
        )
        prefix, middle, suffix = ids[:first], ids[first:second], ids[second:]
        return [*self.prompt(prefix, suffix), *middle, self.end_id]
