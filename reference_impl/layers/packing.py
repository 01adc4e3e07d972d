"""Packing: sequences laid end to end, so that no work is spent on padding.

Warner et al. 2024, section 2.1.2 (ModernBERT's unpadding); Krell et al. 2021, section 3
(packing without cross-contamination). The tokens of all sequences make one row of N, B
= 1, and `cu_seqlens` says where each begins: lengths 3, 0, 2 are cu_seqlens 0, 3, 3, 5.
What treats each token alone (norms, feed-forward, projections) needs to know no more.
Positions restart at each sequence, and attention stays inside it.

A model that can do so takes a `Packing`, which says who may see whom, in the place of a
mask.

Not here: padding that stays between parts of a batch on several devices; kernels (see
`kernels`). Where none of ours runs, there is one call of torch's fused operator for
each sequence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from reference_impl.kernels.selection import runs_ours
from reference_impl.layers.checks import ModelInputError, check_ids, check_mask
from reference_impl.layers.masks import causal_mask, join, window_mask


def sequence_bounds(cu_seqlens: Tensor, num_tokens: int) -> list[int]:
    """cu_seqlens as numbers, refused unless int32, from 0 to num_tokens, and never
    going down.
    """
    if cu_seqlens.dtype != torch.int32 or cu_seqlens.ndim != 1:
        raise ModelInputError(
            f"cu_seqlens is {cu_seqlens.dtype} of shape {tuple(cu_seqlens.shape)}: give"
            " one row of torch.int32, one more than there are sequences"
        )
    bounds = cu_seqlens.tolist()
    if not bounds or bounds[0] != 0:
        raise ModelInputError(
            f"cu_seqlens starts with {bounds[:1]}: the first sequence starts at token 0"
        )
    for start, stop in zip(bounds, bounds[1:], strict=False):
        if stop < start:
            raise ModelInputError(
                f"cu_seqlens goes down from {start} to {stop}: it is the running sum of"
                " the lengths"
            )
    if bounds[-1] != num_tokens:
        raise ModelInputError(
            f"cu_seqlens ends with {bounds[-1]} but there are {num_tokens} tokens: "
            "the last sequence ends with the last token"
        )
    return bounds


@dataclass(frozen=True)
class Packing:
    """Where each of P - 1 sequences begins and ends among N tokens, and how far a token
    may look inside its own.
    """

    cu_seqlens: Int[Tensor, "P"]
    max_seqlen: int
    positions: Int[Tensor, "N"]  # restart at 0 in each sequence
    window: tuple[int, int] | None = (
        # tokens before and after itself that a query sees; None: all of its sequence
        None
    )

    @classmethod
    def of(cls, cu_seqlens: Int[Tensor, "P"]) -> "Packing":
        """From the bounds alone."""
        bounds = sequence_bounds(
            cu_seqlens, int(cu_seqlens[-1]) if len(cu_seqlens) else 0
        )
        lengths = cu_seqlens.diff().long()  # (P - 1,)
        starts = cu_seqlens[:-1].long().repeat_interleave(lengths)  # (N,)
        positions = torch.arange(bounds[-1], device=cu_seqlens.device) - starts
        return cls(
            cu_seqlens, max((int(length) for length in lengths), default=0), positions
        )

    def within(self, before: int, after: int) -> "Packing":
        """The same sequences, each query seeing no further than this."""
        return replace(self, window=(before, after))

    def first_tokens(self, x: Float[Tensor, "1 N C"]) -> Float[Tensor, "p 1 C"]:
        """The vector of each sequence's first token, which poolers read: a batch of
        sequences of one token.
        """
        if bool((self.cu_seqlens.diff() == 0).any()):
            raise ModelInputError(
                "an empty sequence has no first token to pool: leave empty ones out, "
                "or make the model without its pooler"
            )
        return x[0, self.cu_seqlens[:-1].long(), None]


def check_tokens(
    ids: Tensor,
    mask: Tensor | None,
    packing: Packing | None,
    vocab_size: int,
    max_positions: int,
) -> None:
    """Refuse ids that the model can't take, padded with a mask or packed; see `checks`.

    Each sequence has a length.
    """
    check_ids(ids, vocab_size, max_positions if packing is None else None)
    if packing is None:
        check_mask(mask, ids.shape)
        return
    if mask is not None:
        raise ModelInputError(
            "a mask and a packing: packed sequences have no padding; give one of"
            " the two"
        )
    if tuple(ids.shape) != (1, len(packing.positions)):
        raise ModelInputError(
            f"ids have shape {tuple(ids.shape)} but the packing is of"
            f" {len(packing.positions)} tokens: give ids (1, {len(packing.positions)}),"
            " all sequences in one row"
        )
    if packing.max_seqlen > max_positions:
        raise ModelInputError(
            f"a sequence of {packing.max_seqlen} tokens but {max_positions} positions:"
            " truncate it"
        )


class Unpadded(NamedTuple):
    """N tokens of a batch end to end, and where each sequence lies."""

    tokens: Shaped[Tensor, "N ..."]
    packing: Packing


def unpad(batch: Shaped[Tensor, "B T ..."], mask: Bool[Tensor, "B T"]) -> Unpadded:
    """Take the entries where the mask is True, row after row: ids (B, T) to (N,),
    vectors (B, T, C) to (N, C).
    """
    check_mask(mask, batch.shape[:2])
    lengths = mask.sum(1, dtype=torch.int32)  # (B,)
    cu_seqlens = torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
    return Unpadded(batch[mask], Packing.of(cu_seqlens))


def pad(
    tokens: Shaped[Tensor, "N ..."], mask: Bool[Tensor, "B T"], value: float | int = 0
) -> Shaped[Tensor, "B T ..."]:
    """Put tokens back where the mask is True and `value` elsewhere: what `unpad` took
    apart.
    """
    if int(mask.sum()) != len(tokens):
        raise ModelInputError(
            f"{len(tokens)} tokens but a mask with room for {int(mask.sum())}: "
            "give the mask that `unpad` was given"
        )
    batch = tokens.new_full((*mask.shape, *tokens.shape[1:]), value)
    return batch.masked_scatter(
        mask.view(*mask.shape, *[1] * (tokens.ndim - 1)), tokens
    )


def packed_attention(
    q: Float[Tensor, "1 H N D"],
    k: Float[Tensor, "1 K N D"],
    v: Float[Tensor, "1 K N D"],
    cu_seqlens: Int[Tensor, "P"],
    *,
    window: tuple[int, int] | None = None,
    causal: bool = False,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "1 H N D"]:
    """Attention inside each sequence alone.

    `window` is how many tokens before and after itself a query sees.

    By our kernel for sequences of varied length where `kernels.selection` says so. It
    has no window of both sides.
    """
    bounds = sequence_bounds(cu_seqlens, q.shape[2])
    if (window is None or causal) and not dropout and runs_ours("packed_attention", q):
        from reference_impl.kernels.flash_attention import (
            flash_attention_varlen,
        )  # Triton takes a while to import

        longest = max(
            (stop - start for start, stop in zip(bounds, bounds[1:], strict=False)),
            default=0,
        )
        packed = (x[0].transpose(0, 1) for x in (q, k, v))  # (N, heads, D)
        out = flash_attention_varlen(
            *packed,
            cu_seqlens,
            cu_seqlens,
            max_seqlens=(longest, longest),
            causal=causal,
            window=None if window is None else window[0] + 1,
            scale=scale,
        )
        return out.transpose(0, 1)[None]
    lengths = [stop - start for start, stop in zip(bounds, bounds[1:], strict=False)]
    mixed, masks = [], {}
    # One split for all sequences, not a slice for each: a slice's gradient is as large
    # as the whole row.
    for length, *parts in zip(
        lengths, *(x.split(lengths, dim=2) for x in (q, k, v)), strict=True
    ):
        if length == 0:
            continue
        mask = None
        if window is not None and length > 1 + min(
            window
        ):  # a shorter sequence lies inside the window
            if length not in masks:
                masks[length] = join(
                    window_mask(
                        length, before=window[0], after=window[1], device=q.device
                    ),
                    causal_mask(length, device=q.device) if causal else None,
                )
            mask = masks[length]  # (length, length)
        mixed.append(
            scaled_dot_product_attention(
                *parts,
                attn_mask=mask,
                dropout_p=dropout,
                is_causal=causal and mask is None,
                scale=scale,
                enable_gqa=q.shape[1] != k.shape[1],
            )
        )
    return torch.cat(mixed, dim=2) if mixed else q


class PackedRow(NamedTuple):
    """Which sequences lie in one row, in their order there, and its bounds."""

    sequences: list[int]
    cu_seqlens: Int[Tensor, "P"]


def pack_rows(lengths: Sequence[int], budget: int) -> list[PackedRow]:
    """Put sequences into rows of at most `budget` tokens: the longest first, each into
    the first row with room.

    First-fit decreasing needs at most 11/9 of the fewest rows and a constant (Johnson
    et al. 1974).
    """
    if lengths and max(lengths) > budget:
        raise ModelInputError(
            f"a sequence of {max(lengths)} tokens but rows of {budget}: cut it, or make"
            " rows longer"
        )
    rows: list[list[int]] = []
    room: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        row = next(
            (row for row, left in enumerate(room) if left >= lengths[i]), len(rows)
        )
        if row == len(rows):
            rows.append([])
            room.append(budget)
        rows[row].append(i)
        room[row] -= lengths[i]
    ends = [
        torch.tensor([0] + [lengths[i] for i in row]).cumsum(0, dtype=torch.int32)
        for row in rows
    ]
    return [PackedRow(row, end) for row, end in zip(rows, ends, strict=True)]
