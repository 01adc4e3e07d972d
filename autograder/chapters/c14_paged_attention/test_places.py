"""Checks of chapter 14, part 1: what is reserved, and which place a token has; and the short answer
of part 4.
"""

import torch

from autograder.chapters.c14_paged_attention.withholding import OURS
from autograder.checks.inputs.draws import counts, distinct, look_alikes, one_changed, whole
from autograder.checks.protocol import Sample, exercise, expect, short_answer

BOOK = "14-paged-attention"

pool = exercise(
    "14.predict_pool",
    function="predict_pool",
    points=4,
    kind="predict",
    see=f"{BOOK}/waste#by-hand-four-texts",
    withhold=OURS,
)
HAND = ([8, 4, 11, 1], 4, 16, 30, 9, 3, 64, 16)
SMALL = (
    [8, 4, 11, 1],
    4,
    16,
    3,
    5,
    1,
    7,
    8,
)  # asked first: wrong numbers for it have nothing in common but what is wrong


def reserved(
    lengths: list[int],
    block_size: int,
    room: int,
    layers: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    bits: int,
) -> dict:
    """The right numbers, one block and one place after another."""
    token, blocks = 0, 0
    for _ in range(layers):
        token += kv_heads * head_dim * bits + kv_heads * head_dim * bits
    for length in lengths:
        whole_blocks, rest = divmod(length, block_size)
        blocks += whole_blocks + (rest > 0)
    places = blocks * block_size
    return {
        "token": token // 8,
        "contiguous": len(lengths) * room * (token // 8),
        "paged": places * (token // 8),
        "empty": 1 - sum(lengths) / places if places else 0.0,
    }


def ask_pool(student, key: str, arguments: tuple, cause: str) -> None:
    """Compare one of the four."""
    lengths, block_size, room, *model = arguments
    given = f"{len(lengths)} sequences, blocks of {block_size}, room for {room}, model {model}"
    right = reserved(*arguments)
    came = expect(student.predict_pool(*arguments), given=given).only_keys(right).has(key)
    if key == "empty":
        came.close(right[key], rtol=1e-4, atol=1e-5, cause=cause)
    else:
        came.equals(right[key], cause=cause)


def drawn(rng) -> list[tuple]:
    """Questions: the case by hand, borders, and drawn ones; each number by itself plays its part in
    some.
    """
    room = whole(rng, 40, 90)
    some = (
        counts(rng, 0, room, 9).tolist(),
        whole(rng, 3, 9),
        room,
        whole(rng, 2, 40),
        12,
        whole(rng, 2, 9),
        whole(rng, 3, 128),
        16,
    )
    other = (
        counts(rng, 1, room, 7).tolist(),
        whole(rng, 10, 20),
        room + 7,
        whole(rng, 41, 60),
        24,
        whole(rng, 10, 12),
        whole(rng, 129, 200),
        8,
    )
    borders = [
        ([], 4, 16, 2, 4, 2, 8, 16),
        ([0], 4, 16, 3, 4, 1, 7, 8),
        ([0, 0, 0], 1, 1, 1, 1, 1, 1, 4),
        ([1], 1, 1, 1, 1, 1, 1, 8),
        ([16], 16, 16, 3, 4, 4, 8, 32),
        ([5, 16], 64, 16, 3, 4, 1, 8, 4),
        ([3, 4, 5, 8, 7, 0], 4, 8, 3, 6, 3, 5, 16),
        ([999_999, 1_000_000, 1], 1_000_000, 1_000_000, 1024, 1024, 1024, 1024, 32),
        ([999_983] * 400, 7, 999_983, 1023, 1024, 1021, 1019, 8),
        ([7] * 1000, 16, 2048, 80, 64, 8, 128, 4),
    ]
    return [
        SMALL,
        HAND,
        *borders,
        *one_changed(some, other),
        other,
        *look_alikes(some),
        ([room - length for length in some[0]], *some[1:]),
        ([0] * 8 + [1], *some[1:]),
        ([8, 8, 4, 4], *SMALL[1:]),
        ([9, 3, 11, 1], *SMALL[1:]),
    ]


@pool.stage("token", points=1)
def test_bytes_of_a_token(student, rng):
    for arguments in drawn(rng):
        ask_pool(
            student,
            "token",
            arguments,
            "A token keeps a key **and** a value, for each head of keys and values, `kv_heads` of"
            " them, of `head_dim` numbers, in each layer. Eight bits are a byte.",
        )


@pool.stage("contiguous", points=0.5, after="token")
def test_bytes_of_rooms(student, rng):
    for arguments in drawn(rng):
        ask_pool(
            student,
            "contiguous",
            arguments,
            "Every sequence has `room` slots reserved, whatever its length, and if it is 0.",
        )


@pool.stage("paged", points=1.5, after="token")
def test_bytes_of_blocks(student, rng):
    many = (
        [1_000_000] * 1000,
        1,
        1_000_000,
        1024,
        1024,
        1024,
        1024,
        32,
    )  # 10**9 blocks: counted one by one they take minutes
    for arguments in [*drawn(rng), many]:
        ask_pool(
            student,
            "paged",
            arguments,
            "Each sequence has so many whole blocks as its tokens need: its length over"
            " `block_size`, rounded up, each sequence by itself. A length of 0 needs none. All"
            " slots of a block are reserved.",
        )


@pool.stage("empty", points=1)
def test_what_stays_empty(student, rng):
    for arguments in drawn(rng):
        ask_pool(
            student,
            "empty",
            arguments,
            '`"empty"` is the fraction of the slots in blocks that hold no token: empty slots over'
            " all slots in these blocks, and 0.0 where there is no block.",
        )


slots = exercise(
    "14.slots",
    function="slots",
    points=4,
    see=f"{BOOK}/blocks#by-hand-where-token-9-lies",
    withhold=OURS,
)


def ask_slots(
    student, table: torch.Tensor, first: int, count: int, block_size: int, cause: str
) -> None:
    """Compare the places, token by token."""
    right = [
        int(table[token // block_size]) * block_size + token % block_size
        for token in range(first, first + count)
    ]
    expect(
        student.slots(table, first, count, block_size),
        given=f"a table of {len(table)}, {count} tokens from {first} on, blocks of {block_size}",
    ).equals(torch.tensor(right), cause=cause)


def table_of(rng, number: int, padding: int = 0) -> torch.Tensor:
    """Different blocks in a drawn order, and -1 behind them."""
    return torch.tensor(distinct(rng, number, 3 * number + 4) + [-1] * padding)


@slots.stage("inside", points=1)
def test_places_inside_the_first_block(student, rng):
    rule = (
        "Token t is in the block that entry t // `block_size` of the table names, at offset t %"
        " `block_size`: slot block * `block_size` + offset."
    )
    for size in (1, 2, 16, 300, whole(rng, 3, 9)):
        for block in (0, 1, 7, 2**40, whole(rng, 10, 50)):
            ask_slots(student, torch.tensor([block]), 0, size, size, rule)
            ask_slots(student, torch.tensor([block, 3]), 0, 1, size, rule)


@slots.stage("across", points=1.5)
def test_places_across_blocks(student, rng):
    rule = (
        "The next block of a sequence may lie anywhere: every token asks the table, and blocks come"
        " in the table's order."
    )
    for size, number in (
        (1, 1),
        (1, 9),
        (4, 3),
        (16, 5),
        (5, 300),
        (20, 250),
        (whole(rng, 2, 9), whole(rng, 2, 9)),
    ):
        for padding in (0, 2 if number < 299 else 0):
            table = table_of(rng, number, padding)
            for count in (size * number, size * number - size + 1, max(size * number - 1, 1)):
                ask_slots(student, table, 0, min(count, 5000), size, rule)
    ask_slots(student, torch.tensor([2**40, 2**40 - 1, 0, -1]), 0, 12, 4, rule)


@slots.stage("from the middle", points=1.5)
def test_places_from_the_middle(student, rng):
    rule = (
        "The first token asked for is number `first` of the sequence: it may stand in a later"
        " block, and in the middle of it."
    )
    ask_slots(student, torch.tensor([7, 2, 5]), 9, 1, 4, rule)
    ask_slots(student, torch.tensor([7, 2, 5]), 2, 4, 4, rule)
    for size, number in (
        (1, 6),
        (4, 3),
        (4, 9),
        (16, 4),
        (7, 300),
        (20, 300),
        (whole(rng, 2, 9), whole(rng, 3, 9)),
    ):
        table = table_of(rng, number, 1 if number < 300 else 0)
        for first in {
            1,
            size - 1,
            size,
            size + 1,
            size * number - 1,
            size * (number - 1),
            whole(rng, 1, size * number - 1),
        }:
            if 0 <= first < size * number:
                for count in {1, min(size, size * number - first), size * number - first}:
                    ask_slots(student, table, first, count, size, rule)
    ask_slots(student, table_of(rng, 300), 85_001, 4999, 300, rule)
    ask_slots(student, table_of(rng, 300), 89_999, 1, 300, rule)
    for asked in look_alikes((table_of(rng, 9), 3, 20, 4)) + one_changed(
        (table_of(rng, 9), 3, 20, 4), (table_of(rng, 9), 2, 19, 5)
    ):
        ask_slots(student, *asked, rule)


short_answer(
    "14.size_of_one",
    points=4,
    see=f"{BOOK}/waste#two-kinds-of-fragmentation",
    rubric={
        "gain": (
            1,
            (
                "says what is gained at 2,000 tokens in numbers: about 7.5 of some 2,000 slots per"
                " sequence, less than half a percent (half for 'little' with no number)"
            ),
        ),
        "tables": (
            1,
            (
                "says that tables get 16 times as long, an entry for each token, or that a block"
                " must be taken, counted and shared for every token and not for every sixteenth"
                " (half if only 'more overhead')"
            ),
        ),
        "reads": (
            1,
            (
                "says what becomes of reading or of keys: a kernel looks up an entry for every key,"
                " no run of keys lies side by side for wide loads; or a hash and a look-up for"
                " every token of a prompt (half if only 'slower')"
            ),
        ),
        "verdict": (
            1,
            (
                "decides for these texts with a reason, and names the texts for which it would be"
                " otherwise: short ones of a few tokens, where most of a block is empty; or that a"
                " hit of a prefix is exact to a token (half for a decision with no such case)"
            ),
        ),
    },
    samples=[
        Sample(
            "Weak",
            "Yes, that is right: empty slots are wasted memory, and memory is the bottleneck of"
            " serving. With blocks of 1 we can serve more users. The tables get a bit larger, but"
            " they are small.",
            {"tables": 0.5},
            "Row 2 for tables that grow, with no measure. No number for the gain, nothing on reads,"
            " and a decision that follows from neither.",
        ),
        Sample(
            "Half",
            "It gains 7.5 of 2,000 slots, so 0.4 percent. But a table then has 2,000 entries. I"
            " would stay at 16.",
            {"gain": 1, "tables": 1, "verdict": 0.5},
            "Row 1 with its number; row 2 for 2,000 entries; row 4 without the texts for which it"
            " would be otherwise. Nothing on reads or keys.",
        ),
        Sample(
            "Good",
            "Half a percent more room. For it the kernel looks up each key by itself, which no"
            " longer lie next to each other, and for each token a block is taken and its count"
            " kept. For texts of ten tokens it is different: there 16 wastes more than a third.",
            {"gain": 1, "tables": 1, "reads": 1, "verdict": 0.5},
            "Rows 1 to 3; it names the other texts and leaves the decision for these open.",
        ),
        Sample(
            "Strong",
            "Of 2,007.5 slots 7.5 are empty: 0.37 percent, so a server for 100 users would have"
            " room for none more. For it a table has 2,000 entries and not 125, which are sent to"
            " the GPU; a block is taken and counted at each token; a prompt of 2,000 tokens has"
            " 2,000 keys to hash and to look up; and the kernel asks the table for each key, where"
            " sixteen lay side by side. So I leave it at 16. For tweets of ten tokens I would try"
            " 4: there 16 leaves a third empty.",
            {"gain": 1, "tables": 1, "reads": 1, "verdict": 1},
            "All four rows, with numbers.",
        ),
    ],
)
