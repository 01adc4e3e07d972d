"""Rankings: how early the documents stand that answer a query.

Thakur et al. 2021 (BEIR): nDCG@10 is the measure to compare by; recall@k and MRR@k
beside it. nDCG is that of `trec_eval`: Järvelin and Kekäläinen 2002 with the grade
itself as gain and log2(rank + 1) as discount.

Not here: searching (see `models.pooling`), MAP, significance.
"""

from collections.abc import Hashable, Mapping, Sequence
from math import log2
from typing import NamedTuple

from reference_impl.measure.metrics import MetricError


class RetrievalScores(NamedTuple):
    """Means over the queries."""

    ndcg: float
    recall: float
    mrr: float


def ndcg_at(
    ranking: Sequence[Hashable], grades: Mapping[Hashable, int], k: int = 10
) -> float:
    """The first k documents' grades, each divided by log2(rank + 1), over the same sum
    of the best order there is.
    """
    relevant = _relevant(ranking, grades, k)
    gain = sum(
        relevant.get(document, 0) / log2(rank + 1)
        for rank, document in enumerate(ranking[:k], 1)
    )
    ideal = sorted(relevant.values(), reverse=True)[:k]
    return gain / sum(grade / log2(rank + 1) for rank, grade in enumerate(ideal, 1))


def recall_at(
    ranking: Sequence[Hashable], grades: Mapping[Hashable, int], k: int = 10
) -> float:
    """The share of all relevant documents that stand among the first k; with more than
    k of them it can't be 1.
    """
    relevant = _relevant(ranking, grades, k)
    return sum(document in relevant for document in ranking[:k]) / len(relevant)


def reciprocal_rank_at(
    ranking: Sequence[Hashable], grades: Mapping[Hashable, int], k: int = 10
) -> float:
    """One over the rank of the first relevant document; 0 if none is among the
    first k.
    """
    relevant = _relevant(ranking, grades, k)
    return next(
        (
            1 / rank
            for rank, document in enumerate(ranking[:k], 1)
            if document in relevant
        ),
        0.0,
    )


def retrieval_scores(
    rankings: Mapping[Hashable, Sequence[Hashable]],
    judgements: Mapping[Hashable, Mapping[Hashable, int]],
    k: int = 10,
) -> RetrievalScores:
    """All three at k: `rankings` has documents, best first, by query; `judgements`
    their grades by query.

    Raises MetricError if the queries of both are not the same: leaving hard ones out
    would raise the score.
    """
    if rankings.keys() != judgements.keys() or not rankings:
        odd = [*rankings.keys() ^ judgements.keys()][:1]
        raise MetricError(
            f"{len(rankings)} rankings and {len(judgements)} judged queries"
            + (f", {odd[0]!r} in one only" if odd else "")
            + ": give both for each query"
        )
    several = [
        [measure(rankings[query], grades, k) for query, grades in judgements.items()]
        for measure in (ndcg_at, recall_at, reciprocal_rank_at)
    ]
    return RetrievalScores(*(sum(values) / len(values) for values in several))


def _relevant(
    ranking: Sequence[Hashable], grades: Mapping[Hashable, int], k: int
) -> dict[Hashable, int]:
    """The documents with a grade above 0."""
    if k < 1:
        raise MetricError(f"k is {k}: give 1 or more")
    if len(set(ranking)) != len(ranking):
        raise MetricError(
            "a document stands twice in a ranking: it would be counted twice"
        )
    relevant = {document: grade for document, grade in grades.items() if grade > 0}
    if not relevant:
        raise MetricError("no document is relevant to the query: leave the query out")
    return relevant
