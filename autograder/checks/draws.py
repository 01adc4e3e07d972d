"""Random sizes and values for checks, each from the stage's own generator.

Small names, because every stage uses them: `whole(rng, 2, 5)` is an int, the others are float32 tensors.
"""
import torch
from torch import Tensor


def one_changed(first: tuple, second: tuple) -> list[tuple]:
    """The arguments `first`, and those in which one comes from `second`: an answer that is kept by all but one of them is wrong."""
    return [first, *(first[:place] + (other,) + first[place + 1:] for place, other in enumerate(second))]


def look_alikes(arguments: tuple) -> list[tuple]:
    """The arguments, and for each tensor those in which two of its inner numbers have changed places: who keeps answers by
    shape, sum, first and last number is wrong. Floats are rounded to 64ths, so that sums are the same in any order."""
    first = tuple((64 * one).round() / 64 if type(one) is Tensor and one.is_floating_point() else one for one in arguments)
    asked = [first]
    for place, one in enumerate(first):
        flat = one.flatten() if type(one) is Tensor else torch.empty(0)
        pair = next(((low, high) for low in range(1, len(flat) - 1) for high in range(len(flat) - 2, low, -1) if flat[low] != flat[high]), None)
        if pair:
            low, high = pair
            other = flat.clone()
            other[low], other[high] = flat[high], flat[low]
            asked.append(first[:place] + (other.reshape(one.shape),) + first[place + 1:])
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
