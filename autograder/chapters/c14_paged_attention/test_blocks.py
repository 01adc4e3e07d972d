"""Checks of chapter 14, part 2: who holds which block, names for what stands in one, and finding it
again.
"""

import hashlib
import math

from autograder.chapters.c14_paged_attention.machine import explore, explore_beside
from autograder.chapters.c14_paged_attention.models import BlocksModel, Key, PrefixModel
from autograder.chapters.c14_paged_attention.walks import visits, walk
from autograder.chapters.c14_paged_attention.withholding import OURS
from autograder.checks.inputs.draws import counts, look_alike, whole
from autograder.checks.protocol import exercise, expect, inside

BOOK = "14-paged-attention"
SIZES = ((1, 1), (2, 1), (4, 2), (8, 4), (12, 3))

# Copies, a refusal for want of blocks, and the last free block: whoever errs there errs in every
# later stage too, whatever is drawn.
ALL_OF_IT = (
    5,
    2,
    [
        ("allocate", "a", 3),
        ("fork", "a", "b"),
        ("append", "a"),
        ("append", "b"),
        ("free", "a"),
        ("allocate", "c", 9),
        ("allocate", "c", 6),
        ("append", "c"),
        ("free", "b"),
        ("append", "c"),
    ],
)

blocks = exercise(
    "14.Blocks",
    function="Blocks",
    points=12,
    see=f"{BOOK}/blocks#reference-counts-and-copy-on-write",
    withhold=OURS,
)


def ask_blocks(student, *runs: tuple, refusals: bool = False) -> None:
    """Play runs of `Blocks`, those given and then random ones."""
    explore(student, "Blocks", BlocksModel, runs, refusals)


def walks(
    rng, methods: str, lengths: tuple = (12, 40), sizes: tuple = SIZES, refusals: bool = False
) -> list[tuple]:
    """Random runs with these methods, short ones first; unless something is to be refused, with two
    blocks more than they need.
    """
    found = [
        walk(rng, *size, length, methods.split(), refusals) for length in lengths for size in sizes
    ]
    return [
        (num_blocks + 2 * (not refusals), size, commands) for num_blocks, size, commands in found
    ]


@blocks.stage("allocate", points=2)
def test_a_sequence_gets_the_blocks_it_needs(student, rng):
    borders = [
        (9, size, [("allocate", "a", count)])
        for size in (1, 2, 4, 5)
        for count in (1, size - 1, size, size + 1, 2 * size, 0)
    ]
    large = (300, 20, [("allocate", "a", 5941), ("allocate", "b", 19), ("allocate", "empty", 0)])
    ask_blocks(
        student,
        *borders,
        (
            8,
            4,
            [
                ("allocate", name, count)
                for name, count in (("a", 8), ("b", 4), ("c", 11), ("d", 1))
            ],
        ),
        large,
        *walks(rng, "allocate", (3, 6), ((12, 4), (30, 3), (20, 1), (7, 5))),
    )


@blocks.stage("append", points=2)
def test_a_full_block_is_followed_by_another(student, rng):
    steps = [
        (12, size, [("allocate", "a", count)] + 9 * [("append", "a")])
        for size in (1, 2, 4, 20)
        for count in (0, 1, size - 1, size)
    ]
    ask_blocks(
        student,
        *steps,
        *walks(rng, "allocate append", (8, 30), ((30, 4), (20, 3), (40, 1), (25, 2))),
    )


@blocks.stage("free", points=2)
def test_what_is_freed_is_given_out_again(student, rng):
    again = (5, 2, 4 * [("allocate", "a", 5), ("append", "a"), ("free", "a")])
    others = (
        8,
        2,
        [
            ("allocate", "a", 4),
            ("allocate", "b", 4),
            ("free", "a"),
            ("allocate", "c", 6),
            ("append", "b"),
            ("free", "b"),
            ("append", "c"),
            ("free", "c"),
            ("allocate", "d", 12),
        ],
    )
    ask_blocks(
        student,
        (4, 2, [("allocate", "a", 3), ("free", "a")]),
        (5, 2, [("allocate", "a", 0), ("free", "a"), ("allocate", "a", 8)]),
        again,
        others,
        *walks(rng, "allocate append free"),
    )
    explore_beside(student, "Blocks", BlocksModel, others)


@blocks.stage("fork", points=2)
def test_a_fork_shares_and_nobody_loses_what_another_holds(student, rng):
    shared = [("allocate", "a", 4), ("fork", "a", "b")]
    ask_blocks(
        student,
        (4, 2, shared),
        (4, 2, [("allocate", "a", 1), ("fork", "a", "b")]),  # a last block with room
        (6, 2, [*shared, ("free", "a")]),
        (6, 2, [*shared, ("free", "b")]),
        (6, 2, [*shared, ("free", "a"), ("allocate", "c", 4), ("free", "b"), ("allocate", "d", 4)]),
        (6, 2, [*shared, ("append", "b"), ("append", "a")]),
        (
            6,
            2,
            [
                *shared,
                ("fork", "b", "c"),
                ("append", "c"),
                ("free", "a"),
                ("free", "c"),
                ("free", "b"),
                ("allocate", "d", 8),
            ],
        ),
        (4, 3, [("allocate", "a", 0), ("fork", "a", "b"), ("append", "b"), ("append", "a")]),
        (4, 1, [("allocate", "a", 1), ("fork", "a", "b"), ("append", "b"), ("free", "a")]),
        (300, 2, _many_holders(39)),
        *walks(rng, "allocate fork free", (6, 30)),
        *walks(rng, "allocate append fork free", (10, 40), ((3, 1), (9, 1))),
    )


def _many_holders(number: int) -> list[tuple]:
    """One block with many holders, who leave one after the other."""
    forks = [("fork", "a", f"s{place}") for place in range(number)]
    return [
        ("allocate", "a", 2),
        *forks,
        ("free", "a"),
        *(("free", child) for _, _, child in forks[:-2]),
        ("append", f"s{number - 1}"),
        ("free", f"s{number - 1}"),
        ("allocate", "b", 4),
    ]


@blocks.stage("copy", points=2.5, after="fork")
def test_the_writer_copies(student, rng):
    hand = (
        8,
        4,
        [
            ("allocate", "a", 6),
            ("fork", "a", "b"),
            ("fork", "a", "c"),
            ("append", "a"),
            ("append", "b"),
            ("append", "c"),
            ("append", "c"),
            ("append", "a"),
        ],
    )
    ask_blocks(
        student,
        (4, 2, [("allocate", "a", 1), ("fork", "a", "b"), ("append", "b"), ("append", "a")]),
        (4, 2, [("allocate", "a", 1), ("fork", "a", "b"), ("append", "a"), ("append", "b")]),
        (4, 3, [("allocate", "a", 1), ("fork", "a", "b"), ("free", "a"), ("append", "b")]),
        hand,
        *walks(rng, "allocate append fork free", (10, 20, 60)),
        *walks(rng, "allocate append append fork", (60,), ((80, 3), (80, 7))),
    )


@blocks.stage("full", points=1, after="append")
def test_a_full_pool_refuses_and_stays_as_it_was(student, rng):
    grown = [
        ("allocate", "a", 3),
        ("allocate", "b", 5),
        ("append", "b"),
        ("append", "b"),
        ("append", "a"),
        ("append", "a"),
        ("allocate", "c", 1),
        ("allocate", "d", 0),
        ("append", "d"),
        ("free", "a"),
        ("append", "b"),
        ("append", "d"),
    ]
    ask_blocks(
        student,
        ALL_OF_IT,
        (
            1,
            2,
            [
                ("allocate", "a", 3),
                ("allocate", "a", 2),
                ("append", "a"),
                ("free", "a"),
                ("allocate", "b", 2),
            ],
        ),
        (3, 2, [("allocate", "a", 7), ("allocate", "a", 6), ("append", "a")]),
        (5, 2, grown),
        (
            2,
            2,
            [
                ("allocate", "a", 3),
                ("fork", "a", "b"),
                ("append", "b"),
                ("append", "a"),
                ("free", "b"),
                ("append", "a"),
                ("append", "a"),
            ],
        ),
        (
            1,
            1,
            [
                ("allocate", "a", 0),
                ("append", "a"),
                ("append", "a"),
                ("fork", "a", "b"),
                ("append", "b"),
                ("free", "a"),
                ("append", "b"),
            ],
        ),
        refusals=True,
    )
    full = [
        (
            num_blocks,
            size,
            [
                command
                for command in walk(
                    rng, num_blocks, size, 50, ["allocate", "append", "fork", "free"], True
                )[2]
            ],
        )
        for num_blocks, size in ((3, 2), (5, 3), (6, 1))
    ]
    ask_blocks(
        student,
        *[
            (num_blocks, size, _named(num_blocks, size, commands))
            for num_blocks, size, commands in full
        ],
        refusals=True,
    )


def _named(num_blocks: int, size: int, commands: list) -> list:
    """Those of the commands whose names are right: what is refused is refused for want of
    blocks.
    """
    model, kept = BlocksModel(num_blocks, size), []
    for command in commands:
        there = set(model.tables)
        if (command[1] not in there if command[0] == "allocate" else command[1] in there) and (
            command[0] != "fork" or command[2] not in there
        ):
            kept.append(command)
            model.do(command)
    return kept


@blocks.stage("names", points=0.5, after="fork")
def test_wrong_names_are_refused(student, rng):
    ask_blocks(
        student,
        ALL_OF_IT,
        (4, 2, [("allocate", "a", 3), ("allocate", "a", 1), ("append", "a")]),
        (4, 2, [("append", "a"), ("free", "a"), ("fork", "a", "b"), ("allocate", "b", 2)]),
        (
            4,
            2,
            [
                ("allocate", "a", 3),
                ("free", "a"),
                ("free", "a"),
                ("append", "a"),
                ("allocate", "b", 8),
            ],
        ),
        (4, 2, [("allocate", "a", 3), ("fork", "a", "a"), ("free", "a"), ("allocate", "b", 8)]),
        (
            6,
            2,
            [
                ("allocate", "a", 3),
                ("allocate", "b", 2),
                ("fork", "a", "b"),
                ("free", "b"),
                ("append", "a"),
                ("free", "a"),
                ("allocate", "c", 12),
            ],
        ),
        (4, 2, [("fork", "b", "c"), ("allocate", "c", 1), ("append", "c")]),
        (4, 2, [("allocate", "a", 0), ("allocate", "a", 2), ("append", "a")]),
        (
            8,
            2,
            [
                *(("allocate", name, 1) for name in ("a", "A", "", "a ", " ", "\u00e9")),
                ("append", "A"),
                ("fork", "", "b"),
                ("free", "a "),
                ("append", ""),
                ("free", "a"),
                ("append", "A"),
                ("free", ""),
                ("fork", "A", ""),
                ("append", ""),
            ],
        ),
        *walks(rng, "allocate append fork free", (12, 40), ((4, 2), (9, 3)), refusals=True),
        refusals=True,
    )


keys = exercise(
    "14.block_keys",
    function="block_keys",
    points=4,
    see=f"{BOOK}/prefix#the-hash-of-a-block",
    withhold=OURS,
)


def meaning(ids: list[int], size: int, salt: bytes) -> list[tuple]:
    """What each key names: the salt, and all tokens up to the end of its block."""
    return [(salt, *ids[:end]) for end in range(size, len(ids) + 1, size)]


def ask_keys(
    student, size: int, asked: list[tuple[list[int], bytes]], apart: str, alike: str
) -> None:
    """Ask for the keys of several texts, and compare which are equal.

    apart, alike: the causes where two should differ, or not.
    """
    names, owners = {}, {}
    for ids, salt in asked:
        given, right = (
            f"{len(ids)} tokens in blocks of {size}, a salt of {len(salt)} bytes",
            meaning(ids, size, salt),
        )
        came = expect(student.block_keys(ids, size, salt), given=given).is_a(list)
        expect(len(came), "The number of keys", given).equals(
            len(right),
            cause=(
                "There is one key for each full block: the number of tokens over `block_size`,"
                " rounded down."
            ),
        )
        for place, (key, what) in enumerate(zip(came, right)):
            expect(type(key) is bytes).is_true(
                cause="Each key is a `bytes`, such as `hashlib.sha256(...).digest()` gives.",
                detail=f"{given}: key {place} is of type {type(key).__name__}",
            )
            expect(names.setdefault(what, key) == key).is_true(
                cause=alike,
                detail=(
                    f"{given}: key {place} is another one than for the same beginning in an earlier"
                    " call"
                ),
            )
            expect(owners.setdefault(key, what) == what).is_true(
                cause=apart,
                detail=(
                    f"{given}: key {place} stands for another text as well, here or in an earlier"
                    " call"
                ),
            )


ALIKE = (
    "The same salt and the same tokens up to the end of the block have the same key, in every call,"
    " whatever comes behind them."
)
APART = (
    "Two blocks with other tokens, or in another order, have the same key. Every token must go into"
    " it whole, and where one ends and the next begins."
)


def texts(rng, length: int, below: int = 10**6) -> list[int]:
    """Tokens of a text."""
    return counts(rng, 0, below - 1, length).tolist()


@keys.stage("blocks", points=1)
def test_each_full_block_has_a_key(student, rng):
    for size in (1, 2, 4, 300, whole(rng, 3, 9)):
        asked = [
            (texts(rng, length), b"")
            for length in (0, 1, size - 1, size, size + 1, 2 * size - 1, 2 * size, 5 * size + 1)
        ]
        long = texts(rng, min(7 * size, 3000))
        for other in (1, 2, 3, size):
            ask_keys(student, other, [(long[:60], b"")], APART, ALIKE)
        if size == 1:
            ask_keys(
                student,
                1,
                [(list(range(3000)), b"")],
                "Of 3,000 texts two have the same key: too little of the digest is kept.",
                ALIKE,
            )
        ask_keys(
            student,
            size,
            [
                *asked,
                *((long[:end], b"") for end in (len(long), len(long) - 1, size, 2 * size)),
                (long, b""),
            ],
            APART,
            ALIKE,
        )


@keys.stage("beginning", points=1, after="blocks")
def test_a_key_fits_all_that_stands_before(student, rng):
    rule = (
        "Two blocks with the same tokens behind another beginning have the same key: all tokens"
        " before it belong to it, those of the first block too, and their order."
    )
    for size in (1, 2, 5):
        block, first, other = texts(rng, size), [7] * size, [8] * size
        ask_keys(
            student,
            size,
            [
                (block + block + block, b""),
                (first + block, b""),
                (other + block, b""),
                (first + other + block, b""),
                (other + first + block, b""),
                (first + first + block, b""),
                (first + block + block, b""),
                (other + block + block, b""),
                (block, b""),
                (first + 6 * block, b""),
                (other + 6 * block, b""),
            ],
            rule,
            ALIKE,
        )
    ask_keys(
        student,
        2,
        [([1, 2, 3, 4], b""), ([2, 1, 3, 4], b""), ([3, 4, 1, 2], b""), ([1, 2, 4, 3], b"")],
        rule,
        ALIKE,
    )


@keys.stage("tokens", points=1, after="blocks")
def test_every_token_goes_in_whole(student, rng):
    ask_keys(
        student,
        2,
        [([258, 3], b""), ([1, 515], b""), ([513, 3], b""), ([1, 770], b"")],
        APART,
        ALIKE,
    )
    ask_keys(
        student,
        2,
        [([first, second], b"") for first in range(7) for second in range(7)],
        f"{APART} A sum with weights is such a key.",
        ALIKE,
    )
    ask_keys(
        student,
        2,
        [
            ([900, 10**6], b""),
            *(([901, 10**6 - factor], b"") for factor in FACTORS),
            *(([899, 10**6 + factor], b"") for factor in FACTORS),
        ],
        f"{APART} A polynomial of the tokens is such a key.",
        ALIKE,
    )
    ask_no_checksum(student, rng)
    ask_many(student, rng)
    ask_keys(
        student,
        2,
        [
            ([1, 23], b""),
            ([12, 3], b""),
            ([11, 2], b""),
            ([1, 12], b""),
            ([0, 123], b""),
            ([123, 0], b""),
        ],
        APART,
        ALIKE,
    )
    ask_keys(
        student,
        3,
        [
            (one, b"")
            for one in (
                [1, 2, 3],
                [3, 2, 1],
                [2, 1, 3],
                [2, 2, 2],
                [1, 1, 4],
                [6, 0, 0],
                [1, 1, 2],
                [1, 2, 2],
                [2, 1, 1],
                [1, 2, 1],
                [0, 0, 0],
                [0, 0, 1],
            )
        ],
        APART,
        ALIKE,
    )
    for power in (7, 8, 10, 15, 16, 20, 24, 31, 32, 33, 39):
        ask_keys(
            student,
            2,
            [
                ([5, 1], b""),
                ([5 + 2**power, 1], b""),
                ([5, 1 + 2**power], b""),
                ([2**power, 0], b""),
                ([2**power - 1, 0], b""),
                ([2**40, 2**power], b""),
                ([0, 2**power], b""),
                ([4 + 2**power, 1], b""),
                ([6 + 2**power, 1], b""),
            ],
            APART,
            ALIKE,
        )
    for size in (1, 4, 40):
        text = texts(rng, 3 * size + 1, 2**40)
        near = [
            text[:place] + [text[place] + 1] + text[place + 1 :]
            for place in (0, size - 1, size, 3 * size - 1)
        ]
        ask_keys(
            student, size, [(one, b"") for one in (text, look_alike(text), *near)], APART, ALIKE
        )


FACTORS = (
    7,
    17,
    31,
    33,
    37,
    53,
    97,
    101,
    127,
    131,
    137,
    256,
    257,
    263,
    65_536,
    65_537,
    65_599,
    10_007,
    99_991,
)  # of hashes by a polynomial


def ask_no_checksum(student, rng) -> None:
    """Checksums are linear: of four texts whose tokens cancel, bit by bit, their keys cancel too,
    in four bytes at least.
    """
    for size in (1, 20):
        a, b, c = (counts(rng, 0, 2**30, size).tolist() for _ in range(3))
        if (
            len(
                {
                    len(key)
                    for key in expect(student.block_keys(a + b, size, b"")).is_a(list)
                    if type(key) is bytes
                }
            )
            != 1
        ):
            return  # a key that grows holds the text itself, and no digest
        four = [
            expect(student.block_keys(ids, size, b"")).is_a(list)
            for ids in (a, b, c, [x ^ y ^ z for x, y, z in zip(a, b, c)])
        ]
        if all(
            len(came) == 1
            and type(came[0]) is bytes
            and 16 <= len(came[0]) == len(four[0][0]) <= 64
            for came in four
        ):
            left = bytes(w ^ x ^ y ^ z for w, x, y, z in zip(*(came[0] for came in four)))
            still = any(
                left[place : place + 4] == bytes(4)
                and len({came[0][place : place + 4] for came in four}) > 1
                for place in range(len(left) - 3)
            )
            expect(not still).is_true(
                cause=(
                    "A part of your key is a checksum, such as `zlib.crc32`: who knows the keys of"
                    " three texts can work out that of a fourth, and make texts with equal keys."
                    " Take sha256 or the like."
                )
            )


def ask_many(student, rng) -> None:
    """30,000 keys: of those that pass through a checksum of four bytes two would be equal, most
    likely.
    """
    came = [
        key
        for _ in range(10)
        for key in expect(student.block_keys(texts(rng, 3000, 2**40), 1, b"")).is_a(list)
    ]
    if all(type(key) is bytes for key in came):
        expect(len(set(came)) == len(came)).is_true(
            cause=(
                "Of 30,000 texts two have the same key: somewhere it passes through too few bytes,"
                " such as those of a checksum."
            )
        )


def ask_no_common_part(student, rng, cause: str) -> None:
    """Four bytes that two salts' keys of a text share, or in which two blocks differ in the same
    way, tell that the text is the same.
    """
    text = texts(rng, 6)
    one, other = (
        expect(student.block_keys(text, 2, salt)).is_a(list) for salt in (b"one", b"other")
    )
    if (
        len(one) == len(other) == 3
        and len({len(key) for key in (*one, *other) if type(key) is bytes}) == 1
        and all(type(key) is bytes for key in (*one, *other))
    ):
        apart = [bytes(a ^ b for a, b in zip(mine, theirs)) for mine, theirs in zip(one, other)]
        for place in range(len(one[0]) - 3):
            parts = [bytes(4), *(each[place : place + 4] for each in apart)]
            says_nothing = (
                len({key[place : place + 4] for key in one}) == 1
            )  # such as a version, or the salt's own tag
            expect(says_nothing or len(set(parts)) == len(parts)).is_true(cause=cause)


@keys.stage("salt", points=0.5, after="blocks")
def test_another_salt_finds_nothing(student, rng):
    rule = (
        "With another salt no key is the same, in no block of the text, and the salt cannot be"
        " mistaken for tokens."
    )
    for size in (1, 2, 5):
        text, long = texts(rng, 4 * size), bytes(range(100))
        ask_keys(
            student,
            size,
            [
                (text, salt)
                for salt in (
                    b"",
                    b"a",
                    b"b",
                    b"ab",
                    b"ba",
                    b"a\0",
                    b"\0",
                    b"0",
                    long,
                    long[:99],
                    long[::-1],
                    b"\xff\xfe",
                    b"a,",
                    b"",
                )
            ],
            rule,
            ALIKE,
        )
        ask_keys(
            student,
            size,
            [
                (text, b"one"),
                (text[:size] + [3] * size, b"one"),
                (text, b"other"),
                ([1] + text[1:], b"one"),
            ],
            rule,
            ALIKE,
        )
    for size in (1, 2):
        ask_keys(
            student,
            size,
            [
                ([23] + [4] * (size - 1), b"1"),
                ([3] + [4] * (size - 1), b"12"),
                ([123] + [4] * (size - 1), b""),
                ([1, 23][:size], b""),
                ([12, 3][:size], b""),
                ([2, 3][:size], b"1"),
            ],
            rule,
            ALIKE,
        )
    text = texts(rng, 4)
    ask_keys(
        student,
        2,
        [
            (text, salt)
            for salt in (
                b"",
                b"A",
                b"a",
                b" a",
                b"a ",
                b"a\n",
                b" ",
                b"\n",
                b"default",
                b"salt",
                b"None",
                b"none",
            )
        ],
        f"{rule} Every byte of it counts, and the empty one is another than any text.",
        ALIKE,
    )
    for mark in (b",", b" ", b";", b":", b"|", b"-", b"/", b"_", b"\0", b", ", b""):
        ask_keys(
            student,
            1,
            [
                ([1, 2], b""),
                *(
                    ([1], salt)
                    for salt in dict.fromkeys((b"2", mark + b"2", b"2" + mark, mark + b"2" + mark))
                ),
                *(([2], salt) for salt in dict.fromkeys((b"1", b"1" + mark, mark + b"1"))),
            ],
            rule,
            ALIKE,
        )
        ask_keys(
            student,
            2,
            [
                ([5, 1, 7, 8], b"9"),
                ([5, 1], b"7" + mark + b"8" + mark + b"9"),
                ([5, 1], b"9" + mark + b"7" + mark + b"8"),
                ([7, 8], b"9" + mark + b"5" + mark + b"1"),
            ],
            rule,
            ALIKE,
        )
    ask_no_common_part(
        student,
        rng,
        "A part of your key shows under every salt that the text is the same: who guesses a text"
        " learns that he was right. The salt goes into what is hashed, at the start.",
    )
    first, *rest = expect(student.block_keys(text, 1, b"")).is_a(list)
    before = hashlib.sha256(b"").digest()
    for salt in (
        first,
        before + text[0].to_bytes(8, "little"),
        before + text[0].to_bytes(8, "big"),
    ):
        if type(salt) is bytes:
            came = expect(student.block_keys(text[1:], 1, salt)).is_a(list)
            expect(came != rest).is_true(
                cause=(
                    f"{rule} Here a salt was made from the text's beginning, and the rest of the"
                    " text has the keys that it has behind that beginning: let the hash of the"
                    " salt begin with a byte with which no block's begins."
                )
            )
    eight = [number.to_bytes(8, order) for number in (1, 2) for order in ("little", "big")]
    ask_keys(
        student,
        1,
        [
            ([1, 2], b""),
            ([2], b""),
            ([1], b""),
            *(([2], salt) for salt in eight),
            *(([1], salt) for salt in eight),
        ],
        rule,
        ALIKE,
    )


def bits_of(found: list[bytes]) -> float:
    """About how many bits of these keys differ from one to the next: places that are alike in all
    of them, or say the same as another, say nothing.
    """
    columns = {tuple(key[place] for key in found) for place in range(min(map(len, found)))}
    return sum(math.log2(len(set(column))) for column in columns)


@keys.stage("short", points=0.5, after="beginning")
def test_a_key_is_short_and_cannot_be_guessed(student, rng):
    for length, size in ((3000, 300), (60, 1), (3000, 7), (1, 1)):
        came = expect(student.block_keys(texts(rng, length, 2**40), size, bytes(100))).is_a(list)
        expect(
            bool(came) and all(type(key) is bytes and 32 <= len(key) <= 64 for key in came)
        ).is_true(
            cause=(
                "A key has 32 to 64 bytes, however long the text and the salt are. For md5 (16"
                " bytes) and sha1 (20) texts with equal keys are known, and a key that holds the"
                " text itself grows with it."
            ),
            detail=(
                f"{length} tokens in blocks of {size}:"
                f" {sorted({len(key) for key in came if type(key) is bytes})[:6]} bytes"
            ),
        )
    first = [
        key
        for token in range(400)
        for key in expect(student.block_keys([token, 7], 2, b"")).is_a(list)
    ]
    expect(len(first) == 400 and all(type(key) is bytes for key in first)).is_true(
        cause="One full block has one key, a `bytes`."
    )
    expect(len(set(map(len, first))) == 1 and bits_of(first) >= 200).is_true(
        cause=(
            "Keys of texts that differ in one token differ everywhere, as those of sha256 do: what"
            " fills them up, counters, sums, checksums and Python's `hash` can be guessed, and so"
            " can md5 and sha1 in hexadecimal."
        ),
        detail=(
            f"about {bits_of(first):.0f} bits of 400 such keys say something; of 32 bytes of sha256"
            " more than 200 do"
        ),
    )
    ids = texts(rng, 6)
    one, other = (
        outcome.value
        for outcome in student.script(
            [("block_keys", list(ids), 2, b"s"), ("block_keys", list(ids), 2, b"s")]
        )
    )
    expect(one == other).is_true(
        cause="The same tokens have the same keys, in whatever list they come."
    )


prefix = exercise(
    "14.PrefixCache",
    function="PrefixCache",
    points=8,
    see=f"{BOOK}/prefix#eviction",
    withhold=OURS,
)


ODD_KEYS = (
    b"\xff\0",
    b"\xff",
    b"\xfe",
    b"\0a",
    b"a",
    b"A",
    b"a\0",
    b" a",
    b"a ",
    b"\0",
    b"\0\0",
    b"1",
    b"01",
)  # each of its own, whoever strips, decodes or counts


def ask_cache(student, *runs: tuple, refusals: bool = False) -> None:
    """Play runs of `PrefixCache`, every second of them with keys that look alike."""
    explore(
        student,
        "PrefixCache",
        PrefixModel,
        [disguised(run, place) if place % 2 else run for place, run in enumerate(runs)],
        refusals,
    )


def disguised(run: tuple, first: int) -> tuple:
    """The same run under other keys: those of ODD_KEYS in turn, and digests for the rest."""
    num_blocks, size, commands = run
    names: dict[bytes, bytes] = {}

    def name(key: object) -> object:
        if type(key) is list:
            return [name(one) for one in key]
        if type(key) is not bytes:
            return key
        fresh = (
            ODD_KEYS[(first + len(names)) % len(ODD_KEYS)]
            if len(names) < len(ODD_KEYS)
            else hashlib.sha256(key).digest()
        )
        return names.setdefault(key, Key.of(fresh, key))

    return num_blocks, size, [tuple(map(name, command)) for command in commands]


def text_of(name: str, text: bytes, length: int, size: int, known: int = 0) -> list[tuple]:
    """A sequence that begins with this text, takes the blocks that it lacks, of which so many are
    `known` already, and makes them known.
    """
    keys = [text[: end + 1] for end in range(len(text))]
    return [
        ("begin", name, keys, length),
        *((-(-length // size) - known) * [("take", name)]),
        *(("know", name, place, key) for place, key in enumerate(keys)),
    ]


def one_block(name: str, key: bytes) -> list[tuple]:
    """A sequence of one block of two tokens, known under a key."""
    return [("begin", name, [key], 2), ("take", name), ("know", name, 0, key)]


@prefix.stage("take", points=1)
def test_blocks_are_taken_and_given_up(student, rng):
    plain = [
        ("begin", "a", [], 1),
        ("take", "a"),
        ("take", "a"),
        ("begin", "b", [], 1),
        ("take", "b"),
        ("release", "a"),
        ("take", "b"),
        ("take", "b"),
        ("release", "b"),
        ("begin", "a", [], 1),
        ("take", "a"),
    ]
    ask_cache(
        student,
        (
            1,
            2,
            [
                ("begin", "a", [], 1),
                ("take", "a"),
                ("release", "a"),
                ("begin", "b", [], 1),
                ("take", "b"),
            ],
        ),
        (4, 2, plain),
        (9, 3, 3 * plain[:9]),
        (100, 20, [("begin", "a", [], 19), *(100 * [("take", "a")]), ("release", "a")]),
    )
    explore_beside(student, "PrefixCache", PrefixModel, (4, 2, plain))


@prefix.stage("find", points=1.5, after="take")
def test_a_known_beginning_is_found(student, rng):
    for size in (2, 4):
        begun = text_of("a", b"xyz", 3 * size, size)
        asks = [
            ("begin", name, [text[: end + 1] for end in range(len(text))], size * len(text) + 1)
            for name, text in (("b", b"xyz"), ("c", b"xyx"), ("d", b"yyz"), ("e", b"x"))
        ]
        many = bytes(range(1, 46))
        ask_cache(
            student,
            (
                100,
                size,
                [
                    *text_of("a", many, 45 * size, size),
                    ("begin", "b", [many[: end + 1] for end in range(45)], 45 * size + 1),
                ],
            ),
        )
        ask_cache(
            student,
            (12, size, [*begun, asks[0]]),
            (12, size, [*begun, *asks]),
            (12, size, [*begun, ("release", "a"), *asks]),
            (12, size, [*begun[:6], *asks]),
            (3, size, [*begun, ("release", "a"), asks[0]]),
        )
    handle, given = student.build("PrefixCache", 9, 2), [b"x", b"xy"]
    inside(handle).script(text_of("first", b"xy", 5, 2))
    for name, length in (("a", 5), ("b", 4)):
        expect(inside(handle).call("begin", name, given, length).args[1] == [b"x", b"xy"]).is_true(
            cause="`begin` leaves the list of keys as it was."
        )
    odd = [Key.of(key, bytes([65 + place])) for place, key in enumerate(ODD_KEYS)]
    for known in (odd[::2], odd[1::2]):
        ask_cache(
            student,
            (
                30,
                2,
                [
                    command
                    for place, key in enumerate(known)
                    for command in one_block(f"k{place}", key)
                ]
                + [("begin", f"b{place}", [key], 3) for place, key in enumerate(odd)],
            ),
        )
    holes = [
        *text_of("a", b"xy", 8, 4),
        ("release", "a"),
        ("begin", "b", [], 1),
        ("take", "b"),
        ("begin", "c", [b"x", b"xy", b"xyz"], 13),
    ]
    ask_cache(
        student,
        (9, 4, holes),
        *[visits(rng, 60, size, length, plain=True) for size in (2, 3) for length in (15, 60)],
    )


@prefix.stage("last token", points=1, after="find")
def test_the_last_token_is_never_found(student, rng):
    for size in (1, 2, 4):
        begun = text_of("a", b"xyz", 3 * size, size)
        ends = [
            ("begin", name, [b"x", b"xy", b"xyz"][: length // size], length)
            for name, length in (
                ("b", 3 * size),
                ("c", 2 * size),
                ("d", size),
                ("e", 3 * size + (size > 1)),
                ("f", 1),
            )
        ]
        ask_cache(
            student,
            *[(9, size, [*begun, end]) for end in ends],
            (9, size, [*begun, *ends]),
            (3, size, [*begun, ("release", "a"), *ends]),
        )


@prefix.stage("share", points=1.5, after="find")
def test_what_is_held_stays(student, rng):
    begun = text_of("a", b"xy", 4, 2)
    again = ("begin", "b", [b"x", b"xy"], 5)
    both = [*begun, again, ("take", "b")]
    ask_cache(
        student,
        (4, 2, [*both, ("release", "a"), ("begin", "c", [], 1), ("take", "c")]),
        (4, 2, [*both, ("release", "b"), ("begin", "c", [], 1), ("take", "c"), ("take", "c")]),
        (3, 2, [*both, ("release", "b"), ("release", "a")]),
        (2, 2, [*begun, ("release", "a"), again, ("release", "b"), again]),
        (
            3,
            2,
            [
                *begun,
                ("release", "a"),
                again,
                ("take", "b"),
                ("release", "b"),
                ("begin", "c", [], 1),
                ("take", "c"),
            ],
        ),
        *[
            visits(rng, 99, size, length, "xy", plain=True)
            for size in (2, 5)
            for length in (20, 60)
        ],
    )


@prefix.stage("twice", points=0.5, after="find")
def test_the_first_block_under_a_key_stays(student, rng):
    side = [
        ("begin", "a", [b"x"], 3),
        ("take", "a"),
        ("begin", "b", [b"x"], 3),
        ("take", "b"),
        ("know", "a", 0, b"x"),
        ("know", "b", 0, b"x"),
    ]
    then = [("begin", "c", [b"x"], 3), ("take", "c")]
    ask_cache(
        student,
        (4, 2, [*side, *then]),
        (4, 2, [*side, ("release", "a"), *then]),
        (4, 2, [*side, ("release", "b"), *then]),
        (2, 2, [*side, ("release", "b"), ("begin", "c", [b"x"], 3), ("take", "c")]),
        (
            3,
            2,
            [
                *side,
                ("release", "b"),
                ("release", "a"),
                ("begin", "c", [], 1),
                ("take", "c"),
                ("take", "c"),
                ("begin", "d", [b"x"], 3),
            ],
        ),
        *[visits(rng, 99, 2, 60, "x") for _ in range(2)],
    )


# The first key was forgotten, and the second is known still.
GAP = [
    ("begin", "a", [b"x"], 3),
    ("take", "a"),
    ("begin", "b", [b"x", b"xy"], 5),
    ("take", "b"),
    ("take", "b"),
    ("know", "a", 0, b"x"),
    ("know", "b", 0, b"x"),
    ("know", "b", 1, b"xy"),
    ("release", "a"),
    ("begin", "n", [], 1),
    ("take", "n"),
    ("take", "n"),
    ("begin", "c", [b"x", b"xy"], 5),
]


@prefix.stage("evict", points=2, after="find")
def test_the_one_given_up_longest_ago_goes_first(student, rng):
    two = [*text_of("a", b"x", 3, 2), *text_of("b", b"y", 3, 2)]
    fresh = [("begin", "n", [], 1), ("take", "n")]
    found = [("begin", "e", [b"x"], 3), ("begin", "f", [b"y"], 3)]
    for order in (("a", "b"), ("b", "a")):
        ask_cache(
            student,
            (
                4,
                2,
                [
                    *two,
                    *(("release", name) for name in order),
                    *fresh,
                    *(2 * [("take", "n")]),
                    *found,
                ],
            ),
            (5, 2, [*two, *(("release", name) for name in order), *fresh, *found]),
            (
                4,
                2,
                [
                    *two,
                    *(("release", name) for name in order),
                    ("begin", "c", [b"x"], 3),
                    ("release", "c"),
                    *fresh,
                    ("take", "n"),
                    ("take", "n"),
                    *found,
                ],
            ),
        )
    tail = [*text_of("a", b"xyz", 6, 2), ("release", "a"), *fresh]
    ask_cache(student, (4, 2, GAP), (4, 2, GAP))
    many = [(f"k{place}", bytes([65 + place])) for place in range(30)]
    ask_cache(
        student,
        (
            30,
            2,
            [
                *(command for one in many for command in one_block(*one)),
                *(("release", name) for name, _ in many),
                *fresh,
                *(("begin", f"b{name}", [key], 3) for name, key in many),
            ],
        ),
    )
    often = [
        *one_block("a", b"x"),
        *one_block("b", b"y"),
        ("release", "a"),
        *(2 * [("begin", "c", [b"x"], 3), ("release", "c")]),
        ("release", "b"),
        *fresh,
        *found,
    ]
    bare = [
        *one_block("a", b"x"),
        ("release", "a"),
        *one_block("b", b"y"),
        ("release", "b"),
        *fresh,
        ("release", "n"),
        *fresh,
        ("begin", "e", [b"y"], 3),
    ]
    ask_cache(
        student,
        (2, 2, often),
        (2, 2, often),
        (2, 2, bare),
        (
            3,
            2,
            [
                *one_block("a", b"x"),
                *one_block("b", b"y"),
                *one_block("c", b"z"),
                ("release", "a"),
                ("release", "b"),
                ("release", "c"),
                *fresh,
                *found,
                ("begin", "g", [b"z"], 3),
            ],
        ),
    )
    looked_at = [
        *text_of("a", b"xy", 4, 2),
        *text_of("b", b"z", 2, 2),
        ("release", "a"),
        ("release", "b"),
        ("begin", "c", [b"x", b"xy"], 4),
        ("release", "c"),
        *fresh,
        ("begin", "d", [b"z"], 3),
        ("begin", "e", [b"x", b"xy"], 5),
    ]
    held_on = [
        *text_of("a", b"x", 2, 2),
        ("begin", "b", [b"x"], 3),
        *text_of("c", b"y", 2, 2),
        ("release", "a"),
        ("release", "c"),
        ("release", "b"),
        *fresh,
        ("begin", "d", [b"x"], 3),
    ]
    # A block without a key is given up when two that are known wait already.
    behind_two = [
        *one_block("a", b"x"),
        *one_block("b", b"y"),
        ("begin", "c", [], 1),
        ("take", "c"),
        ("release", "a"),
        ("release", "b"),
        ("release", "c"),
        *fresh,
        *found,
    ]
    ask_cache(student, (3, 2, behind_two), (3, 2, behind_two))
    ask_cache(
        student,
        (3, 2, looked_at),
        (2, 2, held_on),
        (
            5,
            2,
            [
                *two,
                ("begin", "c", [], 1),
                ("take", "c"),
                ("release", "a"),
                ("release", "b"),
                ("release", "c"),
                *fresh,
                *found,
            ],
        ),
    )
    ask_cache(
        student,
        (3, 2, [*tail, ("begin", "b", [b"x", b"xy", b"xyz"], 7)]),
        (3, 2, [*tail, ("take", "n"), ("begin", "b", [b"x", b"xy", b"xyz"], 7)]),
        (3, 2, [*tail, ("release", "n"), ("begin", "b", [b"x", b"xy", b"xyz"], 7), ("take", "b")]),
        (
            2,
            1,
            [
                *text_of("a", b"xy", 2, 1),
                ("release", "a"),
                ("begin", "b", [b"y", b"yx"], 2),
                ("take", "b"),
                ("know", "b", 0, b"y"),
                ("begin", "c", [b"x", b"xy"], 2),
            ],
        ),
        *[
            visits(rng, num_blocks, size, length)
            for num_blocks, size in ((3, 2), (5, 1), (8, 2))
            for length in (15, 45)
        ],
    )


@prefix.stage("full", points=0.5, after="take")
def test_a_full_cache_refuses(student, rng):
    two = [
        *text_of("a", b"x", 3, 2)[:2],
        ("know", "a", 0, b"x"),
        *text_of("b", b"y", 3, 2)[:2],
        ("know", "b", 0, b"y"),
    ]
    order = [
        *two,
        ("release", "b"),
        ("release", "a"),
        ("begin", "n", [], 1),
        ("take", "n"),
        ("begin", "e", [b"x"], 3),
        ("begin", "f", [b"y"], 3),
    ]
    tail = [
        *text_of("a", b"xyz", 6, 2),
        ("release", "a"),
        ("begin", "n", [], 1),
        ("take", "n"),
        ("begin", "b", [b"x", b"xy", b"xyz"], 7),
    ]
    ask_cache(student, (2, 2, order), (3, 2, tail))
    behind = [
        *GAP[:-1],
        ("release", "b"),
        ("begin", "d", [b"z"], 2),
        ("take", "d"),
        ("know", "d", 0, b"z"),
        ("release", "d"),
        GAP[-1],
        ("take", "c"),
        ("begin", "e", [b"z"], 3),
    ]
    ask_cache(student, (4, 2, behind), (4, 2, behind))
    ask_cache(
        student,
        (
            1,
            2,
            [
                ("begin", "a", [], 1),
                ("take", "a"),
                ("take", "a"),
                ("begin", "b", [], 1),
                ("take", "b"),
                ("release", "a"),
                ("take", "b"),
            ],
        ),
        (
            2,
            2,
            [
                *text_of("a", b"xy", 4, 2),
                ("take", "a"),
                ("begin", "b", [b"x"], 3),
                ("take", "b"),
                ("release", "a"),
                ("take", "b"),
                ("take", "b"),
            ],
        ),
        *[visits(rng, 3, 2, 50, overfull=True) for _ in range(3)],
        refusals=True,
    )
