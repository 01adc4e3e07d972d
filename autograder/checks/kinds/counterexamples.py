"""The kind *counterexample*: the student hands in data that break a wrong sentence, and our
predicate judges them.

    sentence = "Top-p with p = 0.9 keeps no more tokens than top-k with k = 5."
    expect_breaks(
        student.flat_distribution(), holds=lambda p: kept(p, 0.9) <= 5,
        form=Vector(low=2, high=50),
        degenerate={
            "the probabilities do not add up to 1": lambda p: abs(float(p.sum()) - 1) > 1e-6,
            "it breaks the sentence only by a tie": has_tie},
        cause="Flat distributions need many tokens.")

The data are looked at in this order: their form, with sizes first, since our code is going to
compute with them; what would make the example worthless; and only then whether the sentence fails.
`margin` guards against examples that break a sentence by rounding only: a predicate may return a
number, which must be below -margin.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import torch

from autograder.checks.assertions.expect import CheckFailed, expect, shape_of
from autograder.checks.assertions.values import readable, without_ones


@dataclass(frozen=True)
class Numbers:
    """The form of one tensor: its dtype, the least and greatest size of each dimension, and bounds
    for its values.
    """

    sizes: tuple[tuple[int, int], ...]
    dtype: torch.dtype = torch.float32
    low: float = -1e6
    high: float = 1e6

    def check(self, value: object, name: str) -> torch.Tensor:
        """The tensor that was meant. Raises CheckFailed with what is not as asked."""
        found = expect(value, name).is_tensor(shape=self._meant(shape_of(value)), dtype=self.dtype)
        if found.dim() != len(self.sizes):
            raise CheckFailed(
                f"{name} has {found.dim()} dimensions; {len(self.sizes)} were asked for."
            )
        for dim, (size, (least, most)) in enumerate(zip(found.shape, self.sizes)):
            if not least <= size <= most:
                raise CheckFailed(
                    f"Dimension {dim} of {name} has size {size}; {least} to {most} were asked for."
                )
        expect(found, name).between(
            self.low,
            self.high,
            cause=f"{name} should hold numbers from {self.low:g} to {self.high:g}, and no NaN.",
        )
        return found

    def _meant(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """`shape` with axes of length 1 added or dropped where that makes it fit; it is a slip
        then.
        """
        kept = without_ones(shape)
        for places in (
            combinations(range(len(self.sizes)), len(kept)) if len(shape) != len(self.sizes) else ()
        ):
            sizes = [
                kept[places.index(dim)] if dim in places else 1 for dim in range(len(self.sizes))
            ]
            if all(least <= size <= most for size, (least, most) in zip(sizes, self.sizes)):
                return tuple(sizes)
        return shape


@dataclass(frozen=True)
class Ids:
    """The form of a list of whole numbers: how many, and from where to where."""

    count: tuple[int, int]
    low: int = 0
    high: int = 1 << 20

    def check(self, value: object, name: str) -> list[int]:
        """The list that was meant. Raises CheckFailed with what is not as asked."""
        items = expect(value, name).items_as(int)
        if not self.count[0] <= len(items) <= self.count[1]:
            raise CheckFailed(
                f"{name} has {len(items)} items; {self.count[0]} to {self.count[1]} were asked for."
            )
        if not all(type(item) is int and self.low <= item <= self.high for item in items):
            raise CheckFailed(f"{name} should hold whole numbers from {self.low} to {self.high}.")
        return items


Form = Numbers | Ids | Mapping[str, "Numbers | Ids"]


def expect_breaks(
    data: object,
    *,
    holds: Callable[..., bool | float],
    form: Form,
    degenerate: Mapping[str, Callable[..., bool]],
    cause: str,
    margin: float = 0.0,
    name: str = "Your example",
) -> None:
    """The data have the form, are not degenerate, and the sentence that `holds` stands for fails on
    them.

    form: of one value, or of a dict's values by key, which `holds` and the others then take as
    keywords. degenerate: from what is wrong with an example ("it is empty") to the predicate that
    recognises it. Raises CheckFailed.
    """
    if isinstance(form, Mapping):
        found = expect(data, name).only_keys(form).value
        if found.keys() != form.keys():
            raise CheckFailed(f"{name} should have the keys {', '.join(map(readable, form))}.")
        meant = {
            key: one.check(found[key], f"{name}[{readable(key)}]") for key, one in form.items()
        }
        ask = lambda predicate: predicate(**meant)
    else:
        single = form.check(data, name)
        ask = lambda predicate: predicate(single)
    for what, predicate in degenerate.items():
        if ask(predicate):
            raise CheckFailed(f"{name} does not count: {what}.")
    answer = ask(holds)
    if answer is True or type(answer) is not bool and float(answer) >= -margin:
        detail = (
            ""
            if type(answer) is bool
            else f"it holds by {float(answer):.3g}; at most {-margin:.3g} breaks it clearly"
        )
        raise CheckFailed(cause, detail or "the sentence is true for your example")
