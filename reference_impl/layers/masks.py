"""Which key a query may see: a Boolean tensor, True where it may.

Masks are made small, (B, 1, 1, S) or (T, S), and joined by `&`, which broadcasts them
to (B, 1, T, S): all heads share one mask. What a Boolean can't say (ALiBi, T5's bias)
is a float that is added to the scores: see `positions`, `relative`.

Vaswani et al. 2017, section 3.2.3 (causal); Beltagy et al. 2020, section 3.1, and Jiang
et al. 2023 (window).
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from reference_impl.layers.checks import ModelInputError


def lengths_mask(
    lengths: Int[Tensor, "B"], num_tokens: int | None = None
) -> Bool[Tensor, "B T"]:
    """True for the first lengths[b] tokens of row b, False for the padding
    after them.
    """
    longest = int(lengths.max())
    num_tokens = longest if num_tokens is None else num_tokens
    if longest > num_tokens:
        raise ModelInputError(
            f"a sequence of {longest} tokens in a mask for {num_tokens}: make the mask"
            " longer"
        )
    return torch.arange(num_tokens, device=lengths.device) < lengths[:, None]


def key_mask(tokens: Bool[Tensor, "B S"] | None) -> Bool[Tensor, "B 1 1 S"] | None:
    """Every query sees the real tokens of its sequence and no padding; None: there is
    none.

    A query that is padding itself sees them too: its result is never read, and every
    row keeps a key.
    """
    return None if tokens is None else tokens[:, None, None, :]


def _distance(
    num_queries: int, num_keys: int, device: torch.device | None
) -> Int[Tensor, "T S"]:
    """Position of the key less that of the query; the queries are the last
    `num_queries` of the keys.
    """
    if num_queries > num_keys:
        raise ModelInputError(
            f"{num_queries} queries but {num_keys} keys: queries are the last tokens of"
            " the keys"
        )
    queries = torch.arange(num_keys - num_queries, num_keys, device=device)  # (T,)
    return torch.arange(num_keys, device=device) - queries[:, None]  # (T, S)


def causal_mask(
    num_queries: int, num_keys: int | None = None, device: torch.device | None = None
) -> Bool[Tensor, "T S"]:
    """A query sees itself and what came before.

    With a cache there are more keys: the queries come last.
    """
    return (
        _distance(num_queries, num_queries if num_keys is None else num_keys, device)
        <= 0
    )


def window_mask(
    num_queries: int,
    num_keys: int | None = None,
    *,
    before: int,
    after: int = 0,
    device: torch.device | None = None,
) -> Bool[Tensor, "T S"]:
    """A query sees `before` tokens before itself, itself, and `after` tokens after.

    Mistral's sliding window of W is before=W-1, after=0; ModernBERT's local attention
    of W is W//2 to both sides.
    """
    if before < 0 or after < 0:
        raise ModelInputError(
            f"a window of {before} before and {after} after: give zero or more"
        )
    distance = _distance(
        num_queries, num_queries if num_keys is None else num_keys, device
    )
    return (distance >= -before) & (distance <= after)


def sliding_mask(
    num_queries: int,
    num_keys: int,
    window: int | None,
    device: torch.device | None = None,
) -> Bool[Tensor, "T S"] | None:
    """Mistral: a token sees itself and the window - 1 before.

    None while all of them are in sight, or without a window.
    """
    if window is None or num_keys <= window:
        return None
    return window_mask(num_queries, num_keys, before=window - 1, device=device)


def join(*masks: Bool[Tensor, "..."] | None) -> Bool[Tensor, "..."] | None:
    """True where every mask is; a None forbids nothing; None if all are None."""
    given = [mask for mask in masks if mask is not None]
    joined = given[0] if given else None
    for mask in given[1:]:
        joined = joined & mask
    return joined
