"""Checks of chapter 4, part 4: what a block costs."""

from autograder.chapters.c04_attention_and_the_transformer.withholding import COUNTERS, LAYERS
from autograder.checks.inputs.draws import whole
from autograder.checks.protocol import exercise, expect

PAGE = "04-attention-and-the-transformer/block"
LARGEST = 299_999  # odd, so that no factor of two hides what a float has lost
KEYS = ("parameters", "operations", "score_bytes")
FLOATS_ROUND = (
    2**53
)  # beyond it, an answer that was right for smaller sizes has gone through a float

predict_block = exercise(
    "04.predict_block",
    function="predict_block",
    points=5,
    kind="predict",
    see=f"{PAGE}#parameters-flops-and-bytes",
    withhold=LAYERS | COUNTERS,
)


def counted(tokens: int, hidden: int, heads: int, inner: int) -> dict[str, int]:
    """The three numbers, part by part; a test holds them against a real block under torch's own
    counter.
    """
    shapes = [(hidden, hidden)] * 4 + [(inner, hidden), (hidden, inner)]  # q, k, v, o; up and down
    biases = [rows for rows, _ in shapes]
    products = [(tokens, columns, rows) for rows, columns in shapes]  # (n, k) times (k, m)
    in_each = [
        (tokens, hidden // heads, tokens),
        (tokens, tokens, hidden // heads),
    ]  # scores, and means of the values
    return {
        "parameters": (
            sum(rows * columns for rows, columns in shapes) + sum(biases) + 2 * (hidden + hidden)
        ),
        "operations": (
            sum(2 * n * k * m for n, k, m in products)
            + heads * sum(2 * n * k * m for n, k, m in in_each)
        ),
        "score_bytes": heads * tokens * tokens * 4,
    }


def sizes(rng) -> list[tuple[int, int, int, int]]:
    """Tokens, hidden, heads, inner: the case by hand, the smallest, real ones, drawn ones, and
    pairs that differ in one number.
    """
    heads, width = whole(rng, 2, 9), whole(rng, 2, 40)
    free = (whole(rng, 3, 900), heads * width, heads, whole(rng, 3, 3000))
    base = (10, 12, 3, 20)
    one_other = [
        (11, 12, 3, 20),
        (10, 24, 3, 20),
        (10, 12, 4, 20),
        (10, 12, 3, 21),
        (20, 12, 3, 10),
        (12, 10, 2, 20),
        (10, 20, 2, 12),
    ]
    top = [
        (LARGEST, LARGEST, 7, LARGEST),
        (LARGEST, LARGEST - 2, 1, LARGEST - 4),
        (LARGEST - whole(rng, 0, 99), 3, 3, 1),
        (1, LARGEST, 1, 1),
        (3, 2, 1, LARGEST),
        (5, LARGEST - 1, 2, whole(rng, 200_000, LARGEST)),
    ]
    return [
        (3, 4, 2, 8),
        (1, 1, 1, 1),
        (1, 8, 8, 2),
        (7, 5, 1, 3),
        (512, 768, 12, 3072),
        (128, 384, 12, 1536),
        free,
        base,
        *one_other,
        (2048, 4096, 32, 11_008),
        (100_003, 8192, 64, 28_671),
        *top,
    ]


def ask(student, key: str, case: tuple, cause: str) -> None:
    """Compare one of the three predictions."""
    given = "tokens {}, hidden {}, heads {}, inner {}".format(*case)
    right = counted(*case)[key]
    if right > FLOATS_ROUND:
        cause = "Use ints only: a float on the way keeps 15 or 16 digits, and results can have 18."
    came = expect(student.predict_block(*case), given=given).only_keys(KEYS)
    came.has(key).equals(right, cause=cause)


@predict_block.stage("parameter count", points=2)
def test_the_parameters_of_a_block(student, rng):
    for case in sizes(rng):
        ask(
            student,
            "parameters",
            case,
            (
                "Count six projections with their biases, and two layer norms with a weight"
                " and a bias each. T and H play no part."
            ),
        )


@predict_block.stage("FLOP count", points=2)
def test_the_flops_of_a_forward_pass(student, rng):
    for case in sizes(rng):
        ask(
            student,
            "operations",
            case,
            (
                "Count 2nkm FLOPs per matrix product: six projections for every token, then"
                " scores and weighted values in each head."
            ),
        )


@predict_block.stage("score bytes", points=1)
def test_the_bytes_of_the_scores(student, rng):
    for case in sizes(rng):
        ask(
            student,
            "score_bytes",
            case,
            "Count T by T scores for each head, 4 bytes each.",
        )
