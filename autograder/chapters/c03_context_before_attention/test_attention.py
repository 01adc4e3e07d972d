"""Checks of chapter 3, part 5: the additive attention of one decoder step."""

import torch

from autograder.chapters.c03_context_before_attention import MOST
from autograder.chapters.c03_context_before_attention.withholding import MODELS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, whole
from autograder.checks.protocol import exercise, expect

CLOSE = {"rtol": 1e-4, "atol": 2e-6}

additive_attention = exercise(
    "03.additive_attention",
    function="additive_attention",
    points=5,
    see="03-context-before-attention/seq2seq#additive-attention",
    withhold=MODELS,
)


def attended(query, memory, w_query, w_memory, v, mask) -> tuple[torch.Tensor, torch.Tensor]:
    """The right context and weights, in float64, one sequence after the other."""
    contexts, weights = [], []
    for row in range(len(query)):
        hidden = torch.tanh(
            w_query.double() @ query[row].double() + memory[row].double() @ w_memory.double().T
        )
        scores = (hidden * v.double()).sum(1)
        powers = torch.where(mask[row], (scores - scores[mask[row]].max()).exp(), 0.0)
        weights.append(powers / powers.sum())
        contexts.append((weights[-1][:, None] * memory[row].double()).sum(0))
    return torch.stack(contexts), torch.stack(weights)


def step(rng: torch.Generator, size: tuple[int, int, int, int, int]) -> tuple:
    """The arguments of a decoder step without padding; size: B, S, Q, C and A."""
    rows, positions, queries, width, hidden = size
    return (
        normal(rng, rows, queries),
        normal(rng, rows, positions, width),
        normal(rng, hidden, queries) / queries**0.5,
        normal(rng, hidden, width) / width**0.5,
        2 * normal(rng, hidden) / hidden**0.5,
        torch.ones(rows, positions, dtype=torch.bool),
    )


def answers(student, parts: tuple) -> tuple:
    """Context and weights as questions, after their shapes were asked for."""
    query, memory, w_query, _, _, mask = parts
    given = (
        f"B = {len(query)}, S = {memory.shape[1]}, Q = {query.shape[1]}, C = {memory.shape[2]},"
        f" A = {len(w_query)}"
    )
    if mask.numel() <= 20 and not mask.all():
        given = f"the mask {mask.int().tolist()}"
    came = expect(student.additive_attention(*parts), given=given).unpacks(2)
    context, weights = (
        expect(one, name, given) for one, name in zip(came, ("Your context", "Your weights"))
    )
    context.is_tensor(shape=(len(query), memory.shape[2]), dtype=torch.float32)
    weights.is_tensor(shape=tuple(mask.shape), dtype=torch.float32)
    return context, weights


def ask_weights(student, parts: tuple, cause: str) -> None:
    """Compare the weights."""
    answers(student, parts)[1].close(attended(*parts)[1].float(), **CLOSE, cause=cause)


def ask_context(student, parts: tuple, cause: str) -> None:
    """Compare the context."""
    answers(student, parts)[0].close(attended(*parts)[0].float(), **CLOSE, cause=cause)


def sizes(rng: torch.Generator) -> list[tuple[int, int, int, int, int]]:
    """B, S, Q, C and A: small ones, some drawn, and a long one along each axis."""
    small = [
        (1, 3, 2, 2, 2),
        (1, 1, 1, 1, 1),
        (3, 3, 3, 3, 3),
        (1, 4, 1, 2, 1),
        (2, 5, 4, 1, 2),
        (2, 2, 3, 4, 6),
        (4, 2, 2, 6, 4),
        tuple(whole(rng, 2, 5) for _ in range(5)),
    ]
    return [*small, *(tuple(MOST if at == axis else 2 for at in range(5)) for axis in range(5))]


@additive_attention.stage("scores", points=2)
def test_the_weights_are_the_softmax_of_the_additive_scores(student, rng):
    rule = (
        "Add W query to U of each memory vector, apply tanh, take the dot product with v, and"
        " apply the softmax over the source positions."
    )
    for size in sizes(rng):
        ask_weights(student, step(rng, size), rule)
    for parts in look_alikes(step(rng, (1, 5, 5, 5, 5))[:5]):
        ask_weights(
            student,
            (*parts, torch.ones(1, 5, dtype=torch.bool)),
            f"{rule} The same numbers in another order are other arguments.",
        )
    for parts in one_changed(step(rng, (2, 4, 2, 3, 3)), step(rng, (2, 4, 2, 3, 3))[:5]):
        ask_weights(student, parts, rule)


def padded(rng: torch.Generator, rows: list[list[int]], size: tuple = (3, 2, 4)) -> tuple:
    """A step with this mask; padding holds 7 and -7; size: Q, C and A."""
    mask = torch.tensor(rows, dtype=torch.bool)
    parts = step(rng, (*mask.shape, *size))
    sign = torch.where(torch.arange(mask.shape[1]) % 2 == 0, 7.0, -7.0)[:, None]
    return (parts[0], torch.where(mask[..., None], parts[1], sign), *parts[2:5], mask)


PADDED = (
    [[1, 1, 0]],
    [[1, 0]],
    [[1, 1, 1, 0], [1, 1, 0, 0]],
    [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]],
    [[0, 1, 1], [1, 1, 1]],
    [[1, 0, 1, 0, 1]],
    [[0, 0, 1, 0], [1, 0, 1, 1]],
)


@additive_attention.stage("padding mask", points=1)
def test_padding_has_weight_zero_and_the_tokens_share_the_rest(student, rng):
    rule = (
        "Padding has weight 0 and the weights of the tokens add up to 1: set the scores of padding"
        " to minus infinity before the softmax."
    )
    for rows in PADDED:
        ask_weights(student, padded(rng, rows), rule)
    for size in ((1, 1, 1), (2, 5, 3), (4, 4, 4)):
        ask_weights(student, padded(rng, [[1, 1, 0, 0], [0, 1, 0, 1]], size), rule)
    ask_weights(student, padded(rng, [[1, 1, 1] + [0] * (MOST - 3)]), rule)
    parts = step(rng, (1, 4, 3, 2, 4))
    for row in ([1, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 0], [0, 1, 1, 0]):
        ask_weights(
            student,
            (*parts[:5], torch.tensor([row], dtype=torch.bool)),
            f"{rule} Only the mask says where padding is.",
        )


@additive_attention.stage("weighted sum", points=1.5)
def test_the_context_is_the_mean_of_the_memory_under_the_weights(student, rng):
    rule = (
        "The context is the sum over the source positions of weight times memory vector, for each"
        " sequence separately."
    )
    for size in sizes(rng):
        ask_context(student, step(rng, size), rule)
    for rows in PADDED:
        ask_context(student, padded(rng, rows), f"{rule} Padding does not take part.")
    large = step(rng, (2, 3, 2, 3, 2))
    ask_context(
        student,
        (large[0], 1000 + 50 * large[1], large[2], large[3] / 50, *large[4:]),
        f"{rule} Memory may hold large numbers.",
    )


def saturated(signs: list[list[int]], v: list[float], mask: list[int]) -> tuple:
    """A step whose tanh is 1 or -1: the scores are sums of v with these signs, a row a position."""
    unit, memory = torch.eye(len(v)), 20.0 * torch.tensor([signs], dtype=torch.float32)
    query = torch.full((1, len(v)), 3.0)
    return query, memory, unit, unit, torch.tensor(v), torch.tensor([mask], dtype=torch.bool)


@additive_attention.stage("large scores", points=0.5, after="scores")
def test_scores_of_a_few_hundred_give_finite_weights(student, rng):
    rule = (
        "Your softmax overflows at scores of a few hundred: subtract the largest score before"
        " you exponentiate."
    )
    near = [[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]]
    for level in (100.0, 390.0, float(whole(rng, 150, 350))):
        for sign in (1, -1):
            parts = saturated(near, [sign * level, 1.0, 0.25], [1, 1, 1, 1])
            ask_weights(student, parts, rule)
    masked = (
        "Padding gets weight when its score is large, or when all others are far below 0: mask"
        " its scores with minus infinity."
    )
    for first in (1, -1):
        signs = [[first, 1, 1], [first, -1, 1], [-first, 1, 1]]
        for v in ([250.0, 1.0, 0.25], [-250.0, 1.0, 0.25]):
            ask_weights(student, saturated(signs, v, [1, 1, 0]), masked)
