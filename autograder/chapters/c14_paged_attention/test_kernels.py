"""Checks of chapter 14, part 3: three kernels, in Triton's interpreter under the harness of
`checks.kernels`.
"""

import torch

from autograder.chapters.c14_paged_attention.attended import put_together, shared_out
from autograder.chapters.c14_paged_attention.withholding import BY_TORCH, FUSED, OURS
from autograder.checks.assertions.numeric_hints import UNWRITTEN
from autograder.checks.inputs.draws import distinct, normal, uniform
from autograder.checks.kernels.compiler import expect_compiled
from autograder.checks.protocol import Buffer, exercise, expect

BOOK = "14-paged-attention"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
ROUGH = {"rtol": 1e-3, "atol": 1e-3}
SILENT = "Nothing is returned: the result is what stands in the tensors that are given for it."
BESIDE = "Something outside the result was written: mask what lies beyond its end."
COPIED = (
    "torch copies values outside your kernel (`contiguous`, `clone`, `copy_`, or a `reshape` that"
    " cannot be a view). They are moved by kernels alone: give these the strides."
)
ONE_START = (
    "One call starts one kernel, once, and each program instance does its own part: a single"
    " instance that does all the work keeps a GPU waiting."
)
BY_HEAD, APART, TURNED = (
    {"order": (2, 0, 1, 3)},
    {"gap": 3},
    {"order": (1, 2, 0, 3), "gap": 1},
)  # how a cache may lie
FAR = {"gap": 3001}  # as in one with many layers: places beyond 2**16
TOKENS = {"order": (1, 0, 2)}  # the tokens of a head side by side


def nothing(*shape: int, **layout: object) -> Buffer:
    """Where a result is to be written: NaN now, so that what is left out shows."""
    return Buffer(torch.full(shape, UNWRITTEN), **layout)


write = exercise(
    "14.write_kv",
    function="write_kv",
    points=6,
    see=f"{BOOK}/kernel#write",
    changes=True,
    withhold=OURS | BY_TORCH,
)


def ask_write(
    student, rng, sizes: tuple, places: list[int], cause: str, layouts: tuple = ({}, {}, {}, {})
):
    """Compare both caches, also where nothing was to be written; what came.

    sizes: blocks, places in each, K and D. layouts: of k, v and the caches.
    """
    b, s, K, D = sizes
    k, v, k_cache, v_cache = (
        1e5 * normal(rng, len(places), K, D),
        1e5 * normal(rng, len(places), K, D),
        normal(rng, b, s, K, D),
        normal(rng, b, s, K, D),
    )
    given = f"{len(places)} tokens, {K} heads of {D}, {b} blocks of {s}"
    after = student.kernel(
        "write_kv",
        *(Buffer(one, **layout) for one, layout in zip((k, v, k_cache, v_cache), layouts)),
        torch.tensor(places),
        seed=len(places) + D,
    )
    for name, came, new, old in (
        ("`k_cache`", after.args[2], k, k_cache),
        ("`v_cache`", after.args[3], v, v_cache),
    ):
        for token, place in enumerate(places):
            if place >= 0:
                old[place // s, place % s] = new[token]
        came.expect_intact(cause=BESIDE)
        expect(came.values, name, given).close(old, rtol=0, atol=0, cause=cause)
    moved = 8 * K * D * sum(place >= 0 for place in places)
    expect(after.counted["written"] >= moved and after.counted["read"] >= moved).is_true(
        cause="The keys and values are read and written by a kernel, and by nothing else.",
        detail=given,
    )
    expect(
        torch.equal(after.args[0].values, k)
        and torch.equal(after.args[1].values, v)
        and after.args[4].tolist() == places
    ).is_true(cause="`k`, `v` and `slots` stay as they were.")
    return after


@write.stage("one token", points=1)
def test_one_token_is_written(student, rng):
    rule = (
        "The slot's block is slot // s, and the offset in it slot % s. There the token's keys go"
        " into `k_cache` and its values into `v_cache`; all else stays."
    )
    for sizes, place in (
        ((6, 4, 1, 1), 21),
        ((6, 4, 1, 1), 0),
        ((3, 1, 1, 8), 2),
        ((1, 1, 1, 1), 0),
        ((2, 20, 1, 16), 39),
        ((40, 3, 1, 2), 60),
        ((5, 5, 1, 4), 7),
        ((40, 16, 1, 100), 639),
    ):
        ask_write(student, rng, sizes, [place], rule)


@write.stage("several tokens", points=1)
def test_several_tokens_are_written(student, rng):
    rule = (
        "Every token of the step is written, each to its own slot, and slots may lie anywhere and"
        " in any order."
    )
    ask_write(student, rng, (6, 4, 1, 2), [21, 8], rule)
    for sizes, number in (((6, 4, 1, 4), 9), ((20, 3, 1, 2), 60), ((7, 1, 1, 1), 7)):
        ask_write(student, rng, sizes, distinct(rng, number, sizes[0] * sizes[1]), rule)


@write.stage("padding", points=1, after="one token")
def test_minus_one_is_written_nowhere(student, rng):
    rule = "A token with slot -1 is written nowhere: not to the last slot either, and not as zeros."
    for sizes, places in (
        ((6, 4, 1, 1), [21, -1, 8]),
        ((3, 2, 1, 4), [-1, 0, -1, -1, 5]),
        ((2, 2, 1, 2), [-1]),
        ((2, 3, 1, 2), [3, -1]),
        ((1, 1, 1, 1), [-1, -1, 0]),
    ):
        ask_write(student, rng, sizes, places, rule)


@write.stage("heads", points=1, after="several tokens")
def test_heads_of_any_width(student, rng):
    rule = (
        "All $K$ heads of a token are written, and all $D$ numbers of each. Neither need be a power"
        " of two: mask what lies beyond.".replace("$", "`")
    )
    for K, D in ((2, 4), (3, 5), (12, 3), (1, 100), (5, 1), (4, 64), (7, 33), (8, 16)):
        ask_write(student, rng, (5, 3, K, D), distinct(rng, 4, 15), rule)


@write.stage("strides", points=1, after="several tokens")
def test_any_strides(student, rng):
    rule = (
        "How many values lie between two blocks, slots, heads or tokens is what each tensor's own"
        " strides say: `k_cache.stride(0)`, `v_cache.stride(0)`, `k.stride(0)`, `v.stride(0)`, and"
        " so on."
    )
    for layouts in (
        ({}, {}, APART, {}),
        ({}, {}, {}, APART),
        ({}, {}, BY_HEAD, TURNED),
        ({}, {}, TURNED, BY_HEAD),
        (TOKENS, {}, {}, {}),
        ({}, TOKENS, {}, {}),
        (APART, TOKENS, BY_HEAD, APART),
    ):
        ask_write(student, rng, (5, 3, 2, 4), distinct(rng, 5, 15), rule, layouts)
    ask_write(student, rng, (4, 5, 3, 6), [19, -1, 0, 7], rule, (TOKENS, APART, TURNED, BY_HEAD))
    ask_write(student, rng, (7, 4, 1, 3), [27, 3], rule, ({}, {}, FAR, FAR))


@write.stage("once", points=0.5, after="heads")
def test_each_number_is_moved_once(student, rng):
    for sizes, places, layouts in (
        ((5, 3, 2, 4), [3, -1, 14, 0], ({}, {}, {}, {})),
        ((5, 3, 3, 5), [1, 2, 9], (TOKENS, APART, {}, {})),
        ((30, 2, 1, 8), distinct(rng, 40, 60), ({}, {}, {}, {})),
    ):
        after = ask_write(
            student,
            rng,
            sizes,
            places,
            "The keys and values of the tokens stand at their slots, and all else stays.",
            layouts,
        )
        counted, moved = (
            after.counted,
            8 * sizes[2] * sizes[3] * sum(place >= 0 for place in places),
        )
        expect(after.value is None).is_true(cause=SILENT)
        expect(counted["copied"] == 0).is_true(cause=COPIED)
        expect(
            counted["programs"] in (len(places), len(places) * sizes[2])
            and counted["written"] == moved
            and counted["read"] <= moved + 8 * counted["programs"]
        ).is_true(
            cause=(
                "One program instance per token, or per token and head. Each value that has a slot"
                " is read once and written once, and each instance reads its slot once;"
                " for a slot of -1 nothing else is read."
            ),
            detail=(
                f"{len(places)} tokens, {sizes[2]} heads of {sizes[3]}: {counted['programs']}"
                f" programs, {counted['read']} bytes read, {counted['written']} written"
            ),
        )
        each = 8 * sizes[2] * sizes[3] * len(places) // counted["programs"]
        expect(counted["launches"] == 1 and counted["most"] <= each).is_true(
            cause=ONE_START,
            detail=(
                f"{len(places)} tokens, {sizes[2]} heads of {sizes[3]}: {counted['launches']}"
                f" starts, and one instance of {counted['programs']} wrote {counted['most']} bytes"
                f" of {moved}"
            ),
        )


@write.stage("compiles", points=0.5, after="heads")
def test_write_compiles(student):
    expect_compiled(
        student,
        "write_kv",
        torch.zeros(5, 3, 20),
        torch.zeros(5, 3, 20),
        torch.zeros(6, 4, 3, 20),
        torch.zeros(6, 4, 3, 20),
        torch.arange(5),
    )


shares = exercise(
    "14.decode_shares",
    function="decode_shares",
    points=8,
    see=f"{BOOK}/split-kv#split-kv",
    changes=True,
    withhold=OURS | FUSED | BY_TORCH,
)


class Pool:
    """Sequences of these lengths in blocks that lie anywhere.

    What is nobody's is NaN, and behind a table stands -1.
    """

    def __init__(
        self,
        rng,
        lengths: list[int],
        size: int,
        K: int,
        D: int,
        H: int = 0,
        spare: int = 2,
        entries: int = 0,
    ):
        blocks = [-(-length // size) for length in lengths]
        order = distinct(rng, sum(blocks), sum(blocks) + spare)
        self.k, self.v = (
            torch.full((sum(blocks) + spare, size, K, D), UNWRITTEN) for _ in range(2)
        )
        self.tables = torch.full((len(lengths), max(entries, *blocks, 1)), -1, dtype=torch.int32)
        self.lengths, self.q = (
            torch.tensor(lengths, dtype=torch.int32),
            normal(rng, len(lengths), H or K, D),
        )
        for row, (length, number) in enumerate(zip(lengths, blocks)):
            own, order = order[:number], order[number:]
            self.tables[row, :number] = torch.tensor(own, dtype=torch.int32)
            for token in range(length):
                (
                    self.k[own[token // size], token % size],
                    self.v[own[token // size], token % size],
                ) = normal(rng, K, D), normal(rng, K, D)
        self.given = (
            f"{len(lengths)} sequences of {', '.join(map(str, lengths))} tokens, {H or K} heads"
            f" over {K} of {D}, blocks of {size}"
        )


def ask_shares(
    student,
    pool: Pool,
    number: int,
    cause: str,
    close: dict = CLOSE,
    parts: bool = True,
    lse: bool = False,
    layouts: tuple = ({}, {}),
):
    """Compare the shares, or their log-sum-exps; what came."""
    B, H, D = pool.q.shape
    after = student.kernel(
        "decode_shares",
        Buffer(pool.q),
        Buffer(pool.k, **layouts[0]),
        Buffer(pool.v, **layouts[1]),
        Buffer(pool.tables),
        Buffer(pool.lengths),
        nothing(B, H, number, D),
        nothing(B, H, number),
        seed=B + number,
    )
    right = shared_out(pool.q, pool.k, pool.v, pool.tables, pool.lengths, number)
    given = f"{pool.given}, {number} share{'s' * (number != 1)}"
    for buffer, wanted, asked, name in (
        (after.args[5], right[0], parts, "`parts`"),
        (after.args[6], right[1], lse, "`lse`"),
    ):
        buffer.expect_intact(cause=BESIDE)
        if asked:
            expect(buffer.values, name, given).close(wanted, **close, cause=cause)
    expect(
        after.counted["written"] >= 4 * B * H * number * (D + 1)
        and after.counted["read"] >= 8 * D * pool.k.shape[2] * int(pool.lengths.sum())
    ).is_true(
        cause=(
            "Keys and values are read, and `parts` and `lse` are written, by a kernel, and by"
            " nothing else."
        ),
        detail=given,
    )
    same = [
        torch.equal(now.values.nan_to_num(7.0), old.nan_to_num(7.0))
        for now, old in zip(after.args[:5], (pool.q, pool.k, pool.v, pool.tables, pool.lengths))
    ]
    expect(all(same)).is_true(cause="Only `parts` and `lse` are written: all else stays as it was.")
    return after


@shares.stage("one block", points=1)
def test_one_block_in_one_share(student, rng):
    rule = (
        "One sequence in one block, all in one share: scores over the square root of D, their"
        " softmax, and the mixture of the values of its tokens."
    )
    for length, size, D in ((1, 1, 16), (4, 4, 16), (3, 4, 32), (16, 20, 64), (16, 16, 16)):
        ask_shares(student, Pool(rng, [length], size, 1, D, spare=0), 1, rule)


@shares.stage("table", points=1.5, after="one block")
def test_blocks_lie_anywhere(student, rng):
    rule = (
        "Token t is at offset t % s of the block that entry t // s of the sequence's table names."
        " Blocks lie anywhere; behind the length nothing is read, and behind the table stands -1."
    )
    for length, size, entries in (
        (7, 4, 0),
        (8, 4, 0),
        (9, 4, 5),
        (5, 1, 8),
        (33, 5, 9),
        (64, 16, 0),
        (70, 3, 0),
        (300, 20, 16),
    ):
        longer = (
            " A longer text takes several tiles: when one has a larger score than all before, sum"
            " and mixture so far shrink by exp(old peak - new peak)."
        )
        ask_shares(
            student,
            Pool(rng, [length], size, 1, 16, entries=entries),
            1,
            rule + longer * (length > 16),
        )


@shares.stage("shares", points=1.5, after="table")
def test_tokens_are_shared_out(student, rng):
    rule = (
        "With N splits each has the length over N, rounded up, of the tokens; the last ones may"
        " have fewer or none. The softmax of a split is over its own tokens. One with no token has"
        " zeros."
    )
    for length, size, number in (
        (3, 2, 2),
        (8, 4, 2),
        (9, 4, 2),
        (5, 2, 4),
        (5, 3, 5),
        (1, 1, 3),
        (10, 16, 16),
        (100, 7, 3),
        (17, 5, 1),
    ):
        ask_shares(student, Pool(rng, [length], size, 1, 16), number, rule)


@shares.stage("sequences", points=1, after="table")
def test_sequences_of_other_lengths(student, rng):
    rule = (
        "Each sequence has its own row of `tables`, its own length and its own queries. A length"
        " may be 0: then every share is one with no token."
    )
    for lengths, size, number in (
        ([5, 9, 2], 4, 1),
        ([1, 16, 7, 3], 3, 2),
        ([0, 4], 2, 2),
        ([0], 3, 1),
        ([30, 0, 1, 12, 5, 8], 5, 1),
    ):
        ask_shares(student, Pool(rng, lengths, size, 1, 16), number, rule)


@shares.stage("heads", points=1, after="table")
def test_heads_share_keys(student, rng):
    rule = (
        "Head h uses the keys and values of head h // (H / K): neighbours share. The strides of"
        " blocks, slots and heads are what each cache says."
    )
    for H, K, layouts in (
        (2, 2, ({}, {})),
        (4, 2, ({}, {})),
        (6, 3, ({}, {})),
        (12, 1, ({}, {})),
        (3, 3, (BY_HEAD, {})),
        (4, 2, ({}, TURNED)),
        (2, 1, (APART, BY_HEAD)),
    ):
        ask_shares(student, Pool(rng, [7], 3, K, 16, H), 1, rule, layouts=layouts)
    ask_shares(student, Pool(rng, [5, 3], 3, 2, 16, 4), 2, rule, layouts=(TURNED, APART))
    ask_shares(student, Pool(rng, [26], 3, 1, 16), 1, rule, layouts=(FAR, FAR))


@shares.stage("log-sum-exp", points=1)
def test_the_log_sum_exp_of_a_share(student, rng):
    rule = (
        "`lse` is the natural logarithm of the sum of exp(score) over the split's tokens: maximum"
        " plus the logarithm of the sum. For a split with no token it is -inf."
    )
    for length, size, number, D in (
        (1, 1, 1, 16),
        (5, 5, 1, 32),
        (8, 4, 2, 16),
        (40, 7, 3, 16),
        (3, 2, 5, 64),
    ):
        ask_shares(student, Pool(rng, [length], size, 1, D), number, rule, parts=False, lse=True)
    for lengths, H, K, number in (([5, 2], 4, 2, 1), ([0, 7, 1], 2, 2, 3)):
        ask_shares(
            student,
            Pool(rng, lengths, 3, K, 16, H),
            number,
            f"{rule} Each sequence and head has its own.",
            parts=False,
            lse=True,
        )


@shares.stage("large scores", points=0.5, after="table")
def test_large_scores(student, rng):
    rule = (
        "Scores may be as large as 300, as low as -300, and all those of a split alike in that: no"
        " exp overflows, and no sum is 0. Values may be as large as they like."
    )
    for sign in (1.0, -1.0):
        pool = Pool(rng, [9, 40], 4, 1, 16)
        pool.q, pool.k, pool.v = (
            sign * (75.0 + pool.q.abs() / 10),
            pool.k.abs() / 10 + 0.9,
            1e5 * (1 + pool.v.abs()),
        )
        ask_shares(student, pool, 2, rule, close=ROUGH, lse=True)
    pool = Pool(rng, [70], 7, 1, 16)
    pool.q, pool.k = (
        18.0 + pool.q.abs(),
        uniform(rng, -3.5, 3.5, *pool.k.shape[:3], 1)
        .expand(pool.k.shape)
        .clone()
        .masked_fill(pool.k.isnan(), torch.nan),
    )
    ask_shares(student, pool, 1, rule, close=ROUGH)
    for rising in (1.0, -1.0):
        pool = Pool(rng, [140], 7, 1, 16)
        pool.q = 18.0 + pool.q.abs()
        for token in range(140):
            pool.k[int(pool.tables[0, token // 7]), token % 7] = rising * (token / 20.0 - 3.5)
        ask_shares(
            student, pool, 1, f"{rule} The largest score may come first, or last.", close=ROUGH
        )


@shares.stage("work", points=0.5, after="shares")
def test_shares_read_their_own_and_compile(student, rng):
    pool = Pool(rng, [9, 4], 4, 2, 32, 6)
    expect_compiled(
        student,
        "decode_shares",
        pool.q,
        pool.k.nan_to_num(0.0),
        pool.v.nan_to_num(0.0),
        pool.tables,
        pool.lengths,
        torch.zeros(2, 6, 3, 32),
        torch.zeros(2, 6, 3),
    )
    for lengths, H, K, number, layouts in (
        ([9, 40], 4, 2, 2, (BY_HEAD, TURNED)),
        ([33], 2, 1, 3, ({}, {})),
        ([10, 7], 3, 3, 2, ({}, APART)),
    ):
        after = ask_shares(
            student,
            Pool(rng, lengths, 4, K, 16, H),
            number,
            "`parts` and `lse` are those of each share.",
            lse=True,
            layouts=layouts,
        )
        counted, each = after.counted, sum(lengths) * 16 * 4
        expect(after.value is None).is_true(cause=SILENT)
        expect(counted["copied"] == 0).is_true(cause=COPIED)
        given = (
            f"{sum(lengths)} tokens, {H} heads over {K}, {number} shares: {counted['programs']}"
            " programs"
        )
        expect(
            counted["programs"] >= len(lengths) * K * number
            and {counted["read 1"], counted["read 2"]} <= {each * K, each * H}
        ).is_true(
            cause=(
                "A key and a value are read once for each head, or for each group of heads, and by"
                " the instance of their own split, none more even where a mask hides it: at least"
                " one instance for each sequence, KV head, and split."
            ),
            detail=(
                f"{given}, {counted['read 1']} bytes of `k_cache` read and {counted['read 2']} of"
                f" `v_cache`; the sequences have {each * K} in each, or {each * H} when each head"
                " reads its own"
            ),
        )
        expect(counted["launches"] == 1 and counted["most"] <= 4 * (H // K) * 17).is_true(
            cause=ONE_START,
            detail=(
                f"{given}, {counted['launches']} starts, and one instance wrote {counted['most']}"
                " bytes"
            ),
        )


merge = exercise(
    "14.merge_shares",
    function="merge_shares",
    points=4,
    see=f"{BOOK}/split-kv#merging-attention-states",
    changes=True,
    withhold=OURS | FUSED | BY_TORCH,
)


def ask_merge(student, parts: torch.Tensor, lse: torch.Tensor, cause: str, close: dict = CLOSE):
    """Compare what the shares give together; what came."""
    B, H, N, D = parts.shape
    after = student.kernel("merge_shares", Buffer(parts), Buffer(lse), nothing(B, H, D), seed=N + D)
    after.args[2].expect_intact(cause=BESIDE)
    expect(after.args[2].values, "`out`", f"{B} sequences, {H} heads of {D}, {N} shares").close(
        put_together(parts, lse), **close, cause=cause
    )
    expect(
        after.counted["written"] >= 4 * B * H * D and after.counted["read"] >= 4 * B * H * N
    ).is_true(
        cause="`parts` and `lse` are read, and `out` is written, by a kernel, and by nothing else."
    )
    expect(
        torch.equal(after.args[0].values, parts) and torch.equal(after.args[1].values, lse)
    ).is_true(cause="`parts` and `lse` stay as they were.")
    return after


@merge.stage("weights", points=1.5)
def test_shares_count_by_their_sums(student, rng):
    rule = (
        "A split counts by its sum, exp(lse): out is the sum of exp(lse) times parts, over the sum"
        " of exp(lse). The mean of the splits, or one with lse itself as weight, is something else."
    )
    ask_merge(
        student,
        torch.tensor([2.0, 6.0]).view(1, 1, 2, 1),
        torch.tensor([4.0, 12.0]).log().view(1, 1, 2),
        rule,
    )
    for B, H, N, D in (
        (1, 1, 1, 1),
        (1, 1, 2, 16),
        (1, 1, 4, 64),
        (2, 3, 8, 4),
        (6, 2, 2, 2),
        (1, 12, 16, 32),
        (2, 5, 4, 4),
        (6, 12, 2, 1),
    ):
        ask_merge(student, normal(rng, B, H, N, D), 2 * normal(rng, B, H, N), rule)
    parts, lse = normal(rng, 1, 2, 4, 4), normal(rng, 1, 2, 4)
    parts[:, :, 1], lse[:, 0, 0] = 0.0, 0.0
    ask_merge(
        student,
        parts,
        lse,
        f"{rule} A split whose values are 0 counts as well, and so does one with lse 0: its sum"
        " is 1.",
    )


@merge.stage("any number", points=0.5, after="weights")
def test_any_number_of_shares(student, rng):
    rule = (
        "The number of shares need not be a power of two: what is not there is masked, with -inf"
        " for its lse, and counts nothing."
    )
    for N, D in ((3, 16), (5, 1), (40, 8), (17, 64), (7, 2)):
        for lift in (-5.0, 5.0):
            ask_merge(student, normal(rng, 2, 2, N, D) + 1, normal(rng, 2, 2, N) + lift, rule)
    ask_merge(
        student,
        normal(rng, 4, 12, 11, 64),
        normal(rng, 4, 12, 11),
        f"{rule} All of `parts` is used, however large it is.",
    )


@merge.stage("empty", points=1, after="weights")
def test_empty_shares_count_nothing(student, rng):
    rule = (
        "A split with lse -inf counts nothing. Where all splits have it, out is zeros: exp(-inf -"
        " (-inf)) is NaN, so take no -inf away, and divide by no 0."
    )
    for N in (1, 2, 5):
        parts, lse = normal(rng, 2, 3, N, 4), normal(rng, 2, 3, N)
        for hidden in (
            lse > 0,
            torch.arange(N).expand(2, 3, N) < N - 1,
            torch.tensor([True, False, True]).view(1, 3, 1).expand(2, 3, N),
        ):
            ask_merge(student, parts, lse.masked_fill(hidden, -torch.inf), rule)


@merge.stage("large", points=0.5, after="weights")
def test_log_sum_exps_of_thousands(student, rng):
    rule = (
        "lse lies between -10,000 and 10,000, and all those of a head may be near one end: take the"
        " largest away before exp."
    )
    for low, high in (
        (9990.0, 10000.0),
        (-10000.0, -9990.0),
        (-10000.0, 10000.0),
        (85.0, 95.0),
        (-300.0, -290.0),
    ):
        ask_merge(
            student, normal(rng, 1, 2, 5, 4), uniform(rng, low, high, 1, 2, 5), rule, close=ROUGH
        )
    ask_merge(
        student,
        torch.tensor([1.0, -1.0]).view(2, 1, 1) * uniform(rng, 7e5, 1e6, 1, 2, 5, 4),
        normal(rng, 1, 2, 5),
        "A number of `parts` may be as large as 1,000,000, or as low as -1,000,000.",
    )
    ask_merge(
        student,
        normal(rng, 1, 2, 3, 4),
        torch.tensor([[[-10000.0, -torch.inf, -10000.0], [10000.0, 10000.0, -torch.inf]]]),
        rule,
        close=ROUGH,
    )


@merge.stage("work", points=0.5, after="any number")
def test_the_merge_reads_once_and_compiles(student, rng):
    expect_compiled(
        student,
        "merge_shares",
        torch.zeros(2, 3, 5, 16),
        torch.zeros(2, 3, 5),
        torch.zeros(2, 3, 16),
    )
    for B, H, N, D in ((2, 3, 5, 4), (1, 1, 2, 16)):
        after = ask_merge(
            student,
            normal(rng, B, H, N, D),
            normal(rng, B, H, N),
            "`out` is the attention over all shares.",
        )
        counted = after.counted
        expect(after.value is None).is_true(cause=SILENT)
        expect(counted["copied"] == 0).is_true(cause=COPIED)
        expect(
            (counted["programs"], counted["read"], counted["written"])
            == (B * H, 4 * B * H * N * (D + 1), 4 * B * H * D)
        ).is_true(
            cause=(
                "One instance per sequence and head; each value of `parts` and `lse` is read"
                " once, and each of `out` written once."
            ),
            detail=(
                f"{B} sequences, {H} heads of {D}, {N} shares: {counted['programs']} programs,"
                f" {counted['read']} bytes read, {counted['written']} written"
            ),
        )
        expect(counted["launches"] == 1 and counted["most"] <= 4 * D).is_true(
            cause=ONE_START,
            detail=(
                f"{B} sequences, {H} heads of {D}: {counted['launches']} starts, and one instance"
                f" wrote {counted['most']} bytes"
            ),
        )
