"""Checks of chapter 7, part 3: what a generator replaces, and the joint loss."""

import torch

from autograder.chapters.c07_after_bert.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, look_alikes, normal, one_changed, whole
from autograder.checks.inputs.gradients import ask_gradients
from autograder.checks.protocol import exercise, expect

BOOK = "07-after-bert"

replace = exercise(
    "07.replace",
    function="replace",
    points=6,
    see=f"{BOOK}/electra#by-hand",
    withhold=OURS | LIBRARIES,
)


def filled_in(ids, labels, probs, chances) -> tuple[torch.Tensor, torch.Tensor]:
    """The right answer, with sums in float64."""
    over, blank = probs.double().cumsum(2) > chances.double()[..., None], labels != -100
    guess = torch.where(over.any(2), over.int().argmax(2), probs.shape[2] - 1)
    return torch.where(blank, guess, ids), blank & (guess != labels)


def blanked(
    rng, rows: int, places: int, entries: int, blanks: float = 0.5, above: float | None = None
) -> tuple:
    """The four arguments: so large a share of blanks, one at least; labels that are often the
    guess, and never 0; chances in the middle between two sums, or so much above the lower one.
    """
    parts = counts(rng, 0, 9, rows, places, entries).float() * (
        torch.rand(rows, places, entries, generator=rng) < 0.7
    )
    parts[..., whole(rng, 0, entries - 1)] += 1.0
    probs = parts / parts.sum(2, keepdim=True)
    guess = (probs.flatten(0, 1) > 0).float().multinomial(1, generator=rng).reshape(rows, places, 1)
    sums = probs.double().cumsum(2)
    own = probs.double().gather(2, guess)
    below = (sums.gather(2, guess) - (own / 2 if above is None else own - above))[..., 0]
    blank = torch.rand(rows, places, generator=rng) < blanks
    blank[whole(rng, 0, rows - 1), whole(rng, 0, places - 1)] = True
    truth = torch.where(
        torch.rand(rows, places, generator=rng) < 0.4,
        guess[..., 0],
        counts(rng, 0, entries - 1, rows, places),
    ).clamp(min=min(1, entries - 1))
    return counts(rng, 0, 400, rows, places), torch.where(blank, truth, -100), probs, below.float()


def in_parts(rng, blanks: float = 1.0) -> tuple:
    """As `blanked`, for (2, 5) places and 5 tokens, with probabilities in 16ths and chances between
    them in whatever pair they meet.
    """
    ids, labels, probs, _ = blanked(rng, 2, 5, 5, blanks)
    throws = torch.ones(10, 5).multinomial(16, replacement=True, generator=rng)
    return (
        ids,
        labels,
        torch.nn.functional.one_hot(throws, 5).sum(1).reshape(2, 5, 5) / 16.0,
        (2 * counts(rng, 0, 31, 2, 5) + 1) / 64.0,
    )


def answers(student, case: tuple) -> tuple:
    """Both tensors as questions, and the right ones."""
    given = (
        "B = {}, T = {}, V = {}, ".format(*case[2].shape) + f"{int((case[1] != -100).sum())} masks"
    )
    came = expect(student.replace(*case), given=given).unpacks(2)
    return tuple(
        expect(one, name, given)
        for one, name in zip(came, ("Your filled text", "Your tensor `replaced`"))
    ), filled_in(*case)


def ask_filled(student, cause: str, case: tuple) -> None:
    """Compare the filled text."""
    (filled, _), (right, _) = answers(student, case)
    filled.equals(right, cause=cause)


def ask_replaced(student, cause: str, case: tuple) -> None:
    """Compare what is said to be replaced."""
    (_, replaced), (_, right) = answers(student, case)
    replaced.equals(right, cause=cause)


SIZES = (
    (1, 1, 2),
    (1, 4, 3),
    (4, 1, 3),
    (2, 3, 4),
    (3, 3, 3),
    (3, 2, 30),
    (300, 2, 3),
    (2, 300, 3),
    (2, 2, 300),
)


@replace.stage("drawn", points=2)
def test_a_blank_gets_the_first_token_whose_sum_passes_the_chance(student, rng):
    rule = (
        "Every token is masked here. At each, add up the probabilities from token 0 on: the guess"
        " is"
        " the first token at which the sum is greater than the chance, neither the most probable"
        " nor"
        " what stood there."
    )
    for size in (*SIZES, (whole(rng, 2, 6), whole(rng, 2, 9), whole(rng, 2, 20))):
        ask_filled(student, rule, blanked(rng, *size, blanks=1.0))
    ask_filled(
        student,
        f"{rule} Some chances are close to a sum: nothing is rounded.",
        blanked(rng, 3, 40, 6, 1.0, above=0.00015),
    )
    close = (
        torch.zeros(1, 4, dtype=torch.int64),
        torch.tensor([[1, 1, 1, 1]]),
        torch.tensor([[[0.5, 0.5], [0.5, 0.5], [0.75, 0.25], [0.75, 0.25]]]),
    )
    ask_filled(
        student,
        f"{rule} Some chances are close to a sum: nothing is rounded.",
        (*close, torch.tensor([[0.49985, 0.50015, 0.74985, 0.75015]])),
    )
    for case in one_changed(in_parts(rng), in_parts(rng)):
        ask_filled(student, rule, case)


@replace.stage("kept", points=1, after="drawn")
def test_all_other_tokens_stay(student, rng):
    rule = (
        "Where the label is -100 no token is masked, and the id stays as it was, whatever `probs`"
        " and `chances` say there. Masks are known by their label, not by an id."
    )
    for size in (*SIZES, (whole(rng, 2, 6), whole(rng, 2, 9), whole(rng, 2, 20))):
        ask_filled(student, rule, blanked(rng, *size, blanks=0.3))
    ids, labels, probs, chances = blanked(rng, 3, 6, 4, 0.4)
    ask_filled(student, rule, (torch.where(labels == -100, ids, labels), labels, probs, chances))
    ask_filled(student, rule, (torch.zeros_like(ids), labels, probs, chances))
    ask_filled(
        student,
        f"{rule} The probabilities may all be 0 where no token is masked.",
        (ids, labels, probs * (labels != -100)[..., None], chances),
    )
    ask_filled(
        student,
        f"{rule} Ids may be as large as a billion.",
        (999_999_999 - 2 * ids, labels, probs, chances),
    )
    none = torch.full_like(labels, -100)
    ask_filled(
        student,
        f"{rule} No token is masked here.",
        (ids, none, torch.zeros_like(probs), chances),
    )
    ids, labels, probs, chances = in_parts(rng, 0.6)
    for ids, labels, chances in look_alikes((ids, labels, chances)):
        ask_filled(student, rule, (ids, labels, probs, chances))
        ask_filled(student, rule, (ids, labels, probs[:, [0, 2, 1, 3, 4]], chances))


@replace.stage("lucky", points=2)
def test_a_lucky_guess_is_not_replaced(student, rng):
    rule = (
        "True where the filled text differs from the original, which has the label at a mask and"
        " the id elsewhere. A guess that is right is False, and so is every token that was no"
        " mask."
    )
    for blanks in (1.0, 0.4):
        for size in (*SIZES, (whole(rng, 2, 6), whole(rng, 2, 9), whole(rng, 2, 20))):
            ask_replaced(student, rule, blanked(rng, *size, blanks))
    ids, labels, probs, chances = blanked(rng, 3, 6, 4, 0.5)
    guesses, blank = filled_in(ids, labels, probs, chances)[0], labels != -100
    for words, truth in (
        ("Every guess is right here.", guesses),
        ("Every guess is wrong here.", (guesses + 1) % 4),
        ("The truth is token 0 at every mask.", torch.zeros_like(ids)),
    ):
        ask_replaced(
            student, f"{rule} {words}", (ids, torch.where(blank, truth, -100), probs, chances)
        )
    ask_replaced(
        student,
        f"{rule} At the masks `ids` holds the very guesses here, and that says nothing.",
        (guesses, labels, probs, chances),
    )
    ask_replaced(
        student,
        f"{rule} No token is masked here.",
        (ids, torch.full_like(labels, -100), probs, chances),
    )


@replace.stage("borders", points=1)
def test_chances_on_a_border_and_sums_below_one(student, rng):
    rule = (
        "The sum has to be greater than the chance: where they are equal, the next token that has a"
        " probability is drawn. One with the probability 0 never is."
    )
    probs = torch.tensor(
        [
            [0.5, 0.5, 0.0, 0.0],
            [0.0, 0.25, 0.0, 0.75],
            [0.25, 0.25, 0.25, 0.25],
            [0.0, 0.0, 0.0, 1.0],
            [1.0, 0.0, 0.0, 0.0],
        ]
    )
    for chance in (0.0, 0.25, 0.5, 0.75):
        case = (
            torch.full((1, 5), 9),
            torch.tensor([[0, 1, 2, 3, 0]]),
            probs[None],
            torch.full((1, 5), chance),
        )
        ask_filled(student, rule, case)
        ask_replaced(student, rule, case)
    short = "The sums end a little below the chance here: the guess is the last token."
    for chance in (0.996, 0.9999):
        ask_filled(
            student,
            short,
            (
                torch.zeros(1, 2, dtype=torch.int64),
                torch.tensor([[1, 0]]),
                torch.tensor([[[0.5, 0.25, 0.245], [0.5, 0.495, 0.0]]]),
                torch.full((1, 2), chance),
            ),
        )
    for places in (1, 3):
        ask_filled(
            student,
            "With one token in the vocabulary there is one guess.",
            (
                counts(rng, 1, 9, 1, places),
                torch.zeros(1, places, dtype=torch.int64),
                torch.ones(1, places, 1),
                torch.rand(1, places, generator=rng),
            ),
        )


electra_loss = exercise(
    "07.electra_loss",
    function="electra_loss",
    points=4,
    see=f"{BOOK}/electra#by-hand",
    withhold=OURS | LIBRARIES,
)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def joint(gen, truth, disc, replaced, mask, weight: float) -> torch.Tensor:
    """The right loss, in float64."""
    gen, disc = gen.double(), disc.double()
    guessing = (gen.logsumexp(1) - gen.gather(1, truth[:, None])[:, 0]).sum() / max(len(gen), 1)
    signed = torch.where(replaced, -disc, disc)[mask]  # the price is log(1 + e^signed)
    return (guessing + weight * torch.logaddexp(signed, torch.zeros_like(signed)).mean()).float()


def batch(
    rng,
    blanks: int,
    entries: int,
    rows: int,
    places: int,
    padding: float = 0.0,
    weight: float = 1.0,
) -> tuple:
    """The six arguments; one token at least is no padding."""
    mask = torch.rand(rows, places, generator=rng) >= padding
    mask[whole(rng, 0, rows - 1), whole(rng, 0, places - 1)] = True
    return (
        2 * normal(rng, blanks, entries),
        counts(rng, 0, entries - 1, blanks),
        2 * normal(rng, rows, places),
        torch.rand(rows, places, generator=rng) < 0.4,
        mask,
        weight,
    )


def ask_joint(student, cause: str, case: tuple) -> None:
    """Compare the loss."""
    given = (
        "N = {}, V = {}, ".format(*case[0].shape)
        + "B = {}, T = {}, ".format(*case[2].shape)
        + f"{int(case[4].sum())} tokens, weight {case[5]:g}"
    )
    expect(student.electra_loss(*case), "Your loss", given).close(
        joint(*case), **CLOSE, cause=cause
    )


@electra_loss.stage("masked tokens", points=1)
def test_the_generator_pays_at_the_blanks(student, rng):
    rule = (
        "The weight is 0 here, so the generator's part is alone: the mean over the N masked"
        " tokens of"
        " minus the logarithm of what the softmax gives the truth."
    )
    for size in (
        (1, 2),
        (2, 3),
        (3, 3),
        (5, 40),
        (40, 5),
        (300, 2),
        (2, 300),
        (whole(rng, 2, 9), whole(rng, 2, 9)),
    ):
        ask_joint(student, rule, batch(rng, *size, 2, 5, weight=0.0))


@electra_loss.stage("tokens", points=1)
def test_the_discriminator_pays_at_every_token(student, rng):
    rule = (
        "A vocabulary of one token costs the generator nothing, and the weight is 1, so the"
        " discriminator's part is alone: the mean over all tokens of minus the logarithm of the"
        " probability that it gives the right answer, replaced or not."
    )
    for size in (
        (1, 1),
        (1, 2),
        (2, 3),
        (3, 3),
        (4, 2),
        (300, 2),
        (2, 300),
        (whole(rng, 2, 6), whole(rng, 4, 9)),
    ):
        ask_joint(student, rule, batch(rng, 3, 1, *size))
    for which in (False, True):
        gen, truth, disc, replaced, mask, weight = batch(rng, 2, 1, 2, 4)
        ask_joint(
            student,
            f"{rule} All tokens here are alike.",
            (gen, truth, disc, torch.full_like(replaced, which), mask, weight),
        )


@electra_loss.stage("padding", points=0.5)
def test_padding_plays_no_part(student, rng):
    rule = (
        "Padding has no price and is not counted, wherever it stands, and whatever `replaced` says"
        " there: the mean goes over the tokens of `mask` alone, of all rows together."
    )
    for size in ((1, 3), (3, 3), (4, 9), (2, 5), (whole(rng, 2, 6), whole(rng, 4, 9))):
        for padding in (0.3, 0.9):
            ask_joint(student, rule, batch(rng, 2, 1, *size, padding))
    gen, truth, disc, replaced, mask, weight = batch(rng, 2, 1, 3, 4)
    for case in (
        *one_changed(batch(rng, 2, 1, 3, 5, 0.4), batch(rng, 2, 1, 3, 5, 0.4)),
        *look_alikes(batch(rng, 2, 1, 3, 5, 0.4)),
    ):
        ask_joint(student, rule, case)
    ask_joint(
        student,
        rule,
        (
            gen,
            truth,
            torch.where(torch.arange(4) < 2, disc, 10_000.0),
            replaced,
            (torch.arange(4) < 2).expand(3, 4).clone(),
            weight,
        ),
    )


@electra_loss.stage("joint", points=1)
def test_the_weight_is_the_discriminators(student, rng):
    rule = (
        "The generator's mean plus the weight times the discriminator's mean: the weight belongs to"
        " the discriminator alone."
    )
    by_hand = (
        torch.tensor([[0.5, 0.5], [1 / 8, 7 / 8]]).log(),
        torch.tensor([0, 0]),
        torch.zeros(1, 4),
        torch.tensor([[False, True, False, False]]),
        torch.ones(1, 4) == 1,
        50.0,
    )
    ask_joint(student, f"{rule} This is the case by hand.", by_hand)
    for weight in (0.5, 2.0, 50.0, 100.0, float(whole(rng, 3, 40))):
        ask_joint(
            student,
            rule,
            batch(
                rng,
                whole(rng, 1, 9),
                whole(rng, 2, 9),
                whole(rng, 2, 6),
                whole(rng, 2, 9),
                weight=weight,
            ),
        )
    for case in (
        *one_changed(batch(rng, 3, 4, 2, 5, 0.0, 50.0), batch(rng, 3, 4, 2, 5, 0.0, 7.0)),
        *look_alikes(batch(rng, 3, 4, 2, 5, 0.0, 3.0)),
    ):
        ask_joint(student, rule, case)


@electra_loss.stage("borders", points=0.5, after="joint")
def test_logits_may_be_huge_there_may_be_no_blank_and_both_learn(student, rng):
    huge = (
        "Logits may be as large as 10,000: the logarithm of a softmax or of a sigmoid is taken in"
        " one step, by the functions that take logits."
    )
    gen, truth, disc, replaced, mask, weight = batch(rng, 3, 4, 2, 5)
    for size in (300.0, 5000.0):
        ask_joint(student, huge, (size * gen.clamp(-2, 2), truth, disc, replaced, mask, weight))
        ask_joint(student, huge, (gen, truth, size * disc.clamp(-2, 2), replaced, mask, weight))
    ask_joint(
        student,
        "No token is masked here: the generator's part is 0. The mean of no numbers is NaN in"
        " torch.",
        batch(rng, 0, 4, 2, 5, weight=50.0),
    )
    rule = (
        "The gradient reaches both the generator's and the discriminator's logits. `.item()`,"
        " `.detach()`, `no_grad` and a tensor that is made again cut it off."
    )
    for weight in (1.0, 50.0):
        right = {
            0: (gen.softmax(1) - torch.nn.functional.one_hot(truth, 4)) / 3,
            2: weight * (disc.sigmoid() - replaced.float()) / 10,
        }
        ask_gradients(
            student, "electra_loss", (gen, truth, disc, replaced, mask, weight), right, rule
        )
    ask_gradients(
        student,
        "electra_loss",
        (gen[:0], truth[:0], disc, replaced, mask, 50.0),
        {2: right[2]},
        f"{rule} Without a masked token the discriminator learns all the same.",
    )
