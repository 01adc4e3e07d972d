"""Plausible poor tests of chapter 9, part 2."""

import statistics

from autograder.checks.mistakes.registry import mistake

TEST = "09.test_sampler"
UNEVEN = [0.4, 0.3, 0.2, 0.1, 0.0]


def _judge(
    sampler,
    orders=(UNEVEN, [0.1, 0.0, 0.4, 0.2, 0.3]),
    n=10_000,
    deviations=6.0,
    total=True,
    low=6.0,
    high=32.0,
):
    """The whole test, with parts left out."""
    for p in orders:
        counts = sampler(list(p), n)
        if total:
            assert len(counts) == len(p) and sum(counts) == n
        for count, share in zip(counts, p):
            assert abs(count - n * share) <= deviations * (n * share * (1 - share)) ** 0.5 + (
                not total
            )
    if high:
        assert low < statistics.stdev(sampler([0.5, 0.3, 0.2], 1000)[0] for _ in range(20)) < high


@mistake(
    TEST,
    "too-tight",
    caught_by="frequencies",
    loses=5,
    misconception=(
        "Your test allows two standard deviations: every twentieth count of an honest sampler is"
        " further off."
    ),
)
def _(sampler):
    _judge(sampler, deviations=2.0)


@mistake(
    TEST,
    "one-per-cent",
    caught_by="frequencies",
    loses=5,
    misconception=(
        "Your test allows one in a hundred of each count, which is less than a standard deviation."
    ),
)
def _(sampler):
    counts = sampler(list(UNEVEN), 10_000)
    assert len(counts) == 5 and sum(counts) == 10_000
    assert all(abs(count - 10_000 * share) <= 100 * share for count, share in zip(counts, UNEVEN))


@mistake(
    TEST,
    "exact",
    caught_by="frequencies",
    loses=5,
    misconception=(
        "Your test wants exactly n p of each token. No honest sampler gives that each time."
    ),
)
def _(sampler):
    assert sampler([0.5, 0.25, 0.25], 10_000) == [5000, 2500, 2500]


@mistake(
    TEST,
    "spread-too-tight",
    caught_by="frequencies",
    loses=5,
    misconception=(
        "Your test wants a standard deviation within a tenth of the right one. That of twenty"
        " honest calls varies more."
    ),
)
def _(sampler):
    _judge(sampler, low=14.2, high=17.4)


@mistake(
    TEST,
    "uniform-case",
    caught_by="frequencies",
    loses=3,
    misconception="Your test asks about equal probabilities only.",
)
def _(sampler):
    _judge(sampler, orders=([0.25] * 4,))


@mistake(
    TEST,
    "ten-draws",
    caught_by="frequencies",
    loses=3,
    misconception="Your test draws ten tokens: nothing can be seen in so few.",
)
def _(sampler):
    _judge(sampler, n=10)


@mistake(
    TEST,
    "mean-only",
    caught_by="frequencies",
    loses=3,
    misconception="Your test looks at the mean number of the tokens only.",
)
def _(sampler):
    counts = sampler([0.1, 0.4, 0.0, 0.3, 0.2], 10_000)
    assert len(counts) == 5 and sum(counts) == 10_000
    assert abs(sum(place * count for place, count in enumerate(counts)) / 10_000 - 2.1) < 0.08
    _judge(sampler, orders=([0.2, 0.5, 0.3],), total=False, deviations=200.0)


@mistake(
    TEST,
    "one-order",
    caught_by="positions",
    loses=1.5,
    misconception=(
        "Your test asks about one falling row only: a sampler that leaves out the last token, whose"
        " probability is 0, passes it."
    ),
)
def _(sampler):
    _judge(sampler, orders=(UNEVEN,))


@mistake(
    TEST,
    "no-zero",
    caught_by="positions",
    loses=1.5,
    misconception=(
        "Your test asks about no token of probability 0, and allows too much at the others."
    ),
)
def _(sampler):
    _judge(sampler, orders=([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.4, 0.3]), deviations=9.0)


@mistake(
    TEST,
    "no-total",
    caught_by="total",
    loses=0.5,
    misconception="Your test does not look at the sum of the counts and at their number.",
)
def _(sampler):
    _judge(sampler, total=False)


@mistake(
    TEST,
    "no-spread",
    caught_by="spread",
    loses=1.5,
    misconception="Your test does not look at the spread of several calls.",
)
def _(sampler):
    _judge(sampler, high=0.0)


@mistake(
    TEST,
    "not-the-same-twice",
    caught_by="spread",
    loses=1.5,
    misconception=(
        "Your test only asks whether the counts differ from call to call. They may differ by one"
        " draw, and be no chance."
    ),
)
def _(sampler):
    _judge(sampler, high=0.0)
    assert len({tuple(sampler(list(UNEVEN), 10_000)) for _ in range(5)}) > 1


@mistake(
    TEST,
    "never-called",
    caught_by="frequencies",
    loses=5,
    misconception="Your test never calls the sampler.",
)
def _(sampler):
    assert callable(sampler)
