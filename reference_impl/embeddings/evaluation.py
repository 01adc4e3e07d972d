"""Judging vectors: do cosines order word pairs as people do, and do differences carry
relations?

WordSim-353 (Finkelstein et al. 2002) and SimLex-999 (Hill, Reichart and Korhonen 2015)
by Spearman's rho; Google's analogies (Mikolov et al. 2013) by 3CosAdd and 3CosMul (Levy
and Goldberg 2014b, sections 3 and 6).

A score means little without the pairs that could not be asked: every result says how
many were out of vocabulary.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.corpora.readers import Analogy
from reference_impl.embeddings.vectors import Vectors


class Similarity(NamedTuple):
    """Spearman's `rho` on the pairs `used`; `out_of_vocabulary` pairs could not be
    asked; `total` is both.
    """

    rho: float
    used: int
    out_of_vocabulary: int
    total: int


class AnalogyAccuracy(NamedTuple):
    """Share of the questions `used` that were answered right, over all and by
    section.
    """

    accuracy: float
    correct: int
    used: int
    out_of_vocabulary: int
    total: int
    sections: dict[str, float]


def cosine_similarity(
    a: Float[Tensor, "... D"], b: Float[Tensor, "... D"]
) -> Float[Tensor, "..."]:
    """The cosine of the angle between vectors: their dot product over the product of
    their lengths.

    It does not see lengths, which in trained vectors grow with frequency. With a zero
    vector it is 0.
    """
    lengths = a.norm(dim=-1) * b.norm(dim=-1)
    return (a * b).sum(-1) / lengths.clamp(min=torch.finfo(lengths.dtype).tiny)


def ranks(values: Float[Tensor, "N"]) -> Float[Tensor, "N"]:
    """1 for the smallest value, N for the largest; equal values share the mean of their
    places.
    """
    _, group, size = values.unique(sorted=True, return_inverse=True, return_counts=True)
    last = size.cumsum(0)  # the highest place in each group of equals
    return (last - (size - 1) / 2.0)[group].to(values.dtype)


def spearman(x: Float[Tensor, "N"], y: Float[Tensor, "N"]) -> float:
    """Spearman's rho: Pearson's correlation of the ranks.

    Only the order of the values counts.
    """
    rank_x, rank_y = ranks(x), ranks(y)
    return float(cosine_similarity(rank_x - rank_x.mean(), rank_y - rank_y.mean()))


def word_similarity(
    vectors: Vectors, pairs: Sequence[tuple[str, str, float]]
) -> Similarity:
    """How well cosines order the pairs as people did.

    Words are looked up in lower case.
    """
    known = [
        (vectors.index[a], vectors.index[b], score)
        for a, b, score in _lower(pairs)
        if a in vectors and b in vectors
    ]
    if len(known) < 2:
        raise ValueError(
            f"only {len(known)} of {len(pairs)} pairs have both words in the table: no"
            " correlation"
        )
    first, second, scores = zip(*known, strict=True)
    # In float64, so that rounding does not order pairs that are equal.
    cosines = cosine_similarity(
        vectors.matrix[list(first)].double(), vectors.matrix[list(second)].double()
    )
    rho = spearman(cosines, torch.tensor(scores, dtype=torch.float64))
    return Similarity(rho, len(known), len(pairs) - len(known), len(pairs))


def analogy_scores(
    unit: Float[Tensor, "V D"],
    a: Int[Tensor, "Q"],
    b: Int[Tensor, "Q"],
    c: Int[Tensor, "Q"],
    method: str = "3cosadd",
) -> Float[Tensor, "Q V"]:
    """How well each word answers "a is to b as c is to ?"; the three words of a
    question score minus infinity.

    `unit` has rows of length 1. 3CosAdd: cos(d, b) - cos(d, a) + cos(d, c). 3CosMul:
    cos(d, b) cos(d, c) / cos(d, a), cosines moved to [0, 1] first so that none is
    negative; one small cosine then counts for more than in a sum.
    """
    if method == "3cosadd":
        scores = (
            unit[b] - unit[a] + unit[c]
        ) @ unit.T  # the sum of three cosines is one dot product
    elif method == "3cosmul":
        asked, place = torch.stack([a, b, c]).unique(
            return_inverse=True
        )  # questions share their words: each row once
        moved = (unit[asked] @ unit.T).add_(1).div_(2)  # (W, V)
        scores = (
            moved[place[1]].mul_(moved[place[2]]).div_(moved[place[0]].add_(0.001))
        )  # as in the paper: never 0 below
    else:
        raise ValueError(f'method is {method!r}: choose "3cosadd" or "3cosmul"')
    # Without this the answer is nearly always one of the three words asked.
    return scores.scatter_(1, torch.stack([a, b, c], dim=1), -torch.inf)


def analogy(
    matrix: Float[Tensor, "V D"], a: int, b: int, c: int, method: str = "3cosadd"
) -> int:
    """The row d for which "row a is to row b as row c is to row d" holds best; never a,
    b or c themselves.
    """
    unit = torch.nn.functional.normalize(matrix, dim=1)
    question = (torch.tensor([word]) for word in (a, b, c))
    return int(analogy_scores(unit, *question, method=method).argmax())


def analogy_accuracy(
    vectors: Vectors,
    questions: Sequence[Analogy],
    method: str = "3cosadd",
    batch: int = 64,
) -> AnalogyAccuracy:
    """The share of questions whose best answer is the expected word.

    Words are looked up in lower case.

    A question with a word outside the table is not used, and counted. Answers come from
    all words of the table: a larger table makes the questions harder. `batch` questions
    are scored at once: few, so that scores stay near the processor while they are
    compared.
    """
    asked = [
        (q[0], [vectors.index[w.lower()] for w in q[1:]])
        for q in questions
        if all(word.lower() in vectors for word in q[1:])
    ]
    if not asked:
        raise ValueError(
            f"none of the {len(questions)} questions has all its words in the table"
        )
    rows = torch.tensor([row for _, row in asked])  # (Q, 4)
    answers = torch.cat(
        [
            analogy_scores(vectors.unit, *part[:, :3].T, method=method).argmax(1)
            for part in rows.split(batch)
        ]
    )
    right = answers == rows[:, 3]
    sections: dict[str, list[bool]] = {}
    for (section, _), hit in zip(asked, right.tolist(), strict=True):
        sections.setdefault(section, []).append(hit)
    correct = int(right.sum())
    return AnalogyAccuracy(
        correct / len(asked),
        correct,
        len(asked),
        len(questions) - len(asked),
        len(questions),
        {name: sum(hits) / len(hits) for name, hits in sections.items()},
    )


def _lower(pairs: Sequence[tuple[str, str, float]]) -> list[tuple[str, str, float]]:
    return [(a.lower(), b.lower(), score) for a, b, score in pairs]
