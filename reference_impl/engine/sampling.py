"""The next tokens of all sequences of a step, each by its own request's parameters and random numbers.

Sequences without drafts are processed together, one row each. One with drafts is verified by itself: its rows are
distributions over the same request's next tokens (see `speculative`).

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
from reference_impl.generation.processors import process
from reference_impl.generation.sampler import check_logits, generator_for, logprobs_of, sample
from reference_impl.generation.sampling_params import GenerationError


class SampledToken(NamedTuple):
    """A token and, if the request asked for them, its log-probability and the likeliest tokens with theirs."""

    id: int
    logprob: float | None = None
    top: list[tuple[int, float]] = []


class Sampling:
    """Every sequence's random numbers, and the choice."""

    def __init__(self, eos_ids: Iterable[int] = ()):
        self.eos_ids = tuple(eos_ids)
        self._generators: dict[Sequence, torch.Generator | None] = {}

    def generator(self, sequence: Sequence) -> torch.Generator | None:
        """The sequence's own, made when it is first asked for; None if it is greedy."""
        if sequence not in self._generators:
            self._generators[sequence] = generator_for(sequence.params, sequence.index)
        return self._generators[sequence]

    def forget(self, sequence: Sequence) -> None:
        """The sequence has finished."""
        self._generators.pop(sequence, None)

    def choose(self, rows: list[tuple[Sequence, Float[Tensor, "_ V"]]], drafts: Mapping[Sequence, Draft]
               ) -> list[list[SampledToken]]:
        """For each sequence the tokens that are said: one, or with drafts one to R.

        None are said, an empty list, where logits allow no choice: they are no numbers, or all is forbidden.
        """
        said = self._plain([(sequence, logits) for sequence, logits in rows if len(logits) == 1])
        for sequence, logits in rows:
            if len(logits) > 1:
                try:
                    said[sequence] = self._verify(sequence, logits, drafts[sequence])
                except GenerationError:
                    said[sequence] = []
        return [said[sequence] for sequence, _ in rows]

    def _plain(self, rows: list[tuple[Sequence, Float[Tensor, "1 V"]]]) -> dict[Sequence, list[SampledToken]]:
        """One token for each, all together. If one has no choice, each alone: nothing was drawn yet."""
        said: dict[Sequence, list[SampledToken]] = {}
        if not rows:
            return said
        logits = torch.cat([row for _, row in rows])  # (B, V)
        sequences = [sequence for sequence, _ in rows]
        try:
            chosen = sample(self._processed(logits, sequences, [s.output_ids for s in sequences]),
                            [self.generator(sequence) for sequence in sequences])
        except GenerationError:
            if len(rows) == 1:
                return {sequences[0]: []}
            return {sequence: tokens for row in rows for sequence, tokens in self._plain([row]).items()}
        for i, (sequence, id) in enumerate(zip(sequences, chosen.tolist(), strict=True)):
            said[sequence] = _report(sequence, logits[i:i + 1], [id])
        return said

    def _verify(self, sequence: Sequence, logits: Float[Tensor, "R V"], draft: Draft) -> list[SampledToken]:
        kept = Draft(draft.ids[:len(logits) - 1], draft.q)
        outputs = [[*sequence.output_ids, *kept.ids[:i]] for i in range(len(logits))]
        p = self.probabilities(sequence, logits, outputs)
        return _report(sequence, logits, verify(p, kept, self.generator(sequence)))

    def probabilities(self, sequence: Sequence, logits: Float[Tensor, "R V"], outputs: Ids[Ids[int]]
                      ) -> Float[Tensor, "R V"]:
        """What the request samples from after each of these outputs; all on one token if it is greedy."""
        logits = self._processed(logits, [sequence] * len(logits), outputs)
        check_logits(logits)
        if sequence.params.greedy:
            return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).double()
        return logits.double().softmax(-1)

    def _processed(self, logits: Float[Tensor, "R V"], sequences: Ids[Sequence], outputs: Ids[Ids[int]]
                   ) -> Float[Tensor, "R V"]:
        params = [sequence.params for sequence in sequences]
        ends = [(*each.stop_token_ids, *(() if each.ignore_eos else self.eos_ids)) for each in params]
        return process(logits, params, [sequence.prompt_ids for sequence in sequences], outputs, ends)


def _report(sequence: Sequence, logits: Float[Tensor, "R V"], ids: list[int]) -> list[SampledToken]:
    """The said tokens with the model's own log-probabilities, before any parameter changed them."""
    if sequence.params.logprobs is None:
        return [SampledToken(id) for id in ids]
    found = logprobs_of(logits[:len(ids)], torch.tensor(ids, device=logits.device), sequence.params.logprobs)
    tops = [list(zip(a, b, strict=True)) for a, b in zip(found.top_ids.tolist(), found.top.tolist(), strict=True)]
    return [SampledToken(*row) for row in zip(ids, found.chosen.tolist(), tops, strict=True)]
