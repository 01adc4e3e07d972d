"""Inputs that a shortcut does not survive: the longest axis, and a second input that looks like the first."""
from torch import Tensor

LONG = 997      # nearly the longest axis that the statements allow, and prime: parts of any size leave a rest


def inner_exchanged(values: Tensor) -> Tensor:
    """The same with two entries exchanged: shape, sum, first and last entry stay. Raises ValueError where all inner ones are equal."""
    flat = values.flatten().clone()
    other = next((place for place in range(2, len(flat) - 1) if flat[place] != flat[1]), None)
    if other is None:
        raise ValueError(f"no two different entries between the first and the last: {values.tolist()}")
    flat[[1, other]] = flat[[other, 1]]
    return flat.reshape(values.shape)
