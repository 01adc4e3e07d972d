"""What pages read besides text: the records of `bench/`, and small files that lie beside a page.

    record("trained_vocabularies")["methods"]           bench/results/trained_vocabularies.json
    interval(run["nats"] for run in runs)                their mean, and half the width of its 95 %
                                                         interval
    beside("02-tokenization/article_1.yml")              its path, wherever the page runs as a
                                                         notebook

Paths go from the repository and not from the page, because a page is also a notebook that is
downloaded and run elsewhere.
"""

import json
import math
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def record(name: str) -> dict[str, Any]:
    """The record bench/results/NAME.json. FileNotFoundError lists the records that exist."""
    file = ROOT / "bench" / "results" / f"{name}.json"
    if not file.is_file():
        raise FileNotFoundError(
            f"there is no record {file}; there are:"
            f" {', '.join(sorted(path.stem for path in file.parent.glob('*.json')))}"
        )
    return json.loads(file.read_text(encoding="utf-8"))


def interval(values: Iterable[float]) -> tuple[float, float]:
    """The mean of some runs' values, and half the width of its 95 % interval by Student's t.

    ValueError for fewer than two.
    """
    values = [float(value) for value in values]
    if len(values) < 2:
        raise ValueError(
            f"an interval takes two values or more, and there are {len(values)}; one run says"
            " nothing of how far runs lie apart"
        )
    from scipy.special import stdtrit  # here, since most pages ask for records only

    return statistics.fmean(values), float(stdtrit(len(values) - 1, 0.975)) * statistics.stdev(
        values
    ) / math.sqrt(len(values))


def beside(name: str) -> Path:
    """The path of a file of the book, named from book/. FileNotFoundError if it is not there."""
    file = ROOT / "book" / name
    if not file.is_file():
        raise FileNotFoundError(
            f"there is no {file}; name a file from book/, such as 02-tokenization/article_1.yml"
        )
    return file
