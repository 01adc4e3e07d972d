"""A class of made-up students, honest and hostile, whose points are known: the grader's own
examination.

`make_sample_class(folder)` writes `submitted/` (nbgrader's layout, one zip among it) from the real
release notebook and the reference solutions, and `expected.json` beside it: for each student one
sentence and the points by exercise.
"""

import json
import shutil
from pathlib import Path

from course.sample_class.handed_in import Sample

ASSIGNMENT = "01"
# beside `submitted`: what each submission deserves, and which of them wait for a person
EXPECTED = "expected.json"


def samples(number: str = ASSIGNMENT) -> list[Sample]:
    """Every sample of the class, honest ones first."""
    from autograder.grading.assignment import load_assignment
    from course.sample_class.honest import honest_samples
    from course.sample_class.hostile import hostile_samples

    assignment = load_assignment(number)
    return [*honest_samples(assignment), *hostile_samples(assignment)]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def make_sample_class(
    folder: Path, harmless_only: bool = False, traps: dict[str, str] | None = None
) -> Path:
    """Write the class and return its `submitted` folder; a file that would not change is not
    touched.

    traps: what the hostile ones aim at ("listener": a port on this machine, "canary": a file that
    they try to write, "course": the course root); defaults aim at nothing that exists.
    harmless_only: leave out those that need walls.
    """
    from autograder.grading.assignment import load_assignment

    assignment = load_assignment(ASSIGNMENT)
    traps = {
        "listener": "9",
        "canary": "/tmp/word2serve-canary",
        "course": "/nonexistent",
        **(traps or {}),
    }
    submitted = folder / "submitted"
    chosen = [sample for sample in samples() if not (harmless_only and sample.harmful)]
    names = {sample.student for sample in chosen}
    for stranger in submitted.iterdir() if submitted.is_dir() else []:
        if stranger.stem not in names:
            _remove(stranger)
    for sample in chosen:
        sample.write(assignment, submitted, traps)
    expected = {
        sample.student: {
            "shows": sample.shows,
            "points": sample.expected(assignment),
            "needs_human": sample.human or bool(sample.undecided),
        }
        for sample in chosen
    }
    text = json.dumps(expected, indent=1, sort_keys=True) + "\n"
    if not (folder / EXPECTED).exists() or (folder / EXPECTED).read_text(encoding="utf-8") != text:
        (folder / EXPECTED).write_text(text, encoding="utf-8")
    return submitted
