"""Entities and answers held against programs that others wrote: seqeval, and what is released with
SQuAD.

    PYTHONPATH=FOLDER python bench/spans_oracles.py
        seconds; FOLDER holds seqeval 1.2.2, which the course does not need

Two thousand sets of three drawn rows of tags, well-formed or not, with three kinds: the F1,
precision and recall of `measure/spans.py` and of seqeval in its default mode, which reads tags as
conlleval does. Its strict mode, which wants every entity to begin with B, is counted beside.
SQuAD's own program is held against by `tests/reference_impl/measure/test_answers.py`.
"""

import argparse
import random
import warnings

from record import save
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.scheme import IOB2

from reference_impl.measure.spans import entity_scores

SETS, TAGS = (
    2000,
    ["O", "O", *(f"{mark}-{kind}" for kind in ("PER", "LOC", "ORG") for mark in "BI")],
)


def main() -> None:
    """Compare on drawn tags, write bench/results/spans_oracles.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    warnings.simplefilter(
        "ignore"
    )  # seqeval warns where a share of nothing is taken as 0, as it is here
    chance, furthest, strict = random.Random(0), 0.0, 0
    for _ in range(SETS):
        lengths = [chance.randint(1, 8) for _ in range(3)]
        said, true = (
            [[chance.choice(TAGS) for _ in range(length)] for length in lengths] for _ in range(2)
        )
        true = [
            [tag if chance.random() < 0.3 else other for tag, other in zip(*rows, strict=True)]
            for rows in zip(true, said, strict=True)
        ]
        ours = entity_scores(said, true).overall
        theirs = [measure(true, said) for measure in (precision_score, recall_score, f1_score)]
        furthest = max(
            furthest, *(abs(one - float(other)) for one, other in zip(ours, theirs, strict=True))
        )
        strict += abs(ours.f1 - f1_score(true, said, mode="strict", scheme=IOB2)) > 1e-9
    save(
        "spans_oracles",
        versions=("seqeval", "scikit-learn"),
        sets=SETS,
        furthest_apart=float(furthest),
        otherwise_in_strict_mode=int(strict),
    )
    print(furthest, strict)


if __name__ == "__main__":
    main()
