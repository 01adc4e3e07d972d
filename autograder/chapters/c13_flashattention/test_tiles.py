"""Checks of chapter 13, parts 1 and 2: bytes, merging two pieces of a softmax, attention by tiles
and its gradient.
"""

import torch

from autograder.chapters.c13_flashattention.attended import attended, differentiated, low_and_high
from autograder.chapters.c13_flashattention.withholding import FUSED, OURS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, whole
from autograder.checks.protocol import MIB, CheckFailed, StudentError, exercise, expect

BOOK = "13-flashattention"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}

predict_traffic = exercise(
    "13.predict_traffic",
    function="predict_traffic",
    points=5,
    kind="predict",
    see=f"{BOOK}/memory#by-hand-flops-and-bytes",
    withhold=OURS | FUSED,
)

SIZES = (
    (8, 4, 4, 2),
    (1024, 64, 128, 2),
    (1024, 64, 128, 4),
    (1, 1, 1, 1),
    (10, 3, 4, 4),
    (10, 3, 11, 4),
    (7, 5, 1, 8),
    (8192, 128, 64, 2),
    (1_000_000, 128, 4096, 2),
    (999_999, 1, 1_000_000, 1),
    (300, 1024, 7, 4),
    (1_000_000, 1024, 1, 8),
    *one_changed((10, 3, 4, 4), (13, 5, 3, 2)),
    (10, 4, 3, 4),
    (4, 3, 10, 4),
    (3, 10, 4, 4),
    (10, 3, 2, 8),
)


def counted(N: int, D: int, rows: int, size: int) -> dict[str, int]:
    """The right numbers, walked through: who is read and written when."""
    plain = sum(
        (
            2 * N * D,
            N * N,  # read Q and K, write the scores
            N * N,
            N * N,  # read them, write the shares
            N * N,
            N * D,
            N * D,
        )
    )  # read these and V, write the output
    full, rest = divmod(N, rows)
    tiles = ((rows, full), (rest, rest > 0))  # queries in a tile, and how many such tiles there are
    flash = sum(
        times * (tile * D + 2 * N * D + tile * D) for tile, times in tiles
    ) * size + 4 * sum(times * tile for tile, times in tiles)
    return {
        "plain": plain * size,
        "flash": flash,
        "operations": 2 * sum(times * (tile * N * D + tile * N * D) for tile, times in tiles),
    }


def ask_number(student, rng, key: str, cause: str) -> None:
    """Compare one of the three numbers."""
    drawn = tuple(whole(rng, low, high) for low, high in ((50, 999), (2, 99), (3, 40), (1, 8)))
    for sizes in (*SIZES, drawn):
        given = "N = {}, D = {}, rows = {}, size = {}".format(*sizes)
        right = counted(*sizes)
        came = expect(student.predict_traffic(*sizes), given=given).only_keys(right)
        came.has(key).equals(right[key], cause=cause)


@predict_traffic.stage("plain attention bytes", points=1.5)
def test_what_plain_attention_moves(student, rng):
    ask_number(
        student,
        rng,
        "plain",
        (
            "Each of the three kernels reads its inputs and writes its result: Q, K, scores; "
            "scores, attention weights; attention weights, V, output."
        ),
    )


@predict_traffic.stage("FlashAttention bytes", points=2)
def test_what_flash_attention_moves(student, rng):
    ask_number(
        student,
        rng,
        "flash",
        (
            "Q and the output move once, K and V once per tile of queries, the last one "
            "included. Each query leaves 4 bytes."
        ),
    )


@predict_traffic.stage("FLOPs counted", points=1.5)
def test_what_flash_attention_computes(student, rng):
    ask_number(
        student,
        rng,
        "operations",
        (
            "Both matrix products are computed completely, 2 N N D FLOPs each. Tiles change "
            "the traffic, not the FLOPs."
        ),
    )


merge = exercise(
    "13.merge",
    function="merge",
    points=5,
    see=f"{BOOK}/online#merging-two-parts",
    withhold=OURS | FUSED,
)
Piece = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def piece(rng, R: int, D: int, peak: torch.Tensor | None = None, count: int = 3) -> Piece:
    """What `count` scores with values leave behind: the largest, the sum, the mixture; relative to
    `peak` if given.
    """
    scores, values = 2 * normal(rng, R, count).double(), normal(rng, R, count, D).double()
    top = scores.amax(1) if count else torch.full((R,), -torch.inf, dtype=torch.float64)
    weights = (scores - top[:, None]).exp() if count else scores
    parts = (
        top if peak is None else peak.double(),
        weights.sum(1),
        (weights[..., None] * values).sum(1),
    )
    return tuple(one.float() for one in parts)


def empty(R: int, D: int) -> Piece:
    """What no score leaves behind."""
    return torch.full((R,), -torch.inf), torch.zeros(R), torch.zeros(R, D)


def merged(one: Piece, other: Piece) -> Piece:
    """The right answer, in float64."""
    (a, s, x), (b, t, y) = ([part.double() for part in each] for each in (one, other))
    peak = torch.maximum(a, b)
    left, right = (
        torch.where(
            side == -torch.inf, 0.0, (side - torch.where(peak == -torch.inf, 0.0, peak)).exp()
        )
        for side in (a, b)
    )
    return tuple(
        part.float()
        for part in (peak, left * s + right * t, left[:, None] * x + right[:, None] * y)
    )


def ask_merge(student, one: Piece, other: Piece, cause: str) -> None:
    """Compare the three parts."""
    given = f"{len(one[0])} rows of {one[2].shape[1]}"
    came = expect(student.merge(one, other), given=given).unpacks(3)
    for name, mine, right in zip(("peak", "sum", "mixture"), came, merged(one, other)):
        expect(mine, f"Your {name}", given).close(right, **CLOSE, cause=cause)


SHAPES = ((1, 1), (3, 2), (2, 1), (1, 5), (4, 4), (300, 2), (2, 300))


@merge.stage("equal maxima", points=1)
def test_equal_peaks_add_up(student, rng):
    rule = (
        "With equal maxima nothing is rescaled: add the sums and add the accumulators. "
        "The maximum stays."
    )
    for R, D in SHAPES:
        one, other = piece(rng, R, D), piece(rng, R, D)
        ask_merge(student, one, (one[0].clone(), *other[1:]), rule)
    ask_merge(
        student,
        (torch.zeros(2), torch.full((2,), 1000.0), 300 * normal(rng, 2, 3)),
        (torch.zeros(2), torch.tensor([1000.0, 1.0]), normal(rng, 2, 3)),
        rule,
    )


@merge.stage("either maximum larger", points=1.5)
def test_the_lower_side_shrinks(student, rng):
    rule = (
        "Row by row, multiply sum and accumulator of the side with the smaller maximum by"
        " exp(its maximum - the larger one)."
    )
    for R, D in SHAPES:
        for shift in (0.0, -3.0, 3.0):
            one, other = piece(rng, R, D), piece(rng, R, D)
            ask_merge(student, one, (other[0] + shift, *other[1:]), rule)
    for left, right in ((3.0, 4.0), (4.0, 3.0)):  # the case by hand
        ask_merge(
            student,
            *(
                (
                    torch.tensor([place]) * torch.tensor(2.0).log(),
                    torch.tensor([1.25]),
                    torch.tensor([[3.75]]),
                )
                for place in (left, right)
            ),
            rule,
        )
    for case in look_alikes((*piece(rng, 6, 1), *piece(rng, 6, 1))):
        ask_merge(student, case[:3], case[3:], f"{rule} All six tensors count.")


@merge.stage("empty parts", points=1)
def test_a_piece_of_no_scores_changes_nothing(student, rng):
    rule = (
        "An empty part (maximum -inf) must change nothing. You may be computing -inf - "
        "(-inf), which is NaN: replace -inf before subtracting."
    )
    for R, D in SHAPES[:5]:
        ask_merge(student, piece(rng, R, D), empty(R, D), rule)
        ask_merge(student, empty(R, D), piece(rng, R, D), rule)
        ask_merge(student, empty(R, D), empty(R, D), rule)
    some, none = piece(rng, 4, 2), empty(4, 2)
    mixed = tuple(
        torch.where(torch.tensor([True, False, True, False]).view(-1, *[1] * (a.dim() - 1)), a, b)
        for a, b in zip(some, none)
    )
    lower, higher = (
        (peak + shift, *rest)
        for shift, (peak, *rest) in ((-20, piece(rng, 4, 2)), (20, piece(rng, 4, 2)))
    )
    for one, other in (
        (mixed, lower),
        (mixed, higher),
        (lower, mixed),
        (higher, mixed),
        (mixed, tuple(part.flip(0) for part in mixed)),
        (mixed, mixed),
    ):
        ask_merge(student, one, other, " Some rows of a part may be empty and others not.")


@merge.stage("far apart", points=1.5)
def test_far_peaks_and_any_order(student, rng):
    rule = (
        "Maxima range from -10,000 to 10,000. Take `exp` of differences to the larger "
        "maximum only: these are never positive."
    )
    for one_at, other_at in (
        (9000.0, -9000.0),
        (-9990.0, 9990.0),
        (500.0, 495.0),
        (-9000.0, -9001.0),
        (9000.0, 9001.0),
        (-150.0, -150.5),
        (120.0, 0.0),
        (-10_000.0, -10_000.0),
        (10_000.0, 10_000.0),
        (-10_000.0, 10_000.0),
        (0.0, 0.0),
        (0.0, -1.0),
    ):
        one, other = piece(rng, 3, 2), piece(rng, 3, 2)
        ask_merge(
            student,
            (torch.full((3,), one_at), *one[1:]),
            (torch.full((3,), other_at), *other[1:]),
            rule,
        )
        ask_merge(
            student,
            (torch.full((3,), other_at), *one[1:]),
            (torch.full((3,), one_at), *other[1:]),
            rule,
        )
    for place in (-10_000.0, 0.0, 10_000.0):
        far = (torch.full((3,), place), *piece(rng, 3, 2)[1:])
        ask_merge(student, far, empty(3, 2), f"{rule} And one side may be empty.")
        ask_merge(student, empty(3, 2), far, f"{rule} And one side may be empty.")


flash_forward = exercise(
    "13.flash_forward",
    function="flash_forward",
    points=9,
    see=f"{BOOK}/tiles#the-algorithm",
    withhold=OURS | FUSED,
)
ROUGH = {"rtol": 1e-3, "atol": 1e-3}


def qkv(rng, H: int, T: int, S: int, D: int, K: int | None = None, size: float = 1.0) -> tuple:
    """Queries, keys and values."""
    return size * normal(rng, H, T, D), normal(rng, K or H, S, D), normal(rng, K or H, S, D)


def words(q, k, rows: int, columns: int, causal: bool) -> str:
    """Sizes, for the detail."""
    heads = f"{len(q)} heads" if len(q) == len(k) else f"{len(q)} heads over {len(k)}"
    return (
        f"{heads}, {q.shape[1]} queries, {k.shape[1]} keys of {q.shape[2]}, tiles {rows} x"
        f" {columns}, causal {causal}"
    )


def ask_forward(
    student, case: tuple, cause: str, out: bool = True, lse: bool = False, close: dict = CLOSE
) -> None:
    """Compare the output, the log-sum-exp, or both."""
    q, k, v, rows, columns, causal = case
    given, right = words(*case[:2], *case[3:]), attended(q, k, v, causal)
    came = expect(student.flash_forward(*case), given=given).unpacks(2)
    if out:
        expect(came[0], "Your output", given).close(right[0], **close, cause=cause)
    if lse:
        expect(came[1], "Your log-sum-exp", given).close(right[1], **close, cause=cause)


@flash_forward.stage("one tile", points=1)
def test_one_tile_is_plain_attention(student, rng):
    rule = (
        "With one tile this is plain attention in each head: scores divided by the square"
        " root of D, softmax, weighted average of the values."
    )
    for H, T, S, D in ((1, 1, 1, 1), (2, 4, 4, 3), (1, 2, 5, 4), (3, 5, 2, 2), (2, 3, 3, 64)):
        for rows, columns in ((T, S), (T + 3, S + 2)):
            ask_forward(student, (*qkv(rng, H, T, S, D), rows, columns, False), rule)


@flash_forward.stage("several tiles", points=1)
def test_tiles_of_equal_scores_add_up(student, rng):
    rule = (
        "All scores are equal, so each output is the mean of all values. Accumulate over "
        "the tiles and divide once, at the end."
    )
    for H, T, S, D, rows, columns in (
        (1, 4, 8, 2, 2, 4),
        (2, 6, 6, 3, 3, 2),
        (1, 2, 6, 1, 1, 1),
        (2, 300, 8, 2, 100, 4),
    ):
        q, k, v = qkv(rng, H, T, S, D)
        ask_forward(student, (0 * q, k, v, rows, columns, False), rule)


@flash_forward.stage("rescaled sums", points=1)
def test_what_came_before_shrinks(student, rng):
    rule = (
        "When a tile raises the maximum, multiply sum and accumulator by exp(old maximum "
        "- larger maximum). Otherwise the maximum stays."
    )
    for H, T, S, D, rows, columns in (
        (1, 1, 2, 1, 1, 1),
        (2, 4, 8, 3, 2, 4),
        (1, 4, 12, 4, 4, 3),
        (3, 2, 6, 2, 1, 2),
        (1, 2, 300, 2, 2, 50),
    ):
        q, k, v = qkv(rng, H, T, S, D, size=3.0)
        ask_forward(student, (q, k, v, rows, columns, False), rule)
        order = (
            (q[:1, :1] @ k.mT)[:, 0].argsort(1)[..., None].expand_as(k)
        )  # for the first query scores climb, or fall
        for turned in (order, order.flip(1)):
            ask_forward(student, (q, k.gather(1, turned), v, rows, columns, False), rule)
    case = (*qkv(rng, 1, 3, 6, 2), 2, 2, False)
    for one in (*look_alikes(case[:3]), *one_changed(case[:3], qkv(rng, 1, 3, 6, 2))):
        ask_forward(student, (*one, *case[3:]), "The output depends on all three tensors.")


RAGGED = (
    (5, 7, 2, 3),
    (7, 5, 4, 4),
    (3, 3, 2, 2),
    (17, 17, 16, 16),
    (33, 33, 16, 16),
    (1, 9, 16, 4),
    (9, 1, 4, 16),
    (5, 37, 16, 16),
    (37, 5, 16, 16),
    (300, 300, 512, 512),
    (3, 300, 2, 290),
    (300, 3, 290, 2),
)


@flash_forward.stage("ragged tiles", points=1)
def test_the_last_tiles_may_be_smaller(student, rng):
    rule = (
        "The last tiles of queries and keys may be smaller. Process them like the others,"
        " and let nothing past the end count."
    )
    for T, S, rows, columns in (*RAGGED, (1, 300, 1, 1), (300, 1, 1, 1)):
        ask_forward(student, (*qkv(rng, 2, T, S, 3), rows, columns, False), rule)


@flash_forward.stage("causal mask", points=1.5)
def test_no_query_sees_what_comes_later(student, rng):
    rule = (
        "Under a causal mask a query attends to keys up to its own position, itself "
        "included, whatever the tiles."
    )
    for T, rows, columns in (
        (4, 4, 4),
        (4, 2, 2),
        (6, 2, 3),
        (6, 3, 2),
        (7, 3, 4),
        (1, 1, 1),
        (33, 16, 16),
        (20, 16, 5),
    ):
        q, k, v = qkv(rng, 2, T, T, 3)
        for causal in (True, False, True)[: 1 + 2 * (T == 6)]:
            ask_forward(student, (q, k, v, rows, columns, causal), rule)


# Queries, keys, rows, columns; S - T has every remainder by 2 and by 4, so that no walk may end one
# key early or late.
SHIFTED = (
    (1, 5, 1, 2),
    (2, 6, 2, 2),
    (4, 5, 2, 2),
    (8, 9, 4, 4),
    (8, 10, 4, 4),
    (8, 11, 4, 2),
    (32, 33, 16, 16),
    (5, 2, 2, 2),
    (6, 5, 2, 2),
    (9, 4, 4, 4),
    (5, 37, 16, 16),
    (37, 5, 16, 16),
)


@flash_forward.stage("fewer or more queries", points=1)
def test_the_queries_are_the_last_of_the_keys(student, rng):
    rule = (
        "The queries are the last T of S positions: query t has position t + S - T. A "
        "query without keys returns zeros, not NaN."
    )
    for T, S, rows, columns in (*SHIFTED, (6, 1, 2, 1), (20, 5, 16, 4), (8, 3, 4, 16)):
        ask_forward(student, (*qkv(rng, 2, T, S, 3), rows, columns, True), rule)


@flash_forward.stage("large scores", points=0.5)
def test_scores_of_hundreds(student, rng):
    rule = (
        "All scores of a query may be near 300 or near -300: subtract the running "
        "maximum, so that `exp` neither overflows nor sums to 0."
    )
    q, k, v = qkv(rng, 2, 5, 7, 4)
    for sign in (1, -1):
        near = sign * 150.0 + q.abs() / 10, k.abs() / 10 + 0.9, v  # scores near 300 or -300
        for causal in (False, True):
            ask_forward(student, (*near, 2, 3, causal), rule, close=ROUGH, lse=False)
    for low in low_and_high(2, 5, 7, 4):
        ask_forward(student, (*low, v, 2, 3, False), rule, close=ROUGH, lse=True)
    ask_forward(student, (100 * q, k, v, 2, 3, False), rule, close=ROUGH)
    signs = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0])[
        :, None
    ]  # one query's near 300, its neighbour's near -300
    ask_forward(
        student,
        (signs * (150.0 + q.abs() / 10), k.abs() / 10 + 0.9, v, 2, 3, False),
        " Each query has a maximum of its own.",
        close=ROUGH,
    )


@flash_forward.stage("log-sum-exp per query", points=1)
def test_the_log_sum_exp_comes_with_it(student, rng):
    rule = (
        "`lse` is the maximum plus the natural logarithm of the running sum, and -inf for"
        " a query without keys."
    )
    for T, S, rows, columns, causal in (
        (1, 1, 1, 1, False),
        (4, 8, 2, 2, False),
        (5, 7, 2, 3, False),
        (6, 6, 4, 4, True),
        (5, 2, 2, 2, True),
        (2, 9, 2, 4, True),
        (300, 3, 64, 2, False),
    ):
        ask_forward(
            student, (*qkv(rng, 2, T, S, 3), rows, columns, causal), rule, out=False, lse=True
        )
    falling = torch.tensor([0.0, -5.5, -6.0, -7.0, -7.5, -8.0]).view(1, 6, 1)
    ask_forward(
        student,
        (torch.ones(1, 2, 1), falling, normal(rng, 1, 6, 1), 2, 2, False),
        f"{rule} Small scores count too.",
        lse=True,
    )
    q, k, v = qkv(rng, 1, 3, 5, 2)
    ask_forward(
        student,
        (-150 - q.abs() / 10, k.abs() / 10 + 0.9, v, 2, 2, False),
        rule,
        out=False,
        lse=True,
    )


@flash_forward.stage("memory", points=1)
def test_no_table_of_scores(student, rng):
    rule = (
        "Make the scores of one tile at a time, rows x columns of each head, and keep of them only"
        " a peak, a sum and a mixture for each query."
    )
    # What is forbidden takes 20 MiB: a sandbox has some MiB to spare. The few queries come time and
    # again, so that the right answer costs less.
    q, k, v = qkv(rng, 1, 8, 384, 1)
    came = in_little(student, (q.repeat(1, 1728, 1), k, v, *SIDE, False), rule)
    expect(came[0], "Your output").close(
        attended(q, k, v, False)[0].repeat(1, 1728, 1), **CLOSE, cause=rule
    )
    q, k, v = qkv(rng, 1, 384, 13824, 1)
    came = in_little(
        student,
        (q, k, v, *SIDE, False),
        f"There are 13,824 keys here. {rule} A tile that holds all keys is a table too.",
    )
    expect(came[0][:, :8], "The first rows of your output").close(
        attended(q[:, :8], k, v, False)[0], **CLOSE, cause=rule
    )
    q, k, v = qkv(rng, 1, 4608, 4608, 2)
    came = in_little(
        student,
        (q, k, v, *SIDE, True),
        f"It is causal here. {rule} A mask of all queries by all keys is a table too.",
    )
    expect(came[0][:, -50:], "The last rows of your output").close(
        attended(q[:, -50:], k, v, True)[0], **CLOSE, cause=rule
    )


SIDE = 384, 384  # of a tile where memory is short


def in_little(student, case: tuple, rule: str):
    """The two results, made in 6 MiB."""
    try:
        with student.capped(6 * MIB):
            return expect(student.flash_forward(*case)).unpacks(2)
    except StudentError as error:
        if error.kind != "memory":
            raise
        raise CheckFailed(
            f"Your function takes more memory than it is given here. {rule}", error.text
        ) from None


flash_backward = exercise(
    "13.flash_backward",
    function="flash_backward",
    points=8,
    see=f"{BOOK}/backward#the-gradients",
    withhold=OURS | FUSED,
)
NAMES = ("dQ", "dK", "dV")


def ask_backward(
    student, case: tuple, wanted: str, cause: str, times: int = 1, close: dict = CLOSE
) -> None:
    """Compare those of the three gradients that are named; case: q, k, v, rows, columns, causal,
    and the output's gradient last.

    times: so often the same queries come one after the other, so that dK and dV are so many times
    as large; the right answer costs less.
    """
    q, k, v, rows, columns, causal, grad = case
    of_queries = [torch.cat([one] * times, 1) for one in (grad, q, *attended(q, k, v, causal))]
    given = words(of_queries[1], k, rows, columns, causal)
    came = expect(
        student.flash_backward(*of_queries[:2], k, v, *of_queries[2:], rows, columns, causal),
        given=given,
    ).unpacks(3)
    dq, dk, dv = differentiated(grad, q, k, v, causal)
    for name, mine, right in zip(NAMES, came, (torch.cat([dq] * times, 1), times * dk, times * dv)):
        if name in wanted:
            expect(mine, f"Your {name}", given).close(right, **close, cause=cause)


def graded(
    rng,
    H: int,
    T: int,
    S: int,
    D: int,
    rows: int,
    columns: int,
    causal: bool = False,
    K: int | None = None,
) -> tuple:
    """A case with a drawn gradient of the output."""
    return *qkv(rng, H, T, S, D, K), rows, columns, causal, normal(rng, H, T, D)


SMALL = ((1, 1, 1, 1), (2, 4, 4, 3), (1, 2, 5, 4), (3, 5, 2, 2), (1, 3, 3, 16))


@flash_backward.stage("gradient dV", points=1)
def test_the_gradient_of_the_values(student, rng):
    rule = (
        "dV is the transposed attention weights times the output's gradient. The weights "
        "are exp(score - log-sum-exp); divide by nothing else."
    )
    for H, T, S, D in SMALL:
        ask_backward(student, graded(rng, H, T, S, D, T, S), "dV", rule)
    for low in low_and_high(2, 3, 5, 4):
        ask_backward(
            student,
            (*low, normal(rng, 2, 5, 4), 3, 5, False, normal(rng, 2, 3, 4)),
            "dV",
            f"{rule} Scores may lie near -300, or near 300.",
            close=ROUGH,
        )


@flash_backward.stage("gradient dQ", points=1)
def test_the_gradient_of_the_queries(student, rng):
    rule = (
        "dS is weights * (grad @ V^T - delta), delta the sum of grad * out. dQ "
        "is dS @ K, divided by the square root of D once."
    )
    for H, T, S, D in SMALL:
        ask_backward(student, graded(rng, H, T, S, D, T, S), "dQ", rule)


@flash_backward.stage("gradient dK", points=1)
def test_the_gradient_of_the_keys(student, rng):
    rule = (
        "dK is the transposed dS times Q, divided by the square root of D once, with the "
        "same dS as for dQ."
    )
    for H, T, S, D in SMALL:
        ask_backward(student, graded(rng, H, T, S, D, T, S), "dK", rule)


@flash_backward.stage("several tiles", points=1.5)
def test_tiles_add_up(student, rng):
    rule = (
        "Add each tile's contribution to dQ of its queries and to dK and dV of its "
        "keys. delta and log-sum-exp belong to the whole row."
    )
    for H, T, S, D, rows, columns in (
        (1, 2, 2, 1, 1, 1),
        (2, 4, 4, 3, 2, 2),
        (1, 6, 4, 2, 3, 2),
        (2, 4, 9, 2, 4, 3),
        (1, 300, 4, 2, 100, 2),
        (1, 4, 300, 2, 2, 100),
    ):
        ask_backward(student, graded(rng, H, T, S, D, rows, columns), "dQ dK dV", rule)
    q, k, v, *rest, grad = graded(rng, 1, 3, 6, 2, 3, 3)
    for one in look_alikes((q, k, v, grad)):
        ask_backward(
            student, (*one[:3], *rest, one[3]), "dQ dK dV", "The gradients depend on all tensors."
        )
    # As in the forward pass: a table takes 20 MiB.
    cases = graded(rng, 1, 8, 13824, 1, *SIDE), graded(rng, 1, 8, 384, 1, *SIDE)
    try:
        with student.capped(6 * MIB):
            ask_backward(student, cases[0], "dQ dK dV", rule, times=48)
            few = (*cases[1][:6], cases[1][6] / 1728)
            ask_backward(student, few, "dQ dK dV", rule, times=1728)
    except StudentError as error:
        if error.kind != "memory":
            raise
        raise CheckFailed(
            "Your function holds too much memory: compute the weights of one tile at a time. ",
            error.text,
        ) from None


@flash_backward.stage("ragged tiles", points=1)
def test_the_last_tiles_of_the_backward_pass_may_be_smaller(student, rng):
    rule = (
        "The last tiles of queries and keys may be smaller. What lies past the end "
        "contributes nothing to any gradient."
    )
    for T, S, rows, columns in RAGGED:
        ask_backward(student, graded(rng, 2, T, S, 3, rows, columns), "dQ dK dV", rule)


@flash_backward.stage("causal mask", points=1.5)
def test_what_is_not_seen_gets_no_gradient(student, rng):
    rule = (
        "Query t has position t + S - T; later keys have weight 0. A query without "
        "keys has the log-sum-exp -inf and must not give NaN."
    )
    for T, S, rows, columns in (
        (4, 4, 4, 4),
        (6, 6, 2, 3),
        (7, 7, 3, 2),
        *SHIFTED,
        (2, 6, 2, 4),
        (6, 1, 4, 4),
    ):
        case = graded(rng, 2, T, S, 3, rows, columns, True)
        ask_backward(student, case, "dQ dK dV", rule)
        if T == 6:
            ask_backward(
                student, (*case[:5], False, case[6]), "dQ dK dV", "`causal` may be False as well."
            )
            ask_backward(student, case, "dQ dK dV", rule)


@flash_backward.stage("grouped heads", points=1)
def test_heads_of_a_group_share_their_keys(student, rng):
    rule = (
        "Query heads 0 to H / K - 1 share KV head 0, and so on. Their contributions to dK"
        " and dV add up."
    )
    for H, K, T, S, rows, columns, causal in (
        (2, 1, 3, 4, 2, 2, False),
        (4, 2, 4, 4, 4, 4, False),
        (6, 2, 5, 5, 2, 3, True),
        (4, 1, 1, 3, 2, 2, False),
        (6, 3, 2, 5, 2, 4, True),
        (3, 3, 2, 2, 2, 2, False),
    ):
        ask_backward(student, graded(rng, H, T, S, 2, rows, columns, causal, K), "dQ dK dV", rule)
