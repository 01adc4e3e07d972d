"""Checks of chapter 8, part 1: the loss of the next tokens."""

import torch

from autograder.chapters.c08_gpt.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, look_alikes, normal, one_changed, whole
from autograder.checks.inputs.gradients import ask_gradients
from autograder.checks.protocol import exercise, expect

BOOK = "08-gpt"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}

next_token_loss = exercise(
    "08.next_token_loss",
    function="next_token_loss",
    points=6,
    see=f"{BOOK}/next-token#the-objective",
    withhold=OURS | LIBRARIES,
)


def mean_price(logits: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The right loss in float64, row by row."""
    prices = [
        row[: n - 1].logsumexp(1) - row[torch.arange(n - 1), text[1:n]]
        for row, text, n in zip(logits.double(), ids, mask.sum(1).tolist())
        if n > 1
    ]
    return torch.cat(prices).mean().float() if prices else torch.tensor(0.0)


def texts(
    rng, rows: int, places: int, entries: int, ragged: bool = False, scale: float = 2.0
) -> tuple:
    """The three arguments; ragged: each row ends somewhere, one of them at the end."""
    lengths = counts(rng, 1, places, rows) if ragged else torch.full((rows,), places)
    if ragged:
        lengths[whole(rng, 0, rows - 1)] = places
    return (
        scale * normal(rng, rows, places, entries),
        counts(rng, 0, entries - 1, rows, places),
        torch.arange(places) < lengths[:, None],
    )


def ask(student, cause: str, case: tuple) -> None:
    """Compare the loss."""
    given = "B = {}, T = {}, V = {}, ".format(*case[0].shape) + f"{int(case[2].sum())} tokens"
    expect(student.next_token_loss(*case), "Your loss", given).close(
        mean_price(*case), **CLOSE, cause=cause
    )


def graded(logits: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The right gradient."""
    asked = torch.zeros(logits.shape)
    for row, tokens in enumerate(mask.sum(1).tolist()):
        for t in range(tokens - 1):
            asked[row, t] = logits[row, t].softmax(0)
            asked[row, t, ids[row, t + 1]] -= 1
    return asked / max(int(mask[:, 1:].sum()), 1)


@next_token_loss.stage("shift", points=2)
def test_the_logits_at_a_place_are_of_the_token_after_it(student, rng):
    rule = (
        "One sequence without padding: the loss is the mean cross-entropy of the T - 1 "
        "targets; logits at t predict token t + 1."
    )
    for places, entries in (
        (2, 2),
        (2, 5),
        (3, 3),
        (5, 2),
        (3, 300),
        (300, 3),
        (4, 4),
        (whole(rng, 4, 9), whole(rng, 3, 9)),
    ):
        ask(student, rule, texts(rng, 1, places, entries))
    for case in [
        *one_changed(texts(rng, 1, 6, 4), texts(rng, 1, 6, 4)),
        *look_alikes(texts(rng, 1, 6, 5)),
    ]:
        ask(student, rule, case)
    for column in (0, 299):
        logits, ids, mask = texts(rng, 1, 4, 300)
        ask(
            student,
            f"{rule} The answers are the first or the last token of the vocabulary.",
            (logits, torch.full_like(ids, column), mask),
        )
        logits[..., column] = 20.0
        ask(
            student,
            f"{rule} The first or the last token of the vocabulary has the highest logit.",
            (logits, ids.clamp(1, 298), mask),
        )


@next_token_loss.stage("rows", points=1, after="shift")
def test_no_row_bets_on_another_row(student, rng):
    rule = (
        "Several sequences: a sequence's last logits have no target, and its first token is "
        "none. Shift before you flatten."
    )
    for sizes in (
        (2, 2, 3),
        (3, 2, 2),
        (2, 3, 4),
        (4, 4, 4),
        (300, 2, 3),
        (whole(rng, 2, 6), whole(rng, 3, 6), 5),
    ):
        ask(student, rule, texts(rng, *sizes))


@next_token_loss.stage("padding", points=1)
def test_nobody_bets_on_padding(student, rng):
    rule = (
        "Padding is no target. Shift the mask as you shift the ids, so that it tells whether "
        "the target is a token."
    )
    for places in (3, 5, 9, whole(rng, 6, 12)):
        for tokens in (2, places - 1):
            logits, ids, _ = texts(rng, 1, places, 4)
            mask = (torch.arange(places) < tokens)[None]
            ask(student, rule, (logits, ids, mask))
            ask(
                student,
                f"{rule} Whatever id stands at padding: here it is 0.",
                (logits, ids * mask, mask),
            )
            ask(student, f"{rule} Tokens may have the id 0, too.", (logits, ids * ~mask, mask))
            ask(
                student,
                f"{rule} The logits at padding are huge here.",
                (torch.where(mask[..., None], logits, 3000 * logits), ids, mask),
            )


@next_token_loss.stage("mean", points=1, after="padding")
def test_every_bet_weighs_the_same(student, rng):
    rule = (
        "Sequences of different lengths: sum the losses of all targets, then divide by their "
        "number. A mean of means favours short sequences."
    )
    for sizes in (
        (2, 4, 3),
        (3, 3, 3),
        (5, 9, 2),
        (2, 300, 2),
        (whole(rng, 4, 8), whole(rng, 6, 9), 4),
    ):
        logits, ids, mask = texts(rng, *sizes, ragged=True)
        mask[0, 2:], mask[-1] = False, True
        ask(student, rule, (logits, ids, mask))
    first, second = texts(rng, 3, 6, 4, ragged=True), texts(rng, 3, 6, 4)
    first[2][0, 3:] = False
    for case in [*one_changed(first, second), *look_alikes(second)]:
        ask(student, rule, case)


@next_token_loss.stage("borders", points=1, after="shift")
def test_logits_may_be_huge_there_may_be_no_bet_and_the_loss_is_differentiated(student, rng):
    huge = (
        "Logits may be as large as 10,000: take the logarithm of a softmax in one step, with"
        " `cross_entropy` or `log_softmax`."
    )
    logits, ids, mask = texts(rng, 2, 5, 4)
    mask[0, 3:] = False
    for scale in (150.0, 4000.0):
        ask(student, huge, (scale * logits.clamp(-2.4, 2.4), ids, mask))
    for entries in (2, 4):
        answers = counts(rng, 0, entries - 1, 2, 5)
        lost = 20_000.0 * torch.nn.functional.one_hot((answers + 1) % entries, entries) - 10_000.0
        ask(
            student,
            f"{huge} A target with logit -10,000, where another token has 10,000, costs 20,000.",
            (lost[:, [1, 2, 3, 4, 0]], answers, torch.ones(2, 5, dtype=torch.bool)),
        )
        ask(
            student,
            f"{huge} Some targets cost 20,000 here, and some nothing.",
            (
                lost[:, [1, 2, 3, 4, 0]],
                torch.where(torch.arange(5) > 2, (answers + 1) % entries, answers),
                mask,
            ),
        )
    ask(
        student,
        "With one token in the vocabulary every prediction is certain: the loss is 0.",
        texts(rng, 2, 3, 1),
    )
    none = "There is no target here, so the loss is 0.0. The mean of no numbers is NaN in torch."
    for places in (1, 4):
        logits, ids, _ = texts(rng, 3, places, 4)
        ask(student, none, (logits, ids, (torch.arange(places) < 1).expand(3, places).clone()))
    ask(
        student,
        "A sequence of one token has no target, and the other one has.",
        (
            normal(rng, 2, 3, 4),
            counts(rng, 0, 3, 2, 3),
            torch.tensor([[True, False, False], [True, True, True]]),
        ),
    )
    rule = (
        "The gradient must reach the logits. `.item()`, `.detach()`, `no_grad` and "
        "`torch.tensor(...)` cut it off."
    )
    case = texts(rng, 3, 5, 4, ragged=True)
    ask_gradients(student, "next_token_loss", case, {0: graded(*case)}, rule)
