"""Checks of chapter 6, part 1: one vector for a text, and labels with one wrong line."""

import math

import torch
from torch import Tensor

from autograder.chapters.c06_bert_finetuning_and_inference.withholding import BOOK, LIBRARIES, OURS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, uniform, whole
from autograder.checks.protocol import exercise, expect

mean_pool = exercise(
    "06.mean_pool",
    function="mean_pool",
    points=4,
    see=f"{BOOK}/heads#by-hand",
    withhold=OURS | LIBRARIES,
)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def pooled(x: Tensor, mask: Tensor) -> Tensor:
    """The right answer in float64, row by row."""
    rows = [row[seen].double() for row, seen in zip(x, mask)]
    return torch.stack([row.mean(0) if len(row) else row.sum(0) for row in rows]).float()


def ask_pool(student, cause: str, x: Tensor, mask: Tensor) -> None:
    """Compare the vectors of all rows."""
    given = "B = {}, T = {}, C = {}".format(*x.shape)
    expect(student.mean_pool(x, mask), given=given).close(pooled(x, mask), **CLOSE, cause=cause)


def full(rng, *sizes: int) -> tuple[Tensor, Tensor]:
    """Vectors, and a mask without padding."""
    return 1 + 2 * normal(rng, *sizes), torch.ones(sizes[:2], dtype=torch.bool)


def behind(rng, batch: int, places: int) -> Tensor:
    """A mask with padding behind the tokens, one row with a single token, one with all."""
    lengths = torch.randint(1, places + 1, (batch, 1), generator=rng)
    lengths[0], lengths[-1] = max(1, places - 1), 1
    return torch.arange(places) < lengths


@mean_pool.stage("mean", points=1)
def test_without_padding_it_is_the_mean_of_the_places(student, rng):
    rule = (
        "There is no padding here: every number of a text's vector is the mean of that number over"
        " all T positions of the text, the first one too."
    )
    for sizes in (
        (1, 1, 1),
        (1, 3, 2),
        (2, 1, 3),
        (3, 3, 3),
        (4, 2, 5),
        (2, 5, 4),
        (1, 300, 2),
        (2, 2, 300),
        (300, 2, 2),
        (whole(rng, 2, 6), whole(rng, 2, 9), whole(rng, 2, 9)),
    ):
        ask_pool(student, rule, *full(rng, *sizes))
    x, mask = full(rng, 2, 5, 3)
    x[:, 2] = 0.0
    ask_pool(student, f"{rule} A token whose vector is all zeros is a token.", x, mask)
    ask_pool(
        student,
        f"{rule} Numbers may be large.",
        9000 + uniform(rng, 0, 1000, 2, 7, 3),
        torch.ones(2, 7, dtype=torch.bool),
    )
    ask_pool(
        student,
        f"{rule} Numbers may be small.",
        0.01 * (1 + normal(rng, 3, 2, 5)),
        torch.ones(3, 2, dtype=torch.bool),
    )


@mean_pool.stage("padding", points=1.5)
def test_padding_behind_the_tokens_counts_neither_above_nor_below(student, rng):
    rule = (
        "Padding stands behind the tokens here. It is neither in the sum nor in the number to"
        " divide by, which is the number of tokens in the row, one by one."
    )
    ask_pool(
        student,
        f"{rule} This is the case by hand.",
        torch.tensor([[[2.0, 0.0], [4.0, 6.0], [9.0, 9.0]]]),
        torch.tensor([[True, True, False]]),
    )
    for sizes in (
        (1, 2, 1),
        (2, 4, 3),
        (4, 4, 4),
        (5, 3, 2),
        (3, 6, 6),
        (2, 300, 2),
        (300, 3, 2),
        (2, 3, 300),
        (whole(rng, 2, 6), whole(rng, 3, 9), whole(rng, 2, 9)),
    ):
        x, _ = full(rng, *sizes)
        ask_pool(student, rule, x, behind(rng, *sizes[:2]))
    x, mask = full(rng, 3, 5, 4)[0], behind(rng, 3, 5)
    ask_pool(
        student,
        f"{rule} The vectors at padding are large here.",
        torch.where(mask[..., None], x, 10_000.0),
        mask,
    )
    ask_pool(
        student,
        f"{rule} The vectors at padding are large and negative here.",
        torch.where(mask[..., None], x, -10_000.0),
        mask,
    )


@mean_pool.stage("anywhere", points=1)
def test_padding_may_stand_anywhere(student, rng):
    rule = (
        "Padding may stand in front of the tokens, or between them: take the positions where the"
        " mask is True, not the first so many."
    )
    for sizes in (
        (1, 2, 2),
        (2, 4, 3),
        (3, 3, 3),
        (4, 7, 2),
        (2, 300, 2),
        (whole(rng, 2, 6), whole(rng, 4, 9), whole(rng, 2, 9)),
    ):
        x, _ = full(rng, *sizes)
        ask_pool(student, rule, x, behind(rng, *sizes[:2]).flip(1))
        somewhere = torch.rand(sizes[:2], generator=rng) < 0.5
        somewhere[:, whole(rng, 1, sizes[1] - 1)] = True
        ask_pool(student, rule, x, somewhere)
    x, _ = full(rng, 2, 6, 3)
    mask = torch.tensor(
        [[True, False, True, True, False, False], [False, True, False, False, True, True]]
    )
    for case in [
        *one_changed((x, mask), (full(rng, 2, 6, 3)[0], mask.flip(0))),
        *look_alikes((x, mask)),
    ]:
        ask_pool(student, rule, *case)


@mean_pool.stage("empty", points=0.5)
def test_a_row_of_padding_is_zeros(student, rng):
    rule = (
        "A row without tokens has a vector of zeros. 0 / 0 is NaN in torch: divide by at least 1."
    )
    for sizes in ((1, 1, 1), (1, 4, 3), (3, 2, 5)):
        x, mask = full(rng, *sizes)
        ask_pool(student, rule, x, ~mask)
        mask[0] = False
        ask_pool(student, rule, x, mask)
        ask_pool(student, rule, x.flip(0), mask.flip(0))


repair_inference = exercise(
    "06.repair_inference",
    function="sure_labels",
    also=["wrong_line"],
    points=4,
    kind="find-line",
    see=f"{BOOK}/inference",
    withhold=OURS | LIBRARIES,
)


@repair_inference.stage("line", points=1)
def test_the_wrong_line_is_named(student):
    line = expect(student.wrong_line()).is_a(int)
    expect(line == 3).is_true(
        cause=(
            "That line does what the statement says. Run the lines one by one on two texts, and"
            " look at what each name holds."
        )
    )


def labelled(logits: Tensor, least: float) -> list[int]:
    """The right answer, text by text in float64."""
    found = []
    for row in logits.double().tolist():
        top = max(row)
        share = 1 / sum(math.exp(one - top) for one in row)
        found.append(row.index(top) if share >= least else -1)
    return found


def apart(logits: Tensor, least: float) -> bool:
    """Whether the case keeps what the statement promises."""
    shares, rows = logits.double().softmax(1).amax(1), logits.double().sort(1).values.diff(dim=1)
    return bool(((shares - least).abs() > 2e-4).all() and ((rows == 0) | (rows > 2e-3)).all())


def ask_labels(student, cause: str, logits: Tensor, least: float) -> None:
    """Compare the labels of those texts that are as the statement promises."""
    logits = logits[[apart(row[None], least) for row in logits]]
    if len(logits):
        given = "B = {}, L = {}, ".format(*logits.shape) + f"least = {least:g}"
        expect(student.sure_labels(logits, least), given=given).equals(
            labelled(logits, least), cause=cause
        )


def scores(rng, batch: int, labels: int, size: float = 2.0) -> Tensor:
    """Logits in steps of 1/128, as texts would have them."""
    return (128 * size * normal(rng, batch, labels)).round() / 128


@repair_inference.stage("one", points=1)
def test_one_text_by_itself(student, rng):
    rule = (
        "There is one text here. Its probabilities are the softmax of its own logits, and add up to"
        " 1: the label of the largest one, from 0, or -1 where that one is below `least`."
    )
    for labels in (2, 2, 3, 5, whole(rng, 3, 9), 120, 300):
        for size in (0.5, 3.0):
            for least in (0.0, 0.3, 0.55, 0.8, 0.999, 1.0):
                ask_labels(student, rule, scores(rng, 1, labels, size), least)
    for least in (0.0, 0.4, 0.99):
        ask_labels(student, f"{rule} One label has a probability of 1.", scores(rng, 1, 1), least)
    ask_labels(
        student,
        f"{rule} All logits are the same here: of equal ones the first counts.",
        torch.zeros(1, 4),
        0.2,
    )
    ask_labels(student, rule, torch.zeros(1, 4), 0.3)
    ask_labels(
        student, f"{rule} All logits are negative here.", torch.tensor([[-3.0, -1.0, -2.0]]), 0.5
    )
    ask_labels(
        student,
        f"{rule} All logits are below 0.5, and yet one share is far above it.",
        torch.tensor([[-4.0, 0.25, -3.0]]),
        0.6,
    )
    ask_labels(
        student,
        f"{rule} All logits are above 1, and yet no share is above 0.5.",
        torch.tensor([[3.0, 2.75, 3.25]]),
        0.5,
    )


@repair_inference.stage("batch", points=1)
def test_the_other_texts_of_the_batch_say_nothing(student, rng):
    rule = (
        "A text's shares add up over its own labels, and the other texts of the batch play no part."
    )
    ask_labels(
        student,
        f"{rule} This is the case by hand.",
        torch.tensor([[0.0, math.log(3)], [0.0, 0.0]]),
        0.7,
    )
    for batch, labels in (
        (2, 2),
        (3, 3),
        (2, 5),
        (6, 2),
        (4, 4),
        (whole(rng, 3, 9), whole(rng, 3, 9)),
        (300, 3),
        (3, 300),
    ):
        for least in (0.35, 0.5, 0.7):
            logits = scores(rng, batch, labels)
            logits[0] = logits[1]
            ask_labels(student, rule, logits, least)
    ask_labels(
        student,
        f"{rule} Of equal logits the first counts.",
        torch.tensor([[4.0, 4.0, 0.0], [0.0, 1.0, 1.0]]),
        0.4,
    )
    first, second = (
        torch.tensor([[1.0, 2.0, 0.5], [3.0, 0.0, 0.25], [0.5, 0.25, 0.75]]),
        torch.tensor([[2.0, 1.0, 0.5], [0.0, 3.0, 0.25], [0.75, 1.0, 3.0]]),
    )
    for case in [*one_changed((first, 0.7), (second, 0.45)), *look_alikes((first, 0.7))]:
        ask_labels(student, rule, *case)


@repair_inference.stage("large", points=1)
def test_logits_may_be_large_and_equal(student, rng):
    large = (
        "Logits may be as large as 10,000: take the largest of the text away before `exp`, or use"
        " softmax."
    )
    for middle in (-9990.0, 9990.0, 300.0, -300.0):
        for batch, labels in ((1, 2), (3, 3), (2, 5)):
            for least in (0.4, 0.9):
                logits = middle + scores(rng, batch, labels)
                ask_labels(student, large, logits, least)
    ask_labels(
        student,
        f"{large} They may also be as small as -10,000, next to large ones.",
        torch.tensor([[10_000.0, -10_000.0], [-10_000.0, 10_000.0], [5.0, 5.0]]),
        0.7,
    )
    ask_labels(
        student,
        f"{large} One text may have large logits, and its neighbour small ones.",
        torch.tensor([[9990.0, 9992.0, 9991.0], [-9991.0, -9990.0, -9994.0], [0.0, 3.0, 1.0]]),
        0.5,
    )
    ask_labels(
        student,
        "Logits that differ by a thousandth are not equal: the larger one counts.",
        torch.tensor([[1.0, 1.0009765625, 0.0], [2.0, 2.0, 2.0009765625]]),
        0.3,
    )
    ask_labels(
        student,
        "Of equal logits the first counts, in every text by itself.",
        torch.tensor([[1.0, 4.0, 4.0], [2.0, 2.0, 2.0], [0.0, 6.0, 0.5], [3.0, 0.0, 3.0]]),
        0.31,
    )
