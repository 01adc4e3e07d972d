"""Guess several tokens cheaply, let the model read them all in one pass, keep those
that it might have said itself.

Leviathan et al. 2023, section 2.3 and appendix A.1; Chen et al. 2023, theorem 1. A pass
over k + 1 tokens costs little more than one over a single token where reading the
weights is what takes the time. The distribution of what is said does not change:

    keep guess x, drawn from q, with probability min(1, p(x) / q(x));
    at the first one refused draw from max(p - q, 0), made to sum to one, and stop;
    if all are kept draw one more from p after the last.

Greedy sampling is the case in which p is all on one token: a guess is kept if it is
that token.

Here: the rule, and two that guess. `NgramProposer` looks where the last tokens stood
before; `DraftProposer` asks a smaller model.
"""

from collections.abc import Callable
from collections.abc import Sequence as Ids
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.engine.sequence import Sequence
from reference_impl.generation.cache import PreallocatedCache
from reference_impl.generation.sampling_params import GenerationError
from reference_impl.models.decoders import Decoder

Probabilities = Callable[
    [Sequence, Float[Tensor, "R V"], Ids[Ids[int]]], Float[Tensor, "R V"]
]
"""From logits after a sequence's prompt and each of these outputs to what its request
samples from."""


@dataclass(frozen=True)
class Draft:
    """Guessed ids, and the distribution that each was drawn from; None if they were not
    drawn, but certain.
    """

    ids: list[int]
    q: Float[Tensor, "R V"] | None = None


@runtime_checkable
class Proposer(Protocol):
    """Who guesses."""

    def propose(
        self,
        sequence: Sequence,
        count: int,
        probabilities: Probabilities | None,
        generator: torch.Generator | None,
    ) -> Draft:
        """At most `count` guesses at what follows the sequence."""
        ...

    def forget(self, sequence: Sequence) -> None:
        """The sequence has finished."""
        ...


def verify(
    p: Float[Tensor, "R V"], draft: Draft, generator: torch.Generator | None
) -> list[int]:
    """The tokens that are said: guesses up to the first refused one, then one of the
    model's own.

    p[i] is the model's distribution after i guesses, so there is one row more than
    guesses. Without q each guess counts as drawn with certainty. Without a generator
    every p is all on one token, and nothing is drawn.
    """
    p = p.cpu()  # generators of requests are the CPU's, wherever the model is
    if generator is None:
        best = p.argmax(-1).tolist()
        kept = next(
            (i for i, guess in enumerate(draft.ids) if guess != best[i]), len(draft.ids)
        )
        return best[: kept + 1]
    said: list[int] = []
    for i, guess in enumerate(draft.ids):
        q = (
            draft.q[i]
            if draft.q is not None
            else torch.nn.functional.one_hot(torch.tensor(guess), p.shape[-1]).to(p)
        )
        if (
            torch.rand((), generator=generator, dtype=torch.float64) * q[guess]
            < p[i, guess]
        ):
            said.append(guess)
            continue
        left = (p[i] - q).clamp(min=0)
        return [
            *said,
            int(torch.multinomial(left / left.sum(), 1, generator=generator)),
        ]
    return [*said, int(torch.multinomial(p[len(draft.ids)], 1, generator=generator))]


class NgramProposer:
    """Find the last tokens earlier in the text and guess that what followed then
    follows now (prompt lookup).

    No model is asked, and it is right where an answer repeats its prompt: summaries,
    code, corrections. Where each run of tokens stood last is kept for every sequence,
    so that a new token costs the same after a long text.
    """

    def __init__(self, longest: int = 3, shortest: int = 1):
        if (
            type(shortest) is not int
            or type(longest) is not int
            or not 1 <= shortest <= longest
        ):
            raise ValueError(
                f"n-grams from {shortest} to {longest}: give 1 <= shortest <= longest"
            )
        self.longest, self.shortest = longest, shortest
        self._places: dict[Sequence, dict[tuple[int, ...], int]] = {}
        self._read: dict[
            Sequence, int
        ] = {}  # runs that end before this place are in `_places`

    def propose(
        self,
        sequence: Sequence,
        count: int,
        probabilities: Probabilities | None,
        generator: torch.Generator | None,
    ) -> Draft:
        """What followed the latest earlier place of the longest run that is found."""
        ids, places = sequence.ids, self._places.setdefault(sequence, {})
        for end in range(
            self._read.get(sequence, 1), len(ids)
        ):  # the run at the very end is no earlier place
            for size in range(self.shortest, min(self.longest, end) + 1):
                places[tuple(ids[end - size : end])] = end
        self._read[sequence] = len(ids)
        for size in range(min(self.longest, len(ids) - 1), self.shortest - 1, -1):
            end = places.get(tuple(ids[-size:]))
            if end is not None:
                return Draft(ids[end : end + count])
        return Draft([])

    def forget(self, sequence: Sequence) -> None:
        """The sequence has finished."""
        self._places.pop(sequence, None)
        self._read.pop(sequence, None)


class DraftProposer:
    """A smaller model with the same vocabulary, each sequence with a contiguous cache
    of its own.
    """

    def __init__(self, model: Decoder):
        self.model = model.eval()
        self._caches: dict[Sequence, list[PreallocatedCache]] = {}

    @torch.inference_mode()
    def propose(
        self,
        sequence: Sequence,
        count: int,
        probabilities: Probabilities | None,
        generator: torch.Generator | None,
    ) -> Draft:
        """Sample `count` tokens, one after the other, with the request's own sampling
        parameters.
        """
        ids = list(sequence.ids)
        longest = self.model.config.max_position_embeddings
        count = min(count, longest - len(ids))
        if count < 1:
            return Draft([])
        if sequence not in self._caches:
            self._caches[sequence] = [
                PreallocatedCache(longest) for _ in self.model.blocks
            ]
        cache = self._caches[sequence]
        # The cache may end with guesses that were refused: what is kept is what the
        # text begins with.
        known = min(cache[0].length, sequence.num_tokens - 1)
        drawn = []
        for _ in range(count):
            for layer in cache:
                layer.length = known
            unread = torch.tensor(
                [ids[known:]], device=self.model.embedding.weight.device
            )
            logits = self.model(unread, cache=cache)[:, -1]
            try:
                q = probabilities(sequence, logits, [ids[len(sequence.prompt_ids) :]])[
                    0
                ].cpu()
            except (
                GenerationError
            ):  # this model has no guess; the other is not to be held up by it
                break
            known = len(ids)
            drawn.append(q)
            ids.append(
                int(q.argmax())
                if generator is None
                else int(torch.multinomial(q, 1, generator=generator))
            )
        return (
            Draft(ids[sequence.num_tokens :], torch.stack(drawn))
            if drawn
            else Draft([])
        )

    def forget(self, sequence: Sequence) -> None:
        """Give up its cache."""
        self._caches.pop(sequence, None)
