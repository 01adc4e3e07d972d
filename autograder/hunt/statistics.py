"""What a student's hunts came to, in one file of their own: attempts, and by misconception."""

import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.common.atomic_files import write_whole
from autograder.common.errors import CourseError

FILE = "bug-hunts.json"
VERSION = 1
KINDS = {
    "exercise": str,
    "function": str,
    "seed": int,
    "label": str,
    "attempts": int,
    "ended": str,
}
ENDS = ("", "found", "given up")


@dataclass
class Entry:
    """One hunt: `label` is the misconception or the kind of change.

    function: a digest of the student's function as it was. ended: "" while it is open, "found" or
    "given up".
    """

    exercise: str
    function: str
    seed: int
    label: str
    attempts: int = 0
    ended: str = ""


class Hunts:
    """The hunts in a student's folder; `note` writes each answer at once."""

    def __init__(self, folder: Path):
        self.path, self.message = folder / FILE, ""
        self.entries: list[Entry] = self._read()

    def note(self, entry: Entry) -> Entry:
        """Count one more attempt of this hunt, and how it ended; what has ended stays as it is.

        The file is read again, because another hunt may have been answered meanwhile.
        """
        self.entries = self._read()
        for known in self.entries:
            if (known.exercise, known.function, known.seed) == (
                entry.exercise,
                entry.function,
                entry.seed,
            ):
                break
        else:
            self.entries.append(known := entry)
            self._write()
            return known
        if not known.ended:
            known.attempts += entry.attempts
            known.ended = entry.ended
            self._write()
        return known

    def _write(self) -> None:
        data = {"version": VERSION, "hunts": [asdict(one) for one in self.entries]}
        write_whole(self.path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")

    def _read(self) -> list[Entry]:
        if not self.path.exists():
            return []
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            if _is_newer(data):
                raise CourseError(
                    f"{self.path} has version {data['version']}, and this course writes {VERSION}:"
                    " update the course, or move the file away"
                )
            return [_entry(one) for one in data["hunts"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return self._moved_aside()

    def _moved_aside(self) -> list[Entry]:
        number = 1
        while (aside := self.path.with_name(f"bug-hunts.damaged-{number}.json")).exists():
            number += 1
        self.path.rename(aside)
        self.message = f"{self.path} is damaged: it is now {aside.name}, and counting begins again"
        return []


def summary(entries: list[Entry]) -> list[str]:
    """For people: how many were found, the median of attempts, and both by misconception."""
    ended = [one for one in entries if one.ended]
    if not ended:
        return ["No hunt has ended yet."]
    lines = [f"all        {_counted(ended)}"]
    labels = sorted({one.label for one in ended})
    return lines + [
        f"{_counted([one for one in ended if one.label == label])}: {label}" for label in labels
    ]


def _counted(some: list[Entry]) -> str:
    found = [one.attempts for one in some if one.ended == "found"]
    median = f", median of attempts {statistics.median(found):g}" if found else ""
    return f"{len(found)} of {len(some)} found{median}"


def _is_newer(data: object) -> bool:
    version = data.get("version") if isinstance(data, dict) else None
    return type(version) is int and version > VERSION


def _entry(data: dict) -> Entry:
    if data.keys() != KINDS.keys() or any(type(data[key]) is not KINDS[key] for key in KINDS):
        raise ValueError("an entry of another form")
    if data["ended"] not in ENDS or data["attempts"] < 0:
        raise ValueError("an entry with impossible values")
    return Entry(**data)
