"""Item statistics of a class's own results: how difficult each exercise is, and whether it tells
those who are good at the rest from those who are not.

    exercise_statistics(verdicts)       one dictionary per exercise, in the order of the notebook

A class is small: a discrimination has a standard error of about 1 / sqrt(n - 1).
"""

from collections import defaultdict
from statistics import correlation, fmean
from typing import Any

from autograder.grading.grade import Verdict


def exercise_statistics(verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """For each exercise the mean fraction of its points, who has all, and its discrimination.

    discrimination: the correlation of its points with those for all other exercises; None where one
    of the two does not vary.
    """
    points: dict[str, float] = {}
    earned: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for verdict in verdicts:
        total = sum(result["earned"] for result in verdict.results)
        for result in verdict.results:
            points[result["exercise"]] = result["points"]
            earned[result["exercise"]].append((result["earned"], total - result["earned"]))
    return [_statistics(exercise, points[exercise], pairs) for exercise, pairs in earned.items()]


def _statistics(exercise, points, pairs):
    own, rest = zip(*pairs)
    varies = len(set(own)) > 1 and len(set(rest)) > 1
    return {
        "exercise": exercise,
        "points": points,
        "students": len(own),
        "mean": fmean(own) / points if points else 0.0,
        "complete": sum(one >= points for one in own) / len(own),
        "discrimination": correlation(own, rest) if varies else None,
    }
