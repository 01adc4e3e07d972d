"""Right and wrong attentions, for which the students of chapter 16 write a test."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

MOST = 32
Attention = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def refuse(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> None:
    """Raise ValueError for what is not allowed."""
    for one in (q, k, v):
        if (
            not isinstance(one, Tensor)
            or one.dim() != 4
            or one.dtype != torch.float32
            or not all(1 <= size <= MOST for size in one.shape)
            or not one.isfinite().all()
        ):
            raise ValueError(
                f"q, k and v are finite float32 tensors of four axes with 1 to {MOST} entries each"
            )
    if k.shape != v.shape or q.shape[:2] != k.shape[:2] or q.shape[3] != k.shape[3]:
        raise ValueError("q is (B, H, T, D), k and v are (B, H, S, D)")
    if (
        not isinstance(mask, Tensor)
        or mask.dtype != torch.bool
        or mask.shape != (q.shape[0], 1, q.shape[2], k.shape[2])
    ):
        raise ValueError("mask is bool of shape (B, 1, T, S)")
    if (q @ k.mT / q.shape[3] ** 0.5).abs().max() > 1000:
        raise ValueError("scores lie between -1,000 and 1,000")


def always(q: Tensor, k: Tensor, mask: Tensor) -> bool:
    """Wrong everywhere."""
    return True


def as_many(q: Tensor, k: Tensor, mask: Tensor) -> bool:
    """Wrong with as many queries as keys."""
    return q.shape[2] == k.shape[2]


def not_as_many(q: Tensor, k: Tensor, mask: Tensor) -> bool:
    """Wrong with another number of queries than of keys."""
    return q.shape[2] != k.shape[2]


def all_see(q: Tensor, k: Tensor, mask: Tensor) -> bool:
    """Wrong where every query sees a key."""
    return bool(mask.any(3).all())


def making(
    *,
    scale: float | str = "root",
    axis: int = 3,
    hide: str = "-inf",
    blind: str = "zeros",
    peak: bool = True,
    work: torch.dtype = torch.float32,
    when: Callable = always,
) -> Attention:
    """An attention; what is left out is right. when: where it is wrong at all."""

    def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        refuse(q, k, v, mask)
        if not when(q, k, mask):
            return making()(q, k, v, mask)
        q, k, v = (one.to(work) for one in (q, k, v))
        D = q.shape[3]
        scores = (
            q
            @ k.mT
            / {"root": D**0.5, "none": 1.0, "whole": D, "all heads": (D * q.shape[1]) ** 0.5}[scale]
        )
        seen = mask.expand(scores.shape)
        if hide == "inverted":
            seen = ~seen
        elif hide == "ignored":
            seen = torch.ones_like(seen)
        elif hide == "first head":
            seen = torch.cat((seen[:, :1], torch.ones_like(seen[:, 1:])), 1)
        elif hide == "first text":
            seen = seen[:1].expand(seen.shape)
        if hide == "zero":
            weights = torch.where(seen, scores, 0.0).softmax(axis)
        elif hide == "after":
            weights = torch.where(seen, scores.softmax(axis), 0.0)
        elif not peak:
            raised = torch.where(seen, scores.exp(), 0.0)
            weights = raised / raised.sum(axis, keepdim=True)
        else:
            weights = torch.where(seen, scores, -math.inf).softmax(axis)
        empty = ~seen.any(axis, keepdim=True)
        if blind == "zeros":
            weights = (
                torch.where(empty.expand(seen.shape), 0.0, weights)
                if hide not in ("zero", "after")
                else weights
            )
        elif blind == "mean":
            weights = torch.where(empty.expand(seen.shape), 1 / seen.shape[axis], weights)
        return (weights @ v).float()

    return attention


def by_loops(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Right: query by query, over the keys that it sees, in powers of two."""
    refuse(q, k, v, mask)
    out = torch.zeros(q.shape)
    for text, row in torch.nonzero(mask[:, 0].any(2)).tolist():
        here = mask[text, 0, row]
        scores = (k[text][:, here] @ q[text, :, row][..., None])[..., 0] * (
            math.log2(math.e) / q.shape[3] ** 0.5
        )  # (H, seen)
        weights = torch.exp2(scores - scores.amax(1, keepdim=True))
        out[text, :, row] = (weights[:, None] @ v[text][:, here])[:, 0] / weights.sum(
            1, keepdim=True
        )
    return out


def as_rounded_as_told(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Right: off by as much as the statement allows where a query sees something, upwards and
    downwards in turn.
    """
    out = right(q, k, v, mask)
    large = (q @ k.mT / q.shape[3] ** 0.5).abs().max() > 100
    turns = (torch.arange(out.numel()) % 2 * 2 - 1).reshape(out.shape) * mask.any(3)[..., None]
    return out + turns * (0.0019 if large else 0.00004)


def zeros(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Zeros, whatever is asked."""
    refuse(q, k, v, mask)
    return torch.zeros_like(q)


def not_a_number(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """NaN, whatever is asked."""
    refuse(q, k, v, mask)
    return torch.full_like(q, math.nan)


def large_is_nan(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """NaN where scores reach the hundreds, and no query is blind."""
    out = right(q, k, v, mask)
    scores = (q @ k.mT / q.shape[3] ** 0.5).abs().amax(3, keepdim=True)
    return torch.where(scores > 100, math.nan, out)


right = making()
RIGHT: list[Attention] = [right, by_loops, making(work=torch.float64), as_rounded_as_told]
POOR: dict[str, Attention] = {
    (
        "It compares digits that float32 does not have: sums in another order, or in powers of "
        "two, differ from yours by rounding. Compare with a tolerance, and a wider one where "
        "scores go to hundreds."
    ): (by_loops),
}
WRONG: dict[str, list[Attention]] = {
    "scale": [
        making(scale="none"),
        making(scale="whole"),
        making(scale="none", when=as_many),
        making(scale="whole", when=not_as_many),
        zeros,
        not_a_number,
    ],
    "axis": [
        making(axis=2),
        making(axis=1),
        making(axis=2, when=as_many),
        making(axis=2, when=not_as_many),
    ],
    "mask": [
        making(hide="inverted"),
        making(hide="ignored"),
        making(hide="first head"),
        making(hide="first text"),
        making(hide="zero"),
        making(hide="after"),
        making(hide="ignored", when=as_many),
        making(hide="inverted", when=not_as_many),
        making(hide="after", when=not_as_many),
        making(hide="zero", when=as_many),
    ],
    "edges": [
        making(blind="nan"),
        making(blind="mean"),
        making(peak=False, when=all_see),
        making(peak=False),
        large_is_nan,
        making(blind="nan", when=not_as_many),
        making(blind="mean", when=as_many),
    ],
}
PROBES: dict[str, Attention] = {
    (
        "Your test accepts zeros, whatever is asked: it never complains. Is there an `assert` that "
        "is reached, outside of `try`, without parentheses round condition and text?"
    ): (zeros),
    (
        "Your test accepts NaN: a comparison with NaN is False, so that `assert not difference > "
        "...` says nothing. `torch.allclose` and `assert difference < ...` notice it."
    ): (not_a_number),
    "Your test never asks with as many queries as keys.": making(
        hide="inverted", scale="none", when=as_many
    ),
    "Your test never asks with another number of queries than of keys.": making(
        hide="inverted", scale="none", when=not_as_many
    ),
    "Your test never hides a key, or does not notice it.": making(hide="ignored"),
    "Your test never looks at a query that sees no key.": making(blind="mean"),
    "Your test never asks with scores of hundreds in which every query sees a key.": making(
        peak=False, when=all_see
    ),
}
MISTAKEN: dict[str, Attention] = {
    "It does not divide the scores by the square root of D.": making(scale="none"),
    "It divides the scores by D: it is the square root of D.": making(scale="whole"),
    "It takes True for hidden: True is where a query sees a key.": making(hide="inverted"),
    "It wants a query that sees no key to be NaN: it has zeros.": making(blind="nan"),
    "It wants a query that sees no key to see all of them alike: it has zeros.": making(
        blind="mean"
    ),
    "It sets weights to 0 after the softmax: those that are left have to add up to 1.": making(
        hide="after"
    ),
}
