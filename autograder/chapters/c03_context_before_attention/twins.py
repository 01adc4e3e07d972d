"""Pairs of inputs that agree in what a short key keeps of them: shape, sum, first and last number; and the sizes that are asked.

A function that remembers what it made of an input, under such a key, answers for the second with what it made of the first.
"""
from torch import Tensor

MOST = 300        # entries along an axis, as the notebook promises


def twin(tensor: Tensor) -> Tensor:
    """The same numbers, with two inner ones that differ exchanged; the same tensor where all inner ones are alike."""
    flat = tensor.clone().reshape(-1)
    inner = flat[1:-1]
    others = (inner != inner[:1]).nonzero()[:, 0].tolist()
    if others:
        inner[0], inner[others[0]] = inner[others[0]].clone(), inner[0].clone()
    return flat.reshape(tensor.shape)


def twins(parts: tuple) -> list[tuple]:
    """The arguments `parts`, and those in which one tensor of them comes as its twin."""
    changed = [(place, twin(part)) for place, part in enumerate(parts) if isinstance(part, Tensor)]
    return [parts, *(parts[:place] + (other,) + parts[place + 1:] for place, other in changed)]
