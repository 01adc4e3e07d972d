"""Plausible wrong solutions of chapter 14, part 1."""

import math

import torch

from autograder.checks.mistakes.registry import mistake

POOL, SLOTS = "14.predict_pool", "14.slots"


def counted(
    lengths,
    block_size,
    room,
    layers,
    heads,
    kv_heads,
    head_dim,
    bits,
    token=None,
    blocks=None,
    rooms=None,
    empty=None,
):
    """The right numbers, with one thing or another in another way."""
    kept = 2 * layers * kv_heads * head_dim * bits // 8 if token is None else token
    places = block_size * (
        sum(math.ceil(length / block_size) for length in lengths) if blocks is None else blocks
    )
    return {
        "token": kept,
        "contiguous": kept * (room * len(lengths) if rooms is None else rooms),
        "paged": kept * places,
        "empty": (
            ((1 - sum(lengths) / places) if places else 0.0) if empty is None else empty(places)
        ),
    }


@mistake(
    POOL,
    "keys-only",
    caught_by="token",
    loses=3,
    misconception="You count the keys and forget the values.",
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        token=layers * kv_heads * head_dim * bits // 8,
    )


@mistake(
    POOL,
    "query-heads",
    caught_by="token",
    loses=3,
    misconception=(
        "You count the heads of the queries. Kept are keys and values, which have `kv_heads`."
    ),
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        token=2 * layers * heads * head_dim * bits // 8,
    )


@mistake(
    POOL,
    "one-layer",
    caught_by="token",
    loses=3,
    misconception="You count one layer. Each layer has keys and values of its own.",
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        token=2 * kv_heads * head_dim * bits // 8,
    )


@mistake(
    POOL,
    "bits-for-bytes",
    caught_by="token",
    loses=3,
    misconception="You count bits. Eight of them are a byte.",
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        token=2 * layers * kv_heads * head_dim * bits,
    )


@mistake(
    POOL,
    "blocks-rounded-down",
    caught_by="paged",
    loses=2.5,
    misconception="You round the number of blocks down.",
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        blocks=sum(length // block_size for length in lengths),
    )


@mistake(
    POOL,
    "one-block-too-many",
    caught_by="paged",
    loses=2.5,
    misconception=(
        "You take length // block_size + 1 blocks: one too many where the length is a multiple of"
        " the size."
    ),
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        blocks=sum(length // block_size + 1 for length in lengths),
    )


@mistake(
    POOL,
    "all-tokens-in-one-row",
    caught_by="paged",
    loses=2.5,
    misconception=(
        "You put the tokens of all sequences into one row of blocks. Each sequence has blocks of"
        " its own."
    ),
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        blocks=-(-sum(lengths) // block_size),
    )


@mistake(
    POOL,
    "at-least-one-block",
    caught_by="paged",
    loses=2.5,
    misconception="You give a block to a sequence with no token.",
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        blocks=sum(max(-(-length // block_size), 1) for length in lengths),
    )


@mistake(
    POOL,
    "rooms-of-the-longest",
    caught_by="contiguous",
    loses=0.5,
    misconception=(
        "You reserve the length of the longest sequence for each. Reserved is `room`: nobody knows"
        " the lengths beforehand."
    ),
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        rooms=len(lengths) * max(lengths, default=0),
    )


@mistake(
    POOL,
    "waste-over-used",
    caught_by="empty",
    loses=1,
    misconception=(
        "You divide the empty slots by those that are used. It is their fraction of all slots."
    ),
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        empty=lambda places: (places - sum(lengths)) / sum(lengths) if sum(lengths) else 0.0,
    )


@mistake(
    POOL,
    "share-that-is-used",
    caught_by="empty",
    loses=1,
    misconception="You return the fraction of the slots that is used. The empty one is asked for.",
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        empty=lambda places: sum(lengths) / places if places else 0.0,
    )


@mistake(
    POOL,
    "empty-of-the-rooms",
    caught_by="empty",
    loses=1,
    misconception="You give what is empty in the rooms. It is asked of the blocks.",
)
def _(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
    return counted(
        lengths,
        block_size,
        room,
        layers,
        heads,
        kv_heads,
        head_dim,
        bits,
        empty=lambda places: 1 - sum(lengths) / (room * len(lengths)) if lengths else 0.0,
    )


@mistake(
    SLOTS,
    "block-for-place",
    caught_by="inside",
    loses=4,
    misconception=(
        "You add the offset to the block's number. A block begins at its number times `block_size`."
    ),
)
def _(table, first, count, block_size):
    tokens = torch.arange(first, first + count)
    return table[tokens // block_size] + tokens % block_size


@mistake(
    SLOTS,
    "no-table",
    caught_by="inside",
    loses=4,
    misconception="You leave the table out: a sequence's blocks need not be the first ones.",
)
def _(table, first, count, block_size):
    return torch.arange(first, first + count)


@mistake(
    SLOTS,
    "first-block-only",
    caught_by="across",
    loses=3,
    misconception=(
        "You let the tokens run on behind the first block. The next block may lie anywhere."
    ),
)
def _(table, first, count, block_size):
    return table[first // block_size] * block_size + first % block_size + torch.arange(count)


@mistake(
    SLOTS,
    "offset-counted-from-first",
    caught_by="from the middle",
    loses=1.5,
    misconception="You count the offset from `first`. It is that of the token in the sequence.",
)
def _(table, first, count, block_size):
    return (
        table[torch.arange(first, first + count) // block_size] * block_size
        + torch.arange(count) % block_size
    )


@mistake(
    SLOTS,
    "entry-counted-from-first",
    caught_by="from the middle",
    loses=1.5,
    misconception="You take the first entry of the table for token `first`.",
)
def _(table, first, count, block_size):
    return (
        table[torch.arange(count) // block_size] * block_size
        + torch.arange(first, first + count) % block_size
    )


@mistake(
    SLOTS,
    "first-forgotten",
    caught_by="from the middle",
    loses=1.5,
    misconception="You begin with token 0, whatever `first` is.",
)
def _(table, first, count, block_size):
    return table[torch.arange(count) // block_size] * block_size + torch.arange(count) % block_size


@mistake(
    SLOTS,
    "counted-from-one",
    caught_by="inside",
    loses=4,
    misconception="You count tokens from 1. The first one is token 0.",
)
def _(table, first, count, block_size):
    tokens = torch.arange(first + 1, first + count + 1).clamp(max=len(table) * block_size - 1)
    return table[tokens // block_size] * block_size + tokens % block_size


@mistake(
    SLOTS,
    "up-to-count",
    caught_by="from the middle",
    loses=1.5,
    misconception="You take `count` for the token where it ends. It is how many there are.",
)
def _(table, first, count, block_size):
    tokens = torch.arange(first, max(count, first + 1))
    return table[tokens // block_size] * block_size + tokens % block_size


@mistake(
    SLOTS,
    "thirty-two-bits",
    caught_by="inside",
    loses=2.5,
    misconception="You count in 32 bits. A cache has more slots than that.",
)
def _(table, first, count, block_size):
    tokens = torch.arange(first, first + count)
    return (table[tokens // block_size].int() * block_size + tokens % block_size).long()
