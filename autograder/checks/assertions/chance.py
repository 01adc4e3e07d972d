"""Questions about random results, with a stated rate of false alarms: how often a right answer
would fail by chance.

The bounds are exact for any number of draws, not approximations for many: Clopper and Pearson
(Biometrika 26, 1934) for counts, Hoeffding (JASA 58, 1963, theorem 2) for means of bounded values.
The rate is for the whole question, all categories together, and holds for every seed; ask for so
many draws that wrong answers fail nearly always.
"""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from autograder.checks.assertions.expect import CheckFailed, expect

FALSE_ALARMS = 1e-6


def each_seed(rng: torch.Generator, count: int) -> Iterator[tuple[int, torch.Generator]]:
    """`count` generators with seeds drawn from `rng`: several draws under one verdict."""
    for seed in torch.randint(2**62, (count,), generator=rng).tolist():
        yield seed, torch.Generator().manual_seed(seed)


def expect_frequencies(
    counts: object,
    probabilities: Sequence[float] | Tensor,
    *,
    cause: str,
    false_alarms: float = FALSE_ALARMS,
    name: str = "Your counts",
) -> None:
    """`counts` (C,), whole numbers, are what independent draws with these probabilities give.

    Raises CheckFailed.

    Each category is compared with its binomial distribution at false_alarms / 2C a side
    (Bonferroni).
    """
    expected = torch.as_tensor(probabilities, dtype=torch.float64)
    if expected.dim() != 1 or abs(float(expected.sum()) - 1) > 1e-6 or bool((expected < 0).any()):
        raise ValueError(
            f"probabilities must be a vector that adds up to 1, not {expected.tolist()}"
        )
    if type(counts) is list and all(type(n) is int for n in counts):
        counts = torch.as_tensor(counts)
    found = expect(counts, name).is_tensor(shape=tuple(expected.shape), dtype=torch.int64)
    total = int(found.sum())
    expect(bool((found >= 0).all()) and total > 0, name).is_true(
        cause=f"{name} should be counts of at least one draw."
    )
    for i, (count, chance) in enumerate(zip(found.tolist(), expected.tolist())):
        tail = min(_at_least(count, total, chance), _at_least(total - count, total, 1 - chance))
        if tail < false_alarms / (2 * len(expected)):
            raise CheckFailed(
                cause,
                f"{name}[{i}] is {count:,} of {total:,}, a share of {count / total:.4f};"
                f" {chance:.4f} was expected. By chance this happens less than once in"
                f" {1 / false_alarms:,.0f} times",
            )


def expect_mean(
    values: object,
    mean: float,
    bounds: tuple[float, float],
    *,
    cause: str,
    false_alarms: float = FALSE_ALARMS,
    name: str = "Your values",
) -> None:
    """The mean of independent values, each in `bounds`, is `mean`, within Hoeffding's bound.

    Raises CheckFailed.
    """
    found = expect(values, name).is_tensor()
    expect(found, name).between(
        *bounds, cause=f"{name} should be between {bounds[0]:g} and {bounds[1]:g}."
    )
    if not found.numel():
        raise CheckFailed(f"{name} are none.")
    came = float(found.double().mean())
    allowed = (bounds[1] - bounds[0]) * math.sqrt(math.log(2 / false_alarms) / (2 * found.numel()))
    if not abs(came - mean) <= allowed:
        raise CheckFailed(
            cause,
            f"the mean of {found.numel():,} values is {came:.4g}, expected {mean:.4g}; chance"
            f" explains {allowed:.2g} up or down, all but once in {1 / false_alarms:,.0f} times",
        )


def _at_least(count: int, total: int, chance: float) -> float:
    """P(X >= count) for a binomial X, by summing from the larger of count and the mode outwards in
    log space.
    """
    if count <= 0:
        return 1.0
    if chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    ks = torch.arange(count, total + 1, dtype=torch.float64)
    n = torch.tensor(float(total), dtype=torch.float64)
    logs = (
        torch.lgamma(n + 1)
        - torch.lgamma(ks + 1)
        - torch.lgamma(n - ks + 1)
        + ks * math.log(chance)
        + (n - ks) * math.log1p(-chance)
    )
    return min(1.0, float(torch.logsumexp(logs, 0).exp()))
