"""What a model can't take, refused before it becomes a wrong number: each error names
both sides and the remedy.

torch broadcasts a mask of the wrong shape in silence, takes a float mask where a
Boolean was meant, and reports an id past the vocabulary as "index out of range in
self".
"""

from collections.abc import Sequence

import torch
from torch import Tensor


class ModelInputError(ValueError):
    """Ids, a mask or a length that the model can't take."""


def _check_whole(numbers: Tensor, what: str) -> None:
    if not isinstance(numbers, Tensor):
        raise ModelInputError(
            f"{what} are a {type(numbers).__name__}: give a tensor of whole numbers,"
            " torch.long"
        )
    if (
        numbers.is_floating_point()
        or numbers.is_complex()
        or numbers.dtype == torch.bool
    ):
        raise ModelInputError(
            f"{what} are {numbers.dtype}: give whole numbers, torch.long"
        )


def _outside(numbers: Tensor, bound: int) -> int | None:
    """A number outside [0, bound).

    Looked for on the CPU only: a GPU would be waited for until its queue is empty.
    """
    if numbers.device.type != "cpu" or not numbers.numel():
        return None
    low, high = (int(number) for number in numbers.aminmax())
    return low if low < 0 else high if high >= bound else None


def _check_shape(what: str, given: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(given.shape) != tuple(shape):
        raise ModelInputError(
            f"{what} shape {tuple(given.shape)} but the ids {tuple(shape)}: one entry"
            " for each token"
        )


def check_ids(
    ids: Tensor, vocab_size: int, max_positions: int | None = None, start: int = 0
) -> None:
    """Refuse ids (B, T) that are not whole numbers of [0, vocab_size), none at all, or
    longer than the positions.

    `start` is how many tokens came before, in a cache.
    """
    _check_whole(ids, "ids")
    if ids.ndim != 2:
        raise ModelInputError(
            f"ids have shape {tuple(ids.shape)}: give (B, T), one row a sequence; "
            "ids[None] makes one"
        )
    if not ids.numel():
        raise ModelInputError(
            f"ids have shape {tuple(ids.shape)}: there is no token; give one row or"
            " more, of one token or more"
        )
    if max_positions is not None and start + ids.shape[1] > max_positions:
        raise ModelInputError(
            f"{start + ids.shape[1]} tokens but {max_positions} positions: truncate the"
            " text, or make the model with a larger max_position_embeddings"
        )
    if (wrong := _outside(ids, vocab_size)) is not None:
        raise ModelInputError(
            f"id {wrong} but a vocabulary of {vocab_size}: were these ids made with"
            " another model's tokenizer?"
        )


def check_segments(segments: Tensor, shape: tuple[int, ...], num_segments: int) -> None:
    """Refuse segments that are not one whole number of [0, num_segments) for
    each id.
    """
    _check_whole(segments, "segments")
    _check_shape("segments have", segments, shape)
    if (wrong := _outside(segments, num_segments)) is not None:
        raise ModelInputError(
            f"segment {wrong} but {num_segments} kinds of segments: give 0 for the"
            " first sentence, 1 for the second"
        )


def check_positions(positions: Tensor | None, shape: tuple[int, ...]) -> None:
    """Refuse positions that are not one whole number of 0 or more for each id.

    None is well: they count from 0.
    """
    if positions is None:
        return
    _check_whole(positions, "positions")
    _check_shape("positions have", positions, shape)
    if (wrong := _outside(positions, 2**62)) is not None:
        raise ModelInputError(
            f"position {wrong}: positions count from 0; that of padding may be any"
        )


def check_memory(target: Tensor, memory: Tensor) -> None:
    """Refuse targets that are not one row for each source that was read: torch would
    repeat a single source.
    """
    if len(target) != len(memory):
        raise ModelInputError(
            f"{len(target)} targets but {len(memory)} sources: give one row of each"
        )


def check_choices(ids: Tensor) -> None:
    """Refuse what is not N rows for each of B texts."""
    if not isinstance(ids, Tensor) or ids.ndim != 3:
        given = (
            f"shape {tuple(ids.shape)}"
            if isinstance(ids, Tensor)
            else f"a {type(ids).__name__}"
        )
        raise ModelInputError(f"ids have {given}: give (B, N, T), N rows for each text")


def check_mask(mask: Tensor | None, shape: tuple[int, ...]) -> None:
    """Refuse a mask of tokens that is not Boolean or not of the shape of the ids.

    None is well: every token is real.
    """
    if mask is None:
        return
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise ModelInputError(
            "the mask is"
            f" {mask.dtype if isinstance(mask, Tensor) else type(mask).__name__}: give"
            " torch.bool, True where there is a token; a mask of 0 and 1 becomes one"
            " by mask.bool()"
        )
    _check_shape("the mask has", mask, shape)


def check_decoding(
    ids: Tensor,
    mask: Tensor | None,
    positions: Tensor | None,
    cache: Sequence | None,
    config,
) -> int:
    """Refuse what a decoder can't take, and return how many tokens came before, in its
    cache.

    The mask is for all tokens so far. Positions that are given lift the limit on the
    width of `ids`.
    """
    if cache is not None and len(cache) not in (0, config.num_layers):
        raise ModelInputError(
            f"a cache of {len(cache)} layers for a model of {config.num_layers}: give"
            " one a layer"
        )
    start = cache[0].length if cache else 0
    check_ids(
        ids,
        config.vocab_size,
        config.max_position_embeddings if positions is None else None,
        start,
    )
    check_mask(mask, (ids.shape[0], start + ids.shape[1]))
    check_positions(positions, ids.shape)
    return start


def check_heads(hidden_size: int, num_heads: int, num_kv_heads: int) -> None:
    """Refuse heads that don't divide: the width by the heads, the heads by those of
    keys and values.
    """
    if hidden_size % num_heads:
        raise ModelInputError(
            f"hidden_size {hidden_size} is not a multiple of num_heads {num_heads}"
        )
    if num_heads % num_kv_heads:
        raise ModelInputError(
            f"num_heads {num_heads} is not a multiple of num_kv_heads {num_kv_heads}: "
            "each key head serves the same number of query heads"
        )
