"""Span corruption: cut spans out of a text, leave a sentinel for each, and say what was
cut out.

Raffel et al. 2020, section 3.1.4 and figure 2, 3.3.4: 15 % of the tokens go, in spans
of 3 on average. The target is shorter than the text, which is what makes it cheaper
than writing the whole text again.

    text    Thank you for inviting me to your party last week
    source  Thank you <X> me to your party <Y> week
    target  <X> for inviting <Y> last

This is the release's `random_spans_noise_mask`: the text is cut into as many kept spans
as lost ones, in turns, a kept one first; so it always ends with a lost one, and needs
no closing sentinel. Figure 2 draws one.

Not here: the loss, which is that of any `sequence_to_sequence` model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from reference_impl.objectives.batches import Batch, ObjectiveError, check_share
from reference_impl.objectives.sequence_to_sequence import PairedSequences


@dataclass(frozen=True)
class SpanCorruption:
    """How much to cut out.

    Sentinels are the last `num_sentinels` ids, counted down, as in T5's vocabulary.
    """

    vocab_size: int
    end_id: int
    num_sentinels: int = 100
    share: float = 0.15
    mean_span: float = 3.0

    def __post_init__(self):
        check_share("share", self.share)
        if self.mean_span < 1:
            raise ObjectiveError(
                f"mean_span is {self.mean_span}: a span has one token or more"
            )

    def counts(self, length: int) -> tuple[int, int]:
        """How many tokens of a text of `length` are lost, and in how many spans.

        At least one, and one is kept.

        Raises ObjectiveError for a text of one token, or one with more spans than there
        are sentinels.
        """
        if length < 2:
            raise ObjectiveError(
                f"a text of {length} tokens: to lose one and keep one takes 2 or more"
            )
        lost = min(max(round(length * self.share), 1), length - 1)
        spans = min(max(round(lost / self.mean_span), 1), length - lost)
        if spans > self.num_sentinels:
            raise ObjectiveError(
                f"{length} tokens make {spans} spans but there are {self.num_sentinels}"
                " sentinels: cut the text into shorter ones"
            )
        return lost, spans

    def lengths(self, length: int) -> tuple[int, int]:
        """How long source and target of a text of `length` are, sentinels and end
        tokens included.
        """
        lost, spans = self.counts(length)
        return length - lost + spans + 1, lost + spans + 1

    def longest_text(self, source_length: int) -> int:
        """How long a text may be for its source to have `source_length` tokens: the
        release's `random_spans_helper`.
        """
        if source_length < 3:
            raise ObjectiveError(
                f"a source of {source_length}: a kept token, a sentinel and the end"
                " take 3"
            )
        length = 2
        while self.lengths(length + 1)[0] <= source_length:
            length += 1
        return length

    def lost(self, length: int, generator: torch.Generator) -> Bool[Tensor, "T"]:
        """Which tokens are lost: spans kept and lost in turns, cut at random, every way
        to cut equally likely.
        """
        num_lost, num_spans = self.counts(length)
        kept = _cut(length - num_lost, num_spans, generator)
        gone = _cut(num_lost, num_spans, generator)
        spans = torch.tensor([size for turn in zip(kept, gone) for size in turn])
        return (torch.arange(2 * num_spans) % 2 == 1).repeat_interleave(spans)

    def corrupt(
        self, ids: Sequence[int], generator: torch.Generator
    ) -> tuple[list[int], list[int]]:
        """Source and target of a text, without end tokens."""
        if max(ids, default=0) >= self.vocab_size - self.num_sentinels:
            raise ObjectiveError(
                f"id {max(ids)} is one of the sentinels, the last {self.num_sentinels}"
                f" of {self.vocab_size}: a text must not have them"
            )
        source, target, before = [], [], False
        sentinel = self.vocab_size
        for token, lost in zip(ids, self.lost(len(ids), generator).tolist()):
            if lost and not before:
                sentinel -= 1
                for side in (source, target):
                    side.append(sentinel)
            (target if lost else source).append(token)
            before = lost
        return source, target

    def restore(self, source: Sequence[int], target: Sequence[int]) -> list[int]:
        """The text that `corrupt` took apart: each sentinel of the source gives way to
        what the target has after it.
        """
        first = self.vocab_size - self.num_sentinels
        spans: dict[int, list[int]] = {}
        for token in target:
            if token >= first:
                spans[token] = []
            elif not spans:
                raise ObjectiveError(
                    f"the target starts with {token}, which is no sentinel"
                )
            else:
                spans[next(reversed(spans))].append(token)
        return [
            part
            for token in source
            for part in (spans.get(token, []) if token >= first else [token])
        ]

    def __call__(
        self, rows: Sequence[Sequence[int]], generator: torch.Generator
    ) -> Batch:
        """Texts as ids, without end tokens, made into a batch for
        `sequence_to_sequence`.
        """
        return PairedSequences(self.end_id)(
            [self.corrupt(row, generator) for row in rows]
        )


def _cut(length: int, parts: int, generator: torch.Generator) -> list[int]:
    """Sizes of `parts` pieces, none empty, of `length`: cut at `parts - 1` of the
    places between, drawn at random.
    """
    cuts = (
        torch.randperm(length - 1, generator=generator)[: parts - 1].sort().values + 1
    )
    edges = [0, *cuts.tolist(), length]
    return [after - before for before, after in zip(edges, edges[1:])]
