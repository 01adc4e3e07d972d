"""Checks of chapter 12, part 4: a mixture of experts, and attention to latents."""

import math

import torch

from autograder.chapters.c12_llama.withholding import FUSED, LIBRARIES, OURS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, whole
from autograder.checks.protocol import MIB, CheckFailed, StudentError, exercise, expect

BOOK = "12-llama"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}

moe_layer = exercise(
    "12.moe_layer",
    function="moe_layer",
    points=5,
    see=f"{BOOK}/mixture-of-experts#by-hand-a-token-and-three-experts",
    withhold=OURS | LIBRARIES,
)


def mixed(x, router, gate, up, down, k) -> torch.Tensor:
    """The right answer in float64, token by token."""
    x, router, gate, up, down = (one.double() for one in (x, router, gate, up, down))
    rows = []
    for token in x:
        scores = router @ token
        chosen = sorted(range(len(router)), key=lambda e: -float(scores[e]))[:k]
        weights = scores[chosen].softmax(0)
        row = torch.zeros_like(token)
        for weight, e in zip(weights, chosen):
            opened = gate[e] @ token
            row += weight * (down[e] @ (opened * opened.sigmoid() * (up[e] @ token)))
        rows.append(row)
    return torch.stack(rows).float()


def layer(rng, N: int, C: int, E: int, F: int) -> tuple:
    """Tokens, and weights that give results of about 1 and scores that differ."""
    scale = C**-0.5
    return (
        normal(rng, N, C),
        2 * scale * normal(rng, E, C),
        scale * normal(rng, E, F, C),
        scale * normal(rng, E, F, C),
        F**-0.5 * normal(rng, E, C, F),
    )


def ask_layer(student, parts: tuple, k: int, cause: str) -> None:
    """Compare one answer."""
    (N, C), (E, F) = parts[0].shape, parts[2].shape[:2]
    given = f"N = {N}, C = {C}, E = {E}, F = {F}, k = {k}"
    expect(student.moe_layer(*parts, k), given=given).close(mixed(*parts, k), **CLOSE, cause=cause)


@moe_layer.stage("one expert", points=1.5)
def test_a_single_expert_is_swiglu(student, rng):
    rule = (
        "There is one expert here, and its weight is 1: return down(silu(gate(x)) * up(x)) of each"
        " token."
    )
    for N, C, F in (
        (1, 1, 1),
        (1, 2, 3),
        (3, 3, 3),
        (4, 1, 5),
        (2, 6, 1),
        (300, 2, 2),
        (2, 300, 3),
        (2, 3, 300),
        (whole(rng, 3, 9), whole(rng, 3, 9), whole(rng, 3, 9)),
    ):
        ask_layer(student, layer(rng, N, C, 1, F), 1, rule)


@moe_layer.stage("top expert", points=1.5, after="one expert")
def test_each_token_goes_to_its_most_probable_expert(student, rng):
    rule = "With k = 1 each token goes to the expert with the highest score, with weight 1."
    for N, C, E, F in (
        (1, 3, 2, 2),
        (5, 4, 3, 2),
        (4, 4, 4, 4),
        (40, 3, 8, 3),
        (300, 2, 3, 1),
        (3, 2, 300, 1),
        (whole(rng, 9, 30), whole(rng, 3, 9), whole(rng, 3, 9), whole(rng, 2, 6)),
    ):
        ask_layer(student, layer(rng, N, C, E, F), 1, rule)
    parts, others = layer(rng, 4, 3, 3, 2), layer(rng, 4, 3, 3, 2)
    for case in (*one_changed(parts, others), *look_alikes(parts)):
        ask_layer(student, case, 1, f"{rule} The answer depends on all arguments.")


@moe_layer.stage("weights", points=1, after="top expert")
def test_probabilities_of_the_chosen_are_divided_by_their_sum(student, rng):
    rule = (
        "Weights are the chosen experts' probabilities, divided by their sum over the k that are"
        " chosen."
    )
    router = torch.tensor([[1.0], [6.0], [3.0]]).log()
    gate, up = torch.full((3, 1, 1), 50.0), torch.full((3, 1, 1), 0.02)
    down = torch.tensor([77.0, 3.0, 9.0]).view(3, 1, 1)
    ask_layer(
        student,
        (torch.ones(1, 1), router, gate, up, down),
        2,
        f"{rule} This is the case by hand.",
    )
    for N, C, E, F, k in (
        (1, 3, 2, 2, 2),
        (5, 4, 3, 2, 2),
        (20, 4, 8, 3, 2),
        (9, 4, 8, 3, 5),
        (6, 3, 6, 6, 6),
        (2, 3, 300, 1, 30),
        (30, 3, 9, 2, whole(rng, 3, 7)),
    ):
        ask_layer(student, layer(rng, N, C, E, F), k, rule)
    x, router, *experts = layer(rng, 3, 2, 4, 2)
    steep = 79 * router / (x @ router.T).abs().max()
    ask_layer(
        student,
        (x, steep, *experts),
        3,
        f"{rule} Scores reach ±79 here: take the softmax in one step.",
    )


@moe_layer.stage("unused experts", points=1, after="top expert")
def test_an_expert_that_nobody_chose_is_left_alone(student, rng):
    for N, C, E, F in ((1, 3, 4, 2), (3, 4, 20, 2), (2, 2, 40, 3), (whole(rng, 2, 4), 3, 30, 2)):
        x, router, gate, up, down = layer(rng, N, C, E, F)
        right = mixed(x, router, gate, up, down, 1)
        chosen = (x.double() @ router.double().T).argmax(1)
        idle = torch.ones(E, dtype=torch.bool).index_fill(0, chosen, False)
        for one in (gate, up, down):
            one[idle] = torch.nan
        expect(student.moe_layer(x, router, gate, up, down, 1), given=f"E = {E}, N = {N}").close(
            right,
            **CLOSE,
            cause="An expert that no token chose holds NaN here, and reaches your result: compute"
            " each expert for the tokens that chose it. A product with weight 0 is not enough.",
        )


latent_attention = exercise(
    "12.latent_attention",
    function="latent_attention",
    points=5,
    see=f"{BOOK}/latent-attention#by-hand-one-head-two-tokens",
    withhold=OURS | LIBRARIES | FUSED,
)


def attended(q, q_rot, c, k_rot, A, B) -> torch.Tensor:
    """The right answer in float64, head by head, with expanded keys and values."""
    q, q_rot, c, k_rot, A, B = (one.double() for one in (q, q_rot, c, k_rot, A, B))
    (H, T), S = q.shape[:2], len(c)
    seen = torch.arange(S) <= torch.arange(T)[:, None] + S - T
    heads = []
    for h in range(H):
        keys = torch.cat((c @ A[h].T, k_rot), dim=1)  # (S, N + R)
        queries = torch.cat((q[h], q_rot[h]), dim=1)
        scores = queries @ keys.T / math.sqrt(keys.shape[1])
        heads.append(torch.where(seen, scores, -torch.inf).softmax(1) @ (c @ B[h].T))
    return torch.stack(heads).float()


def latents(rng, H: int, T: int, S: int, sizes: tuple[int, int, int, int]) -> tuple:
    """All six arguments; sizes: N, R, L, V."""
    N, R, L, V = sizes
    return (
        2 * normal(rng, H, T, N),
        2 * normal(rng, H, T, R),
        normal(rng, S, L),
        normal(rng, S, R),
        L**-0.5 * normal(rng, H, N, L),
        L**-0.5 * normal(rng, H, V, L),
    )


def ask_attention(student, parts: tuple, cause: str) -> None:
    """Compare one answer."""
    q, q_rot, c, _, _, B = parts
    given = (
        f"H = {q.shape[0]}, T = {q.shape[1]}, S = {c.shape[0]}, N = {q.shape[2]},"
        f" R = {q_rot.shape[2]}, L = {c.shape[1]}, V = {B.shape[1]}"
    )
    expect(student.latent_attention(*parts), given=given).close(
        attended(*parts), **CLOSE, cause=cause
    )


@latent_attention.stage("one query", points=2)
def test_one_query_sees_all_latents(student, rng):
    rule = (
        "One query per head, T = 1, sees all S tokens. Scores are (q A · c + q_rot · k_rot) /"
        " sqrt(N + R), then a softmax, then B times the average latent."
    )
    zero = torch.zeros
    ask_attention(
        student,
        (
            torch.tensor([[[math.log(3), 0.0, 0.0]]]),
            zero(1, 1, 1),
            torch.tensor([[1.0], [3.0]]),
            zero(2, 1),
            torch.tensor([[[1.0], [0.0], [0.0]]]),
            torch.tensor([[[10.0]]]),
        ),
        f"{rule} This is the case by hand.",
    )
    for H, S, sizes in (
        (1, 1, (1, 1, 1, 1)),
        (1, 4, (3, 1, 2, 2)),
        (1, 5, (2, 6, 3, 4)),
        (1, 3, (3, 3, 3, 3)),
        (3, 4, (2, 3, 5, 4)),
        (3, 3, (3, 3, 3, 3)),
        (2, 300, (2, 1, 3, 2)),
        (300, 2, (1, 2, 1, 2)),
        (2, 3, (300, 2, 3, 2)),
        (2, 3, (2, 300, 3, 2)),
        (2, 3, (2, 2, 300, 2)),
        (2, 3, (2, 2, 3, 300)),
        (whole(rng, 2, 5), whole(rng, 3, 9), tuple(whole(rng, 2, 9) for _ in range(4))),
    ):
        ask_attention(student, latents(rng, H, 1, S, sizes), rule)
    first, second = (latents(rng, 2, 1, 3, (2, 3, 4, 5)) for _ in range(2))
    for case in (*one_changed(first, second), *look_alikes(first)):
        ask_attention(student, case, f"{rule} The answer depends on all six arguments.")
    q, q_rot, c, k_rot, A, B = first
    # Positive factors: with any seed the scores are above 90, where exp overflows.
    latent, narrow = 0.75 + c.abs() / 4, 0.25 + A.abs() / 4
    for size in (200.0, -200.0):
        ask_attention(
            student,
            (size * torch.ones_like(q), q_rot, latent, k_rot, narrow, B),
            "Scores may be in the hundreds, where exp overflows: subtract the largest first, or"
            " use `softmax`.",
        )


@latent_attention.stage("causal", points=2, after="one query")
def test_queries_are_the_last_tokens(student, rng):
    rule = "The queries are the last T of S tokens: query t sees the tokens 0 to S - T + t."
    for H, T, S in (
        (1, 2, 2),
        (1, 2, 3),
        (2, 4, 4),
        (3, 3, 3),
        (2, 3, 9),
        (1, 299, 300),
        (2, 5, 6),
        (2, whole(rng, 2, 4), whole(rng, 5, 9)),
    ):
        ask_attention(student, latents(rng, H, T, S, (3, 2, 4, 5)), rule)
        ask_attention(student, latents(rng, H, T, S, (2, 2, 2, 2)), rule)
    for step in (100.0, 400.0):
        steep = step * torch.arange(5.0)[:, None]
        ask_attention(
            student,
            (torch.ones(1, 5, 1), torch.zeros(1, 5, 1), steep, steep * 0)
            + (torch.ones(1, 1, 1), torch.ones(1, 2, 1) / step),
            "Each token scores hundreds above the one before: a masked token must not influence"
            " the softmax at all.",
        )


@latent_attention.stage("absorbed", points=1, after="one query")
def test_keys_are_not_expanded(student, rng):
    rule = (
        "300 heads attend to 300 latents of 4 dimensions, with less memory than their expanded keys"
        " would take. Multiply the query by A, and the average latent by B."
    )
    q, *others = latents(rng, 300, 1, 300, (300, 2, 4, 300))
    parts = (q / 16, *others)  # small scores: the order of so many additions does not show
    try:
        with student.capped(40 * MIB):
            came = expect(student.latent_attention(*parts)).is_tensor(
                shape=(300, 1, 300), dtype=torch.float32
            )
    except StudentError as error:
        if error.kind != "memory":
            raise
        raise CheckFailed(
            f"Your function takes more memory than it is given here. {rule}", error.text
        ) from None
    expect(came, "Your result").close(attended(*parts), **CLOSE, cause=rule)
