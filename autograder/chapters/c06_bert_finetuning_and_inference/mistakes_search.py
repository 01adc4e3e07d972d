"""Plausible wrong solutions of chapter 6, part 5: nDCG."""

import math

from autograder.checks.mistakes.registry import mistake

NDCG = "06.ndcg_at"


def _ndcg(
    ranking,
    grades,
    k,
    discount=lambda rank: math.log2(rank + 1),
    gain=lambda grade: grade,
    cut=None,
    ideal_cut=None,
    ideal=None,
    nothing=0.0,
):
    row = [gain(grades.get(document, 0)) for document in ranking][: k if cut is None else cut]
    best = sorted(map(gain, grades.values()) if ideal is None else ideal, reverse=True)[
        : k if ideal_cut is None else ideal_cut
    ]
    whole = sum(grade / discount(rank) for rank, grade in enumerate(best, 1))
    return (
        sum(grade / discount(rank) for rank, grade in enumerate(row, 1)) / whole
        if whole
        else nothing
    )


@mistake(
    NDCG,
    "ideal-from-the-ranking",
    caught_by="ideal",
    loses=3,
    misconception=(
        "Your ideal sorts what the search found. What it did not find counts there as well: take"
        " all of `grades`."
    ),
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k, ideal=[grades.get(document, 0) for document in ranking])


@mistake(
    NDCG,
    "ideal-from-the-first-k",
    caught_by="ideal",
    loses=3,
    misconception="Your ideal sorts the first k of the ranking. It is made of all of `grades`.",
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k, ideal=[grades.get(document, 0) for document in ranking[:k]])


@mistake(
    NDCG,
    "ideal-as-found",
    caught_by="discount",
    loses=2,
    misconception=(
        "Your ideal keeps the order in which `grades` was written. The largest grade comes first."
    ),
)
def _(ranking, grades, k):
    whole = sum(grade / math.log2(rank + 1) for rank, grade in enumerate([*grades.values()][:k], 1))
    return (
        sum(grades.get(one, 0) / math.log2(rank + 1) for rank, one in enumerate(ranking[:k], 1))
        / whole
        if whole
        else 0.0
    )


@mistake(
    NDCG,
    "log-of-the-rank",
    caught_by="discount",
    loses=4,
    misconception=(
        "You divide by log2(rank), with nothing taken off the first: an older form. Here it is"
        " log2(rank + 1)."
    ),
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k, discount=lambda rank: max(1.0, math.log2(rank)))


@mistake(
    NDCG,
    "ranks-from-zero",
    caught_by="discount",
    loses=4,
    misconception=(
        "You add 2 to ranks that count from 1. The first is divided by log2(2), which is 1."
    ),
)
def _(ranking, grades, k):
    row = [grades.get(one, 0) / math.log2(rank + 2) for rank, one in enumerate(ranking[:k], 1)]
    whole = sum(
        grade / math.log2(rank + 1)
        for rank, grade in enumerate(sorted(grades.values(), reverse=True)[:k], 1)
    )
    return sum(row) / whole if whole else 0.0


@mistake(
    NDCG,
    "natural-in-one-sum",
    caught_by="discount",
    loses=4,
    misconception=(
        "You take the natural logarithm in one of the two sums. Both have that of base 2; any base"
        " would do, were it the same in both."
    ),
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k) / math.log(2)


@mistake(
    NDCG,
    "divided-by-the-rank",
    caught_by="discount",
    loses=4,
    misconception="You divide by the rank. Divide by log2(rank + 1).",
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k, discount=lambda rank: rank)


@mistake(
    NDCG,
    "no-ideal",
    caught_by="ideal",
    loses=3,
    misconception="You return the gain. Divide by the ideal.",
)
def _(ranking, grades, k):
    return float(
        sum(grades.get(one, 0) / math.log2(rank + 1) for rank, one in enumerate(ranking[:k], 1))
    )


@mistake(
    NDCG,
    "share-of-the-right",
    caught_by="discount",
    loses=4,
    misconception="You do not look at the ranks: this is a fraction of the grades.",
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k, discount=lambda rank: 1)


@mistake(
    NDCG,
    "everything-counts",
    caught_by="k",
    loses=2,
    misconception="You let all of the ranking count. Only its first k do.",
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k, cut=len(ranking))


@mistake(
    NDCG,
    "ideal-of-all",
    caught_by="k",
    loses=2,
    misconception="Your ideal has all grades. Only the k largest count in it.",
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k, ideal_cut=len(grades))


@mistake(
    NDCG,
    "ideal-as-long-as-the-ranking",
    caught_by="ideal",
    loses=3,
    misconception=(
        "Your ideal is cut to the length of the ranking. It has the k largest grades, also where"
        " the search found fewer documents."
    ),
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k, ideal_cut=min(k, len(ranking)))


@mistake(
    NDCG,
    "powers-of-two",
    caught_by="grades",
    loses=1,
    misconception="Your gain is 2 to the power of the grade, less 1. Here it is the grade itself.",
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k, gain=lambda grade: 2**grade - 1)


@mistake(
    NDCG,
    "right-or-wrong",
    caught_by="grades",
    loses=1,
    misconception="You take every grade above 0 for a 1. The grade is the gain.",
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k, gain=lambda grade: int(grade > 0))


@mistake(
    NDCG,
    "divides-by-nothing",
    caught_by="grades",
    loses=1,
    misconception="You divide by 0 where no document has a grade above 0. The answer is 0.0 there.",
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k) if any(grades.values()) else 0 / sum(grades.values())


@mistake(
    NDCG,
    "one-for-nothing",
    caught_by="grades",
    loses=1,
    misconception="You give 1 where no document has a grade above 0. It is 0.0 there.",
)
def _(ranking, grades, k):
    return _ndcg(ranking, grades, k, nothing=1.0)
