"""What a KV cache holds: bytes a token, and how much of what is reserved stays empty.

Shazeer 2019, section 2.4.1, and Ainslie et al. 2023 (fewer heads of keys and values);
DeepSeek-AI 2024 (V2), table 1 (latents); Kwon et al. 2023, section 3.1 (what contiguous
reservation wastes) and 4.1 (blocks).

Not here: the cache itself (see `generation` and `engine`), bytes of block tables.
"""

from collections.abc import Sequence

import torch

from reference_impl.layers.checks import ModelInputError


def bytes_per_token(
    num_layers: int, num_kv_heads: int, head_dim: int, dtype: torch.dtype
) -> int:
    """A key and a value in every layer and head of keys."""
    return 2 * num_layers * num_kv_heads * head_dim * dtype.itemsize


def latent_bytes_per_token(
    num_layers: int, rank: int, rotary_dim: int, dtype: torch.dtype
) -> int:
    """A latent and a rotated key in every layer, whatever the number of heads."""
    return num_layers * (rank + rotary_dim) * dtype.itemsize


def reserved_contiguous(lengths: Sequence[int], reserved: int) -> int:
    """Token places taken when every sequence is given room for the longest that it
    might become.
    """
    if lengths and max(lengths) > reserved:
        raise ModelInputError(
            f"a sequence of {max(lengths)} tokens but room for {reserved}: reserve more"
        )
    return len(lengths) * reserved


def reserved_blocks(lengths: Sequence[int], block_size: int) -> int:
    """Token places taken when a sequence is given a block of `block_size` each time its
    last one is full.
    """
    if block_size < 1:
        raise ModelInputError(f"blocks of {block_size} tokens: give one or more")
    return sum(-(-length // block_size) * block_size for length in lengths)


def waste(lengths: Sequence[int], reserved: int) -> float:
    """The share of `reserved` token places that holds no token."""
    if sum(lengths) > reserved:
        raise ModelInputError(
            f"{sum(lengths)} tokens in {reserved} places: these are not what was"
            " reserved for them"
        )
    return 1 - sum(lengths) / reserved if reserved else 0.0
