"""The record of `bench/gpu.py`: saved after each row, and merged into what earlier runs left.

A row has a name, a rival (None: ours alone) and a part; a later run's row takes the place of the
earlier one with the same three. What fails is kept under "errors" until the same thing succeeds.
The file is written beside and moved into place, so that a process that dies leaves the last whole
record.
"""

import contextlib
import datetime
import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import Any

from bench.record import machine


def version(name: str) -> str | None:
    """Of an installed package; None for one that isn't there or came without metadata."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return None


class Record:
    """gpu.json in a folder."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "gpu.json"
        self.data: dict[str, Any] = {
            "program": "bench/gpu.py",
            "machine": "",
            "versions": {},
            "date": "",
            "rows": [],
            "checks": {},
            "errors": [],
            "parts": {},
        }
        if self.path.exists():
            try:
                self.data |= json.loads(self.path.read_text(encoding="utf-8"))
            except ValueError:  # not ours, or cut off by a full disk: kept under another name
                self.path.rename(self.path.with_suffix(".unreadable.json"))

    def begin(self, part: str, **about: Any) -> None:
        """Say what runs this part: the machine, versions and the day."""
        self.data["machine"], self.data["date"] = machine(), datetime.date.today().isoformat()
        self.data["versions"] = {
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "triton", "numpy")},
        }
        self.data["parts"][part] = {"date": self.data["date"], "next": 0, **about}
        self.save()

    def progress(self, part: str, **about: Any) -> None:
        """Note how far a part has come."""
        self.data["parts"][part] |= about
        self.save()

    def succeeded(self, part: str, name: str) -> None:
        """Forget what went wrong with it before."""
        self.data["errors"] = [
            e for e in self.data["errors"] if (e["part"], e["name"]) != (part, name)
        ]

    def row(self, part: str, row: dict[str, Any]) -> None:
        """Keep a row in the place of an earlier one of that name and rival, and print it."""
        row = {"part": part, **row}
        same = [(other["part"], other["name"], other["rival"]) for other in self.data["rows"]]
        key = (part, row["name"], row["rival"])
        if key in same:
            self.data["rows"][same.index(key)] = row
        else:
            self.data["rows"].append(row)
        self.save()
        against = "alone"
        if row["rival"] is not None:
            against = f"to {row['theirs']:,.4g} of {row['rival']}, ratio {row['median']}"
        print(f"{part}: {row['name']}: {row['ours']:,.4g} {row['unit']} {against}", flush=True)

    def check(self, part: str, name: str, error: float) -> None:
        """Keep the error of a result, as a share of its largest number."""
        self.data["checks"][name] = round(error, 6)
        self.save()
        print(f"{part}: {name}: off by {error:.3g}", flush=True)

    def error(self, part: str, name: str, problem: BaseException | str) -> None:
        """Keep what went wrong."""
        self.succeeded(part, name)
        self.data["errors"].append(
            {
                "part": part,
                "name": name,
                "error": (problem if isinstance(problem, str) else repr(problem))[:500],
            }
        )
        self.save()
        print(f"{part}: FAILED: {name}: {self.data['errors'][-1]['error']}", flush=True)

    def save(self) -> None:
        """Write the file, whole or not at all."""
        beside = self.path.with_suffix(f".{os.getpid()}.tmp")
        beside.write_text(
            json.dumps(self.data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        beside.replace(self.path)


def attempt_name(name: str, rival: str | None) -> str:
    """What a race is called among the errors."""
    return name if rival is None else f"{name} against {rival}"
