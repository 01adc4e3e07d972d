"""Checks of chapter 6, part 2: rates by step and by layer, and Matthews' correlation."""

import math

from autograder.chapters.c06_bert_finetuning_and_inference.asking import ask_length, ask_number
from autograder.chapters.c06_bert_finetuning_and_inference.withholding import BOOK, LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, one_changed, uniform, whole
from autograder.checks.protocol import exercise, expect

rates = exercise(
    "06.rates",
    function="rates",
    points=5,
    kind="predict",
    see=f"{BOOK}/finetuning",
    withhold=OURS | LIBRARIES,
)


def rated(
    step: int, steps: int, warmup: int, peak: float, layers: int, decay: float
) -> list[float]:
    """The right rates, each layer's from the one above it."""
    share = step / warmup if step < warmup else (steps - step) / (steps - warmup)
    found = [peak * share] * 2
    for _ in range(layers):
        found.insert(0, found[0] * decay)
    return found


def ask_rates(student, cause: str, *case) -> None:
    """Compare all rates, to four digits each."""
    given = "step {} of {}, warm-up {}, peak {:g}, {} layers, decay {:g}".format(*case)
    came, right = expect(student.rates(*case), "Your list of rates", given).is_a(list), rated(*case)
    ask_length(came, right, f"A list of `layers` + 2 rates is asked for. {cause}", given)
    for value, one in zip(came, right):
        ask_number(value, one, cause, "Your rate", given, near_zero=0.0)


@rates.stage("climb", points=1.5)
def test_the_rate_climbs_from_zero_to_the_peak(student, rng):
    rule = (
        "All parts have one learning rate here, since `decay` is 1. In the warm-up it is"
        " `peak` times `step` / `warmup`: 0 at step 0, all of it at step `warmup`."
    )
    for steps, warmup in (
        (40, 4),
        (10, 9),
        (7, 1),
        (1000, 999),
        (1000, 100),
        (100, whole(rng, 2, 90)),
    ):
        for step in {0, 1, warmup // 2, warmup - 1, warmup}:
            ask_rates(student, rule, step, steps, warmup, 1.0, 1, 1.0)
            ask_rates(student, rule, step, steps, warmup, 3e-5, whole(rng, 2, 5), 1.0)


@rates.stage("fall", points=1.5)
def test_the_rate_falls_to_zero_at_the_last_step(student, rng):
    rule = (
        "All parts have one learning rate here, since `decay` is 1. After the warm-up it"
        " falls in a straight line from `peak` at step `warmup` to 0 at step `steps`: the fall has"
        " `steps` - `warmup` steps."
    )
    for steps, warmup in (
        (40, 4),
        (10, 9),
        (7, 1),
        (1000, 100),
        (1000, 0),
        (1, 0),
        (2, 0),
        (100, whole(rng, 2, 90)),
    ):
        for step in {warmup, warmup + 1, (steps + warmup) // 2, steps - 1, steps}:
            ask_rates(student, rule, step, steps, warmup, 1.0, 1, 1.0)
            ask_rates(student, rule, step, steps, warmup, 2e-5, whole(rng, 2, 5), 1.0)
    for step in (30, 10, 25, 5):
        ask_rates(student, f"{rule} Calls may come in any order.", step, 40, 4, 1.0, 1, 1.0)


@rates.stage("layers", points=2)
def test_each_layer_learns_at_a_share_of_the_one_above(student, rng):
    rule = (
        "From below to above: embeddings, lowest layer, ..., top layer, head. The last two learn at"
        " the whole rate, each layer below at `decay` times the one above it, and the embeddings at"
        " `decay` times the lowest layer."
    )
    ask_rates(student, f"{rule} This is the case by hand.", 4, 40, 4, 1.0, 3, 0.5)
    for layers in (1, 2, 3, 12, 24, 48, whole(rng, 4, 9)):
        for decay in (0.3, 0.5, 0.95, 1.0, round(float(uniform(rng, 0.4, 0.9)), 3)):
            ask_rates(student, rule, 4, 40, 4, 1.0, layers, decay)
            ask_rates(student, rule, whole(rng, 1, 39), 40, whole(rng, 1, 30), 5e-5, layers, decay)
    ask_rates(student, rule, 6, 40, 4, 8.0, 3, 0.9)
    ask_rates(student, rule, 6, 40, 4, 1e-9, 3, 0.9)
    for case in one_changed((12, 40, 4, 1e-3, 4, 0.8), (3, 50, 6, 2e-3, 5, 0.7)):
        ask_rates(student, rule, *case)


matthews = exercise(
    "06.matthews",
    function="matthews",
    points=4,
    see=f"{BOOK}/metrics#by-hand",
    withhold=OURS | LIBRARIES,
)


def correlated(tp: int, fp: int, fn: int, tn: int) -> float:
    """The right answer as Pearson's r of two rows of zeros and ones: the covariance over both
    deviations, in whole numbers.
    """
    everyone = tp + fp + fn + tn
    covariance = everyone * tp - (tp + fp) * (tp + fn)
    spreads = [everyone * ones - ones * ones for ones in (tp + fp, tp + fn)]
    return covariance / math.sqrt(spreads[0] * spreads[1]) if all(spreads) else 0.0


def ask_matthews(student, cause: str, *case: int) -> None:
    """Compare the correlation."""
    given = "tp {}, fp {}, fn {}, tn {}".format(*case)
    ask_number(student.matthews(*case), correlated(*case), cause, given=given)


@matthews.stage("value", points=1.5)
def test_better_than_chance_is_above_zero(student, rng):
    rule = (
        "tp times tn less fp times fn, divided by the root of the product of the four sums. All"
        " four counts play a part."
    )
    ask_matthews(student, rule, 6, 2, 2, 6)
    for case in (
        (1, 0, 0, 1),
        (3, 0, 0, 40),
        (5, 1, 2, 3),
        (90, 30, 5, 60),
        (2, 1, 0, 9),
        (2, 0, 1, 9),
        (7, 7, 1, 7),
        (100, 1, 1, 1),
    ):
        ask_matthews(student, rule, *case)
    for high in (9, 9, 200, 3000):
        tp, fp, fn, tn = counts(rng, 1, high, 4).tolist()
        ask_matthews(student, rule, tp + 2 * high, fp, fn, tn + high)


@matthews.stage("sign", points=1)
def test_worse_than_chance_is_below_zero(student, rng):
    rule = "Worse than chance is below 0, down to -1 where everything is wrong; chance itself is 0."
    ask_matthews(student, f"{rule} This is the case by hand.", 6, 2, 2, 0)
    for case in (
        (0, 1, 1, 0),
        (0, 5, 30, 0),
        (1, 3, 2, 1),
        (35, 15, 35, 15),
        (4, 2, 2, 1),
        (0, 2, 3, 4),
        (4, 3, 2, 0),
        (0, 2, 3, 0),
        (50, 10, 50, 10),
    ):
        ask_matthews(student, rule, *case)
    for high in (9, 200, 3000):
        tp, fp, fn, tn = counts(rng, 1, high, 4).tolist()
        ask_matthews(student, rule, tp, fp + high, fn + 2 * high, tn)
    for case in one_changed((5, 3, 2, 7), (7, 2, 3, 5)):
        ask_matthews(student, rule, *case)


@matthews.stage("one-class", points=1, after="value")
def test_one_class_only_is_zero(student):
    rule = (
        "Where only one class is predicted, or only one is true, or nothing was asked, the root"
        " is 0, and the answer 0.0."
    )
    for case in (
        (70, 30, 0, 0),
        (0, 0, 30, 70),
        (9, 0, 4, 0),
        (0, 4, 0, 9),
        (5, 0, 0, 0),
        (0, 5, 0, 0),
        (0, 0, 5, 0),
        (0, 0, 0, 5),
        (0, 0, 0, 0),
        (1_000_000, 0, 0, 0),
    ):
        ask_matthews(student, rule, *case)


@matthews.stage("large", points=0.5)
def test_counts_may_be_a_million(student, rng):
    rule = (
        "Counts may be a million: the product of the four sums is beyond 64 bits. Python's ints"
        " have no end; or multiply four roots."
    )
    for case in (
        (1_000_000, 1_000_000, 1_000_000, 999_999),
        (1_000_000, 10, 20, 1_000_000),
        (900_000, 300_000, 200_000, 700_000),
        (10, 1_000_000, 1_000_000, 3),
        (999_000 + whole(rng, 0, 999), whole(rng, 1, 900_000), 5, 999_999),
    ):
        ask_matthews(student, rule, *case)
