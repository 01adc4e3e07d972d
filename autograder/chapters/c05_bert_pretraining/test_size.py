"""Checks of chapter 5, part 4: the sizes of a BERT's parts, and a masked head with one
wrong line.
"""

import math

import torch

from autograder.chapters.c05_bert_pretraining.test_encoder import normed
from autograder.chapters.c05_bert_pretraining.withholding import LIBRARIES, OURS, READY
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, whole
from autograder.checks.protocol import exercise, expect

BOOK = "05-bert-pretraining"
KEYS = ("embeddings", "blocks", "pooler", "masked_head", "pair_head")

predict_parameters = exercise(
    "05.predict_parameters",
    function="predict_parameters",
    points=6,
    kind="predict",
    see=f"{BOOK}/size#by-hand",
    withhold=OURS | LIBRARIES | READY,
)


def counted(
    vocab_size: int, positions: int, hidden: int, num_layers: int, num_heads: int, inner: int
) -> dict[str, int]:
    """The numbers part by part, tensor by tensor; a test holds them against a real model."""

    def matrix(out: int, into: int) -> list[tuple[int, ...]]:
        return [(out, into), (out,)]

    norm = [(hidden,), (hidden,)]
    block = [
        *matrix(hidden, hidden) * 4,
        *matrix(inner, hidden),
        *matrix(hidden, inner),
        *norm,
        *norm,
    ]
    parts = {
        "embeddings": [(vocab_size, hidden), (positions, hidden), (2, hidden), *norm],
        "blocks": block,
        "pooler": matrix(hidden, hidden),
        "masked_head": [*matrix(hidden, hidden), *norm, (vocab_size,)],
        "pair_head": matrix(2, hidden),
    }
    once = {name: sum(math.prod(shape) for shape in shapes) for name, shapes in parts.items()}
    return once | {"blocks": num_layers * once["blocks"]}


def sizes(rng) -> list[tuple[int, ...]]:
    """The case by hand, the smallest, real ones, a drawn one, and some that differ in one
    number.
    """
    heads = whole(rng, 2, 9)
    free = (
        whole(rng, 20, 9000),
        whole(rng, 5, 900),
        heads * whole(rng, 2, 40),
        whole(rng, 2, 30),
        heads,
        whole(rng, 3, 3000),
    )
    base = (50, 20, 12, 2, 3, 30)
    one_other = [
        base[:place] + (other,) + base[place + 1 :]
        for place, other in enumerate((51, 21, 24, 3, 4, 31))
    ]
    return [
        (10, 4, 4, 1, 2, 8),
        (1, 1, 1, 1, 1, 1),
        (30_522, 512, 768, 12, 12, 3072),
        (30_522, 512, 1024, 24, 16, 4096),
        (7, 3, 8, 5, 8, 2),
        free,
        base,
        *one_other,
        (250_002, 514, 8192, 80, 64, 28_671),
        (999_983, 999_979, 99_990, 999_961, 2, 99_959),
    ]


def ask(student, rng, key: str, cause: str) -> None:
    """Compare one of the predictions for all sizes."""
    for case in sizes(rng):
        given = "V {}, P {}, C {}, L {}, H {}, I {}".format(*case)
        came = expect(student.predict_parameters(*case), given=given).only_keys(KEYS)
        came.has(key).equals(counted(*case)[key], cause=cause)


@predict_parameters.stage("embeddings", points=1.5)
def test_the_embeddings(student, rng):
    ask(
        student,
        rng,
        "embeddings",
        (
            "Embeddings of C dimensions for V tokens, P positions and 2 segments, and"
            " one norm with a weight and a bias for each of the C columns."
        ),
    )


@predict_parameters.stage("blocks", points=2)
def test_all_blocks(student, rng):
    ask(
        student,
        rng,
        "blocks",
        "A block has six matrices with their biases, four of C by C and two of C by I, and two"
        " norms. All L blocks are asked for; the heads share the columns and play no part.",
    )


@predict_parameters.stage("pooler", points=0.5)
def test_the_pooler(student, rng):
    ask(student, rng, "pooler", "The pooler is one matrix of C by C with its bias.")


@predict_parameters.stage("heads", points=2)
def test_the_two_heads(student, rng):
    ask(
        student,
        rng,
        "masked_head",
        "The masked head has a matrix of C by C with its bias, a norm, and a bias for each of the V"
        " tokens. The matrix of its scores is the table of tokens, counted with the embeddings.",
    )
    ask(student, rng, "pair_head", "The pair head is a matrix from C to 2 with its bias.")


repair_head = exercise(
    "05.repair_head",
    function="masked_head",
    also=["wrong_line"],
    points=4,
    kind="find-line",
    see=f"{BOOK}/size#by-hand",
    withhold=OURS | LIBRARIES,
)


@repair_head.stage("line", points=1)
def test_the_wrong_line_is_named(student):
    line = expect(student.wrong_line()).is_a(int)
    expect(line == 4).is_true(
        cause=(
            "That line does what the formula says. Follow the case by hand through the code, line"
            " by line, and compare what each name holds with the formula."
        )
    )


def scored(x, weights: dict) -> torch.Tensor:
    """The right scores, in float64."""
    w = {name: tensor.double() for name, tensor in weights.items()}
    h = normed(activated(x, weights), w["norm.weight"], w["norm.bias"])
    return (h @ w["words"].T + w["bias"]).float()


def activated(x, weights: dict) -> torch.Tensor:
    """What is normed, in float64."""
    dense = x.double() @ weights["dense.weight"].double().T + weights["dense.bias"].double()
    return dense * (1 + torch.erf(dense / 2**0.5)) / 2


def steady(x, *several: dict) -> torch.Tensor:
    """x, with other rows in the place of the few that nobody could answer to four digits in
    float32, whichever of these weights come with it: there the norm divides by a spread that is
    tiny beside the numbers that were added, and stretches what rounding left.
    """
    if x.shape[-1] == 1:
        return x
    for turn in range(8):
        stretched = torch.zeros(len(x), dtype=torch.bool)
        for weights in several:
            sums = (
                x.double().abs() @ weights["dense.weight"].double().abs().T
                + weights["dense.bias"].double().abs()
            )
            stretched |= sums.amax(-1) > 20 * activated(x, weights).std(-1, correction=0)
        if not stretched.any():
            break
        x = torch.where(
            stretched[:, None],
            1.5 * torch.linspace(-1, 1, x.shape[-1]).roll(turn) * (-1) ** turn,
            x,
        )
    return x


def drawn(rng, rows: int, width: int, entries: int) -> tuple:
    """x and the six tensors."""
    weights = {
        "dense.weight": 1.5 * normal(rng, width, width) / width**0.5,
        "dense.bias": normal(rng, width),
        "norm.weight": 1 + 0.4 * normal(rng, width),
        "norm.bias": normal(rng, width),
        "words": normal(rng, entries, width),
        "bias": normal(rng, entries),
    }
    return 1.5 * normal(rng, rows, width), weights


def ask_head(student, x, weights: dict, cause: str) -> None:
    """Compare the scores."""
    x = steady(x, weights)
    given = "N = {}, C = {}, ".format(*x.shape) + f"V = {len(weights['words'])}"
    expect(student.masked_head(x, weights), given=given).close(
        scored(x, weights), rtol=1e-4, atol=2e-5, cause=cause
    )


@repair_head.stage("activation", points=1.5)
def test_gelu_comes_between_the_matrix_and_the_norm(student, rng):
    rule = (
        "`words` is the identity here and `bias` is 0, so that the scores are h itself: x goes"
        " through the dense matrix with its bias, then GELU, and what GELU gives is normed."
    )
    eye, zeros = torch.eye(3), torch.zeros(3)
    by_hand = {
        "dense.weight": eye,
        "dense.bias": zeros,
        "norm.weight": zeros + 1,
        "norm.bias": zeros,
        "words": eye,
        "bias": zeros,
    }
    ask_head(
        student,
        torch.tensor([[-30.0, 0.0, 30.0]]),
        by_hand,
        f"{rule} This is the case by hand, with a `bias` of 0.",
    )
    for rows, width in (
        (1, 7),
        (2, 8),
        (9, 9),
        (5, 8),
        (2, whole(rng, 7, 12)),
        (120, 10),
        (2, 110),
    ):
        x, weights = drawn(rng, rows, width, width)
        ask_head(
            student, x, weights | {"words": torch.eye(width), "bias": torch.zeros(width)}, rule
        )


@repair_head.stage("scores", points=1.5)
def test_scores_are_products_with_the_word_rows_plus_a_bias_each(student, rng):
    rule = (
        "The logit of a token is the product of h with the token's embedding in"
        " `words`, plus its own bias."
    )
    for rows, width, entries in (
        (1, 7, 3),
        (1, 8, 2),
        (9, 9, 9),
        (4, 7, 9),
        (2, 8, whole(rng, 10, 20)),
        (2, 7, 130),
    ):
        ask_head(student, *drawn(rng, rows, width, entries), rule)
    (x, ours), (other, theirs) = drawn(rng, 2, 8, 5), drawn(rng, 2, 8, 5)
    for case in one_changed(
        (steady(x, ours, theirs), ours), (steady(other, ours), theirs)
    ):  # the same numbers are asked with both weights
        ask_head(student, *case, rule)
    for case in look_alikes((normal(rng, 3, 4), drawn(rng, 1, 4, 5)[1])):
        ask_head(student, *case, rule)
    x, weights = drawn(rng, 3, 8, 5)
    ask_head(
        student,
        1e-5 * x,
        weights | {"dense.bias": torch.zeros(8)},
        f"{rule} What is normed is very small here, so that the number under the root shows.",
    )
    for sizes in ((300, 7, 2), (1, 300, 2), (1, 7, 300)):
        ask_head(student, *drawn(rng, *sizes), rule)
    ask_head(
        student,
        *drawn(rng, 2, 1, 4),
        f"{rule} With one number in a vector the norm gives its bias.",
    )
