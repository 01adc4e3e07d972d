"""Differently written correct solutions of chapter 6, search."""

import math

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("06.ndcg_at", "numpy-and-natural-logarithms")
def _(ranking, grades, k):
    """The base of the logarithm is in both sums, and so in neither."""

    def gain(row):
        return float(
            (np.array(row[:k], dtype=float) / np.log(np.arange(2, len(row[:k]) + 2))).sum()
        )

    best = gain(sorted(grades.values(), key=lambda grade: -grade))
    return gain([grades.get(one, 0) for one in ranking]) / best if best > 0 else 0.0


@alternative("06.ndcg_at", "ranks-by-document")
def _(ranking, grades, k):
    rank = {document: place for place, document in enumerate(ranking, 1)}
    gain = sum(
        grade / math.log(rank[one] + 1, 2)
        for one, grade in grades.items()
        if one in rank and rank[one] <= k
    )
    weights = [1 / math.log2(place + 2) for place in range(min(k, len(grades)))]
    ideal = sum(weight * grade for weight, grade in zip(weights, sorted(grades.values())[::-1]))
    return float(gain / ideal) if ideal else 0.0


@alternative("06.ndcg_at", "torch")
def _(ranking, grades, k):
    if not any(grades.values()):
        return 0.0
    places = (
        torch.arange(2, 2 + max(len(ranking), len(grades)), dtype=torch.float64).log2().reciprocal()
    )
    found = torch.tensor(
        [grades[one] if one in grades else 0 for one in ranking[:k]], dtype=torch.float64
    )
    best = torch.tensor([*grades.values()], dtype=torch.float64).sort(descending=True).values[:k]
    return (found @ places[: len(found)] / (best @ places[: len(best)])).item()
