"""Plausible wrong solutions of chapter 1, part 2: subsampling, the test for it, and the noise
distribution.
"""

import math

import torch

from autograder.checks.mistakes.registry import mistake

KEEP = "01.keep_probability"


@mistake(
    KEEP,
    "without-root",
    caught_by="keep formula",
    loses=1,
    misconception="You forgot the square root: t / f thins frequent words far too much.",
)
def _(counts, threshold):
    return (threshold / (counts.float() / counts.sum())).clamp(max=1)


@mistake(
    KEEP,
    "raw-counts",
    caught_by="keep formula",
    loses=2,
    misconception=(
        "You use counts where frequencies belong: divide by the sum of all counts first."
    ),
)
def _(counts, threshold):
    return (threshold / counts.float()).sqrt().clamp(max=1)


@mistake(
    KEEP,
    "share-of-largest",
    caught_by="keep formula",
    loses=2,
    misconception=(
        "You divide by the largest count. A frequency is relative to the sum of all counts."
    ),
)
def _(counts, threshold):
    return (threshold * counts.max() / counts.float()).sqrt().clamp(max=1)


@mistake(
    KEEP,
    "released-program",
    caught_by="keep formula",
    loses=1,
    misconception=(
        "You add t / f to the root. The released C program does that; the paper and this exercise"
        " do not."
    ),
)
def _(counts, threshold):
    ratio = threshold / (counts.float() / counts.sum())
    return (ratio.sqrt() + ratio).clamp(max=1)


@mistake(
    KEEP,
    "discards",
    caught_by="keep formula",
    loses=3,
    misconception=(
        "You return the probability of dropping a word, as the paper prints it. Keeping is 1 minus "
        "that."
    ),
)
def _(counts, threshold):
    return 1 - (threshold / (counts.float() / counts.sum())).sqrt().clamp(max=1)


@mistake(
    KEEP,
    "upside-down",
    caught_by="keep formula",
    loses=3,
    misconception=(
        "Your fraction is upside down: f / t keeps the frequent words and drops the rare ones."
    ),
)
def _(counts, threshold):
    return (counts.float() / counts.sum() / threshold).sqrt().clamp(max=1)


@mistake(
    KEEP,
    "no-limit",
    caught_by="limit at one",
    loses=2,
    misconception=(
        "You forgot the minimum with 1: for rare words the root is above 1, which is no"
        " probability."
    ),
)
def _(counts, threshold):
    return (threshold / (counts.float() / counts.sum())).sqrt()


@mistake(
    KEEP,
    "unseen-dropped",
    caught_by="zero counts",
    loses=1,
    misconception=(
        "You guard against the division by 0 with a 0. A word with count 0 is infinitely rare: its "
        "probability is 1."
    ),
)
def _(counts, threshold):
    share = counts.float() / counts.sum()
    return torch.where(share > 0, (threshold / share).sqrt().clamp(max=1), 0.0)


@mistake(
    KEEP,
    "threshold-outside-the-root",
    caught_by="keep formula",
    loses=2,
    misconception="You take the root of f alone. The root covers the whole fraction t / f.",
)
def _(counts, threshold):
    return (threshold / (counts.float() / counts.sum()).sqrt()).clamp(max=1)


@mistake(
    KEEP,
    "divided-by-the-vocabulary",
    caught_by="keep formula",
    loses=2,
    misconception=(
        "You divide by the number of different words. A frequency is relative to the sum of all"
        " counts."
    ),
)
def _(counts, threshold):
    return (threshold * len(counts) / counts.float()).sqrt().clamp(max=1)


WRITE = "01.test_keep"


@mistake(
    WRITE,
    "only-a-range",
    caught_by="wrong formula",
    loses=4,
    misconception=(
        "A test that asks only whether every value lies between 0 and 1 lets most wrong functions "
        "through."
    ),
)
def _(candidate):
    keep = candidate(torch.tensor([60.0, 25.0, 10.0, 5.0]), 0.09)
    assert ((keep > 0) & (keep <= 1)).all()


@mistake(
    WRITE,
    "only-the-order",
    caught_by="wrong formula",
    loses=3,
    misconception=(
        "A test that asks only whether rare words are kept more often than frequent ones never"
        " looks at a number."
    ),
)
def _(candidate):
    keep = candidate(torch.tensor([60.0, 25.0, 5.0]), 0.09)
    assert keep[0] < keep[1] < keep[2]


@mistake(
    WRITE,
    "counts-sum-to-one",
    caught_by="wrong frequencies",
    loses=1,
    misconception=(
        "With counts that sum to 1, counts and frequencies are equal: nobody can tell them apart."
    ),
)
def _(candidate):
    keep = candidate(torch.tensor([0.6, 0.25, 0.1, 0.05]), 0.09)
    right = torch.tensor([math.sqrt(0.15), math.sqrt(0.36), math.sqrt(0.9), 1.0])
    assert torch.allclose(keep, right, atol=1e-4)


@mistake(
    WRITE,
    "only-frequent-words",
    caught_by="wrong limit",
    loses=1,
    misconception=(
        "All words of the test are above the threshold, so the limit at 1 is never reached."
    ),
)
def _(candidate):
    keep = candidate(torch.tensor([60.0, 25.0, 15.0]), 0.09)
    assert torch.allclose(
        keep, torch.tensor([math.sqrt(0.15), math.sqrt(0.36), math.sqrt(0.6)]), atol=1e-4
    )


@mistake(
    WRITE,
    "only-rare-words",
    caught_by="wrong formula",
    loses=3,
    misconception="All words of the test are below the threshold, so the formula is never used.",
)
def _(candidate):
    assert torch.allclose(candidate(torch.tensor([1.0, 2.0, 1.0]), 0.9), torch.ones(3), atol=1e-4)


@mistake(
    WRITE,
    "no-assert",
    caught_by="wrong formula",
    loses=4,
    misconception="A comparison without `assert` discards its result: the test never fails.",
)
def _(candidate):
    torch.allclose(candidate(torch.tensor([9.0, 1.0]), 0.1), torch.tensor([0.3333, 1.0]), atol=1e-4)


@mistake(
    WRITE,
    "exactly-equal",
    caught_by="wrong formula",
    loses=4,
    misconception="Two right functions differ in the last digit. Compare with a tolerance.",
)
def _(candidate):
    counts = torch.arange(1.0, 40.0)
    assert torch.equal(
        candidate(counts, 0.001), (0.001 / (counts / counts.sum())).sqrt().clamp(max=1)
    )


@mistake(
    WRITE,
    "assert-on-a-tuple",
    caught_by="wrong formula",
    loses=4,
    misconception=(
        "`assert (condition, text)` asserts a tuple, which is always true. Leave the parentheses"
        " out."
    ),
)
def _(candidate):
    keep = candidate(torch.tensor([60.0, 25.0, 10.0, 5.0]), 0.09)
    claim = (
        torch.allclose(keep, torch.tensor([0.387, 0.6, 0.949, 1.0]), atol=1e-3),
        "wrong probabilities",
    )
    assert claim


@mistake(
    WRITE,
    "never-called",
    caught_by="wrong formula",
    loses=4,
    misconception=(
        "The test works the numbers out itself and never calls the function that it is given."
    ),
)
def _(candidate):
    counts = torch.tensor([60.0, 25.0, 15.0])
    assert ((0.09 / (counts / counts.sum())).sqrt() <= 1).all()


@mistake(
    WRITE,
    "returns-the-verdict",
    caught_by="wrong formula",
    loses=0.8,
    misconception="What a test returns is ignored: it fails with `assert`.",
)
def _(candidate):
    keep = candidate(torch.tensor([90.0, 9.0, 1.0]), 0.05)
    return bool((keep - torch.tensor([0.2357, 0.7454, 1.0])).abs().max() < 1e-3)


NOISE = "01.noise_distribution"


@mistake(
    NOISE,
    "no-power",
    caught_by="default power",
    loses=2,
    misconception=(
        "You return the frequencies in the text. The noise distribution raises each "
        "count to a power first."
    ),
)
def _(counts, power=0.75):
    return counts.float() / counts.sum()


@mistake(
    NOISE,
    "power-fixed",
    caught_by="given power",
    loses=1,
    misconception=(
        "You wrote 0.75 into the formula. It is only the default: use the argument `power`."
    ),
)
def _(counts, power=0.75):
    bent = counts.float() ** 0.75
    return bent / bent.sum()


@mistake(
    NOISE,
    "normalised-before",
    caught_by="sum and zero counts",
    loses=2,
    misconception=(
        "You normalize before the power. Afterwards the sum is no longer 1: apply the power first."
    ),
)
def _(counts, power=0.75):
    return (counts.float() / counts.sum()) ** power


@mistake(
    NOISE,
    "sum-of-counts",
    caught_by="sum and zero counts",
    loses=2,
    misconception=(
        "You divide by the sum of the counts. Divide by the sum of the counts raised to the power."
    ),
)
def _(counts, power=0.75):
    return counts.float() ** power / counts.sum()


@mistake(
    NOISE,
    "one-added",
    caught_by="sum and zero counts",
    loses=3,
    misconception="You add 1 to every count. Then words that never occurred are drawn as well.",
)
def _(counts, power=0.75):
    weight = (counts.float() + 1) ** power
    return weight / weight.sum()


@mistake(
    NOISE,
    "softmax",
    caught_by="sum and zero counts",
    loses=3,
    misconception=(
        "A softmax exponentiates. Here the counts are raised to a power and divided by their sum."
    ),
)
def _(counts, power=0.75):
    return torch.softmax(counts.float(), 0)


@mistake(
    NOISE,
    "root-turned-round",
    caught_by="default power",
    loses=2,
    misconception="You raise to the power 1 / power. That makes frequent words even more frequent.",
)
def _(counts, power=0.75):
    bent = counts.float() ** (1 / power)
    return bent / bent.sum()


@mistake(
    NOISE,
    "rounds-down",
    caught_by="default power",
    loses=2,
    misconception=("You convert the weights to integers, which truncates them."),
)
def _(counts, power=0.75):
    bent = (counts.float() ** power).long()
    return bent / bent.sum()


@mistake(
    NOISE,
    "softmax-of-weights",
    caught_by="sum and zero counts",
    loses=3,
    misconception=(
        "A softmax exponentiates. Here the counts are raised to a power and divided by their sum."
    ),
)
def _(counts, power=0.75):
    return torch.softmax(counts.float() ** power, 0)
