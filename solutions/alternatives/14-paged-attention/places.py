"""Differently written correct solutions of chapter 14, part 1."""

import math

import torch

from autograder.checks.mistakes.registry import alternative


@alternative("14.predict_pool", "block-by-block")
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    per_token = bits * head_dim * kv_heads * layers * 2 // 8
    reserved = [(n + block_size - 1) // block_size * block_size for n in lengths]
    unused = sum(have - n for have, n in zip(reserved, lengths))
    return dict(
        empty=unused / max(sum(reserved), 1),
        paged=sum(reserved) * per_token,
        contiguous=sum(room for _ in lengths) * per_token,
        token=per_token,
    )


@alternative("14.predict_pool", "ceil")
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    numbers = kv_heads * head_dim
    token = (numbers + numbers) * layers * bits // 8
    blocks = sum(math.ceil(n / block_size) for n in lengths)
    if not blocks:
        return {"token": token, "contiguous": room * len(lengths) * token, "paged": 0, "empty": 0.0}
    return {
        "token": token,
        "contiguous": room * len(lengths) * token,
        "paged": blocks * block_size * token,
        "empty": 1.0 - sum(lengths) / (blocks * block_size),
    }


@alternative("14.slots", "all-places-then-cut")
def _(table, first, count, block_size):
    every = (table[:, None] * block_size + torch.arange(block_size)).flatten()
    return every[first : first + count].clone()


@alternative("14.slots", "token-by-token")
def _(table, first, count, block_size):
    places = []
    for token in range(first, first + count):
        entry, offset = divmod(token, block_size)
        places.append(table[entry].item() * block_size + offset)
    return torch.tensor(places)
