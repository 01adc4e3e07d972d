"""The choice of the next token from processed logits, and log-probabilities to report.

A row draws one number from its own generator and takes the token at which the cumulated probabilities pass it
(inversion of the distribution function). So a row is chosen the same alone and among others.

Not here: changing logits (see `processors`), drafts of a smaller model (see `engine`).
"""
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.generation.sampling_params import GenerationError, SamplingParams


class TokenLogprobs(NamedTuple):
    """Of each row: the chosen token's log-probability, and the likeliest tokens with theirs, in falling order."""

    chosen: Float[Tensor, "B"]
    top_ids: Int[Tensor, "B N"]
    top: Float[Tensor, "B N"]


def generator_for(params: SamplingParams, index: int = 0) -> torch.Generator | None:
    """Row `index` of the request's n: None if it is greedy; seeded by seed + index, or anew without a seed."""
    if params.greedy:
        return None
    generator = torch.Generator()
    if params.seed is None:
        generator.seed()
    else:
        generator.manual_seed((params.seed + index) % 2 ** 63)
    return generator


def check_logits(logits: Float[Tensor, "B V"]) -> None:
    """Raise GenerationError that names the first row with NaN or +inf, or without any token that may be chosen."""
    for row, largest in enumerate(logits.amax(-1).tolist()):  # NaN if there is one in the row
        if largest == -math.inf:
            raise GenerationError(f"row {row}: every token is forbidden; loosen allowed_token_ids, logit_bias or "
                                  "min_tokens")
        if not math.isfinite(largest):
            raise GenerationError(f"row {row}: logits have {largest}; look for what overflowed in the model")


def sample(logits: Float[Tensor, "B V"], generators: Sequence[torch.Generator | None]) -> Int[Tensor, "B"]:
    """One id a row: the likeliest, the first of equals, where the generator is None, else drawn with it."""
    check_logits(logits)
    chosen = logits.argmax(-1)
    rows = [row for row, generator in enumerate(generators) if generator is not None]
    if rows:
        draws = torch.stack([torch.rand((), generator=generators[row], dtype=torch.float64) for row in rows])
        chosen[rows] = invert(logits[rows].double().softmax(-1), draws.to(logits.device))
    return chosen


def invert(probabilities: Float[Tensor, "B V"], draws: Float[Tensor, "B"]) -> Int[Tensor, "B"]:
    """The first token at which the cumulated probabilities exceed the draw of [0, 1); one of probability 0 never."""
    total = probabilities.cumsum(-1)  # (B, V)
    found = torch.searchsorted(total, draws[:, None] * total[:, -1:], right=True).squeeze(1)
    # A draw just below 1 may round to the whole sum, which nothing exceeds.
    last = (total >= total[:, -1:]).long().argmax(-1)
    return found.minimum(last)


def logprobs_of(logits: Float[Tensor, "B V"], chosen: Int[Tensor, "B"], num_top: int = 0) -> TokenLogprobs:
    """In nats. Given the model's own logits these are the model's, as vLLM reports them."""
    logprobs = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
    top = logprobs.topk(min(num_top, logits.shape[-1]), dim=-1)
    return TokenLogprobs(logprobs.gather(1, chosen[:, None]).squeeze(1), top.indices, top.values)
