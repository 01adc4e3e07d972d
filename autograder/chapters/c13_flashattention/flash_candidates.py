"""Right and wrong attentions by tiles, for which the students of chapter 13 write a test."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

MOST, LARGEST = 64, 500
Attention = Callable[[Tensor, Tensor, Tensor, int, int, bool], tuple[Tensor, Tensor]]


def refuse(q: Tensor, k: Tensor, v: Tensor, rows: int, columns: int, causal: bool) -> None:
    """Raise ValueError for what is not allowed."""
    for one in (q, k, v):
        if (
            not isinstance(one, Tensor)
            or one.dim() != 3
            or one.dtype != torch.float32
            or not all(1 <= size <= MOST for size in one.shape)
            or not one.isfinite().all()
        ):
            raise ValueError(
                f"q, k and v are finite float32 tensors of three axes with 1 to {MOST} entries each"
            )
    if (
        k.shape != v.shape
        or q.shape[0] != k.shape[0]
        or q.shape[2] != k.shape[2]
        or type(causal) is not bool
    ):
        raise ValueError("q is (H, T, D), k and v are (H, S, D), causal is True or False")
    if not all(type(one) is int and 1 <= one <= MOST for one in (rows, columns)):
        raise ValueError(f"rows and columns are ints from 1 to {MOST}")
    if float((q @ k.mT).abs().max()) > LARGEST * q.shape[2] ** 0.5:
        raise ValueError(f"scores lie between -{LARGEST} and {LARGEST}")


def making(
    *,
    peak: str = "running",
    ragged: str = "mask",
    aligned: str = "last",
    low: float = -math.inf,
    half: str = "",
    scale: bool = True,
    shrink: tuple[bool, bool] = (True, True),
    strict: bool = False,
    ignore_causal: bool = False,
    lse: str = "right",
    divided: bool = False,
    precise: bool = False,
    heads: bool = True,
    when: Callable = lambda q, k, causal: True,
) -> Attention:
    """An attention by tiles; what is left out is right. when: where it is wrong at all."""

    def attention(
        q: Tensor, k: Tensor, v: Tensor, rows: int, columns: int, causal: bool
    ) -> tuple[Tensor, Tensor]:
        refuse(q, k, v, rows, columns, causal)
        if not when(q, k, causal):
            return making()(q, k, v, rows, columns, causal)
        work = torch.float64 if precise else torch.float32
        q, k, v = (one.to(work) for one in (q, k, v))
        if half == "inputs":
            q, k, v = (one.half().to(work) for one in (q, k, v))
        if not heads:
            k, v = (one[:1].expand_as(one) for one in (k, v))
        (H, T, D), S = q.shape, k.shape[1]
        out, ends = torch.zeros(H, T, D, dtype=work), torch.full((H, T), -math.inf, dtype=work)
        for above in range(0, T // rows * rows if ragged == "rows" else T, rows):
            mine = q[:, above : above + rows] * (D**-0.5 if scale else 1.0)
            top = torch.full(mine.shape[:2], 0.0 if peak in ("zero", "none") else -1e30, dtype=work)
            total, mixed = torch.zeros_like(top), torch.zeros_like(mine)
            place = torch.arange(above, above + mine.shape[1])[:, None] + (
                S - T if aligned == "last" else 0
            )
            for left in range(0, S // columns * columns if ragged == "lost" else S, columns):
                keys, values = k[:, left : left + columns], v[:, left : left + columns]
                if ragged == "zeros":
                    keys, values = (
                        torch.nn.functional.pad(one, (0, 0, 0, columns - one.shape[1]))
                        for one in (keys, values)
                    )
                scores = mine @ keys.mT
                key = torch.arange(left, left + scores.shape[2])
                if causal and not ignore_causal:
                    scores = scores.masked_fill(key >= place if strict else key > place, low)
                new = torch.maximum(top, scores.amax(2))
                if peak == "tile":
                    new = scores.amax(2).clamp(min=-1e30)
                elif peak == "none":
                    new = top
                weights, shrunk = (scores - new[..., None]).exp(), (top - new).exp()
                total = total * (shrunk if shrink[0] else 1) + weights.sum(2)
                if half == "weights":
                    weights = weights.half().to(work)
                mixed = mixed * (shrunk[..., None] if shrink[1] else 1) + weights @ values
                if divided:
                    mixed = mixed / total.clamp(min=1e-30)[..., None]
                top = new
            out[:, above : above + rows] = (
                mixed if divided else mixed / torch.where(total == 0, 1.0, total)[..., None]
            )
            ends[:, above : above + rows] = {
                "right": top + total.log(),
                "two": (top + total.log()) / math.log(2),
                "sum": total.log(),
                "peak": top,
            }[lse]
        return out.float(), ends.float()

    return attention


def keys_outside(
    q: Tensor, k: Tensor, v: Tensor, rows: int, columns: int, causal: bool
) -> tuple[Tensor, Tensor]:
    """Right: version 1's order of loops, keys outside, in powers of two."""
    refuse(q, k, v, rows, columns, causal)
    (H, T, D), S = q.shape, k.shape[1]
    top, total, mixed = torch.full((H, T), -1e30), torch.zeros(H, T), torch.zeros(H, T, D)
    for left in range(0, S, columns):
        scores = q @ k[:, left : left + columns].mT * (math.log2(math.e) / D**0.5)
        if causal:
            scores = scores.masked_fill(
                torch.arange(left, left + scores.shape[2]) > torch.arange(T)[:, None] + S - T,
                -math.inf,
            )
        new = torch.maximum(top, scores.amax(2))
        weights, shrunk = torch.exp2(scores - new[..., None]), torch.exp2(top - new)
        top, total, mixed = (
            new,
            total * shrunk + weights.sum(2),
            mixed * shrunk[..., None] + weights @ v[:, left : left + columns],
        )
    return mixed / total.clamp(min=1e-30)[..., None], (top + total.log2()) * math.log(2)


right = making()


def turned(
    q: Tensor, k: Tensor, v: Tensor, rows: int, columns: int, causal: bool
) -> tuple[Tensor, Tensor]:
    """Right: what comes back are transposes."""
    return tuple(
        one.mT.contiguous().mT if one.dim() > 2 else one.T.contiguous().T
        for one in right(q, k, v, rows, columns, causal)
    )


RIGHT: list[Attention] = [right, keys_outside, making(precise=True), turned]
POOR: dict[str, Attention] = {
    (
        "It compares digits that float32 does not have. Sums in another order round "
        "differently: use a tolerance, and a wider one for scores of hundreds."
    ): (keys_outside),
}


def only_causal(q: Tensor, k: Tensor, causal: bool) -> bool:
    """Wrong where causal."""
    return causal


def not_causal(q: Tensor, k: Tensor, causal: bool) -> bool:
    """Wrong where not causal."""
    return not causal


def more_keys(q: Tensor, k: Tensor, causal: bool) -> bool:
    """Wrong where there are more keys than queries."""
    return k.shape[1] > q.shape[1]


def more_queries(q: Tensor, k: Tensor, causal: bool) -> bool:
    """Wrong where there are more queries than keys."""
    return k.shape[1] < q.shape[1]


def zeros(
    q: Tensor, k: Tensor, v: Tensor, rows: int, columns: int, causal: bool
) -> tuple[Tensor, Tensor]:
    """Zeros, whatever is asked."""
    refuse(q, k, v, rows, columns, causal)
    return torch.zeros_like(q), torch.zeros(q.shape[:2])


def not_a_number(
    q: Tensor, k: Tensor, v: Tensor, rows: int, columns: int, causal: bool
) -> tuple[Tensor, Tensor]:
    """NaN, whatever is asked."""
    return tuple(one * math.nan for one in right(q, k, v, rows, columns, causal))


def blind_is_nan(
    q: Tensor, k: Tensor, v: Tensor, rows: int, columns: int, causal: bool
) -> tuple[Tensor, Tensor]:
    """A query that sees no key has NaN."""
    out, ends = right(q, k, v, rows, columns, causal)
    return torch.where(ends[..., None] == -math.inf, math.nan, out), ends


WRONG: dict[str, list[Attention]] = {
    "running maximum": [
        making(peak="none"),
        making(peak="zero"),
        making(peak="tile"),
        making(peak="none", when=only_causal),
        making(peak="none", when=not_causal),
        making(peak="zero", when=not_causal),
        making(shrink=(False, True)),
        making(shrink=(True, False)),
        making(shrink=(False, False)),
        making(shrink=(False, False), when=only_causal),
        making(divided=True),
        zeros,
        not_a_number,
    ],
    "incomplete tiles": [
        making(ragged="zeros"),
        making(ragged="lost"),
        making(ragged="rows"),
        making(ragged="zeros", when=not_causal),
        making(ragged="lost", when=only_causal),
        making(ragged="lost", when=not_causal),
    ],
    "attention masks": [
        making(aligned="first"),
        making(aligned="first", when=more_keys),
        making(aligned="first", when=more_queries),
        making(low=-1e6),
        making(strict=True),
        making(ignore_causal=True),
        making(ignore_causal=True, when=more_keys),
        blind_is_nan,
    ],
    "precision and scale": [
        making(half="weights"),
        making(half="inputs"),
        making(half="weights", when=only_causal),
        making(half="weights", when=not_causal),
        making(lse="two"),
        making(lse="sum"),
        making(lse="peak"),
        making(scale=False),
        making(heads=False),
    ],
}
PROBES: dict[str, Attention] = {
    (
        "Your test accepts a function that always returns zeros. Is an `assert` reached, "
        "outside `try`, without parentheses around condition and text?"
    ): (zeros),
    (
        "Your test accepts NaN: comparisons with NaN are False, so `assert not difference"
        " > ...` passes. Use `torch.allclose` or `assert difference < ...`."
    ): (not_a_number),
    "Your test never uses `causal=True`.": making(scale=False, when=only_causal),
    "Your test never uses `causal=False`.": making(scale=False, when=not_causal),
    "Your test never uses more keys than queries.": making(scale=False, when=more_keys),
    "Your test never uses more queries than keys.": making(scale=False, when=more_queries),
    "Your test does not check the log-sum-exp.": making(lse="peak"),
}
MISTAKEN: dict[str, Attention] = {
    "It gives query t the position t; the queries are the last positions, t + S - T.": making(
        aligned="first"
    ),
    "It does not divide the scores by the square root of D.": making(scale=False),
    (
        "It expects a query without keys to attend to all equally, or NaN; the output is "
        "zero and the log-sum-exp -inf."
    ): making(low=-1e6),
    "It expects NaN for a query without keys; the output is zero.": blind_is_nan,
    "It expects the log-sum-exp to base 2.": making(lse="two"),
}
