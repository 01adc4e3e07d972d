"""What a model can't take, refused before it becomes a wrong number: each error names both sides and the remedy.

torch broadcasts a mask of the wrong shape in silence, takes a float mask where a Boolean was meant, and reports an id
past the vocabulary as "index out of range in self".
"""
import torch
from torch import Tensor


class ModelInputError(ValueError):
    """Ids, a mask or a length that the model can't take."""


def check_ids(ids: Tensor, vocab_size: int, max_positions: int | None = None, start: int = 0) -> None:
    """Refuse ids (B, T) that are not whole numbers of [0, vocab_size), or longer than the positions there are.

    `start` is how many tokens came before, in a cache. Values are looked at on the CPU only: on a GPU the look would
    wait for everything that is queued.
    """
    if ids.ndim != 2:
        raise ModelInputError(f"ids have shape {tuple(ids.shape)}: give (B, T), one row a sequence; "
                              "ids[None] makes one")
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise ModelInputError(f"ids are {ids.dtype}: give whole numbers, torch.long")
    if max_positions is not None and start + ids.shape[1] > max_positions:
        raise ModelInputError(f"{start + ids.shape[1]} tokens but {max_positions} positions: truncate the text, "
                              "or make the model with a larger max_position_embeddings")
    if ids.device.type == "cpu" and ids.numel():
        low, high = (int(bound) for bound in ids.aminmax())
        if low < 0 or high >= vocab_size:
            raise ModelInputError(f"id {low if low < 0 else high} but a vocabulary of {vocab_size}: were these ids "
                                  "made with another model's tokenizer?")


def check_mask(mask: Tensor | None, shape: tuple[int, ...]) -> None:
    """Refuse a mask of tokens that is not Boolean or not of the shape of the ids. None is well: every token is real."""
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise ModelInputError(f"the mask is {mask.dtype}: give torch.bool, True where there is a token; "
                              "a mask of 0 and 1 becomes one by mask.bool()")
    if tuple(mask.shape) != tuple(shape):
        raise ModelInputError(f"the mask has shape {tuple(mask.shape)} but the ids {tuple(shape)}: "
                              "one entry for each token")


def check_heads(hidden_size: int, num_heads: int, num_kv_heads: int) -> None:
    """Refuse heads that don't divide: the width by the heads, the heads by those of keys and values."""
    if hidden_size % num_heads:
        raise ModelInputError(f"hidden_size {hidden_size} is not a multiple of num_heads {num_heads}")
    if num_heads % num_kv_heads:
        raise ModelInputError(f"num_heads {num_heads} is not a multiple of num_kv_heads {num_kv_heads}: "
                              "each key head serves the same number of query heads")
