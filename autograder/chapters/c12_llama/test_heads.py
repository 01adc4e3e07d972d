"""Checks of chapter 12, part 2: groups of heads, what they keep, and the order of their rows."""

import math

import torch

from autograder.chapters.c12_llama.raising import raised_by
from autograder.chapters.c12_llama.withholding import FUSED, LIBRARIES, OURS
from autograder.checks.inputs.buffers import Buffer
from autograder.checks.inputs.draws import counts, look_alikes, normal, one_changed, whole
from autograder.checks.protocol import MIB, CheckFailed, StudentError, exercise, expect

BOOK = "12-llama"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}

grouped_attention = exercise(
    "12.grouped_attention",
    function="grouped_attention",
    points=7,
    see=f"{BOOK}/heads#by-hand-four-query-heads-two-kv-heads",
    withhold=OURS | LIBRARIES | FUSED,
)


def attended(q, k, v) -> torch.Tensor:
    """The right answer in float64, query head by query head."""
    q, k, v = (one.double() for one in (q, k, v))
    (_, H, T, D), (K, S) = q.shape, k.shape[1:3]
    rows = torch.arange(T)[:, None] + S - T
    out = torch.empty_like(q)
    for head in range(H):
        shared = head * K // H
        scores = torch.einsum("btd,bsd->bts", q[:, head], k[:, shared]) / math.sqrt(D)
        out[:, head] = (
            torch.where(torch.arange(S) <= rows, scores, -torch.inf).softmax(2) @ v[:, shared]
        )
    return out.float()


def ask(student, parts: tuple, cause: str) -> None:
    """Compare one answer; parts: q, k, v."""
    q, k = parts[:2]
    given = (
        f"B = {q.shape[0]}, H = {q.shape[1]}, K = {k.shape[1]}, T = {q.shape[2]}, S = {k.shape[2]},"
        f" D = {q.shape[3]}"
    )
    expect(student.grouped_attention(*parts), given=given).close(
        attended(*parts), **CLOSE, cause=cause
    )


def drawn(rng, B: int, H: int, K: int, T: int, S: int, D: int) -> tuple:
    """Queries, keys and values whose scores differ plainly."""
    return 2 * normal(rng, B, H, T, D), normal(rng, B, K, S, D), normal(rng, B, K, S, D)


@grouped_attention.stage("step", points=1.5)
def test_one_query_sees_all_keys_of_its_own_head(student, rng):
    rule = (
        "One query per head, T = 1, and as many KV heads as query heads: the query is the last"
        " token and sees all S keys. Scores are q · k / sqrt(D), then a softmax, then the average"
        " of the values."
    )
    ask(
        student,
        (
            torch.tensor([[[[2.0, 0.0]]]]),
            torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]]),
            torch.tensor([[[[1.0, 0.0], [0.0, 4.0]]]]),
        ),
        rule,
    )
    for B, H, S, D in (
        (1, 1, 1, 1),
        (1, 1, 2, 1),
        (1, 1, 5, 3),
        (1, 2, 4, 4),
        (2, 3, 4, 2),
        (3, 3, 3, 3),
        (1, 2, 300, 2),
        (2, 1, 2, 300),
        (1, 2, 7, 16),
        (2, 4, whole(rng, 3, 9), whole(rng, 2, 9)),
    ):
        ask(student, drawn(rng, B, H, H, 1, S, D), rule)
    for size in (300.0, -300.0, 700.0):
        q = torch.tensor([[[[1.0]]], [[[-1.0]]]])
        ask(
            student,
            (q, torch.full((2, 1, 3, 1), size) + torch.arange(3)[:, None], normal(rng, 2, 1, 3, 1)),
            "Scores may be in the hundreds, where exp overflows: subtract the largest first, or"
            " use `softmax`.",
        )


@grouped_attention.stage("causal", points=1.5, after="step")
def test_each_query_sees_itself_and_what_came_before(student, rng):
    rule = "T = S here: the first query sees only the first key, the last one sees all."
    for B, H, T, D in (
        (1, 1, 1, 2),
        (1, 1, 2, 1),
        (1, 1, 3, 2),
        (2, 2, 4, 3),
        (3, 3, 3, 3),
        (1, 2, 300, 2),
        (2, 1, 6, 5),
        (300, 1, 2, 2),
        (1, 4, whole(rng, 5, 9), 4),
    ):
        ask(student, drawn(rng, B, H, H, T, T, D), rule)
    low = -300 - torch.arange(5.0).view(1, 1, 5, 1)
    ask(
        student,
        (torch.ones(1, 1, 5, 1), low, normal(rng, 1, 1, 5, 2)[..., :1]),
        "All scores are hundreds below 0 here. Mask with minus infinity before the softmax, not"
        " with a finite number.",
    )
    for step in (150.0, 350.0):  # a larger one that is not seen makes e^-step of all that are
        steep = step * (torch.arange(5.0) - 2).view(1, 1, 5, 1)
        ask(
            student,
            (torch.ones(1, 1, 5, 1), steep, normal(rng, 1, 1, 5, 1)),
            "Each key scores hundreds above the one before: a masked key must not influence the"
            " softmax at all.",
        )
    ask(
        student,
        (torch.ones(1, 1, 5, 1), -low, normal(rng, 1, 1, 5, 1)),
        "All scores are hundreds above 0 here, and the largest are not seen by the first queries.",
    )


@grouped_attention.stage("groups", points=2, after="step")
def test_neighbouring_query_heads_share_a_key_head(student, rng):
    rule = "Query head h uses KV head h // (H / K): groups are consecutive. T is 1 here."
    for H, K in (
        (4, 2),
        (2, 1),
        (6, 3),
        (6, 2),
        (9, 3),
        (8, 4),
        (4, 1),
        (3, 1),
        (12, 2),
        (300, 3),
        (300, 150),
        (whole(rng, 2, 4) * 3, 3),
    ):
        ask(student, drawn(rng, 2, H, K, 1, 4, 3), rule)
        ask(student, drawn(rng, 1, H, K, 1, 1, 2), rule)
    same = normal(rng, 1, 1, 1, 2).expand(1, 4, 1, 2).contiguous()
    ask(
        student,
        (same, normal(rng, 1, 2, 3, 2), normal(rng, 1, 2, 3, 2)),
        f"{rule} All query heads ask the same here: heads of a group get the same answer, and the"
        " groups get different ones.",
    )
    first, second = drawn(rng, 2, 4, 2, 1, 4, 2), drawn(rng, 2, 4, 2, 1, 4, 2)
    for case in (*one_changed(first, second), *look_alikes(first)):
        ask(student, case, f"{rule} The answer depends on all three arguments.")


@grouped_attention.stage("later", points=1, after="causal")
def test_the_queries_are_the_last_tokens(student, rng):
    rule = (
        "The queries are the last T of S tokens: query t sees the keys 0 to S - T + t, in each head"
        " of each group."
    )
    ask(
        student,
        (
            torch.zeros(1, 4, 2, 1),
            torch.zeros(1, 2, 3, 1),
            torch.tensor([[3.0, 6.0, 9.0], [30.0, 60.0, 90.0]])[None, :, :, None],
        ),
        f"{rule} This is the case by hand.",
    )
    for H, K, T in (
        (4, 2, 2),
        (2, 1, 3),
        (6, 3, 3),
        (6, 2, 4),
        (9, 3, 3),
        (4, 1, 4),
        (4, 4, 2),
        (8, 2, whole(rng, 3, 6)),
    ):
        ask(student, drawn(rng, 2, H, K, T, T, 3), f"{rule} T is S here.")
    for T, S in (
        (1, 2),
        (2, 3),
        (3, 4),
        (2, 6),
        (5, 6),
        (3, 300),
        (299, 300),
        (whole(rng, 2, 4), whole(rng, 5, 9)),
    ):
        for H, K in ((1, 1), (4, 2)):
            ask(student, drawn(rng, 1 + (S < 9), H, K, T, S, 3), rule)
    ask(student, drawn(rng, 2, 6, 3, 2, 5, 1), rule)
    for case in look_alikes(drawn(rng, 1, 4, 2, 2, 6, 2)):
        ask(student, case, rule)


@grouped_attention.stage("no-copies", points=1, after="groups")
def test_keys_are_not_copied_for_the_heads_of_a_group(student, rng):
    for H, K, S, D, room in ((256, 2, 200, 200, 24), (80, 20, 300, 300, 40)):
        rule = (
            f"{H} query heads share {K} heads of {S} keys and values, and there is less memory than"
            " a copy of the keys for each query head takes. Put the queries of a group below each"
            " other as rows, or go head by head; `repeat_interleave`, and a product that stretches"
            " the keys by broadcasting, copy them."
        )
        q, k, v = drawn(rng, 1, H, K, 1, S, D)
        parts = (q / 16, k, v)  # small scores: the order of so many additions does not show
        try:
            with student.capped(room * MIB):
                came = expect(student.grouped_attention(*parts)).is_tensor(
                    shape=(1, H, 1, D), dtype=torch.float32
                )
        except StudentError as error:
            if error.kind != "memory":
                raise
            raise CheckFailed(
                f"Your function takes more memory than it is given here. {rule}", error.text
            ) from None
        expect(came, "Your result").close(attended(*parts), **CLOSE, cause=rule)


predict_cache = exercise(
    "12.predict_cache",
    function="predict_cache",
    points=4,
    kind="predict",
    see=f"{BOOK}/heads#bytes-per-token",
    withhold=OURS | LIBRARIES,
)

KEPT = (
    (2, 4, 1, 8, 16, 1000, 1),
    (1, 1, 1, 1, 4, 1, 1),
    (1, 1, 1, 1, 8, 1, 1),
    (80, 64, 8, 128, 16, 4096, 50),
    (32, 32, 32, 128, 16, 2048, 80),
    (30, 9, 3, 64, 32, 300, 7),
    (80, 64, 64, 128, 8, 4096, 64),
    (3, 6, 2, 5, 4, 7, 3),
    (3, 7, 1, 5, 4, 1, 1),
    (1, 2, 2, 3, 32, 999_983, 999_979),
    (1, 1, 1, 1, 4, 1_000_000, 1_000_000),
    (100, 1_000_000, 1000, 128, 16, 1_000_000, 1_000_000),
    (80, 64, 8, 128, 16, 1_000_000, 1),
    (8, 8, 4, 256, 32, 4096, 2),
    (8, 8, 4, 256, 32, 4097, 2),
    (8, 8, 4, 256, 32, 4095, 2),
    (999_983, 7, 7, 10_001, 4, 999_979, 1_000_000),
    (1, 3, 3, 7, 4, 999_983, 1_000_000),
    (999_983, 999_979, 999_979, 99_991, 4, 3, 1_000_000),
    *one_changed((3, 12, 2, 5, 16, 70, 3), (4, 24, 3, 6, 8, 71, 5)),
)


def kept(layers: int, H: int, K: int, D: int, bits: int, length: int, gib: int) -> dict[str, int]:
    """The right numbers, from the size of the two tensors that a token adds to; gibibytes by their
    bits.
    """
    token = torch.empty((2, layers, K, D), dtype=torch.int8, device="meta").numel() * bits
    return {
        "token": token // 8,
        "text": token * length // 8,
        "texts": (gib << 33) // (token * length),
    }


def ask_number(student, rng, key: str, cause: str) -> None:
    """Compare one of the three numbers."""
    key_heads = whole(rng, 1, 9)
    drawn_sizes = (
        whole(rng, 2, 99),
        key_heads * whole(rng, 2, 8),
        key_heads,
        whole(rng, 3, 300),
        4 * 2 ** whole(rng, 0, 3),
        whole(rng, 2, 9999),
        whole(rng, 1, 99),
    )
    for sizes in (*KEPT, drawn_sizes):
        given = "{} layers, H = {}, K = {}, D = {}, {} bits, length {}, {} GiB".format(*sizes)
        right = kept(*sizes)
        came = expect(student.predict_cache(*sizes), given=given).only_keys(right)
        came.has(key).equals(right[key], cause=cause)


@predict_cache.stage("token", points=2)
def test_what_a_token_keeps(student, rng):
    ask_number(
        student,
        rng,
        "token",
        "A token adds a key and a value in each layer and KV head: D values of `bits` bits each."
        " Eight bits are a byte. Queries are not cached.",
    )


@predict_cache.stage("text", points=0.5)
def test_what_a_text_keeps(student, rng):
    ask_number(
        student,
        rng,
        "text",
        "A sequence takes `length` times the bytes of a token: the cache grows with the length,"
        " not with its square.",
    )


@predict_cache.stage("texts", points=1.5)
def test_how_many_texts_fit(student, rng):
    ask_number(
        student,
        rng,
        "texts",
        "A GiB has 2**30 bytes. Divide by the bytes of a sequence with //: one that fits in part"
        " does not count.",
    )


to_halves = exercise(
    "12.to_halves",
    function="to_halves",
    points=4,
    see=f"{BOOK}/long-context#by-hand-which-dimensions-form-a-pair",
    withhold=OURS | LIBRARIES,
)


def moved(w: torch.Tensor, H: int) -> torch.Tensor:
    """The right answer, row by row."""
    size = len(w) // H
    return torch.stack(
        [
            w[head * size + row]
            for head in range(H)
            for row in (*range(0, size, 2), *range(1, size, 2))
        ]
    )


def ask_rows(student, w: torch.Tensor, H: int, cause: str) -> None:
    """Compare one answer; rows are moved and never changed, so to the last bit.

    Heads of two rows stay as they are, and `transpose` and `reshape` may return a view of w there:
    in a Buffer that is no slip.
    """
    came = student.to_halves(Buffer(w) if len(w) == 2 * H else w, H)
    expect(came, given=f"{w.shape[0]} rows, H = {H}").close(
        moved(w, H), rtol=0, atol=0, cause=cause
    )


@to_halves.stage("one-head", points=1.5)
def test_firsts_of_the_pairs_come_before_their_seconds(student, rng):
    rule = (
        "One head: first the rows 0, 2, 4, ..., the first dimensions of the pairs, then 1, 3, 5,"
        " ..., the second ones."
    )
    ask_rows(student, torch.arange(6.0)[:, None], 1, f"{rule} This is the case by hand.")
    for rows in (2, 4, 6, 8, 10, 64, 300, 2 * whole(rng, 5, 40)):
        for columns in (1, 3, rows):
            ask_rows(student, normal(rng, rows, min(columns, 40)), 1, rule)
    for case in look_alikes((normal(rng, 6, 2), 1)):
        ask_rows(student, *case, f"{rule} Columns stay where they are.")


@to_halves.stage("heads", points=1)
def test_each_head_keeps_its_own_rows(student, rng):
    rule = "Rows stay within their head: head by head, first its even rows, then its odd ones."
    ask_rows(student, torch.arange(8.0)[:, None], 2, f"{rule} This is the second case by hand.")
    for H, D in (
        (2, 2),
        (2, 6),
        (3, 4),
        (3, 6),
        (9, 2),
        (4, 8),
        (6, 6),
        (5, 10),
        (150, 2),
        (3, 100),
        (2, 150),
        (whole(rng, 2, 5), 2 * whole(rng, 2, 8)),
    ):
        ask_rows(student, normal(rng, H * D, 3), H, rule)
        ask_rows(student, normal(rng, H * D, min(H * D, 40)), H, rule)
    w = normal(rng, 24, 3)
    for H in (1, 2, 3, 4, 6, 12, 2):
        ask_rows(student, w, H, f"{rule} The same rows, as heads of another size.")


def score(w_q, w_k, token, places: tuple[int, int], halves: bool) -> float:
    """The dot product of a query and a key of one head, each turned by its place, in the one layout
    or the other.
    """
    turned = []
    for w, place in zip((w_q, w_k), places):
        made = w.double() @ token.double()
        angles = place * 50.0 ** -(torch.arange(len(made) // 2) / (len(made) // 2)).double()
        first, second = made.chunk(2) if halves else (made[0::2], made[1::2])
        turned.append(
            torch.cat(
                (
                    first * angles.cos() - second * angles.sin(),
                    first * angles.sin() + second * angles.cos(),
                )
            )
        )
    return float(turned[0] @ turned[1])


@to_halves.stage("scores", points=0.5, after="one-head")
def test_turned_in_halves_the_scores_are_those_of_pairs(student, rng):
    rule = (
        "A query and a key are rotated by their positions and multiplied: with your rows, the"
        " half-split layout gives the scores that the old rows give interleaved, at all positions."
    )
    for H, D in ((1, 6), (2, 8), (3, 10)):
        w_q, w_k, token = normal(rng, H * D, 3), normal(rng, H * D, 3), normal(rng, 3)
        made = [
            expect(student.to_halves(w, H), given=f"{H * D} rows, H = {H}").is_tensor(
                shape=(H * D, 3), dtype=torch.float32
            )
            for w in (w_q, w_k)
        ]
        for head in range(H):
            own = slice(head * D, head * D + D)
            for places in ((5, 2), (0, 7), (3, 3)):
                expect(score(made[0][own], made[1][own], token, places, True), "The score").close(
                    score(w_q[own], w_k[own], token, places, False), **CLOSE, cause=rule
                )


@to_halves.stage("bias", points=0.5, after="one-head")
def test_a_bias_is_moved_as_its_rows_are(student, rng):
    for H, D in ((1, 2), (1, 6), (2, 4), (3, 6), (5, 2), (3, 100), (whole(rng, 2, 6), 8)):
        ask_rows(
            student,
            normal(rng, H * D),
            H,
            "w may be a bias, with one axis: its entries are reordered as rows are.",
        )
    ask_rows(student, counts(rng, 0, 9, 16, 1).float(), 2, "w may have a single column.")


@to_halves.stage("odd", points=0.5, after="one-head")
def test_what_cannot_be_heads_of_pairs_is_refused(student, rng):
    rule = "Raise a ValueError where the rows cannot be H heads with an even number of rows each."
    for rows, H in (
        (3, 1),
        (1, 1),
        (9, 3),
        (6, 2),
        (7, 2),
        (10, 4),
        (4, 3),
        (2, 2),
        (2, 3),
        (2, 300),
        (10, 10),
        (300, 7),
        (15, 5),
        (299, 1),
    ):
        for w in (normal(rng, rows, 2), normal(rng, rows)):
            raised = raised_by(lambda: student.to_halves(w, H))
            expect(raised == "ValueError").is_true(
                cause=rule, detail=f"{rows} rows, {H} heads: {raised or 'nothing'} was raised"
            )
    for rows, H in ((2, 1), (4, 2), (6, 3), (12, 2)):
        ask_rows(
            student,
            normal(rng, rows, 2),
            H,
            "These rows can be heads of pairs, and are not refused.",
        )
