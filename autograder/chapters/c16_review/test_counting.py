"""Checks of chapter 16, part 1: what four models weigh, and what one pass costs."""

from math import prod

from autograder.chapters.c16_review.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import one_changed, whole
from autograder.checks.protocol import exercise, expect

weigh_models = exercise(
    "16.weigh_models",
    function="weigh_models",
    points=6,
    kind="predict",
    see="16-review/tables#by-hand-the-first-cell",
    withhold=OURS | LIBRARIES,
)

SMALL = (10, 6, 4, 2, 5, 2, 1)
SIZES = (
    SMALL,
    (1, 1, 1, 1, 1, 1, 1),
    (7, 3, 6, 1, 9, 6, 2),
    (7, 3, 6, 1, 9, 3, 3),
    (30522, 512, 768, 12, 3072, 12, 12),
    (50257, 1024, 768, 12, 3072, 12, 4),
    (32000, 2048, 4096, 32, 11008, 32, 8),
    (50368, 8192, 768, 22, 1152, 12, 1),
    (300, 2, 2, 300, 2, 2, 2),
    (199_999, 131_071, 99_990, 17, 199_999, 30, 5),
    (3, 199_999, 12, 199_999, 7, 4, 2),
    (2, 2, 100_000, 101, 3, 1, 1),
    (198_870, 101_206, 190_467, 196_245, 193_548, 9, 3),
    *one_changed(SMALL, (11, 7, 8, 3, 6, 4, 2)),
)


def weighed(
    kind: str, V: int, P: int, C: int, layers: int, F: int, H: int, K: int
) -> dict[str, int]:
    """The right numbers, from the shapes of all tensors; blocks but the first are alike."""

    def norm(width: int) -> list[tuple]:
        return [(width,)] * (2 if kind in ("bert", "gpt") else 1)

    def matrix(rows: int, columns: int) -> list[tuple]:
        return [(rows, columns), *([(rows,)] if kind in ("bert", "gpt") else [])]

    keys = K * (C // H) if kind == "llama" else C
    body = [
        *matrix(C, C),
        *matrix(keys, C),
        *matrix(keys, C),
        *matrix(C, C),
        *matrix(F, C),
        *matrix(C, F),
        *norm(C),
    ]
    if kind in ("llama", "modernbert"):
        body += matrix(F, C)
    shapes = {
        "embeddings": {
            "bert": [(V, C), (P, C), (2, C), *norm(C)],
            "gpt": [(V, C), (P, C)],
            "llama": [(V, C)],
            "modernbert": [(V, C), *norm(C)],
        }[kind],
        "rest": {
            "bert": matrix(C, C),
            "gpt": norm(C),
            "llama": [*norm(C), (V, C)],
            "modernbert": norm(C),
        }[kind],
    }
    found = {part: sum(map(prod, rows)) for part, rows in shapes.items()}
    found["blocks"] = layers * sum(map(prod, body)) + (layers - (kind == "modernbert")) * sum(
        map(prod, norm(C))
    )
    return found | {"total": sum(found.values())}


def ask_model(student, rng, kind: str, cause: str) -> None:
    """Compare all four numbers of one kind."""
    H = whole(rng, 1, 4)
    K = H * whole(rng, 1, 3)
    drawn = (
        whole(rng, 2, 99),
        whole(rng, 2, 99),
        K * whole(rng, 1, 9),
        whole(rng, 1, 9),
        whole(rng, 1, 99),
        K,
        H,
    )
    for sizes in (*SIZES, drawn):
        came, right = student.weigh_models(kind, *sizes), weighed(kind, *sizes)
        given = "V = {}, P = {}, C = {}, {} layers, F = {}, H = {}, K = {}".format(*sizes)
        asked = expect(came, given=given).only_keys(right)
        for key in ("embeddings", "blocks", "rest", "total"):
            asked.has(key).equals(right[key], cause=cause)


@weigh_models.stage("gpt", points=1.5)
def test_a_gpt(student, rng):
    ask_model(
        student,
        rng,
        "gpt",
        "GPT-2: tokens and positions; in each block four matrices C by C, up and down, all with a"
        " bias, and two norms with weight and bias; after the blocks one more norm. The output"
        " layer is the embedding, which is counted already.",
    )


@weigh_models.stage("bert", points=1.5)
def test_a_bert(student, rng):
    ask_model(
        student,
        rng,
        "bert",
        "BERT: tokens, positions, two segments and a norm after their sum; blocks as GPT's; after"
        " them no norm, but the pooler, C by C with a bias.",
    )


@weigh_models.stage("llama", points=1.5)
def test_a_llama(student, rng):
    ask_model(
        student,
        rng,
        "llama",
        "LLaMA: no positions and no biases; keys and values for K heads of dimension C / H; gate,"
        " up and down; norms of C weights, two per block and one at the end; an output layer of V"
        " by C of its own.",
    )


@weigh_models.stage("modernbert", points=1.5)
def test_a_modernbert(student, rng):
    ask_model(
        student,
        rng,
        "modernbert",
        "ModernBERT: no positions and no biases; tokens and a norm; four matrices C by C, gate, up"
        " and down; norms of C weights, two per block but one in the first, and one at the end; no"
        " output layer.",
    )


step_bytes = exercise(
    "16.step_bytes",
    function="step_bytes",
    points=5,
    kind="predict",
    see="12-llama/cache#how-many-bytes",
    withhold=OURS | LIBRARIES,
)

HAND = (1000, 50, 8, 2, 2, 1, 4, 16, 3, 5, 2)
PASSES = (
    HAND,
    (2, 1, 2, 1, 1, 1, 2, 4, 1, 0, 1),
    (2, 1, 2, 1, 1, 1, 2, 32, 1, 0, 1),
    (1000, 50, 8, 2, 2, 2, 4, 8, 3, 0, 7),
    (1000, 50, 8, 2, 4, 2, 4, 4, 1, 9, 1),
    (6, 3, 4, 3, 6, 2, 10, 32, 5, 1, 1),
    (134_479_872, 49152, 576, 30, 9, 3, 64, 16, 256, 512, 1),
    (134_479_872, 49152, 576, 30, 9, 3, 64, 16, 1, 0, 512),
    (6_607_077_376, 32000, 4096, 32, 32, 32, 128, 16, 3, 1001, 17),
    (999_999_998, 7, 99_998, 99, 99, 33, 1002, 32, 301, 4001, 3),
    (2, 1_000_000, 2, 1, 1, 1, 2, 4, 99_999, 7, 301),
    (70_000_000_002, 9, 4, 80, 64, 8, 128, 4, 40, 4095, 1),
    (299_999_999_999_998, 1, 2, 1, 1, 1, 2, 8, 3, 0, 499),
    (220_000_000_000_000_002, 1, 2, 1, 1, 1, 2, 32, 1, 0, 1),
    (2, 1, 99_999_999_998, 1, 1, 1, 2, 32, 999, 0, 999),
    (2, 1, 2, 30_000_001, 333, 333, 100_002, 4, 9, 0, 3),
    (2, 1, 2, 1, 1, 1, 2, 8, 1, 2_000_000, 1),
    (1002, 7, 6, 3, 2, 1, 2, 16, 1, 3, 99_999),
    *one_changed(HAND, (1010, 60, 10, 3, 4, 1, 6, 8, 4, 6, 3)),
    *one_changed((1000, 50, 8, 2, 4, 4, 4, 16, 3, 0, 1), (1002, 51, 10, 3, 8, 2, 6, 32, 2, 1, 2)),
)


def costs(
    N: int, V: int, C: int, layers: int, H: int, K: int, D: int, bits: int, B: int, S: int, T: int
) -> dict[str, int]:
    """The right numbers, new token by new token."""
    seen = sum(range(S + 1, S + T + 1))  # keys that the new tokens of one text see
    numbers = {
        "weight_bytes": N,
        "embedding_bytes": C * B * T,
        "cache_bytes": 2 * layers * K * D * B * S + 2 * layers * K * D * B * T,
    }
    flops = {
        "matrix_flops": B * T * (2 * N),
        "attention_flops": B * layers * H * seen * (2 * D + 2 * D),
    }
    return flops | {key: number * bits // 8 for key, number in numbers.items()}


def ask_cost(student, rng, key: str, cause: str) -> None:
    """Compare one of the five numbers."""
    K = whole(rng, 1, 5)
    drawn = (
        2 * whole(rng, 1, 999),
        whole(rng, 1, 99),
        2 * whole(rng, 1, 50),
        whole(rng, 1, 9),
        K * whole(rng, 2, 5),
        K,
        2 * whole(rng, 1, 9),
        8,
        whole(rng, 2, 9),
        whole(rng, 2, 99),
        whole(rng, 2, 99),
    )
    for sizes in (*PASSES, drawn):
        came, right = student.step_bytes(*sizes), costs(*sizes)
        given = (
            "N = {}, V = {}, C = {}, {} layers, H = {}, K = {}, D = {}, {} bits, B = {}, S = {}, T"
            " = {}".format(*sizes)
        )
        expect(came, given=given).only_keys(right).has(key).equals(right[key], cause=cause)


@step_bytes.stage("matrices", points=1)
def test_each_new_token_meets_each_number(student, rng):
    ask_cost(
        student,
        rng,
        "matrix_flops",
        "A product and a sum for each of the N numbers, for each of the B · T new tokens: 2 · N · B"
        " · T. Nothing is learned, so there is no backward pass.",
    )


@step_bytes.stage("attention", points=1)
def test_each_new_token_meets_the_keys_that_it_sees(student, rng):
    ask_cost(
        student,
        rng,
        "attention_flops",
        "Pairs of a text: each of the T new tokens sees the S before, itself, and the new ones"
        " before it, T · S + T (T + 1) / 2. A pair costs 2 D for the score and 2 D for the mean, in"
        " each layer and each query head, of each text.",
    )


@step_bytes.stage("weights", points=1)
def test_weights_are_read_once(student, rng):
    ask_cost(
        student,
        rng,
        "weight_bytes",
        "The N numbers are read once for the whole pass, however many texts and tokens there are;"
        " bits / 8 bytes each.",
    )


@step_bytes.stage("embedding", points=1)
def test_a_row_of_the_embedding_for_each_new_token(student, rng):
    ask_cost(
        student,
        rng,
        "embedding_bytes",
        "One vector of dimension C for each of the B · T new tokens: not the whole embedding, and"
        " none for cached tokens.",
    )


@step_bytes.stage("cache", points=1)
def test_keys_and_values_are_read_and_written(student, rng):
    ask_cost(
        student,
        rng,
        "cache_bytes",
        "Each token has a key and a value of dimension K · D in each layer: S per sequence are"
        " read and T are written.",
    )
