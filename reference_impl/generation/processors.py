"""What changes logits (B, V) before a token is chosen; a token that may not be chosen
gets -inf.

Fan et al. 2018 (top-k); Holtzman et al. 2020, section 3.1 (top-p); Nguyen et al. 2024
(min-p); Meister et al. 2023 (typical); Keskar et al. 2019, section 4.1 (repetition
penalty). Presence and frequency penalties are OpenAI's.

Parameters are tensors (B,), one entry a row: rows of many requests are processed
together, and each as if alone. A neutral entry (temperature 1, k 0, p 1) leaves its row
as it is. `process` applies all in transformers' order. Numbers are made float64 first
and brought to the logits' dtype last, so that 1 - p is rounded once.

Not here: the choice (see `sampler`), what may follow what (see `constrained`).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from reference_impl.generation.sampling_params import GenerationError, SamplingParams

Logits = Float[Tensor, "B V"]
Row = Float[Tensor, "B"]


def _column(values: Row, logits: Logits) -> Float[Tensor, "B 1"]:
    return values.to(logits)[:, None]


def add_bias(logits: Logits, bias: Logits) -> Logits:
    """Add a number to each token's logit; -inf forbids it."""
    return logits + bias.to(logits)


def penalise_repetition(
    logits: Logits, seen: Bool[Tensor, "B V"], penalty: Row
) -> Logits:
    """Make tokens of prompt and output less likely: a positive logit is divided by the
    penalty, a negative one multiplied.
    """
    column = _column(penalty, logits)
    return torch.where(
        seen, torch.where(logits < 0, logits * column, logits / column), logits
    )


def penalise_presence(
    logits: Logits, counts: Int[Tensor, "B V"], penalty: Row
) -> Logits:
    """Take the penalty from every token that the output has, once."""
    return logits - _column(penalty, logits) * (counts > 0)


def penalise_frequency(
    logits: Logits, counts: Int[Tensor, "B V"], penalty: Row
) -> Logits:
    """Take the penalty from every token as often as the output has it."""
    return logits - _column(penalty, logits) * counts


def keep_allowed(logits: Logits, allowed: Bool[Tensor, "B V"]) -> Logits:
    """Forbid all tokens but these."""
    return logits.masked_fill(~allowed, -torch.inf)


def divide_by_temperature(logits: Logits, temperature: Row) -> Logits:
    """Below 1 the likely become likelier.

    0 means greedy, for which logits need no change: such rows are left.
    """
    return logits / _column(torch.where(temperature == 0, 1, temperature), logits)


def keep_top_k(logits: Logits, k: Int[Tensor, "B"]) -> Logits:
    """Keep the k likeliest, and all that are as likely as the k-th.

    k of 0, -1, or V and more keeps all.
    """
    vocab_size = logits.shape[-1]
    k = torch.where(k < 1, vocab_size, k).clamp(max=vocab_size)
    top = logits.topk(int(k.max()), dim=-1).values  # (B, largest k)
    return logits.masked_fill(logits < top.gather(1, k[:, None] - 1), -torch.inf)


def keep_top_p(logits: Logits, p: Row) -> Logits:
    """Keep the fewest likeliest tokens whose probabilities sum to p or more; at least
    one.
    """
    ascending, order = logits.sort(dim=-1)
    dropped = ascending.softmax(-1).cumsum(-1) <= _column(1 - p.double(), logits)
    dropped[:, -1] = False
    dropped &= (p < 1)[:, None]
    return logits.masked_fill(dropped.scatter(1, order, dropped), -torch.inf)


def keep_min_p(logits: Logits, p: Row) -> Logits:
    """Keep tokens whose probability is p times that of the likeliest, or more."""
    probabilities = logits.softmax(-1)
    least = _column(p, logits) * probabilities.amax(-1, keepdim=True)
    return logits.masked_fill(probabilities < least, -torch.inf)


def keep_typical(logits: Logits, p: Row) -> Logits:
    """Keep the tokens whose surprise is nearest to the mean surprise, until their
    probabilities sum to p.
    """
    logprobs = logits.log_softmax(-1)
    entropy = -(logprobs * logprobs.exp()).nansum(-1, keepdim=True)
    distance, order = (-logprobs - entropy).abs().sort(dim=-1)
    total = logits.gather(-1, order).softmax(-1).cumsum(-1)
    last = (
        (total < _column(p, logits))
        .sum(-1, keepdim=True)
        .clamp(max=logits.shape[-1] - 1)
    )
    dropped = distance > distance.gather(1, last)
    dropped[:, 0] = False
    dropped &= (p < 1)[:, None]
    return logits.masked_fill(dropped.scatter(1, order, dropped), -torch.inf)


def _row(params: Sequence[SamplingParams], name: str, logits: Logits) -> Row:
    return torch.tensor(
        [getattr(each, name) for each in params],
        dtype=torch.float64,
        device=logits.device,
    )


def _counts(rows: Sequence[Sequence[int]], logits: Logits) -> Int[Tensor, "B V"]:
    counts = torch.zeros(logits.shape, dtype=torch.long, device=logits.device)
    for row, ids in enumerate(rows):
        if ids:
            counts[row] = torch.bincount(
                torch.tensor(ids, device=logits.device), minlength=logits.shape[1]
            )
    return counts


def _check_ids(row: int, name: str, ids: Sequence[int], vocab_size: int) -> None:
    if ids and max(ids) >= vocab_size:
        raise GenerationError(
            f"row {row}: {name} has id {max(ids)} but the vocabulary {vocab_size}"
            " tokens"
        )


def process(
    logits: Logits,
    params: Sequence[SamplingParams],
    prompts: Sequence[Sequence[int]],
    outputs: Sequence[Sequence[int]],
    end_ids: Sequence[Sequence[int]] | None = None,
) -> Logits:
    """Everything that each row's parameters ask for.

    What no row asks for costs nothing.

    Half precision is worked in float32: a temperature and a sum over the vocabulary
    lose too much in less. `prompts` and `outputs` are each row's ids so far, `end_ids`
    the ids that end it, kept away until min_tokens. Raises GenerationError for a bias
    or an allowed id outside the vocabulary.
    """
    asked = set().union(*[each.asks_for for each in params])
    if not asked:
        return logits
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if "logit_bias" in asked:
        bias = torch.zeros_like(logits)
        for row, each in enumerate(params):
            _check_ids(row, "logit_bias", list(each.logit_bias), logits.shape[1])
            for token, value in each.logit_bias.items():
                bias[row, token] = value
        logits = add_bias(logits, bias)
    if "repetition_penalty" in asked:
        seen = (
            _counts([[*a, *b] for a, b in zip(prompts, outputs, strict=True)], logits)
            > 0
        )
        logits = penalise_repetition(
            logits, seen, _row(params, "repetition_penalty", logits)
        )
    if asked & {"presence_penalty", "frequency_penalty"}:
        counts = _counts(outputs, logits)
        logits = penalise_presence(
            logits, counts, _row(params, "presence_penalty", logits)
        )
        logits = penalise_frequency(
            logits, counts, _row(params, "frequency_penalty", logits)
        )
    if asked & {"min_tokens", "allowed_token_ids"}:
        logits = _forbid(logits, params, outputs, end_ids or [()] * len(params))
    if "temperature" in asked:
        logits = divide_by_temperature(logits, _row(params, "temperature", logits))
    if "top_k" in asked:
        logits = keep_top_k(
            logits, torch.tensor([each.top_k for each in params], device=logits.device)
        )
    for name, keep in (
        ("top_p", keep_top_p),
        ("min_p", keep_min_p),
        ("typical_p", keep_typical),
    ):
        if name in asked:
            logits = keep(logits, _row(params, name, logits))
    return logits


def _forbid(
    logits: Logits,
    params: Sequence[SamplingParams],
    outputs: Sequence[Sequence[int]],
    end_ids: Sequence[Sequence[int]],
) -> Logits:
    early = [
        len(ids) < each.min_tokens for ids, each in zip(outputs, params, strict=True)
    ]
    allowed = torch.ones(logits.shape, dtype=torch.bool, device=logits.device)
    for row, each in enumerate(params):
        if each.allowed_token_ids is not None:
            _check_ids(
                row, "allowed_token_ids", each.allowed_token_ids, logits.shape[1]
            )
            allowed[row] = False
            allowed[row, list(each.allowed_token_ids)] = True
        if early[row]:
            allowed[row, list(end_ids[row])] = False
    return keep_allowed(logits, allowed)
