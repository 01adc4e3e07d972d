"""What became of points that were there before, kept until a run has told it: one that is killed has judged and said nothing."""
from pathlib import Path

from autograder.grading.assignment import Assignment
from autograder.grading.files import writing


def note_changes(course_root: Path, assignment: Assignment, lines: list[str]) -> None:
    """Keep lines of `differences.difference`, of a verdict that was saved just now."""
    if lines:
        with writing(_path(course_root, assignment)), _path(course_root, assignment).open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


def changes(course_root: Path, assignment: Assignment, lines: list[str]) -> list[str]:
    """The lines of this run, and those that an earlier one did not come to tell, by student."""
    path = _path(course_root, assignment)
    before = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    return sorted(dict.fromkeys([*before, *lines]), key=lambda line: line.partition(" ")[0])     # of one student, in the exercises' order


def changes_told(course_root: Path, assignment: Assignment) -> None:
    """Forget what `changes` gave: everything of this run is written."""
    with writing(_path(course_root, assignment)):
        _path(course_root, assignment).unlink(missing_ok=True)


def _path(course_root: Path, assignment: Assignment) -> Path:
    return course_root / "verdicts" / f"{assignment.name}.changes.txt"
