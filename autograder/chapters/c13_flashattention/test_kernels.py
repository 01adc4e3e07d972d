"""Checks of chapter 13, part 3: three kernels, in Triton's interpreter under the harness of
`checks.kernels`.
"""

import torch

from autograder.chapters.c13_flashattention.attended import attended, low_and_high, seen_by
from autograder.chapters.c13_flashattention.test_tiles import qkv
from autograder.chapters.c13_flashattention.withholding import FUSED, OURS, SOFTMAX
from autograder.checks.assertions.numeric_hints import UNWRITTEN
from autograder.checks.inputs.draws import normal, uniform
from autograder.checks.kernels.compiler import expect_compiled
from autograder.checks.protocol import Buffer, exercise, expect

BOOK = "13-flashattention"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
ROUGH = {"rtol": 1e-3, "atol": 1e-3}
SILENT = "Return nothing: write the result into the tensors that are given for it."
ONE_START = (
    "One call launches one kernel, once, and every program instance does its own "
    "part: one instance must not do the work of all."
)
BESIDE = "You wrote outside the result: mask the store past its end."


def nothing(*shape: int, **layout: object) -> Buffer:
    """Where a result is to be written: NaN now, so that what is left out shows."""
    return Buffer(torch.full(shape, UNWRITTEN), **layout)


def result(
    buffer: object,
    right: torch.Tensor,
    cause: str,
    given: str,
    name: str = "Your result",
    close: dict = CLOSE,
) -> None:
    """Compare what was written, and look at what lies around it."""
    buffer.expect_intact(cause=BESIDE)
    expect(buffer.values, name, given).close(right, **close, cause=cause)


add = exercise(
    "13.add",
    function="add",
    points=4,
    see=f"{BOOK}/triton#by-hand-ten-numbers-in-blocks-of-four",
    changes=True,
    withhold=OURS | FUSED,
)


def ask_add(student, rng, length: int, block: int, cause: str, size: float = 1.0):
    """Compare the sums; what came."""
    x, y, given = (
        size * normal(rng, length),
        size * normal(rng, length),
        f"{length} numbers, blocks of {block}",
    )
    after = student.kernel("add", x, Buffer(y), nothing(length), block, seed=length + block)
    result(after.args[2], x + y, cause, given)
    expect(torch.equal(after.args[0], x) and torch.equal(after.args[1].values, y)).is_true(
        cause="x and y stay as they were: only `out` is written."
    )
    return after


@add.stage("one block", points=0.5)
def test_one_block(student, rng):
    for size in (1, 8, 64, 1024):
        ask_add(
            student,
            rng,
            size,
            size,
            "Load x and y, add, and store into `out`: one complete block. Return nothing.",
        )


@add.stage("several blocks", points=1)
def test_several_blocks(student, rng):
    for length, block in ((4, 2), (12, 4), (64, 16), (5, 1), (5, 1), (1024, 256)):
        ask_add(
            student,
            rng,
            length,
            block,
            (
                "Instance i handles the block that begins at i * `BLOCK`. Instances run in any "
                "order, and each writes its own block."
            ),
        )


@add.stage("ragged tiles", points=1.5)
def test_a_ragged_end(student, rng):
    for length, block in (
        (10, 4),
        (1, 8),
        (7, 8),
        (9, 8),
        (33, 16),
        (5, 1024),
        (1999, 1024),
        (2000, 64),
        (27, 16),
    ):
        ask_add(
            student,
            rng,
            length,
            block,
            (
                "The last block may be ragged: round the number of instances up, and mask loads "
                "and store at offset N and beyond."
            ),
        )
    ask_add(student, rng, 50, 16, "Numbers may be of any size.", size=1e5)


@add.stage("one launch", points=0.5, after="ragged tiles")
def test_each_number_is_read_once(student, rng):
    for length, block in ((10, 4), (16, 4), (3, 8), (5, 1), (1500, 1024), (1000, 512)):
        after = ask_add(
            student,
            rng,
            length,
            block,
            "Every number of `out` must be x + y, for any length and block.",
        )
        counted = after.counted
        expect(after.value is None).is_true(cause=SILENT)
        expect(
            (counted["programs"], counted["read"], counted["written"])
            == (-(-length // block), 8 * length, 4 * length)
        ).is_true(
            cause=(
                "Launch one instance per block, no more. Read each number of x and y once, in a "
                "kernel, and write each of `out` once."
            ),
            detail=(
                f"{length} numbers, blocks of {block}: {counted['programs']} programs,"
                f" {counted['read']} bytes read, {counted['written']} written"
            ),
        )
        expect(counted["launches"] == 1 and counted["most"] <= 4 * block).is_true(
            cause=ONE_START,
            detail=(
                f"{length} numbers, blocks of {block}: {counted['launches']} launches, and one"
                f" instance wrote {counted['most']} bytes"
            ),
        )


@add.stage("compiles for GPU", points=0.5, after="ragged tiles")
def test_add_compiles(student):
    expect_compiled(student, "add", torch.zeros(1000), torch.zeros(1000), torch.zeros(1000), 128)


softmax = exercise(
    "13.softmax",
    function="softmax",
    points=6,
    see=f"{BOOK}/triton#softmax-fusing-a-reduction",
    changes=True,
    withhold=OURS | FUSED | SOFTMAX,
)


def ask_softmax(
    student, rng, x: torch.Tensor, block: int, cause: str, gap: int = 0, close: dict = CLOSE
):
    """Compare the shares; what came.

    gap: numbers between the rows of x; those of `out` have others.
    """
    R, C = x.shape
    after = student.kernel(
        "softmax", Buffer(x, gap=gap), nothing(R, C, gap=2 * gap), block, seed=R * C + block
    )
    result(
        after.args[1],
        x.double().softmax(1).float(),
        cause,
        f"{R} x {C}, blocks of {block}, {gap} numbers between rows",
        close=close,
    )
    expect(torch.equal(after.args[0].values, x)).is_true(
        cause="x stays as it was: only `out` is written."
    )
    return after


@softmax.stage("one block", points=1)
def test_a_row_of_one_block(student, rng):
    for R, C in ((1, 1), (1, 4), (3, 8), (20, 2), (2, 64)):
        ask_softmax(
            student,
            rng,
            normal(rng, R, C),
            C,
            (
                "For a row of one block: exp(number - maximum), divided by the sum, in each row "
                "on its own."
            ),
        )


@softmax.stage("rows apart", points=0.5)
def test_rows_may_lie_apart(student, rng):
    for R, C, gap in ((3, 4, 3), (2, 8, 1), (5, 2, 7), (6, 4, 7001)):
        ask_softmax(
            student,
            rng,
            normal(rng, R, C),
            C,
            (
                "Row r of x begins at r * `x.stride(0)`, row r of `out` at r * `out.stride(0)`: "
                "neither need equal the number of columns."
            ),
            gap=gap,
        )


@softmax.stage("rescaled sums", points=1)
def test_the_sum_shrinks_when_the_peak_climbs(student, rng):
    rule = (
        "When a block raises the maximum, multiply the sum by exp(old maximum - larger "
        "maximum). Otherwise both stay."
    )
    for R, C, block in ((1, 4, 2), (2, 8, 4), (2, 3, 1), (1, 256, 64), (1, 40, 1)):
        x = 2 * normal(rng, R, C)
        for turned in (x, x.sort(1).values, x.sort(1, descending=True).values)[: 3 if C < 4 else 1]:
            ask_softmax(student, rng, turned.contiguous(), block, rule)
    ask_softmax(
        student,
        rng,
        torch.tensor([[1.0, 3.0, 4.0, 2.0]]) * torch.tensor(2.0).log(),
        2,
        f"{rule} This is the case by hand.",
    )


@softmax.stage("masked tail", points=1.5)
def test_the_last_block_of_a_row(student, rng):
    rule = (
        "Load masked lanes of the last block as -inf, so that they change neither maximum"
        " nor sum, and do not store them."
    )
    for R, C, block in ((1, 3, 4), (2, 5, 8), (3, 1, 16), (2, 7, 4), (1, 9, 8), (2, 300, 256)):
        ask_softmax(student, rng, normal(rng, R, C) - 3, block, rule)
    ask_softmax(student, rng, (normal(rng, 3, 7) - 3).sort(1).values, 4, rule, gap=2)


@softmax.stage("large numbers", points=0.5)
def test_numbers_of_thousands(student, rng):
    rule = (
        "Numbers may be near 10,000 or -10,000: use exp(number - maximum) divided by the "
        "sum. A log-sum-exp near 10,000 is rounded too much."
    )
    for low, high in ((9990.0, 10000.0), (-10000.0, -9990.0), (-10000.0, 10000.0), (80.0, 200.0)):
        ask_softmax(student, rng, uniform(rng, low, high, 8, 11), 4, rule)
    for place in (-10000.0, 10000.0):
        ask_softmax(student, rng, torch.full((1, 5), place), 4, rule)
    ask_softmax(student, rng, torch.tensor([[-200.0, 0.0, -40.0, -60.0, -100.0]]), 2, rule)


@softmax.stage("bytes read", points=1, after="rescaled sums")
def test_two_walks_and_no_more(student, rng):
    for R, C, block in ((2, 8, 4), (3, 5, 2), (1, 7, 8)):
        after, given = (
            ask_softmax(
                student,
                rng,
                normal(rng, R, C),
                block,
                "Each row of `out` is the softmax of the same row of x.",
            ),
            f"{R} x {C}, blocks of {block}",
        )
        counted = after.counted
        expect(after.value is None).is_true(cause=SILENT)
        detail = (
            f"{given}: {counted['programs']} programs, {counted['loads']} loads, {counted['read']}"
            f" bytes read, {counted['written']} written"
        )
        expect(
            4 * R * C <= counted["read"] <= 8 * R * C and counted["written"] == 4 * R * C
        ).is_true(
            cause=(
                "Read each number of x at most twice: once for maximum and sum together, once to "
                "write. You make one pass too many."
            ),
            detail=detail,
        )
        expect(
            counted["programs"] == R
            and R * -(-C // block) <= counted["loads"] <= 2 * R * -(-C // block)
        ).is_true(
            cause=(
                "Launch one instance per row, which holds `block` numbers at a time: not a whole "
                "row, and not single numbers."
            ),
            detail=detail,
        )
        expect(counted["launches"] == 1 and counted["most"] <= 4 * C).is_true(
            cause=ONE_START,
            detail=(
                f"{detail}, {counted['launches']} launches; one instance wrote {counted['most']}"
                " bytes"
            ),
        )


@softmax.stage("compiles for GPU", points=0.5, after="rescaled sums")
def test_softmax_compiles(student):
    expect_compiled(student, "softmax", torch.zeros(4, 300), torch.zeros(4, 300), 64)


flash = exercise(
    "13.flash",
    function="flash",
    points=9,
    see=f"{BOOK}/flash-kernel#the-kernel",
    changes=True,
    withhold=OURS | FUSED | SOFTMAX,
)
AS_IN_A_MODEL = {"order": (1, 0, 2)}  # the heads of a token side by side


def ask_flash(
    student,
    rng,
    case: tuple,
    cause: str,
    out: bool = True,
    lse: bool = False,
    close: dict = CLOSE,
    layouts: tuple = ({}, {}, {}, {}, {}),
):
    """Compare the output or the log-sum-exp; what came. layouts: of q, k, v, out and lse."""
    q, k, v, rows, columns, causal = case
    (H, T, D), (K, S, _) = q.shape, k.shape
    given = (
        f"{H} heads over {K}, {T} queries, {S} keys of {D}, tiles {rows} x {columns}, causal"
        f" {causal}"
    )
    arguments = [Buffer(one, **layout) for one, layout in zip((q, k, v), layouts)]
    after = student.kernel(
        "flash",
        *arguments,
        nothing(H, T, D, **layouts[3]),
        nothing(H, T, **layouts[4]),
        rows,
        columns,
        causal,
        seed=T + S + rows,
    )
    right = attended(q, k, v, causal)
    if out:
        result(after.args[3], right[0], cause, given, close=close)
    if lse:
        result(after.args[4], right[1], cause, given, "Your log-sum-exp", close)
    after.args[4].expect_intact(cause=BESIDE)
    return after


@flash.stage("one tile", points=1)
def test_one_tile_of_a_kernel(student, rng):
    for D, side in ((16, 16), (32, 16), (16, 32)):
        ask_flash(
            student,
            rng,
            (*qkv(rng, 1, side, side, D), side, side, False),
            (
                "One head, one complete tile: scores divided by the square root of D, softmax, "
                "weighted average of the values."
            ),
        )


@flash.stage("several tiles", points=1.5)
def test_several_tiles_of_a_kernel(student, rng):
    rule = (
        "Instance i has the queries from i * `rows` on. When a tile raises the maximum, "
        "multiply sum and accumulator by exp(old - larger)."
    )
    ask_flash(student, rng, (*qkv(rng, 1, 16, 48, 16, size=3.0), 16, 16, False), rule)
    ask_flash(student, rng, (*qkv(rng, 1, 32, 32, 16, size=3.0), 16, 32, False), rule)
    ask_flash(student, rng, (*qkv(rng, 1, 64, 32, 16, size=3.0), 32, 16, False), rule)


@flash.stage("ragged tiles", points=1.5)
def test_ragged_tiles_of_a_kernel(student, rng):
    rule = (
        "Queries and keys may end inside a tile: mask loads and stores there, and give "
        "missing keys the score -inf."
    )
    for T, S in ((1, 1), (5, 37), (33, 17), (37, 5)):
        ask_flash(student, rng, (*qkv(rng, 1, T, S, 16), 16, 16, False), rule)
    ask_flash(student, rng, (*qkv(rng, 1, 70, 70, 64), 32, 32, False), rule)
    q, k, v = qkv(rng, 1, 3, 19, 16)
    ask_flash(student, rng, (-q.abs(), k.abs(), v, 16, 16, False), rule)


@flash.stage("heads and strides", points=1.5)
def test_heads_and_groups(student, rng):
    rule = (
        "Use each tensor's own strides for heads and rows. Query head h reads KV head h // (H / K)."
    )
    given, far = dict(gap=3), dict(gap=3001)
    for H, K, layouts in (
        (2, 2, ({}, {}, {}, {}, {})),
        (4, 2, ({}, {}, {}, {}, {})),
        (3, 1, (AS_IN_A_MODEL, AS_IN_A_MODEL, {}, {}, given)),
        (2, 2, ({}, {}, AS_IN_A_MODEL, AS_IN_A_MODEL, {})),
        (6, 3, (given, AS_IN_A_MODEL, given, AS_IN_A_MODEL, given)),
        (3, 3, (far, far, far, far, far)),
    ):
        ask_flash(student, rng, (*qkv(rng, H, 5, 7, 16, K), 16, 16, False), rule, layouts=layouts)


@flash.stage("causal mask", points=1)
def test_a_causal_kernel(student, rng):
    rule = (
        "Query t has position t + S - T. A query without keys gives zeros: start the "
        "maximum at a finite number, never divide by 0."
    )
    for T, S in ((16, 16), (33, 33), (5, 37), (37, 7), (32, 33), (16, 17), (16, 31), (33, 32)):
        ask_flash(student, rng, (*qkv(rng, 1, T, S, 16), 16, 16, True), rule)
    ask_flash(student, rng, (*qkv(rng, 2, 40, 40, 16), 16, 32, True), rule)


@flash.stage("large scores", points=0.5)
def test_large_scores_in_a_kernel(student, rng):
    rule = (
        "All scores of a query may be near 300 or near -300: subtract the running "
        "maximum, so that `exp` neither overflows nor sums to 0."
    )
    q, k, v = qkv(rng, 1, 5, 11, 16)
    for sign in (1, -1):
        ask_flash(
            student,
            rng,
            (sign * 75.0 + q.abs() / 10, k.abs() / 10 + 0.9, v, 16, 16, sign > 0),
            rule,
            close=ROUGH,
        )
    for near in low_and_high(1, 3, 5, 16):
        ask_flash(
            student,
            rng,
            (*near, 1e5 * (1 + normal(rng, 1, 5, 16).abs()), 16, 16, False),
            " Values may be of any size.",
            close=ROUGH,
        )
    signs = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0])[:, None]
    ask_flash(
        student,
        rng,
        (signs * (75.0 + q.abs() / 10), k.abs() / 10 + 0.9, v, 16, 16, False),
        " Each query has a maximum of its own.",
        close=ROUGH,
    )


@flash.stage("log-sum-exp per query", points=0.5)
def test_the_log_sum_exp_of_a_kernel(student, rng):
    rule = (
        "`lse` is the maximum plus the natural logarithm of the sum, -inf for a query "
        "without keys. Its rows have a stride of their own."
    )
    for H, K, T, S, causal, layout in (
        (1, 1, 16, 32, False, {}),
        (2, 1, 5, 20, True, {}),
        (3, 3, 20, 7, True, dict(gap=5)),
    ):
        ask_flash(
            student,
            rng,
            (*qkv(rng, H, T, S, 16, K), 16, 16, causal),
            rule,
            out=False,
            lse=True,
            layouts=({}, {}, {}, {}, layout),
        )


@flash.stage("visited tiles", points=1, after="several tiles")
def test_no_tile_is_walked_in_vain(student, rng):
    rule = (
        "Use `tl.dot` twice per visited tile. Under a causal mask, stop after the last "
        "key that the last query of the tile attends to."
    )
    for H, T, S, rows, columns, causal in (
        (1, 32, 48, 16, 16, False),
        (1, 48, 48, 16, 32, True),
        (1, 48, 40, 32, 16, True),
        (1, 40, 20, 16, 16, True),
        (2, 32, 16, 16, 16, False),
    ):
        after = ask_flash(
            student,
            rng,
            (*qkv(rng, H, T, S, 16), rows, columns, causal),
            "`out` must be attention for any tile sizes.",
        )
        counted = after.counted
        expect(after.value is None).is_true(cause=SILENT)
        seen = (
            torch.nn.functional.pad(seen_by(T, S, causal), (0, -S % columns, 0, -T % rows))
            .unflatten(1, (-1, columns))
            .unflatten(0, (-1, rows))
            .any(3)
            .any(1)
        )
        each = 4 * rows * 16 * columns  # operations of a tile's two products
        expect(
            (counted["operations"], counted["programs"])
            == (H * int(seen.sum()) * each, H * len(seen))
        ).is_true(
            cause=rule,
            detail=(
                f"{H} heads, {T} queries, {S} keys, tiles {rows} x {columns}, causal {causal}:"
                f" {counted['operations'] / each:g} tiles, {counted['programs']} programs"
            ),
        )
        expect(counted["launches"] == 1 and counted["most"] <= 4 * rows * 17).is_true(
            cause=ONE_START,
            detail=(
                f"{T} queries, tiles of {rows}: {counted['launches']} launches; one instance wrote"
                f" {counted['most']} bytes"
            ),
        )


@flash.stage("compiles for GPU", points=0.5, after="several tiles")
def test_flash_compiles(student, rng):
    after = ask_flash(
        student, rng, (*qkv(rng, 1, 16, 32, 16), 16, 16, False), "`out` is attention."
    )
    expect(after.counted["rounded"] == 0).is_true(
        cause=(
            'Give every `tl.dot` the argument `input_precision="ieee"`. Without it a GPU rounds'
            " float32 to TF32, which has ten bits."
        ),
        detail=f"{after.counted['rounded']} calls of `tl.dot` round to TF32",
    )
    for causal, D in ((False, 64), (True, 16)):
        q, k = torch.zeros(4, 40, D), torch.zeros(2, 50, D)
        expect_compiled(
            student, "flash", q, k, k, torch.zeros(4, 40, D), torch.zeros(4, 40), 16, 16, causal
        )
