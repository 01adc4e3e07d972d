"""The choice of the next token from processed logits, and log-probabilities to report.

A row draws one number from its own generator and takes the token at which the cumulated
probabilities pass it (inversion of the distribution function). So a row is chosen the
same alone and among others.

Not here: changing logits (see `processors`), drafts of a smaller model (see `engine`).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.generation.sampling_params import GenerationError, SamplingParams

CHUNK = 256


class TokenLogprobs(NamedTuple):
    """Of each row: the chosen token's log-probability, and the likeliest tokens with
    theirs, in falling order.
    """

    chosen: Float[Tensor, "B"]
    top_ids: Int[Tensor, "B N"]
    top: Float[Tensor, "B N"]


def generator_for(params: SamplingParams, index: int = 0) -> torch.Generator | None:
    """Row `index` of the request's n: None if it is greedy; seeded by seed + index, or
    anew without a seed.
    """
    if params.greedy:
        return None
    generator = torch.Generator()
    if params.seed is None:
        generator.seed()
    else:
        generator.manual_seed((params.seed + index) % 2**63)
    return generator


def check_logits(logits: Float[Tensor, "B V"]) -> None:
    """Raise GenerationError that names the first row with NaN or +inf, or without any
    token that may be chosen.
    """
    each = logits.amax(-1)  # NaN if there is one in the row
    for row, largest in enumerate([] if bool(each.isfinite().all()) else each.tolist()):
        if largest == -math.inf:
            raise GenerationError(
                f"row {row}: every token is forbidden; loosen allowed_token_ids,"
                " logit_bias or min_tokens"
            )
        if not math.isfinite(largest):
            raise GenerationError(
                f"row {row}: logits have {largest}; look for what overflowed in the"
                " model"
            )


def sample(
    logits: Float[Tensor, "B V"], generators: Sequence[torch.Generator | None]
) -> Int[Tensor, "B"]:
    """One id a row: the likeliest, the first of equals, where the generator is None,
    else drawn with it.
    """
    check_logits(logits)
    return choose(
        logits,
        [
            (
                None
                if generator is None
                else float(torch.rand((), generator=generator, dtype=torch.float64))
            )
            for generator in generators
        ],
    )


def choose(
    logits: Float[Tensor, "B V"], draws: Sequence[float | None]
) -> Int[Tensor, "B"]:
    """One id a row for a number of [0, 1) that was drawn for it, or the likeliest where
    that is None.
    """
    drawn = [row for row, draw in enumerate(draws) if draw is not None]
    if len(drawn) == len(draws) and draws:
        return invert(
            _probabilities(logits),
            torch.tensor(draws, dtype=torch.float64, device=logits.device),
        )
    chosen = logits.argmax(-1)
    if drawn:
        numbers = torch.tensor(
            [draws[row] for row in drawn], dtype=torch.float64, device=logits.device
        )
        chosen[drawn] = invert(_probabilities(logits[drawn]), numbers)
    return chosen


def _probabilities(logits: Float[Tensor, "B V"]) -> Float[Tensor, "B V"]:
    return logits.to(torch.promote_types(logits.dtype, torch.float32)).softmax(-1)


def invert(
    probabilities: Float[Tensor, "B V"], draws: Float[Tensor, "B"]
) -> Int[Tensor, "B"]:
    """The first token at which the cumulated probabilities exceed the draw of [0, 1);
    one of probability 0 never.

    Sums are float64, in two levels: of chunks of CHUNK tokens over the row, then of
    tokens in the one chunk that the draw falls into, so that no float64 copy of a whole
    row is made.
    """
    num_rows, vocab_size = probabilities.shape
    chunks = torch.nn.functional.pad(probabilities, (0, -vocab_size % CHUNK)).view(
        num_rows, -1, CHUNK
    )
    sums = chunks.sum(-1, dtype=torch.float64)  # (B, N)
    total = sums.cumsum(-1)
    goal = draws.double()[:, None] * total[:, -1:]  # (B, 1)
    chunk = _first_above(total, goal)
    goal = (goal - (total - sums).gather(1, chunk)).clamp(min=0)
    inside = (
        chunks.gather(1, chunk[:, :, None].expand(-1, -1, CHUNK))[:, 0]
        .double()
        .cumsum(-1)
    )  # (B, CHUNK)
    return (chunk * CHUNK + _first_above(inside, goal)).squeeze(1)


def _first_above(
    cumulated: Float[Tensor, "B N"], goal: Float[Tensor, "B 1"]
) -> Int[Tensor, "B 1"]:
    """Where the sum first exceeds the goal; where rounding left it below, the last
    place that added anything.
    """
    last = (cumulated >= cumulated[:, -1:]).long().argmax(-1, keepdim=True)
    return torch.searchsorted(cumulated, goal, right=True).minimum(last)


def logprobs_of(
    logits: Float[Tensor, "B V"], chosen: Int[Tensor, "B"], num_top: int = 0
) -> TokenLogprobs:
    """In nats.

    Given the model's own logits these are the model's, as vLLM reports them.
    """
    logprobs = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(
        -1
    )
    top = logprobs.topk(min(num_top, logits.shape[-1]), dim=-1)
    return TokenLogprobs(
        logprobs.gather(1, chosen[:, None]).squeeze(1), top.indices, top.values
    )
