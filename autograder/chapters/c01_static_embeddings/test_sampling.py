"""Checks of chapter 1, part 2, before training: subsampling, a test for it, and the noise."""

import torch

from autograder.chapters.c01_static_embeddings import LONG
from autograder.chapters.c01_static_embeddings.keep_candidates import (
    ACCEPTED,
    MISTAKEN,
    PROBES,
    RIGHT,
    WRONG,
)
from autograder.checks.inputs.draws import counts, look_alike, uniform, whole
from autograder.checks.protocol import exercise, expect, expect_catches

PAGE = "01-static-embeddings/word2vec"
SKIPGRAM = ["reference_impl.embeddings.skipgram"]

keep_probability = exercise(
    "01.keep_probability",
    function="keep_probability",
    points=3,
    see=f"{PAGE}#subsampling-frequent-words",
    withhold=SKIPGRAM,
)


def frequent_words(rng: torch.Generator) -> tuple[torch.Tensor, float]:
    """Counts of 4 to 7 words, neither rising nor falling, and a threshold below the share
    of each.
    """
    words = whole(rng, 4, 7)
    rising = counts(rng, 50, 70, words) + 60 * torch.arange(words)
    return rising.roll(2), 0.05 / words


@keep_probability.stage("keep formula", points=1)
def test_a_frequent_word_is_kept_with_the_root_of_threshold_over_share(student, rng):
    number, threshold = frequent_words(rng)
    rule = (
        "A word above the threshold is kept with probability sqrt(t / f), where f is "
        "its count divided by the sum of all."
    )
    large = torch.cat([counts(rng, 50_000, 60_000_000, 6), torch.tensor([3_000_000_000])])
    alike = torch.tensor([5, 3, 8, 2, 7])
    tiny, billions = (
        torch.tensor([60_000_000, 2, 40]),
        torch.tensor([2_000_000_000, 90_000, 1_900_000_000]),
    )
    for given, t, cause in (
        (number, threshold, rule),
        (number.double(), threshold / 2, rule),
        (number[:1], 0.25, rule),
        (
            torch.tensor([0.5, 1.5, 2.25, 1.75]),
            0.03,
            (
                f"{rule} Counts may be fractions. Cut to whole numbers, or with a floor at 1, "
                f"they would give other frequencies."
            ),
        ),
        (
            tiny,
            1e-8,
            (
                "Frequencies and t may be as small as one in a hundred million: add no epsilon,"
                f" and set no lower bound. {rule}"
            ),
        ),
        (large, 1e-5, f"{rule} Here counts and their sum need more than 32 bits."),
        (large.float(), 1e-5, rule),
        (billions.double(), 1e-5, rule),
        (billions, 1e-5, f"{rule} Here counts and their sum need more than 32 bits."),
        (
            billions.int(),
            1e-5,
            (f"{rule} The sum of int32 counts may need more than 32 bits."),
        ),
        (torch.tensor([52, 48]), 0.47, f"{rule} Also for a frequency just above t."),
        (
            torch.tensor([7, 7, 2, 7]),
            0.05,
            f"{rule} Words with equal counts all take part in the sum.",
        ),
        (
            torch.tensor([0.2, 0.4, 0.1, 0.2]),
            0.05,
            f"{rule} Counts that are all below 1 are no frequencies yet: their sum is not 1.",
        ),
        (torch.tensor([2.0, 4.0, 1.0, 2.0]), 0.05, rule),
        (torch.tensor([2.0, 4.0, 1.0, 2.0]), 0.02, rule),
        (torch.arange(200, 200 + LONG), 1e-4, f"{rule} There may be many words."),
        (alike, 0.03, rule),
        (
            look_alike(alike),
            0.03,
            (f"{rule} Different counts give different results."),
        ),
    ):
        right = (t * given.double().sum() / given.double()).sqrt().clamp(max=1).float()
        expect(
            student.keep_probability(given, t),
            given=f"{len(given)} counts of dtype {given.dtype}, t = {t:.3g}",
        ).equals(right, cause=cause)


@keep_probability.stage("limit at one", points=1)
def test_a_rare_word_is_always_kept(student, rng):
    for few in (2, 3):
        number = torch.cat([uniform(rng, 900, 999, 3), uniform(rng, 1, 3, few)])
        keep = expect(student.keep_probability(number, 0.01)).is_tensor(
            shape=(3 + few,), dtype=torch.float32
        )
        expect(keep[3:], "The probability of the rare words").equals(
            torch.ones(few),
            cause=("A word below the threshold has probability exactly 1: clip at 1."),
        )
        expect(bool((keep[3:] == 1).all())).is_true(
            cause=("A word below the threshold has probability exactly 1, not nearly 1.")
        )
        expect(bool((keep[:3] < 0.5).all())).is_true(
            cause="The frequent words should not be kept always."
        )
    expect(
        student.keep_probability(torch.tensor([3, 1]), 0.75), given="counts 3 and 1, t = 0.75"
    ).equals(torch.ones(2), cause="A word whose frequency is exactly the threshold is always kept.")
    for number, t in ((torch.tensor([9]), 1.5), (torch.ones(1), 1.5), (torch.ones(3), 1e6)):
        expect(
            student.keep_probability(number, t), given=f"counts {number.tolist()}, t = {t:g}"
        ).equals(
            torch.ones(len(number)),
            cause="With a threshold above every frequency, each word is always kept.",
        )


@keep_probability.stage("zero counts", points=1)
def test_a_word_with_count_zero_gets_probability_one(student, rng):
    for dtype in (torch.int64, torch.float64, torch.float32):
        number, threshold = frequent_words(rng)
        place = whole(rng, 1, len(number) - 2)
        number[place] = 0
        keep = expect(student.keep_probability(number.to(dtype), threshold)).is_tensor(
            shape=tuple(number.shape), dtype=torch.float32
        )
        expect(keep[place], "The probability of a word with count 0").equals(
            torch.tensor(1.0),
            cause=("A word with count 0 has frequency 0, and t / 0 is infinite: return 1 for it."),
        )
        expect(bool((keep < 0.9).sum() == len(number) - 1)).is_true(
            cause="A word with count 0 should not change what happens to the others."
        )
        keep = expect(student.keep_probability(number.to(dtype), 1e-8)).is_tensor(
            shape=tuple(number.shape), dtype=torch.float32
        )
        expect(bool(keep[place] == 1)).is_true(
            cause=(
                "A word with count 0 has probability exactly 1, however small t is: do not "
                "replace its frequency by a small number."
            )
        )


writing_a_test = exercise(
    "01.test_keep",
    function="test_keep",
    points=4,
    kind="write-test",
    see=f"{PAGE}#subsampling-frequent-words",
    withhold=SKIPGRAM,
)


def ask_test(student, kind: str, rng: torch.Generator, cause: str) -> None:
    """Show the student's test the right functions and both wrong ones of a kind."""
    expect_catches(
        student.test_keep,
        right=RIGHT,
        wrong=WRONG[kind],
        rng=rng,
        cause=cause,
        probes=PROBES | ACCEPTED,
        mistaken=MISTAKEN,
    )


@writing_a_test.stage("wrong formula", points=1)
def test_a_test_stops_a_wrong_formula(student, rng):
    ask_test(
        student,
        "formula",
        rng,
        (
            "Your test accepts a wrong formula: compare a frequent word with a value worked"
            " out by hand."
        ),
    )


@writing_a_test.stage("wrong frequencies", points=1)
def test_a_test_stops_wrong_shares(student, rng):
    ask_test(
        student,
        "shares",
        rng,
        (
            "Your test accepts wrong frequencies: use counts that do not sum to 1, none of "
            "them close to the whole text."
        ),
    )


@writing_a_test.stage("wrong limit", points=1)
def test_a_test_stops_a_wrong_limit(student, rng):
    ask_test(
        student,
        "limit",
        rng,
        (
            "Your test accepts a wrong limit: is there a word well below the threshold, and"
            " do you compare it with exactly 1?"
        ),
    )


@writing_a_test.stage("keep or drop", points=1)
def test_a_test_stops_confusing_keep_and_drop(student, rng):
    ask_test(
        student,
        "keep-or-drop",
        rng,
        (
            "Your test accepts a function that drops what it should keep: compare values, "
            "not only a range."
        ),
    )


noise_distribution = exercise(
    "01.noise_distribution",
    function="noise_distribution",
    points=3,
    see=f"{PAGE}#the-noise-distribution",
    withhold=SKIPGRAM,
)


@noise_distribution.stage("sum and zero counts", points=1)
def test_the_noise_sums_to_one_and_never_draws_an_unseen_word(student, rng):
    for drawn in (
        [900, 400, 200],
        counts(rng, 200, 900, 1),
        counts(rng, 200, 900, whole(rng, 3, 7)),
    ):
        number = torch.cat(
            [torch.as_tensor(drawn), counts(rng, 9, 90, 1), torch.zeros(1, dtype=torch.int64)]
        )
        noise = expect(student.noise_distribution(number)).is_tensor(
            shape=tuple(number.shape), dtype=torch.float32
        )
        expect(noise[-1], "The probability of a word with count 0").close(
            torch.tensor(0.0),
            cause=(
                "A word with count 0 is never drawn: its probability is exactly 0, and nothing "
                "is added to a count."
            ),
        )
        expect(noise.sum(), "The sum of the probabilities").close(
            torch.tensor(1.0),
            atol=1e-5,
            cause=(
                "Your probabilities do not sum to 1: divide by the sum of the counts raised to "
                "the power."
            ),
        )
        expect(bool((noise[:-2] > noise[-2] * 1.01).all())).is_true(
            cause="A word with a larger count should be drawn more often."
        )
    noise = expect(student.noise_distribution(torch.tensor([5, 0, 3]), 0.01)).is_tensor(
        shape=(3,), dtype=torch.float32
    )
    expect(noise[1], "The probability of a word with count 0", "power 0.01").close(
        torch.tensor(0.0),
        cause=(
            "A word with count 0 is never drawn, whatever the power: an epsilon instead of "
            "0 weighs a lot when the power is small."
        ),
    )
    for number in range(3, 60, 4):
        for falling in (
            torch.arange(number, -1, -1),
            torch.arange(number + 1),
        ):  # rounding leaves a rest in most of them
            noise = expect(student.noise_distribution(falling)).is_tensor(
                shape=(number + 1,), dtype=torch.float32
            )
            expect(noise[falling == 0], "The probability of a word with count 0").close(
                torch.zeros(1),
                cause=(
                    "A word with count 0 has probability exactly 0; do not assign it what rounding "
                    "leaves of 1."
                ),
            )


def bent(number: torch.Tensor, power: float) -> torch.Tensor:
    """The right shares of the noise."""
    weight = number.double() ** power
    return (weight / weight.sum()).float()


@noise_distribution.stage("default power", points=1)
def test_the_default_power_is_three_quarters(student, rng):
    number = counts(rng, 1, 900, whole(rng, 4, 8))
    rule = (
        "Without a second argument, a word's probability is proportional to its count "
        "to the power 0.75."
    )
    large = torch.cat([counts(rng, 1, 60_000_000, 8), torch.tensor([5_000_000_000])])
    alike = torch.tensor([5, 3, 8, 2, 7])
    for given, cause in (
        (number, rule),
        (number[:1], rule),
        (number.double()[:3], rule),
        (torch.arange(1, 1 + LONG), f"{rule} There may be many words."),
        (alike, rule),
        (
            look_alike(alike),
            (f"{rule} Different counts give different probabilities."),
        ),
        (
            torch.tensor([0.5, 1.5, 2.25, 1.75, 30.0]),
            (
                f"{rule} Counts may be fractions: cut to whole numbers, or with a floor at 1, "
                f"they give other probabilities."
            ),
        ),
        (large, f"{rule} Here counts and their sum need more than 32 bits."),
        (torch.tensor([2_000_000_000, 90_000, 1_900_000_000], dtype=torch.int32), rule),
        (torch.tensor([2.0, 0.0, 5.0], dtype=torch.float64), rule),
    ):
        noise = expect(student.noise_distribution(given)).is_tensor(
            shape=tuple(given.shape), dtype=torch.float32
        )
        expect(noise / noise.sum(), "Your answer, divided by its sum,").equals(
            bent(given, 0.75), cause=cause
        )


@noise_distribution.stage("given power", points=1)
def test_the_power_can_be_chosen(student, rng):
    number = counts(rng, 1, 90, whole(rng, 4, 8))
    for power in (float(uniform(rng, 0.25, 0.5)), 1.0, 2.0, 1.5, 1.25):
        noise = expect(student.noise_distribution(number, power)).is_tensor(
            shape=tuple(number.shape), dtype=torch.float32
        )
        expect(
            noise / noise.sum(), "Your answer, divided by its sum,", given=f"power {power:.3g}"
        ).equals(bent(number, power), cause="The counts should be raised to the argument `power`.")
    noise = expect(student.noise_distribution(number)).is_tensor(
        shape=tuple(number.shape), dtype=torch.float32
    )
    expect(
        noise / noise.sum(),
        "Your answer, divided by its sum,",
        given="no power, after calls with one",
    ).equals(
        bent(number, 0.75),
        cause=("Without the argument the power is 0.75 again, whatever earlier calls were given."),
    )
    for large in (
        torch.tensor([5_000_000_000, 4_000_000_000, 7]),
        torch.tensor([2_000_000_000, 60_000, 1_900_000_000], dtype=torch.int32),
    ):
        noise = expect(student.noise_distribution(large, 2.0)).is_tensor(
            shape=(3,), dtype=torch.float32
        )
        expect(
            noise / noise.sum(),
            "Your answer, divided by its sum,",
            given="counts of billions, power 2",
        ).equals(
            bent(large, 2.0),
            cause=(
                "The square of a count may need more than 64 bits: convert the counts to float "
                "before the power."
            ),
        )
    for floats in (number.float(), torch.tensor([0.25, 0.5, 0.25])):  # the second is its own answer
        expect(student.noise_distribution(floats, 1.0), given="float counts and power 1").close(
            bent(floats, 1.0),
            rtol=1e-5,
            atol=1e-7,
            cause="The counts should be raised to the argument `power`, which is 1 here.",
        )
    for few, power in (
        (torch.tensor([0.001, 0.002]), 2.0),
        (torch.tensor([0.001, 0.0, 0.003], dtype=torch.float64), 2.0),
    ):
        noise = expect(student.noise_distribution(few, power)).is_tensor(
            shape=tuple(few.shape), dtype=torch.float32
        )
        expect(
            noise.sum(), "The sum of the probabilities", f"counts {few.tolist()}, power 2"
        ).close(
            torch.tensor(1.0),
            atol=1e-5,
            cause=(
                "The probabilities sum to 1 for small counts as well: do not add an epsilon to "
                "the sum by which you divide."
            ),
        )
