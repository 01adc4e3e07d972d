"""Which of a student's hand-ins counts: the last one, or the best one, as the course says.

Every hand-in that grading or `course collect` has met of a student who has several is kept, with
its number in the order of arrival, its time and what the platform said, in `hand-ins/NUMBER/`.
Under "last", the default, the newest by its time, or the last to arrive where there are no times,
is judged and counts. Under "best" all are judged, and the one
with most points from the checks counts, what is taken off for late work reckoned in; of equal ones
the later. A hand-in that could not be read never comes before one that could. A written answer that
only another hand-in has waits for a person, who is told where it lies. The record of the class says
which one counts (Verdict.hand_ins); the others keep their results, under their numbers.

Points given by hand belong to no hand-in: they are not compared, and stay where they are.
"""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nbgrader.utils import parse_utc
from traitlets.config import Config

from autograder import course_layout
from autograder.classroom.gradebook.course import hash_of, open_gradebook
from autograder.classroom.gradebook.deadlines import taken_off
from autograder.classroom.submissions.chosen_attempt import chosen
from autograder.classroom.submissions.metadata import from_note, note_of, notes
from autograder.common.atomic_files import write_whole, writing
from autograder.common.errors import CourseError
from autograder.course_layout import SECRET_FILE
from autograder.grading.assignment import Assignment, course_secret
from autograder.grading.grade import Verdict
from autograder.grading.intake.discovery import Submission
from autograder.grading.intake.limited_child import in_limits
from autograder.grading.notebook.parse import IntakeError, fingerprint
from autograder.grading.notebook.read import copy_notebook, placeholder, with_problem
from autograder.grading.results_store import attempt_verdicts, load_verdict, save_verdict

RULES = ("last", "best")
NO_NOTE = "The note on this hand-in cannot be read: when it came is not known."
OLDER = (
    "What was handed over now is an earlier hand-in, and a later one counts. If it was handed in"
    " once more, hand it over with its time, in a timestamp.txt beside it."
)
CHOSEN = "What was handed over now does not count: the instructor chose another attempt."
ELSEWHERE = "The hand-in that counts has no answer here, and hand-in {} has one: read it in {}."
Judge = Callable[[list[Submission], Path], object]


def rule(course_root: Path) -> str:
    """What the course counts. Raises CourseError for a file that says neither."""
    path = course_layout.attempts_rule(course_root)
    if not path.exists():
        return RULES[0]
    try:
        said = json.loads(path.read_text(encoding="utf-8"))["counts"]
    except (OSError, ValueError, KeyError, TypeError):
        said = None
    if said not in RULES:
        raise CourseError(
            f"{path} does not say which hand-in counts: run `course grade --attempts latest` or"
            " `--attempts best`"
        )
    return said


def set_rule(course_root: Path, counts: str) -> None:
    """Keep for this course root what counts, a word of RULES."""
    if counts != rule(course_root):
        write_whole(course_layout.attempts_rule(course_root), json.dumps({"counts": counts}))


def kept(course_root: Path, assignment: Assignment, student: str) -> dict[int, Submission]:
    """The hand-ins of one student that are kept, by number."""
    found = {}
    for path in course_layout.attempts(course_root).glob(f"*/notebooks/{assignment.name}/"):
        number, note = path.parents[1].name, path / f"{student}.json"
        if number.isdecimal() and note.is_file():
            found[int(number)] = _noted(
                course_root, assignment, student, path / f"{student}.ipynb", note
            )
    return dict(sorted(found.items()))


def _noted(
    course_root: Path, assignment: Assignment, student: str, copy: Path, note: Path
) -> Submission:
    """What was noted of a hand-in; a note that cannot be read costs its time, and never the
    hand-in.
    """
    try:
        return from_note(student, copy, json.loads(note.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        latest = notes(course_root, assignment).get(student) or note_of(
            Submission(student, copy, name=student)
        )
        return from_note(
            student,
            copy,
            latest | {"timestamp": None, "late": False, "problem": "", "notes": [NO_NOTE]},
        )


def students(course_root: Path, assignment: Assignment) -> list[str]:
    """Who has hand-ins that are kept."""
    return sorted(
        {
            path.name.removesuffix(".json")
            for path in course_layout.attempts(course_root).glob(
                f"*/notebooks/{assignment.name}/*.json"
            )
        }
    )


def remember(
    course_root: Path, assignment: Assignment, now: Submission, before: Submission | None = None
) -> None:
    """Keep a hand-in if it is one of several: others came with it, were kept earlier, or `before`,
    which is not the same, was graded.
    """
    known = kept(course_root, assignment, now.student)
    if before and not known and not now.earlier and _hash(now) == hash_of(before.path):
        return
    new = [*([before] if before and not known else []), *now.earlier, now]
    if len(new) > 1 or known:
        for one in new:
            _keep(course_root, assignment, one)


def _keep(course_root: Path, assignment: Assignment, one: Submission) -> None:
    """Put a copy into the store unless the same notebook is there with the same time, or one of the
    two has none.
    """
    known = kept(course_root, assignment, one.student)
    number = max(known, default=0) + 1
    folder = course_layout.attempts(course_root) / str(number) / "notebooks" / assignment.name
    fresh = replace(one, path=folder / f"{one.student}.ipynb")
    sha256 = copy_notebook(one, fresh.path)
    for other in known.values():
        if hash_of(other.path) == sha256 and (
            other.timestamp == one.timestamp or not (other.timestamp and one.timestamp)
        ):
            with writing(fresh.path):
                fresh.path.unlink()
            return
    # Its note makes it a hand-in: a copy without one, after a kill, is written over.
    write_whole(
        folder / f"{one.student}.json",
        json.dumps(note_of(with_problem(one, fresh.path)), indent=1, ensure_ascii=False),
    )


def _hash(one: Submission) -> str:
    """The hash that a copy of it will have."""
    try:
        return in_limits(lambda: fingerprint(one.read()))
    except IntakeError as error:
        return fingerprint(placeholder(str(error)))


def counted(
    submissions: list[Submission],
    assignment: Assignment,
    course_root: Path,
    config: Config,
    judge: Judge,
    journals: Path | None = None,
) -> list[Submission]:
    """The submissions, with the one that counts in the place of each that is one of several.

    judge: grades submissions into the journal of a folder. journals: the course root whose records
    are written; default this one.
    """
    journals = journals or course_root
    several = {
        one.student: found
        for one in submissions
        if len(found := kept(course_root, assignment, one.student)) > 1
    }
    if rule(course_root) == "last":
        return [
            _in_place_of(one, course_root, assignment, several[one.student])
            if one.student in several
            else one
            for one in submissions
        ]
    for number in sorted({number for found in several.values() for number in found}):
        folder = journal_of(journals, number)
        share_secret(journals, folder)
        judge([found[number] for found in several.values() if number in found], folder)
    best = {
        verdict.student: number
        for number, verdict in _choices(several, assignment, course_root, config, journals)
    }
    return [
        several[one.student][best[one.student]] if one.student in best else one
        for one in submissions
    ]


def _in_place_of(
    now: Submission, course_root: Path, assignment: Assignment, found: dict[int, Submission]
) -> Submission:
    """The attempt that counts, with the name that was handed over now, and with a note where what
    was handed over is another one.
    """
    counts = counting(course_root, assignment, now.student, found)
    other = _hash(now) != hash_of(counts.path)
    note = OLDER if chosen(course_root, assignment.name, now.student) not in found else CHOSEN
    return replace(counts, name=now.name, notes=(*counts.notes, *([note] * other)))


def newest(found: dict[int, Submission]) -> Submission:
    """The hand-in that counts under "last": by their times, if all have one; else the one that
    arrived last.
    """
    timed = all(one.timestamp for one in found.values())
    return found[
        max(found, key=lambda number: (parse_utc(found[number].timestamp) if timed else 0, number))
    ]


def counting(
    course_root: Path, assignment: Assignment, student: str, found: dict[int, Submission]
) -> Submission:
    """Return the attempt that counts under "last": the one that was chosen, else the newest."""
    return found.get(chosen(course_root, assignment.name, student)) or newest(found)


def settle(course_root: Path, assignment: Assignment, config: Config) -> list[Verdict]:
    """Bring the records of who handed in several times up to date, after a grading or a change of
    dates; returns those that changed.
    """
    several = {
        student: found
        for student in students(course_root, assignment)
        if len(found := kept(course_root, assignment, student)) > 1
    }
    if rule(course_root) == "best":
        before = {
            student: load_verdict(course_root, assignment.name, student) for student in several
        }
        return [
            verdict
            for _, verdict in _choices(several, assignment, course_root, config, course_root)
            if before[verdict.student] != verdict
        ]
    changed = []
    for student, found in several.items():
        verdict = load_verdict(course_root, assignment.name, student)
        rows = [
            {"number": number, "timestamp": one.timestamp, "counts": False}
            for number, one in found.items()
        ]
        same = [
            place
            for place, one in enumerate(found.values())
            if verdict and hash_of(one.path) == verdict.submission
        ]
        if same:
            rows[same[-1]]["counts"] = True
        if verdict and same and verdict.hand_ins != rows:
            changed.append(replace(verdict, hand_ins=rows))
            save_verdict(course_root, changed[-1])
    return changed


def _choices(
    several: dict[str, dict[int, Submission]],
    assignment: Assignment,
    course_root: Path,
    config: Config,
    journals: Path,
) -> list[tuple[int, Verdict]]:
    """The number and the verdict of what counts, by student, saved as the student's record where it
    is another.
    """
    made = []
    with open_gradebook(config) as gradebook:
        off = taken_off(gradebook, config, assignment.name, course_root)
        for student, found in several.items():
            judged = {
                number: verdict
                for number in found
                if (verdict := load_verdict(journal_of(journals, number), assignment.name, student))
            }
            if len(judged) < len(found):
                continue  # one of them is not judged yet: the record stays as it is
            rows = [_row(number, verdict, off) for number, verdict in judged.items()]
            by_hand = chosen(course_root, assignment.name, student)
            best = max(
                rows,
                key=lambda row: (
                    row["number"] == by_hand,  # noqa: B023
                    row["earned"] is not None,
                    (row["earned"] or 0) - row["taken_off"],
                    row["number"],
                ),
            )
            best["counts"] = True
            best_one = judged[best["number"]]
            asked = _answered_elsewhere(best_one, judged, assignment)
            verdict = replace(
                best_one,
                hand_ins=rows,
                human=[
                    *(one for one in best_one.human if one["exercise"] not in asked),
                    *asked.values(),
                ],
            )
            if load_verdict(journals, assignment.name, student) != verdict:
                save_verdict(journals, verdict)
            made.append((best["number"], verdict))
    return made


def _answered_elsewhere(
    chosen: Verdict, judged: dict[int, Verdict], assignment: Assignment
) -> dict[str, dict]:
    """By exercise, a reason to wait for a written answer that the hand-in that counts has not, and
    another has: points by the checks chose it alone.
    """
    found = {}
    for id, one in assignment.exercises.items():
        short = id.split(".", 1)[1]
        others = [number for number, verdict in judged.items() if short in verdict.own]
        if one.kind == "manual" and others and chosen.readable and short not in chosen.own:
            where = f"hand-ins/{others[-1]}/notebooks/{assignment.name}/{chosen.student}.ipynb"
            found[id] = {
                "exercise": id,
                "reason": " ".join(
                    filter(None, (chosen.waits(id), ELSEWHERE.format(others[-1], where)))
                ),
            }
    return found


def _row(number: int, verdict: Verdict, off: Callable[[str, str | None, float], float]) -> dict:
    """What the record says of one hand-in: points by the checks (None: not read), what lateness
    takes off, what is undecided.
    """
    earned = (
        sum(result["earned"] for result in verdict.results if not verdict.waits(result["exercise"]))
        if verdict.readable
        else None
    )
    return {
        "number": number,
        "timestamp": verdict.timestamp,
        "earned": earned,
        "counts": False,
        "taken_off": off(verdict.student, verdict.timestamp, earned) if earned else 0.0,
        "waits": [one["reason"] for one in verdict.human],
    }


def journal_of(root: Path, number: int) -> Path:
    """The folder of the nth hand-ins, which has the records of their verdicts under "best"."""
    return course_layout.attempts(root) / str(number)


def share_secret(root: Path, folder: Path) -> None:
    """Give the journal in `folder` the secret of `root`, by a link that holds wherever the class is
    copied to.

    What else is there in its place, such as a link to where the class once was, is replaced.
    """
    course_secret(root)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        link, fresh = folder / SECRET_FILE, folder / f"{SECRET_FILE}.new"
        secret = os.path.relpath(
            Path(os.path.realpath(root), SECRET_FILE), os.path.realpath(folder)
        )
        if not link.is_symlink() or os.readlink(link) != secret:
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(secret)
            os.replace(fresh, link)


def adopt(course_root: Path, stage: Path, assignment: str) -> None:
    """Make the verdicts on hand-ins that a regrade reached in `stage` those of the class."""
    for number, verdict in attempt_verdicts(stage, assignment):
        save_verdict(journal_of(course_root, number), verdict)
