"""Checks of chapter 5, part 2: which tokens are covered, and what the guesses cost."""

import torch

from autograder.chapters.c05_bert_pretraining.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import (
    counts,
    look_alike,
    look_alikes,
    normal,
    one_changed,
    uniform,
    whole,
)
from autograder.checks.inputs.gradients import ask_gradients
from autograder.checks.protocol import exercise, expect

BOOK = "05-bert-pretraining"

mask_tokens = exercise(
    "05.mask_tokens",
    function="mask_tokens",
    points=8,
    see=f"{BOOK}/masking#the-80-10-10-replacement-strategy",
    withhold=OURS | LIBRARIES,
)


def masked(ids, special, order, fate, others, mask_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The right answer, place by place, in whole numbers."""
    new, labels = ids.tolist(), torch.full_like(ids, -100).tolist()
    for row, (old, kept, ranks, die, swaps) in enumerate(
        zip(*(one.tolist() for one in (ids, special, order, fate, others)))
    ):
        free = [place for place in range(len(old)) if not kept[place]]
        number, rest = divmod(15 * len(free), 100)
        number = max(number + (rest > 50 or rest == 50 and number % 2 == 1), min(len(free), 1))
        for place in sorted(free, key=ranks.__getitem__)[:number]:
            labels[row][place] = old[place]
            new[row][place] = (
                mask_id if die[place] < 8 else swaps[place] if die[place] == 8 else old[place]
            )
    return torch.tensor(new), torch.tensor(labels)


def drawn(
    rng,
    rows: int,
    places: int,
    special: int = 0,
    fates: tuple[int, ...] = tuple(range(10)),
    mask_id: int = 4,
) -> tuple:
    """The six arguments. special: so many places of each row; fates: what the die may show."""
    # No id is 0: one stage asks what a 0 means.
    ids, others = counts(rng, 1, 999, rows, places), counts(rng, 0, 999, rows, places)
    order = (
        torch.stack([torch.randperm(places, generator=rng) for _ in range(rows)])
        + uniform(rng, 0.1, 0.9, rows, 1)
    ) / places
    order = order ** torch.where(
        torch.rand(rows, 1, generator=rng) < 0.5, 0.5, 2.0
    )  # how many are below 0.15 says nothing
    kept = torch.rand(rows, places, generator=rng).argsort(1) < special
    fate = torch.tensor(fates)[counts(rng, 0, len(fates) - 1, rows, places)]
    return ids, kept, order, fate, others, mask_id


def answers(student, parts: tuple) -> tuple:
    """Both tensors as questions, and the right ones."""
    free = (~parts[1]).sum(1).tolist()
    given = (
        f"B = {len(parts[0])}, T = {parts[0].shape[1]}, free tokens {', '.join(map(str, free[:6]))}"
    )
    came = expect(student.mask_tokens(*parts), given=given).unpacks(2)
    return tuple(
        expect(one, name, given)
        for one, name in zip(came, ("Your tensor of new ids", "Your tensor of labels"))
    ), masked(*parts)


def ask_labels(student, cause: str, parts: tuple) -> None:
    """Compare the labels."""
    (_, labels), (_, right) = answers(student, parts)
    labels.equals(right, cause=cause)


def ask_ids(student, cause: str, parts: tuple) -> None:
    """Compare the new ids."""
    (ids, _), (right, _) = answers(student, parts)
    ids.equals(right, cause=cause)


@mask_tokens.stage("count", points=2)
def test_fifteen_percent_of_a_row_are_chosen_and_at_least_one(student, rng):
    rule = (
        "How many labels differ from -100? Of n free tokens it should be 15 n / 100, rounded, an"
        " exact half to the even number, and at least one. Each row has just that number."
    )
    for rows, places in (
        (1, 1),
        (2, 2),
        (1, 3),
        (3, 4),
        (2, 6),
        (2, 7),
        (1, 9),
        (3, 10),
        (2, 11),
        (1, 13),
        (2, 16),
        (2, 17),
        (1, 20),
        (4, 23),
        (2, 29),
        (2, 30),
        (1, 31),
        (2, 50),
        (1, 70),
        (2, 90),
        (1, 110),
        (1, 150),
        (1, 190),
        (1, 350),
        (110, 8),
        (3, whole(rng, 24, 120)),
    ):
        (_, labels), (_, right) = answers(student, drawn(rng, rows, places))
        came = labels.is_tensor(shape=(rows, places), dtype=torch.int64, cause=rule)
        expect(
            (came != -100).sum(1), "The number of labels in each row", f"{places} free tokens"
        ).equals((right != -100).sum(1), cause=rule)


# From here on 15 % of the free tokens is a whole number, so that the rounding is asked for once.
SIZES = ((1, 20), (2, 40), (3, 20), (1, 120), (20, 20))


@mask_tokens.stage("labels", points=1.5)
def test_the_smallest_numbers_are_chosen_and_labelled_with_what_stood_there(student, rng):
    rule = (
        "Without special tokens: selected are the positions with the smallest"
        " values of `order` in their row. Their label is the id as you were given"
        " it, whatever becomes of it; everywhere else it is -100."
    )
    for rows, places in (*SIZES, (whole(rng, 3, 6), 20 * whole(rng, 1, 3))):
        ask_labels(student, rule, drawn(rng, rows, places))
    close = drawn(rng, 2, 40)
    ask_labels(
        student,
        f"{rule} The numbers may lie close together: nothing is rounded.",
        (*close[:2], 0.5 + 1e-6 * close[2].argsort(1), *close[3:]),
    )
    ask_labels(
        student,
        f"{rule} Ids may be as large as a billion.",
        (999_999_999 - 2 * close[0], *close[1:]),
    )
    ids = torch.tensor([[0, 0, 4, 4, 0], [4, 0, 4, 0, 4]]).repeat(1, 4)
    ask_labels(
        student,
        f"{rule} An id says nothing: 0, or the id of [MASK], is a token like others.",
        (ids, *drawn(rng, 2, 20)[1:]),
    )


@mask_tokens.stage("specials", points=1.5)
def test_special_tokens_are_neither_chosen_nor_counted(student, rng):
    rule = (
        "A special token is never chosen, however small its number in `order`, and does not count:"
        " 15 % of the free tokens, row by row."
    )
    for rows, free, special in (
        (1, 20, 1),
        (3, 20, 2),
        (2, 20, 40),
        (4, 40, 30),
        (1, 100, 2),
        (3, 20 * whole(rng, 1, 3), whole(rng, 2, 30)),
    ):
        ask_labels(student, rule, drawn(rng, rows, free + special, special))
    parts = drawn(rng, 3, 42)
    special = torch.arange(42) >= torch.tensor([41, 21, 1])[:, None]
    special[:, 0] = True
    first = torch.where(
        special, parts[2] / 10, parts[2] / 2 + 0.5
    )  # every special token has a smaller number than any other
    for order in (parts[2], first):
        ask_labels(
            student,
            f"{rule} A row may have 40 free tokens, 20, or none.",
            (parts[0], special, order, *parts[3:]),
        )
    for case in one_changed(drawn(rng, 3, 40, 20), drawn(rng, 3, 40, 20)):
        ask_labels(student, rule, case)
    ask_labels(student, "A row of nothing but special tokens has no label.", drawn(rng, 1, 1, 1))
    ask_labels(student, "A row of nothing but special tokens has no label.", drawn(rng, 2, 6, 6))


@mask_tokens.stage("masked", points=1)
def test_a_throw_of_0_to_7_covers(student, rng):
    rule = (
        "Every chosen token has a throw of 0 to 7 here: it becomes `mask_id`. All other tokens stay"
        " as they are."
    )
    for fates in ((0,), (7,), tuple(range(8))):
        for size in (*SIZES, (2, 20 * whole(rng, 1, 4))):
            ask_ids(student, rule, drawn(rng, *size, fates=fates, mask_id=whole(rng, 1, 1500)))
    for mask_id in (0, 1, 999_999_999):
        ask_ids(
            student,
            f"{rule} `mask_id` may be any id, 0 too.",
            drawn(rng, 2, 20, fates=(3,), mask_id=mask_id),
        )


@mask_tokens.stage("replaced", points=1)
def test_a_throw_of_8_swaps(student, rng):
    rule = (
        "Every selected token has `fate` 8 here: it becomes the token of `others`"
        " at its position. All other tokens stay as they are."
    )
    for size in (*SIZES, (2, 20 * whole(rng, 1, 4))):
        ask_ids(student, rule, drawn(rng, *size, fates=(8,)))
    parts = drawn(rng, 2, 40, fates=(8,))
    ask_ids(
        student,
        f"{rule} That may be `mask_id`, 0 or a number up to a billion.",
        (*parts[:4], torch.tensor([4, 0, 999_999_999, 16_777_217]).repeat(2, 10), 4),
    )
    for fates in ((0, 8), tuple(range(9))):
        ask_ids(
            student,
            "A chosen token with 0 to 7 is covered, one with 8 is swapped.",
            drawn(rng, 6, 60, fates=fates),
        )


@mask_tokens.stage("unchanged", points=1)
def test_a_throw_of_9_keeps_and_its_label_stays(student, rng):
    rule = (
        "A chosen token with a throw of 9 stays as it is, and still has its label. Of the others 0"
        " to 7 are covered and 8 are swapped."
    )
    for fates in ((7, 9), (8, 9), tuple(range(10))):
        for rows, places in ((3, 20), (2, 60), (8, 20), (2, 20 * whole(rng, 1, 4))):
            ask_ids(student, rule, drawn(rng, rows, places, fates=fates))
    parts = drawn(rng, 3, 40, fates=(8, 9))
    ask_labels(
        student,
        "`others` holds the very tokens that stood there, and some stay: a chosen token has its"
        " label all the same.",
        (*parts[:4], parts[0].clone(), 4),
    )
    large = drawn(rng, 2, 40)
    ask_ids(
        student,
        f"{rule} Ids may be as large as a billion.",
        (999_999_999 - 2 * large[0], *large[1:]),
    )
    first = drawn(rng, 2, 40)
    alike = [
        first[:place] + (look_alike(first[place]),) + first[place + 1 :] for place in (0, 2, 3, 4)
    ]  # rounded, `order` would have ties
    for case in [*one_changed(drawn(rng, 3, 20), drawn(rng, 3, 20, mask_id=77)), first, *alike]:
        ask_ids(student, rule, case)
    for size in ((1, 300), (300, 20)):
        ask_ids(student, rule, drawn(rng, *size))


mlm_loss = exercise(
    "05.mlm_loss",
    function="mlm_loss",
    points=5,
    see=f"{BOOK}/masking#by-hand",
    withhold=OURS | LIBRARIES,
)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def priced(logits, labels) -> torch.Tensor:
    """The right loss, in float64."""
    rows = [
        (logits[b, t].double(), int(labels[b, t]))
        for b in range(len(labels))
        for t in range(labels.shape[1])
        if labels[b, t] != -100
    ]
    prices = [torch.logsumexp(row, 0) - row[label] for row, label in rows]
    return (torch.stack(prices).mean() if prices else torch.zeros(())).float()


def asked(rng, rows: int, places: int, entries: int, share: float) -> tuple:
    """Logits, and labels of which such a share is not -100, one at least; none is 0."""
    labels = counts(rng, 1, entries - 1, rows, places)
    hidden = torch.rand(rows, places, generator=rng) >= share
    hidden[whole(rng, 0, rows - 1), whole(rng, 0, places - 1)] = False
    return 2 * normal(rng, rows, places, entries), labels.masked_fill(hidden, -100)


def ask_loss(student, cause: str, logits, labels) -> None:
    """Compare the loss."""
    given = (
        "B = {}, T = {}, V = {}, ".format(*logits.shape) + f"{int((labels != -100).sum())} labels"
    )
    expect(student.mlm_loss(logits, labels), "Your loss", given).close(
        priced(logits, labels), **CLOSE, cause=cause
    )


@mlm_loss.stage("one", points=1)
def test_one_label_costs_minus_the_log_of_its_share(student, rng):
    rule = (
        "Exactly one position has a label here: the loss is minus the natural"
        " logarithm of the probability that the softmax of its logits gives to"
        " the label. No other position counts, and nothing is shifted."
    )
    for rows, places, entries in (
        (1, 1, 2),
        (1, 1, 3),
        (1, 4, 3),
        (3, 1, 5),
        (2, 3, 4),
        (3, 3, 3),
        (2, 5, whole(rng, 6, 30)),
        (1, 120, 3),
        (110, 2, 3),
        (2, 2, 130),
    ):
        ask_loss(student, rule, *asked(rng, rows, places, entries, 0.0))


@mlm_loss.stage("mean", points=1.5)
def test_all_labelled_places_of_the_batch_weigh_the_same(student, rng):
    rule = (
        "The mean is over all labelled positions of all sequences together: sum"
        " their losses and divide by their number, neither by all positions nor"
        " sequence by sequence."
    )
    for rows, places, entries in (
        (1, 4, 3),
        (2, 3, 4),
        (3, 6, 5),
        (4, 4, 4),
        (2, 8, whole(rng, 4, 20)),
        (2, 130, 3),
    ):
        for share in (0.2, 0.6, 1.0):
            ask_loss(student, rule, *asked(rng, rows, places, entries, share))
    logits, labels = asked(rng, 3, 6, 4, 1.0)
    labels[0, 1:] = labels[2] = -100
    ask_loss(student, rule, logits, labels)
    for case in [
        *one_changed(asked(rng, 2, 5, 4, 0.5), asked(rng, 2, 5, 4, 0.5)),
        *look_alikes(asked(rng, 2, 5, 4, 1.0)),
    ]:
        ask_loss(student, rule, *case)
    for size in ((300, 9, 2), (9, 300, 2), (2, 3, 300)):
        ask_loss(student, rule, *asked(rng, *size, 1.0))


@mlm_loss.stage("zero", points=0.5)
def test_label_zero_is_a_token(student, rng):
    rule = 'Label 0 is a token like any other; -100 is the only number that means "not asked".'
    for rows, places in ((1, 1), (2, 4), (3, 3)):
        logits, labels = asked(rng, rows, places, 5, 0.0)
        ask_loss(student, rule, logits, torch.where(labels == -100, -100, 0))


@mlm_loss.stage("borders", points=1)
def test_logits_may_be_huge_and_there_may_be_no_label(student, rng):
    huge = (
        "Logits may be as large as 10,000: take the logarithm of the softmax in one step, with"
        " `log_softmax` or `cross_entropy`, and not of a softmax that is 0."
    )
    for middle in (100.0, 10_000.0, -10_000.0):
        for label in (1, 2):
            ask_loss(
                student,
                huge,
                torch.tensor([[[-middle, middle, 0.0], [1.0, 2.0, 4.0]]]),
                torch.tensor([[label, -100]]),
            )
    ask_loss(student, huge, 3000 * normal(rng, 2, 4, 6).clamp(-3, 3), asked(rng, 2, 4, 6, 0.0)[1])
    ask_loss(
        student,
        "Logits that are all the same cost ln V.",
        torch.full((2, 3, 7), 5.0),
        asked(rng, 2, 3, 7, 0.0)[1],
    )
    for rows, places in ((1, 1), (2, 3)):
        ask_loss(
            student,
            (
                "No position has a label here: the loss is 0.0. The mean of no numbers is"
                " NaN in torch."
            ),
            normal(rng, rows, places, 4),
            torch.full((rows, places), -100),
        )


@mlm_loss.stage("gradient", points=1, after="one")
def test_the_gradient_reaches_the_logits_of_labelled_places(student, rng):
    rule = (
        "The gradient at a labelled position is the softmax minus 1 at the label,"
        " divided by the number of labels, and 0 at all other positions."
        " `.item()`, `.detach()`, `no_grad` and a newly created tensor cut it"
        " off."
    )
    cases = [
        asked(rng, *size, share)
        for size in ((1, 1, 2), (2, 3, 4), (3, 5, whole(rng, 3, 9)), (1, 110, 3))
        for share in (0.0, 0.5, 1.0)
    ]
    steep, labels = asked(rng, 2, 6, 5, 1.0)
    labels[0, 1:] = -100  # rows with one label and with six: their means do not weigh alike
    for logits, labels in [*cases, (2 * steep, labels)]:
        entries, chosen = logits.shape[2], labels != -100
        right = torch.zeros_like(logits)
        right[chosen] = (
            logits[chosen].softmax(1) - torch.nn.functional.one_hot(labels[chosen], entries)
        ) / chosen.sum()
        ask_gradients(student, "mlm_loss", (logits, labels), {0: right}, rule, **CLOSE)
