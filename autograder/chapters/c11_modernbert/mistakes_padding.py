"""Plausible wrong solutions of chapter 11, part 3: unpadding, and attention of packed texts."""

import torch
from torch.nn.functional import pad, scaled_dot_product_attention

from autograder.checks.mistakes.registry import mistake

UNPAD, PACKED = "11.unpad", "11.packed_attention"


def _laid(ids, mask, tokens=None, cu=None, positions=None):
    """The three, with some of them replaced."""
    ends = pad(mask.sum(1).cumsum(0), (1, 0)).int()
    return (
        ids[mask] if tokens is None else tokens,
        ends if cu is None else cu,
        (mask.cumsum(1) - 1)[mask] if positions is None else positions,
    )


@mistake(
    UNPAD,
    "lengths",
    caught_by="cu",
    loses=2,
    misconception=(
        "You give the lengths of the texts. What was asked for is where each begins: their running"
        " sum, with 0 in front."
    ),
)
def _(ids, mask):
    return _laid(ids, mask, cu=pad(mask.sum(1), (1, 0)).int())


@mistake(
    UNPAD,
    "no-zero-in-front",
    caught_by="cu",
    loses=2,
    misconception="Your bounds lack the 0 in front: the first text begins at 0.",
)
def _(ids, mask):
    return _laid(ids, mask, cu=mask.sum(1).cumsum(0).int())


@mistake(
    UNPAD,
    "no-end",
    caught_by="cu",
    loses=2,
    misconception="Your bounds lack the last one: the last text ends with the last token.",
)
def _(ids, mask):
    return _laid(ids, mask, cu=pad(mask.sum(1).cumsum(0), (1, 0)).int()[:-1])


@mistake(
    UNPAD,
    "padded-bounds",
    caught_by="cu",
    loses=2,
    misconception="Your bounds are multiples of T: they count padding.",
)
def _(ids, mask):
    return _laid(ids, mask, cu=(torch.arange(len(mask) + 1) * mask.shape[1]).int())


@mistake(
    UNPAD,
    "int64-bounds",
    caught_by="cu",
    loses=1.2,
    misconception="Your bounds are int64. Kernels ask for int32.",
)
def _(ids, mask):
    return _laid(ids, mask, cu=pad(mask.sum(1).cumsum(0), (1, 0)))


@mistake(
    UNPAD,
    "positions-run-on",
    caught_by="positions",
    loses=3.5,
    misconception="Your positions run on through all texts. They restart at 0 in each.",
)
def _(ids, mask):
    return _laid(ids, mask, positions=torch.arange(int(mask.sum())))


@mistake(
    UNPAD,
    "from-one",
    caught_by="positions",
    loses=3.5,
    misconception="Your positions begin at 1. The first token of a text has position 0.",
)
def _(ids, mask):
    return _laid(ids, mask, positions=mask.cumsum(1)[mask])


@mistake(
    UNPAD,
    "columns",
    caught_by="anywhere",
    loses=2,
    misconception=(
        "Your positions are columns of the padded table: padding in front of a token is counted."
    ),
)
def _(ids, mask):
    return _laid(ids, mask, positions=torch.arange(mask.shape[1]).expand(mask.shape)[mask])


@mistake(
    UNPAD,
    "padded-on-the-right",
    caught_by="anywhere",
    loses=2,
    misconception=(
        "You take the first tokens of each row, as many as the mask has. Padding may stand before"
        " them."
    ),
)
def _(ids, mask):
    return _laid(ids, mask, tokens=ids[torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True)])


@mistake(
    UNPAD,
    "empty-dropped",
    caught_by="empty",
    loses=0.5,
    misconception="You drop texts without tokens: then all later texts have another number.",
)
def _(ids, mask):
    return _laid(ids, mask, cu=pad(mask.sum(1)[mask.any(1)].cumsum(0), (1, 0)).int())


@mistake(
    UNPAD,
    "by-id",
    caught_by="tokens",
    loses=6,
    misconception=(
        "You take every 0 for padding. Padding is where the mask is False; a token may have the"
        " id 0."
    ),
)
def _(ids, mask):
    return _laid(ids, ids != 0)


@mistake(
    UNPAD,
    "column-by-column",
    caught_by="tokens",
    loses=3,
    misconception="Your tokens come column by column. They come text by text.",
)
def _(ids, mask):
    return _laid(ids, mask, tokens=ids.T[mask.T])


@mistake(
    UNPAD,
    "sorted",
    caught_by="tokens",
    loses=3,
    misconception="You sort the tokens. They keep their order.",
)
def _(ids, mask):
    return _laid(ids, mask, tokens=ids[mask].sort().values)


@mistake(
    UNPAD,
    "all-of-it",
    caught_by="tokens",
    loses=3,
    misconception="Your tokens are all of the table, padding too.",
)
def _(ids, mask):
    return _laid(ids, mask, tokens=ids.flatten().clone())


def _tables(q, cu, window, side=lambda window: window // 2, apart=True):
    """Who sees whom, (N, N)."""
    places = torch.arange(q.shape[1])
    text = torch.searchsorted(cu.long(), places, right=True)
    seen = (
        text[:, None] == text if apart else torch.ones(len(places), len(places), dtype=torch.bool)
    )
    return seen if window is None else seen & ((places[:, None] - places).abs() <= side(window))


def _looped(q, k, v, cu, window, bounds=None, scale=None, side=lambda window: window // 2):
    """Text by text, by torch's operator, 64 queries at a time; some of it replaced.

    With 256 at a time, one long sequence needs almost exactly the memory that the last stage
    allows, so the result would vary from run to run.
    """
    out = torch.zeros_like(q)
    for start, stop in zip(cu.tolist(), cu.tolist()[1:]) if bounds is None else bounds:
        reach = stop - start if window is None else side(window)
        for first in range(start, stop, 64):
            last = min(first + 64, stop)
            low, high = max(first - reach, start), min(last + reach, stop)
            near = (torch.arange(first, last)[:, None] - torch.arange(low, high)).abs() <= reach
            out[:, first:last] = scaled_dot_product_attention(
                q[:, first:last], k[:, low:high], v[:, low:high], attn_mask=near, scale=scale
            )
    return out


@mistake(
    PACKED,
    "leaks",
    caught_by="apart",
    loses=7,
    misconception="You do not use `cu_seqlens`: every token sees all texts of the row.",
)
def _(q, k, v, cu, window):
    return _looped(q, k, v, torch.tensor([0, q.shape[1]], dtype=torch.int32), window)


@mistake(
    PACKED,
    "table-of-all",
    caught_by="memory",
    loses=1.5,
    misconception=(
        "You make a table of all tokens by all. It is right, and does not fit into memory for long"
        " rows."
    ),
)
def _(q, k, v, cu, window):
    if not q.shape[1]:
        return torch.zeros_like(q)
    return scaled_dot_product_attention(q, k, v, attn_mask=_tables(q, cu, window))


@mistake(
    PACKED,
    "table-of-a-text",
    caught_by="memory",
    loses=1.5,
    misconception=(
        "You make a table of a whole text by itself. With a window a long text does not need it:"
        " take some queries at a time."
    ),
)
def _(q, k, v, cu, window):
    out = torch.zeros_like(q)
    for start, stop in zip(cu.tolist(), cu.tolist()[1:]):
        if stop > start:
            places = torch.arange(stop - start)
            near = None if window is None else (places[:, None] - places).abs() <= window // 2
            out[:, start:stop] = scaled_dot_product_attention(
                *(one[:, start:stop] for one in (q, k, v)), attn_mask=near
            )
    return out


@mistake(
    PACKED,
    "window-crosses",
    caught_by="window",
    loses=3,
    misconception="With a window you forget `cu_seqlens`: tokens see across the end of their text.",
)
def _(q, k, v, cu, window):
    if window is None:
        return _looped(q, k, v, cu, None)
    return _looped(q, k, v, torch.tensor([0, q.shape[1]], dtype=torch.int32), window)


@mistake(
    PACKED, "no-window", caught_by="window", loses=3.5, misconception="You do not use `window`."
)
def _(q, k, v, cu, window):
    return _looped(q, k, v, cu, None)


@mistake(
    PACKED,
    "window-to-each-side",
    caught_by="window",
    loses=3.5,
    misconception="Your window reaches `window` tokens to each side. It is window // 2.",
)
def _(q, k, v, cu, window):
    return _looped(q, k, v, cu, window, side=lambda window: window)


@mistake(
    PACKED,
    "one-too-few",
    caught_by="window",
    loses=3.5,
    misconception="Your window is one token too short on each side.",
)
def _(q, k, v, cu, window):
    return _looped(q, k, v, cu, window, side=lambda window: max(window // 2 - 1, 0))


@mistake(
    PACKED,
    "back-only",
    caught_by="window",
    loses=4.5,
    misconception="With a window you look back only. An encoder looks to both sides.",
)
def _(q, k, v, cu, window):
    if window is None:
        return _looped(q, k, v, cu, None)
    out = torch.zeros_like(q)
    for start, stop in zip(cu.tolist(), cu.tolist()[1:]):
        for first in range(start, stop, 256):
            last, low = min(first + 256, stop), max(first - window // 2, start)
            gaps = torch.arange(first, last)[:, None] - torch.arange(low, last)
            out[:, first:last] = scaled_dot_product_attention(
                q[:, first:last],
                k[:, low:last],
                v[:, low:last],
                attn_mask=(gaps >= 0) & (gaps <= window // 2),
            )
    return out


@mistake(
    PACKED,
    "pieces-of-the-window",
    caught_by="window",
    loses=3.5,
    misconception=(
        "You cut a text into pieces and let each token see its piece. The window moves along with"
        " the token."
    ),
)
def _(q, k, v, cu, window):
    if window is None:
        return _looped(q, k, v, cu, None)
    size = max(window, 1)
    pieces = [
        (first, min(first + size, stop))
        for start, stop in zip(cu.tolist(), cu.tolist()[1:])
        for first in range(start, stop, size)
    ]
    return _looped(q, k, v, cu, None, bounds=pieces)


@mistake(
    PACKED,
    "empty-is-nan",
    caught_by="empty",
    loses=1,
    misconception="Your function fails, or gives NaN, where a text is empty.",
)
def _(q, k, v, cu, window):
    texts = torch.split(torch.arange(q.shape[1]), cu.diff().tolist())
    assert all(len(text) for text in texts)
    return _looped(q, k, v, cu, window)


@mistake(
    PACKED,
    "nothing-to-join",
    caught_by="empty",
    loses=1,
    misconception=(
        "Without any token your function has nothing to put together, and fails. The result has"
        " shape (H, 0, D)."
    ),
)
def _(q, k, v, cu, window):
    made = [
        _looped(q, k, v, cu, window, bounds=[pair])[:, slice(*pair)]
        for pair in zip(cu.tolist(), cu.tolist()[1:])
        if pair[0] < pair[1]
    ]
    return torch.stack([torch.cat(made, 1)])[0]


@mistake(
    PACKED,
    "last-text-lost",
    caught_by="one",
    loses=8,
    misconception="You leave out the last text: its end is the last number of `cu_seqlens`.",
)
def _(q, k, v, cu, window):
    return _looped(q, k, v, cu[:-1], window)


@mistake(
    PACKED,
    "not-scaled",
    caught_by="one",
    loses=8,
    misconception="You do not divide the scores by the root of D.",
)
def _(q, k, v, cu, window):
    return _looped(q, k, v, cu, window, scale=1.0)


@mistake(
    PACKED,
    "scaled-by-n",
    caught_by="one",
    loses=8,
    misconception="You divide scores by D, not by its root.",
)
def _(q, k, v, cu, window):
    return _looped(q, k, v, cu, window, scale=1 / q.shape[2])


@mistake(
    PACKED,
    "longest-first",
    caught_by="apart",
    loses=7,
    misconception=(
        "Your texts come back in another order, the longest first. Each stays where it was."
    ),
)
def _(q, k, v, cu, window):
    out = _looped(q, k, v, cu, window)
    pairs = sorted(zip(cu.tolist(), cu.tolist()[1:]), key=lambda pair: pair[0] - pair[1])
    return torch.cat([out[:, start:stop] for start, stop in pairs], 1)


@mistake(
    PACKED,
    "causal",
    caught_by="one",
    loses=8,
    misconception="You look back only. An encoder looks to both sides.",
)
def _(q, k, v, cu, window):
    out = torch.zeros_like(q)
    for start, stop in zip(cu.tolist(), cu.tolist()[1:]):
        if stop > start:
            out[:, start:stop] = scaled_dot_product_attention(
                *(one[:, start:stop] for one in (q, k, v)), is_causal=True
            )
    return out


@mistake(
    PACKED,
    "no-softmax-in-one-step",
    caught_by="one",
    loses=8,
    misconception="Your softmax overflows where scores are large.",
)
def _(q, k, v, cu, window):
    if not q.shape[1]:
        return torch.zeros_like(q)
    weights = (q @ k.mT / q.shape[2] ** 0.5).exp() * _tables(q, cu, window)
    return weights @ v / weights.sum(2, keepdim=True)


@mistake(
    PACKED,
    "lowered-by-a-thousand",
    caught_by="apart",
    loses=7,
    misconception=(
        "You lower the scores of other texts by a number. Where scores are large, they show: set"
        " them to minus infinity."
    ),
)
def _(q, k, v, cu, window):
    if not q.shape[1]:
        return torch.zeros_like(q)
    return (q @ k.mT / q.shape[2] ** 0.5 - 1000.0 * ~_tables(q, cu, window)).softmax(2) @ v


@mistake(
    PACKED,
    "hidden-is-zero",
    caught_by="apart",
    loses=7,
    misconception=(
        "You set what is hidden to 0 before the softmax. Then it has a weight: minus infinity has"
        " none."
    ),
)
def _(q, k, v, cu, window):
    if not q.shape[1]:
        return torch.zeros_like(q)
    return (q @ k.mT / q.shape[2] ** 0.5 * _tables(q, cu, window)).softmax(2) @ v


@mistake(
    PACKED,
    "hidden-after-the-softmax",
    caught_by="apart",
    loses=7,
    misconception=(
        "You hide after the softmax: then the weights of what is seen do not add up to 1."
    ),
)
def _(q, k, v, cu, window):
    if not q.shape[1]:
        return torch.zeros_like(q)
    return ((q @ k.mT / q.shape[2] ** 0.5).softmax(2) * _tables(q, cu, window)) @ v


@mistake(
    PACKED,
    "filled-with-ten-thousand",
    caught_by="apart",
    loses=7,
    misconception=(
        "You set what is hidden to -10,000. Scores may be as low: minus infinity is lower than all."
    ),
)
def _(q, k, v, cu, window):
    if not q.shape[1]:
        return torch.zeros_like(q)
    return (q @ k.mT / q.shape[2] ** 0.5).masked_fill(~_tables(q, cu, window), -10_000.0).softmax(
        2
    ) @ v
