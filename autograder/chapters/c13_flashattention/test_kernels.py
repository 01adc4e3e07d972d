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
SILENT = "Nothing is returned: the result is what stands in the tensors that are given for it."
ONE_START = (
    "One call starts one kernel, once, and each program does the part that is its own: one program"
    " that does the work of all keeps a GPU waiting."
)
BESIDE = "Something beside the result was written: mask what lies beyond its end."


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
            "Load x and y, add, and store into `out`: the numbers of one block, all of which are"
            " there. Nothing is returned.",
        )


@add.stage("several blocks", points=1)
def test_several_blocks(student, rng):
    for length, block in ((4, 2), (12, 4), (64, 16), (5, 1), (5, 1), (1024, 256)):
        ask_add(
            student,
            rng,
            length,
            block,
            "Program i owns the block that begins at i times `BLOCK`. Programs run in any order,"
            " and each writes its own block.",
        )


@add.stage("ragged", points=1.5)
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
            "The last block may be ragged: as many programs as it takes, rounded up, and a mask on"
            " the loads and on the store, so that place N and all behind it are left alone.",
        )
    ask_add(student, rng, 50, 16, "Numbers may be as large as they like.", size=1e5)


@add.stage("once", points=0.5, after="ragged")
def test_each_number_is_read_once(student, rng):
    for length, block in ((10, 4), (16, 4), (3, 8), (5, 1), (1500, 1024), (1000, 512)):
        after = ask_add(
            student,
            rng,
            length,
            block,
            "Every number of `out` is x + y, whatever the length and the block.",
        )
        counted = after.counted
        expect(after.value is None).is_true(cause=SILENT)
        expect(
            (counted["programs"], counted["read"], counted["written"])
            == (-(-length // block), 8 * length, 4 * length)
        ).is_true(
            cause=(
                "One program for each block, no more; each number of x and of y is read once, by a"
                " kernel, and each of `out` written once."
            ),
            detail=(
                f"{length} numbers, blocks of {block}: {counted['programs']} programs,"
                f" {counted['read']} bytes read, {counted['written']} written"
            ),
        )
        expect(counted["launches"] == 1 and counted["most"] <= 4 * block).is_true(
            cause=ONE_START,
            detail=(
                f"{length} numbers, blocks of {block}: {counted['launches']} starts, and one"
                f" program wrote {counted['most']} bytes"
            ),
        )


@add.stage("compiles", points=0.5, after="ragged")
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
            "A row of exactly one block: exp(number - peak), divided by their sum, for each row by"
            " itself.",
        )


@softmax.stage("rows apart", points=0.5)
def test_rows_may_lie_apart(student, rng):
    for R, C, gap in ((3, 4, 3), (2, 8, 1), (5, 2, 7), (6, 4, 7001)):
        ask_softmax(
            student,
            rng,
            normal(rng, R, C),
            C,
            "Row r of x begins at r times `x.stride(0)`, row r of `out` at r times `out.stride(0)`:"
            " neither need be the number of columns.",
            gap=gap,
        )


@softmax.stage("shrink", points=1)
def test_the_sum_shrinks_when_the_peak_climbs(student, rng):
    rule = (
        "When a block has a larger number than all before, the sum so far shrinks by exp(old peak -"
        " new peak). Otherwise peak and sum so far stay what they are."
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


@softmax.stage("tail", points=1.5)
def test_the_last_block_of_a_row(student, rng):
    rule = (
        "The last block of a row may be ragged. What is not there is lower than every number, and"
        " adds nothing to the sum: read it as -inf. It is not stored either."
    )
    for R, C, block in ((1, 3, 4), (2, 5, 8), (3, 1, 16), (2, 7, 4), (1, 9, 8), (2, 300, 256)):
        ask_softmax(student, rng, normal(rng, R, C) - 3, block, rule)
    ask_softmax(student, rng, (normal(rng, 3, 7) - 3).sort(1).values, 4, rule, gap=2)


@softmax.stage("large", points=0.5)
def test_numbers_of_thousands(student, rng):
    rule = (
        "Numbers lie between -10,000 and 10,000, and all those of a row may be near one end: only"
        " exp(number - peak) is never too large, and its sum never 0. Subtract the peak, which is"
        " exact, and divide by the sum: a log-sum-exp near 10,000 is rounded too much."
    )
    for low, high in ((9990.0, 10000.0), (-10000.0, -9990.0), (-10000.0, 10000.0), (80.0, 200.0)):
        ask_softmax(student, rng, uniform(rng, low, high, 8, 11), 4, rule)
    for place in (-10000.0, 10000.0):
        ask_softmax(student, rng, torch.full((1, 5), place), 4, rule)
    ask_softmax(student, rng, torch.tensor([[-200.0, 0.0, -40.0, -60.0, -100.0]]), 2, rule)


@softmax.stage("bytes", points=1, after="shrink")
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
                "Each number of x is read at most twice: once for the peak and the sum together,"
                " and once to write. A walk for the peak and another for the sum is one too many."
            ),
            detail=detail,
        )
        expect(
            counted["programs"] == R
            and R * -(-C // block) <= counted["loads"] <= 2 * R * -(-C // block)
        ).is_true(
            cause=(
                "One program for each row, which holds `block` numbers at a time: not a whole row,"
                " and not one by one."
            ),
            detail=detail,
        )
        expect(counted["launches"] == 1 and counted["most"] <= 4 * C).is_true(
            cause=ONE_START,
            detail=(
                f"{detail}, {counted['launches']} starts, and one program wrote {counted['most']}"
                " bytes"
            ),
        )


@softmax.stage("compiles", points=0.5, after="shrink")
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
            "One head and one tile, all of which is there: scores over the square root of D, their"
            " softmax, the mixture of the values.",
        )


@flash.stage("several tiles", points=1.5)
def test_several_tiles_of_a_kernel(student, rng):
    rule = (
        "Program i has the queries from i times `rows` on, and walks over all tiles of keys. When a"
        " tile has a larger score, sum and mixture so far shrink by exp(old peak - new peak)."
    )
    ask_flash(student, rng, (*qkv(rng, 1, 16, 48, 16, size=3.0), 16, 16, False), rule)
    ask_flash(student, rng, (*qkv(rng, 1, 32, 32, 16, size=3.0), 16, 32, False), rule)
    ask_flash(student, rng, (*qkv(rng, 1, 64, 32, 16, size=3.0), 32, 16, False), rule)


@flash.stage("ragged", points=1.5)
def test_ragged_tiles_of_a_kernel(student, rng):
    rule = (
        "Queries and keys may end inside a tile. Beyond the end nothing is loaded or stored, and a"
        " key that is not there has the score -inf, so that it adds nothing to the sum."
    )
    for T, S in ((1, 1), (5, 37), (33, 17), (37, 5)):
        ask_flash(student, rng, (*qkv(rng, 1, T, S, 16), 16, 16, False), rule)
    ask_flash(student, rng, (*qkv(rng, 1, 70, 70, 64), 32, 32, False), rule)
    q, k, v = qkv(rng, 1, 3, 19, 16)
    ask_flash(student, rng, (-q.abs(), k.abs(), v, 16, 16, False), rule)


@flash.stage("heads", points=1.5)
def test_heads_and_groups(student, rng):
    rule = (
        "Head h begins h strides behind the first, in q, out and lse; its keys and values are those"
        " of head h // (H / K). Strides of heads and rows are what the tensors say, each its own,"
        " and may be anything."
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


@flash.stage("causal", points=1)
def test_a_causal_kernel(student, rng):
    rule = (
        "Causal, query t stands at place t + S - T and sees no key behind that. A query that sees"
        " no key gives zeros, and no NaN: start the peak at a finite number, and divide by no sum"
        " of 0."
    )
    for T, S in ((16, 16), (33, 33), (5, 37), (37, 7), (32, 33), (16, 17), (16, 31), (33, 32)):
        ask_flash(student, rng, (*qkv(rng, 1, T, S, 16), 16, 16, True), rule)
    ask_flash(student, rng, (*qkv(rng, 2, 40, 40, 16), 16, 32, True), rule)


@flash.stage("large scores", points=0.5)
def test_large_scores_in_a_kernel(student, rng):
    rule = (
        "Scores may be as large as 300, as low as -300, and all those of a query alike in that: no"
        " `exp` overflows, and no sum is 0."
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
            f"{rule} Values may be as large as they like.",
            close=ROUGH,
        )
    signs = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0])[:, None]
    ask_flash(
        student,
        rng,
        (signs * (75.0 + q.abs() / 10), k.abs() / 10 + 0.9, v, 16, 16, False),
        f"{rule} Each query has a peak of its own.",
        close=ROUGH,
    )


@flash.stage("log-sum-exp", points=0.5)
def test_the_log_sum_exp_of_a_kernel(student, rng):
    rule = (
        "`lse` holds, for each head and query, the peak plus the natural logarithm of the sum; -inf"
        " where a query sees no key. Its rows may lie apart."
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


@flash.stage("walk", points=1, after="several tiles")
def test_no_tile_is_walked_in_vain(student, rng):
    rule = (
        "Two products through `tl.dot` for each tile that is walked. Causal, the walk of a tile of"
        " queries ends with the last key that its last query sees: about half of the tiles are"
        " never walked."
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
            "`out` is attention, whatever the sizes of the tiles.",
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
                f"{T} queries, tiles of {rows}: {counted['launches']} starts, and one program wrote"
                f" {counted['most']} bytes"
            ),
        )


@flash.stage("compiles", points=0.5, after="several tiles")
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
