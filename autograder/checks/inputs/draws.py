"""Random sizes and values for checks, each from the stage's own generator.

Small names, because every stage uses them: `whole(rng, 2, 5)` is an int, the others are float32
tensors.
"""

from contextlib import suppress

import torch
from torch import Tensor


def one_changed(first: tuple, second: tuple) -> list[tuple]:
    """The arguments `first`, and those in which one comes from `second`: an answer that is kept by
    all but one of them is wrong.
    """
    return [
        first,
        *(first[:place] + (other,) + first[place + 1 :] for place, other in enumerate(second)),
    ]


def look_alike(one: Tensor | str | list) -> Tensor | str | list:
    """The same with two neighbours exchanged, those that differ nearest the middle: shape, sum,
    ends and entries stay.

    So what is kept under a weak key answers for it with the first one's answer. Raises ValueError
    where all entries between the ends are equal: there is none.
    """
    row = one.flatten() if isinstance(one, Tensor) else one
    places = [place for place in range(1, len(row) - 2) if row[place] != row[place + 1]]
    if not places:
        raise ValueError(f"no two different entries between the first and the last: {one!r}")
    at = min(places, key=lambda place: abs(2 * place + 2 - len(row)))
    if isinstance(one, Tensor):
        order = [*range(at), at + 1, at, *range(at + 2, len(row))]
        return row[order].reshape(one.shape)
    return row[:at] + row[at + 1 : at + 2] + row[at : at + 1] + row[at + 2 :]


def look_alikes(arguments: tuple) -> list[tuple]:
    """The arguments, and for each tensor, text and list that has one those with its look-alike in
    its place.

    Floats are rounded to 64ths, so that sums are the same in any order.
    """
    first = tuple(
        (64 * one).round() / 64 if isinstance(one, Tensor) and one.is_floating_point() else one
        for one in arguments
    )
    asked = [first]
    for place, one in enumerate(first):
        if isinstance(one, Tensor | str | list):
            with suppress(ValueError):
                asked.append(first[:place] + (look_alike(one),) + first[place + 1 :])
    return asked


def whole(rng: torch.Generator, low: int, high: int) -> int:
    """A whole number from `low` to `high`, both included."""
    return int(torch.randint(low, high + 1, (), generator=rng))


def counts(rng: torch.Generator, low: int, high: int, *shape: int) -> Tensor:
    """Whole numbers from `low` to `high`, both included, as int64."""
    return torch.randint(low, high + 1, shape, generator=rng)


def uniform(rng: torch.Generator, low: float, high: float, *shape: int) -> Tensor:
    """Numbers spread evenly between `low` and `high`."""
    return low + (high - low) * torch.rand(shape, generator=rng)


def normal(rng: torch.Generator, *shape: int) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(shape, generator=rng)


def distinct(rng: torch.Generator, number: int, below: int) -> list[int]:
    """`number` different whole numbers from 0 to `below` - 1, in random order."""
    return torch.randperm(below, generator=rng)[:number].tolist()
