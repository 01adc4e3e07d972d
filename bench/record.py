"""The records of all benches: one JSON file a program in bench/results/, with the machine, versions
and ratios.

    rows = [compare("words a second", "gensim, one worker", "words/s",
                    ours=[...], theirs=[...], must=0.45, aim=0.7)]
    save("skipgram", rows)

A ratio is ours over theirs, written so that larger is better: where less is better (seconds), pass
`larger_is_better=False`. Repetitions are paired, ours[i] with theirs[i], because a busy machine
slows both.
"""

import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
VERSIONS_OF = ("torch", "numpy", "scipy")


def compare(
    name: str,
    rival: str,
    unit: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    must: float | None = None,
    aim: float | None = None,
    larger_is_better: bool = True,
) -> dict[str, Any]:
    """One row: the medians of both sides, and the median and smallest of the paired ratios."""
    if len(ours) != len(theirs) or not ours:
        raise ValueError(
            f"{name}: {len(ours)} runs of ours and {len(theirs)} of theirs; pair them, at least one"
        )
    ratios = [a / b if larger_is_better else b / a for a, b in zip(ours, theirs, strict=True)]
    return {
        "name": name,
        "rival": rival,
        "unit": unit,
        "ours": round(statistics.median(ours), 4),
        "theirs": round(statistics.median(theirs), 4),
        "median": round(statistics.median(ratios), 3),
        "min": round(min(ratios), 3),
        "must": must,
        "aim": aim,
        "runs": len(ours),
    }


def machine() -> str:
    """Processor, cores and how busy they were when the record was written."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        model = next(
            (
                line.split(":", 1)[1].strip()
                for line in cpuinfo.read_text().splitlines()
                if line.startswith("model name")
            ),
            model,
        )
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, load {os.getloadavg()[0]:.1f}"


def save(
    program: str,
    rows: Sequence[dict[str, Any]] = (),
    versions: Sequence[str] = VERSIONS_OF,
    **extra: Any,
) -> Path:
    """Write bench/results/PROGRAM.json, print its rows, and return the path.

    `extra` is kept beside the rows.
    """
    script = Path(sys.modules["__main__"].__file__).resolve()
    record = {
        "program": script.relative_to(RESULTS.parents[1]).as_posix(),
        "machine": machine(),
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in versions},
        },
        "date": datetime.date.today().isoformat(),
        "rows": list(rows),
        **extra,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{program}.json"
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for row in rows:
        print(
            f"{row['name']} against {row['rival']}: {row['ours']:,.4g} to {row['theirs']:,.4g}"
            f" {row['unit']}, ratio {row['median']} (lowest {row['min']}), must {row['must']}, aim"
            f" {row['aim']}"
        )
    print(f"written: {path}")
    return path
