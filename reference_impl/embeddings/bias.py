"""Bias in embeddings: the Word Embedding Association Test with its permutation test.

Caliskan, Bryson and Narayanan 2017. Two sets of target words (flowers, insects) are
compared by how much nearer each word is to one set of attribute words (pleasant) than
to another (unpleasant). The word lists are those of the paper's supplement.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.embeddings.vectors import Vectors

Words = Sequence[str]


class Weat(NamedTuple):
    """What a test found; `p_value` is one-sided, over `partitions` of the targets.

    `missing` are the words without a vector, which took no part.
    """

    effect_size: float
    p_value: float
    partitions: int
    missing: list[str]


def association(
    targets: Float[Tensor, "N D"], a: Float[Tensor, "A D"], b: Float[Tensor, "B D"]
) -> Float[Tensor, "N"]:
    """For each target its mean cosine with the vectors `a` minus that with `b`."""
    unit, a, b = (
        torch.nn.functional.normalize(part, dim=1) for part in (targets, a, b)
    )
    return (unit @ a.T).mean(1) - (unit @ b.T).mean(1)


def effect_size(x: Float[Tensor, "N"], y: Float[Tensor, "K"]) -> float:
    """The difference of two means in standard deviations of all values together."""
    return float((x.mean() - y.mean()) / torch.cat([x, y]).std())


def permutation_p_value(
    x: Float[Tensor, "N"], y: Float[Tensor, "K"], draws: int = 20_000, seed: int = 0
) -> tuple[float, int]:
    """How often values dealt out by chance differ as much as x and y do, and of how
    many partitions.

    All partitions are tried where there are at most `draws`. Otherwise that many are
    drawn, and the observed one counts as one of them, so that p is never 0.
    """
    values, size = torch.cat([x, y]).double(), len(x)
    if comb(len(values), size) <= draws:
        first = torch.tensor(list(combinations(range(len(values)), size)))
        extra = 0
    else:
        generator = torch.Generator().manual_seed(seed)
        keys = torch.rand(draws, len(values), generator=generator)
        first, extra = keys.argsort(1)[:, :size], 1
    means = values[first].mean(1)
    # A hair of tolerance, so that rounding does not exclude the observed partition.
    as_large = int((means >= values[:size].mean() - 1e-12).sum())
    return (as_large + extra) / (len(first) + extra), len(first)


def weat(vectors: Vectors, x: Words, y: Words, a: Words, b: Words) -> Weat:
    """Are the words `x`, compared with `y`, nearer to `a` than to `b`?

    Words are looked up in lower case.
    """
    sets = [[word.lower() for word in words] for words in (x, y, a, b)]
    missing = [word for words in sets for word in words if word not in vectors]
    rows = [[vectors.index[w] for w in words if w in vectors] for words in sets]
    if min(map(len, rows)) < 2:
        raise ValueError(
            "each of the four sets needs at least two words with a vector; missing are"
            f" {', '.join(missing)}"
        )
    x_rows, y_rows, a_rows, b_rows = (vectors.matrix[part].double() for part in rows)
    of_x, of_y = (association(part, a_rows, b_rows) for part in (x_rows, y_rows))
    return Weat(effect_size(of_x, of_y), *permutation_p_value(of_x, of_y), missing)


FLOWERS = (
    "aster clover hyacinth marigold poppy azalea crocus iris orchid rose bluebell"
    " daffodil lilac pansy tulip buttercup daisy lily peony violet carnation gladiola"
    " magnolia petunia zinnia"
).split()
INSECTS = (
    "ant caterpillar flea locust spider bedbug centipede fly maggot tarantula bee"
    " cockroach gnat mosquito termite beetle cricket hornet moth wasp blackfly"
    " dragonfly horsefly roach weevil"
).split()
PLEASANT = (
    "caress freedom health love peace cheer friend heaven loyal pleasure diamond gentle"
    " honest lucky rainbow diploma gift honor miracle sunrise family happy laughter"
    " paradise vacation"
).split()
UNPLEASANT = (
    "abuse crash filth murder sickness accident death grief poison stink assault"
    " disaster hatred pollute tragedy divorce jail poverty ugly cancer kill rotten"
    " vomit agony prison"
).split()
MALE_NAMES = "John Paul Mike Kevin Steve Greg Jeff Bill".split()
FEMALE_NAMES = "Amy Joan Lisa Sarah Diana Kate Ann Donna".split()
CAREER = (
    "executive management professional corporation salary office business"
    " career"  # the paper's eight
).split()
FAMILY = "home parents children family cousins marriage wedding relatives".split()
MATH = "math algebra geometry calculus equations computation numbers addition".split()
ARTS = "poetry art dance literature novel symphony drama sculpture".split()
MALE = "male man boy brother he him his son".split()
FEMALE = "female woman girl sister she her hers daughter".split()

TESTS = {
    "flowers, insects: pleasant, unpleasant": (FLOWERS, INSECTS, PLEASANT, UNPLEASANT),
    "male, female names: career, family": (MALE_NAMES, FEMALE_NAMES, CAREER, FAMILY),
    "mathematics, arts: male, female": (MATH, ARTS, MALE, FEMALE),
}
"""Tests 1, 6 and 7 of the paper: the targets, then the attributes."""
