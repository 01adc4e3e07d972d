"""The next tokens of all sequences of a step, each by its own request's parameters and
random numbers.

Sequences without drafts are processed together, one row each. One with drafts is
verified by itself: its rows are distributions over the same request's next tokens (see
`speculative`).

Not here: what the parameters do (see `generation.processors`).
"""

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Ids
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.engine.sequence import Sequence
from reference_impl.engine.speculative import Draft, verify
from reference_impl.engine.structured import StructuredOutput
from reference_impl.generation.processors import process
from reference_impl.generation.sampler import (
    check_logits,
    choose,
    generator_for,
    logprobs_of,
)
from reference_impl.generation.sampling_params import GenerationError, SamplingParams


class SampledToken(NamedTuple):
    """A token and, if the request asked for them, its log-probability and the likeliest
    tokens with theirs.
    """

    id: int
    logprob: float | None = None
    top: list[tuple[int, float]] = []


class Sampling:
    """Every sequence's random numbers, and the choice."""

    BATCH = (
        16  # a sequence's numbers are drawn so many at a time; the stream is the same
    )

    def __init__(self, eos_ids: Iterable[int] = ()):
        self.eos_ids = tuple(eos_ids)
        self._generators: dict[Sequence, torch.Generator | None] = {}
        self._draws: dict[Sequence, list[float]] = {}
        self.structures: StructuredOutput | None = (
            None  # set by the engine when a request asks for a form
        )

    def generator(self, sequence: Sequence) -> torch.Generator | None:
        """The sequence's own, made when it is first asked for; None if it is greedy."""
        if sequence not in self._generators:
            self._generators[sequence] = generator_for(sequence.params, sequence.index)
        return self._generators[sequence]

    def forget(self, sequence: Sequence) -> None:
        """The sequence has finished."""
        self._generators.pop(sequence, None)
        self._draws.pop(sequence, None)
        if self.structures is not None:
            self.structures.forget(sequence)

    def choose(
        self,
        logits: Float[Tensor, "R V"],
        rows: list[tuple[Sequence, range]],
        drafts: Mapping[Sequence, Draft],
    ) -> list[list[SampledToken]]:
        """For each sequence, with the rows of `logits` that are its own, the tokens
        that are said: one, or with drafts one to as many as it has rows.

        None are said, an empty list, where logits allow no choice: they are no numbers,
        or all is forbidden.
        """
        plain = [(sequence, span.start) for sequence, span in rows if len(span) == 1]
        said = self._plain(logits, plain)
        if len(plain) == len(rows):
            return list(said.values())
        for sequence, span in rows:
            if len(span) > 1:
                try:
                    said[sequence] = self._verify(
                        sequence, logits[span.start : span.stop], drafts[sequence]
                    )
                except GenerationError:
                    said[sequence] = []
        return [said[sequence] for sequence, _ in rows]

    def check_first_token(
        self, params: SamplingParams, prompt: Ids[int], vocab_size: int
    ) -> None:
        """GenerationError if these parameters together leave no token to begin an
        answer with.
        """
        first = Sequence("", list(prompt), params)
        try:
            logits = self._of_the_form(torch.zeros(1, vocab_size), [first])
            check_logits(self._processed(logits, [first], [[]]))
        finally:
            if self.structures is not None:
                self.structures.forget(first)

    def _plain(
        self, logits: Float[Tensor, "R V"], rows: list[tuple[Sequence, int]]
    ) -> dict[Sequence, list[SampledToken]]:
        """One token for each, all together.

        If one has no choice, each alone: nothing was drawn yet.
        """
        if not rows:
            return {}
        sequences, places = zip(*rows, strict=True)
        if len(places) != len(logits) or places != tuple(range(len(logits))):
            logits = logits[list(places)]  # (B, V)
        try:
            logits_allowed = self._of_the_form(logits, sequences)
            processed = self._processed(
                logits_allowed, sequences, [s.output_ids for s in sequences]
            )
            check_logits(processed)
        except GenerationError:
            if len(rows) == 1:
                return {sequences[0]: []}
            return {
                sequence: tokens
                for place, sequence in enumerate(sequences)
                for sequence, tokens in self._plain(logits, [(sequence, place)]).items()
            }
        chosen = choose(
            processed, [self._draw(sequence) for sequence in sequences]
        ).tolist()
        said = {
            sequence: [SampledToken(id)]
            for sequence, id in zip(sequences, chosen, strict=True)
        }
        for row, sequence in enumerate(sequences):
            if sequence.params.logprobs is not None:
                said[sequence] = _report(sequence, logits[row : row + 1], [chosen[row]])
        return said

    def _of_the_form(
        self, logits: Float[Tensor, "B V"], sequences: Ids[Sequence]
    ) -> Float[Tensor, "B V"]:
        """Forbid what would leave the form that a request asked for."""
        if self.structures is None:
            return logits
        masks = {
            row: mask
            for row, sequence in enumerate(sequences)
            if (mask := self.structures.allowed(sequence)) is not None
        }
        if masks:
            rows = list(masks)
            logits = logits.clone()
            logits[rows] = logits[rows].masked_fill(
                ~torch.stack(list(masks.values())).to(logits.device), -torch.inf
            )
        return logits

    def _draw(self, sequence: Sequence) -> float | None:
        """The sequence's next number of [0, 1), None if it is greedy."""
        if not sequence.params.temperature:
            return None
        waiting = self._draws.get(sequence)
        if not waiting:
            drawn = torch.rand(
                self.BATCH, generator=self.generator(sequence), dtype=torch.float64
            ).tolist()
            waiting = self._draws[sequence] = drawn[::-1]
        return waiting.pop()

    def _verify(
        self, sequence: Sequence, logits: Float[Tensor, "R V"], draft: Draft
    ) -> list[SampledToken]:
        kept = Draft(draft.ids[: len(logits) - 1], draft.q)
        outputs = [[*sequence.output_ids, *kept.ids[:i]] for i in range(len(logits))]
        allowed = logits
        if sequence.params.structure is not None:
            masks = self.structures.allowed_after(sequence, kept.ids)
            kept = Draft(
                kept.ids[: len(masks)], None if kept.q is None else kept.q[: len(masks)]
            )
            allowed = logits.clone()
            for row, mask in enumerate(masks):
                allowed[row] = allowed[row].masked_fill(
                    ~mask.to(logits.device), -torch.inf
                )
        p = self.probabilities(sequence, allowed, outputs)
        return _report(sequence, logits, verify(p, kept, self.generator(sequence)))

    def probabilities(
        self, sequence: Sequence, logits: Float[Tensor, "R V"], outputs: Ids[Ids[int]]
    ) -> Float[Tensor, "R V"]:
        """What the request samples from after each of these outputs; all on one token
        if it is greedy.
        """
        logits = self._processed(logits, [sequence] * len(logits), outputs)
        check_logits(logits)
        if sequence.params.greedy:
            return torch.nn.functional.one_hot(
                logits.argmax(-1), logits.shape[-1]
            ).double()
        return logits.double().softmax(-1)

    def _processed(
        self,
        logits: Float[Tensor, "R V"],
        sequences: Ids[Sequence],
        outputs: Ids[Ids[int]],
    ) -> Float[Tensor, "R V"]:
        params = [sequence.params for sequence in sequences]
        ends = (
            [
                (*each.stop_token_ids, *(() if each.ignore_eos else self.eos_ids))
                for each in params
            ]
            if any([each.min_tokens for each in params])
            else None
        )
        return process(
            logits,
            params,
            [sequence.prompt_ids for sequence in sequences],
            outputs,
            ends,
        )


def report(
    logits: Float[Tensor, "R V"], ids: Ids[int], num_top: int
) -> list[SampledToken]:
    """Tokens with the model's own log-probabilities, before any parameter changed them,
    and the likeliest instead.
    """
    found = logprobs_of(logits, torch.tensor(ids, device=logits.device), num_top)
    tops = [
        list(zip(a, b, strict=True))
        for a, b in zip(found.top_ids.tolist(), found.top.tolist(), strict=True)
    ]
    return [
        SampledToken(*row) for row in zip(ids, found.chosen.tolist(), tops, strict=True)
    ]


def _report(
    sequence: Sequence, logits: Float[Tensor, "R V"], ids: list[int]
) -> list[SampledToken]:
    wanted = sequence.params.logprobs
    return (
        [SampledToken(id) for id in ids]
        if wanted is None
        else report(logits[: len(ids)], ids, wanted)
    )
