"""Find what a class handed in: every entry becomes one student's submission, or is named with the
reason why not.

Given is a folder or one zip, as a learning platform's download or in our own layouts (see
layouts.py). Nothing is extracted to disk and nothing that was handed in is written to. Where it is
not clear what counts, a human decides: two notebooks of one student, one student twice, a link in
the place of a file.
"""

import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from autograder.common.error_boundary import Guard
from autograder.common.errors import NothingHandedIn
from autograder.common.safe_names import safe_name, shown
from autograder.grading.intake.attempts import COPY, hand_ins
from autograder.grading.intake.entries import entries
from autograder.grading.intake.limited_child import in_limits
from autograder.grading.intake.lms_layouts import Hand, Item, canvas, is_quiet
from autograder.grading.intake.timestamps import as_nbgrader_reads
from autograder.grading.intake.zip_reader import (
    MAX_ZIP_BYTES,
    OF_A_CLASS,
    OF_A_STUDENT,
    list_members,
    read_member,
)
from autograder.grading.notebook.parse import MAX_FILE_BYTES, IntakeError, read_regular_file

MAX_OF_A_STUDENT = 2_000  # files of one student
STAMP = "timestamp.txt"  # nbgrader's
MARKED_LATE = "Your platform marked it as late."
NOT_OURS = (
    f"{STAMP}: it came with the student's files, so its time is not used. A time counts in"
    f" STUDENT/ASSIGNMENT/{STAMP}, as nbgrader writes it, and never in a platform's download"
)
NO_TIME = '{}; nothing is taken for late. Write it as "2026-03-01 23:59:00 UTC"'


@dataclass(frozen=True)
class Submission:
    """Where one student's notebook lies, or why there is none that can be read.

    student: the safe name, a key everywhere. name: as it was handed over. `inside`: names of
    members, from the zip at `path` inwards. notes: sentences for the feedback. lms_id: the
    platform's number. late: the platform said so. entry: what it was called in the platform's
    download.
    """

    student: str
    path: Path
    inside: tuple[str, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = field(default=())
    timestamp: str | None = None
    name: str = ""
    lms_id: str = ""
    late: bool = False
    entry: str = ""
    of_class_zip: bool = False
    earlier: tuple["Submission", ...] = ()

    def read(self) -> bytes:
        """The notebook's bytes, capped.

        Raises IntakeError when there is a problem. Call it within limits.
        """
        if self.problem:
            raise IntakeError(self.problem)
        if not self.inside:
            return read_regular_file(self.path)
        source: Path | bytes = self.path
        for place, key in enumerate(self.inside):
            last = place == len(self.inside) - 1
            source = read_member(
                source,
                shown(self.path.name),
                key,
                OF_A_CLASS if self.of_class_zip and place == 0 else OF_A_STUDENT,
                MAX_FILE_BYTES if last else MAX_ZIP_BYTES,
            )
        return source

    def identity(self) -> str:
        """A hash of what was handed in, without reading into it: the same as long as nothing
        changed.
        """
        try:
            found = os.lstat(self.path)
            read = self.of_class_zip or found.st_size <= MAX_FILE_BYTES  # a larger one is not read
            content = (
                "no file"
                if not stat.S_ISREG(found.st_mode)
                else (
                    _file_hash(self.path, found.st_size, found.st_mtime_ns)
                    if read
                    else f"{found.st_size} bytes"
                )
            )
        except OSError as error:
            content = f"unreadable: {error.strerror}"
        parts = [content, *self.inside, self.problem, self.timestamp or "", str(self.late)]
        return hashlib.sha256("\0".join(parts).encode(errors="backslashreplace")).hexdigest()


@dataclass
class Found:
    """What was found: submissions by student, sorted; and entries that are nobody's, with the
    reason.
    """

    submissions: list[Submission] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


@lru_cache(maxsize=64)
def _file_hash(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_submissions(
    where: Path,
    assignment: str,
    *,
    known: dict[str, str] | None = None,
    others: tuple[str, ...] = (),
    guard: Guard | None = None,
    case_matters: bool = True,
    hard_links: bool = False,
) -> Found:
    """Every submission under `where`, a folder or one zip.

    Raises NothingHandedIn if there is none at all.

    known: by student whose number it is (`layouts.identity`), from earlier runs, so that whoever
    has a number stays who they are. others: names of other assignments. case_matters: whether "Ada"
    and "ada" can be two folders. hard_links: see `entries`.
    """
    guard = guard or Guard()
    outside: dict[str, str] = {}
    items = list(entries(where, guard, assignment, outside, hard_links))
    found, left_out = hand_ins(items, assignment, others) if items else ([], {})
    left_out |= outside
    left_out = {shown(entry): reason for entry, reason in left_out.items()}
    if not found:
        seen = "; ".join(f"{entry}: {reason}" for entry, reason in list(left_out.items())[:5])
        raise NothingHandedIn(
            f"{where}: no submission of {assignment} here. Expected"
            f" STUDENT/{assignment}/{assignment}.ipynb, STUDENT.zip, or a download of Moodle or"
            f" Canvas.{' There is ' + seen if seen else ''}"
        )
    of_class_zip = where.is_file()
    submissions: list[tuple[Submission, tuple]] = []
    for hand, student in _named(found, known or {}):
        one = guard.run(
            student,
            "looking into what was handed in",
            lambda hand=hand, student=student: _submission(
                hand, student, assignment, others, of_class_zip
            ),
        )
        submissions.append(
            (
                one
                or Submission(
                    student,
                    where,
                    problem=guard.troubles[student].rstrip("."),
                    name=hand.student,
                    lms_id=hand.id,
                    entry=hand.entry,
                ),
                hand.moment,
            )
        )
    submissions = sorted(_without_twins(submissions, case_matters), key=lambda one: one.student)
    return Found(submissions, left_out)


def _named(found: list[Hand], known: dict[str, str]) -> Iterator[tuple[Hand, str]]:
    """Each hand with its student's key.

    A number that has a key, from an earlier run or an earlier folder of this one, keeps it,
    whatever the name beside it is now. Else the key is the safe name; students of one name are told
    apart by the platform's number.
    """
    keys: dict[str, list[str]] = {}
    for student, number in known.items():
        if number:
            keys.setdefault(number, []).append(student)
    numbers: dict[str, set[str]] = {}
    for hand in found:
        numbers.setdefault(safe_name(hand.student), set()).add(hand.identity)
    for hand in found:
        plain = safe_name(hand.student)
        mine = (
            keys.get(hand.identity) or keys.get(hand.id) if hand.id else None
        )  # a bare number is of no platform that is known
        if not mine:
            alone = len(numbers[plain]) == 1 and not known.get(plain)
            mine = [plain if not hand.id or alone else safe_name(f"{hand.student}_{hand.id}")]
            if hand.id:
                keys[hand.identity] = mine
        yield hand, plain if plain in mine else mine[0]


def _without_twins(
    submissions: list[tuple[Submission, tuple]], case_matters: bool
) -> Iterator[Submission]:
    """Several hand-ins of one student, in order, become the last with the earlier ones in it.

    Where no time and no count says their order, they become one that needs a human: choosing for
    them would be guessing.
    """
    by_student: dict[str, list[tuple[Submission, tuple]]] = {}
    for one, when in submissions:
        by_student.setdefault(one.student if case_matters else one.student.casefold(), []).append(
            (one, when)
        )
    for several in by_student.values():
        group = [one for one, _ in several]
        moments = [when for _, when in several]
        if (
            len(group) > 1
            and len({one.student for one in group}) == 1
            and all(moments)
            and len(set(moments)) == len(moments)
        ):
            *before, last = [one for one, _ in sorted(several, key=lambda pair: pair[1])]
            yield replace(last, earlier=tuple(before))
            continue
        names = ", ".join(_apart({one.entry or one.path.name for one in group}))
        yield (
            group[0]
            if len(group) == 1
            else replace(
                group[0],
                problem=(
                    f"there are {len(group)} submissions under this name ({names}); keep the one"
                    " that counts, and grade again"
                ),
            )
        )


def _apart(entries: set[str]) -> list[str]:
    """Entries for people to read; of those that look alike, how each is written."""
    plain = [shown(entry) for entry in entries]
    return sorted(
        (
            f"{name}, composed"
            if plain.count(name) > 1 and unicodedata.is_normalized("NFC", entry)
            else f"{name}, decomposed as macOS writes it"
            if plain.count(name) > 1
            else name
        )
        for entry, name in zip(entries, plain, strict=True)
    )


def _submission(
    hand: Hand, student: str, assignment: str, others: tuple[str, ...], of_class_zip: bool
) -> Submission:
    """What of one student's files is graded, or the problem."""
    first = hand.files[0][1]
    whole = Submission(
        student,
        first.path,
        first.inside,
        name=hand.student,
        lms_id=hand.id,
        late=hand.late,
        entry=hand.entry,
        of_class_zip=of_class_zip,
        notes=(MARKED_LATE,) if hand.late else (),
    )
    files = [
        (parts, item) for parts, item in hand.files if not any(map(is_quiet, parts))
    ] or hand.files[:1]
    if len(files) > MAX_OF_A_STUDENT:
        return replace(whole, problem=f"there are more than {MAX_OF_A_STUDENT:,} files")
    if len(files) == 1 and files[0][1].problem:
        return replace(whole, problem=files[0][1].problem)
    at_top = [item for parts, item in files if parts == (STAMP,)]
    stamps = [item for item in at_top if _is_nbgraders(item, hand, assignment)]
    choice = _Choice(assignment, others)
    for parts, item in files:
        if item in at_top:
            continue
        if item.name.lower().endswith(".zip") and not item.problem:
            try:
                members = in_limits(
                    lambda item=item: [
                        (one.parts, one.key, one.outside)
                        for one in _list_zip(item, of_class_zip)
                        if not one.folder
                    ]
                )
            except IntakeError as error:
                choice.broken.append(str(error))
                continue
            keys = [key for _, key, _ in members]
            if len(set(keys)) < len(keys):
                choice.broken.append("the zip holds two files of one name")
            for inner, key, outside in members:
                if not any(map(is_quiet, inner)):
                    choice.take(
                        tuple(inner),
                        Item((*parts, *inner), item.path, (*item.inside, key)),
                        outside,
                    )
        else:
            choice.take(parts, item)
    chosen, problem, notes = choice.result()
    if chosen:
        whole = replace(whole, entry=_entry_of(chosen, hand))
    notes += [NOT_OURS] * (len(at_top) > len(stamps))
    when = timestamp_of(stamps[0].path) if stamps else None
    return replace(
        whole,
        path=chosen.path if chosen else whole.path,
        inside=chosen.inside if chosen else whole.inside,
        problem=problem,
        notes=(
            *whole.notes,
            *notes,
            *([NO_TIME.format(_why_no_time(stamps[0].path))] if stamps and not when else []),
        ),
        timestamp=when if stamps else hand.when,
    )


def _is_nbgraders(stamp: Item, hand: Hand, assignment: str) -> bool:
    """Whether a timestamp.txt lies where nbgrader puts it, beside the notebook in
    STUDENT/ASSIGNMENT/; a student can put one anywhere in what a platform takes.
    """
    return not (hand.id or stamp.inside or stamp.problem) and assignment in stamp.parts[:-1]


def _entry_of(chosen: Item, hand: Hand) -> str:
    """What the notebook's own file was called in the platform's download: Canvas numbers each file
    of a student.
    """
    own = next(
        (
            item.parts[-1]
            for _, item in hand.files
            if item.path == chosen.path and chosen.inside[: len(item.inside)] == item.inside
        ),
        "",
    )
    return own if canvas(own) and canvas(hand.entry) else hand.entry


def _list_zip(item: Item, of_class_zip: bool) -> list:
    if not item.inside:
        return list_members(item.path, shown(item.name))
    data = Submission("", item.path, (*item.inside, ""), of_class_zip=of_class_zip)
    source: Path | bytes = item.path
    for place, key in enumerate(item.inside):
        source = read_member(
            source,
            shown(item.path.name),
            key,
            OF_A_CLASS if data.of_class_zip and place == 0 else OF_A_STUDENT,
            MAX_ZIP_BYTES,
        )
    return list_members(source, shown(item.name))


class _Choice:
    """Sorts one student's files into the notebook to grade and the rest, which is named."""

    def __init__(self, assignment: str, others: tuple[str, ...]):
        self.assignment, self.other_assignments = assignment, others
        self.notebooks: list[Item] = []
        self.elsewhere: list[str] = []
        self.rest: list[str] = []
        self.outside: list[str] = []
        self.links: list[str] = []
        self.broken: list[str] = []

    def take(self, parts: tuple[str, ...], item: Item, outside: bool = False) -> None:
        """Put one file where it belongs."""
        name = parts[-1] if parts else item.name
        stem, _, ending = name.rpartition(".")
        if outside:
            self.outside.append("/".join(parts))
        elif ending.lower() == "ipynb":
            other = COPY.sub("", stem) in self.other_assignments or set(parts[:-1]) & set(
                self.other_assignments
            )
            self.elsewhere.append(name) if other else self.notebooks.append(item)
        elif item.problem:
            self.links.append(name)
        else:
            self.rest.append(name)

    def result(self) -> tuple[Item | None, str, list[str]]:
        """The notebook or None, the problem or "", and notes about the rest."""
        wanted = f"{self.assignment}.ipynb"
        notes = [
            f"{_names(names)}: {why}"
            for names, why in (
                (self.outside, "paths that lead out of the zip are left out"),
                (self.links, "links to other files are not followed"),
                (self.elsewhere, "it belongs to another assignment and is left out"),
                (self.rest, "only the notebook is graded; other files are left out"),
            )
            if names
        ]
        if self.broken:
            return None, "; ".join(self.broken), notes
        if not self.notebooks:
            there = (
                f"; there is {_names(self.elsewhere + self.rest)}"
                if self.elsewhere + self.rest
                else ""
            )
            return None, f"there is no notebook; expected {wanted}{there}", notes
        if len(self.notebooks) > 1:
            names = _names([shown("/".join(item.parts), 200) for item in self.notebooks])
            return (
                None,
                (
                    f"there are {len(self.notebooks)} notebooks and it is not clear which one"
                    f" counts: {names}. Keep the one that counts, take the others out of the folder"
                    " or zip, and grade again"
                ),
                notes,
            )
        (chosen,) = self.notebooks
        if chosen.problem:
            return None, chosen.problem, notes
        if not COPY.sub("", chosen.name.rpartition(".")[0]).endswith(self.assignment):
            notes.append(f"{_names([chosen.name])}: taken for {wanted}, the only notebook here")
        return chosen, "", notes


def _names(names: list[str]) -> str:
    some = [
        shown(name if len(name) <= 90 else f"{name[:30]}...{name[-50:]}", 90) for name in names[:6]
    ]  # two notebooks of one folder differ at the end
    return ", ".join(some) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def timestamp_of(path: Path) -> str | None:
    """nbgrader's timestamp.txt if it is a small ordinary file that holds a date, else None."""
    try:
        return as_nbgrader_reads(read_regular_file(path, limit=100).decode("utf-8-sig").strip())
    except (IntakeError, ValueError, OverflowError, TypeError):
        return None


def _why_no_time(path: Path) -> str:
    """What is wrong with a timestamp.txt that says no time."""
    try:
        return (
            f"{STAMP}:"
            f" {shown(read_regular_file(path, limit=100).decode('utf-8', 'replace').strip(), 40)!r}"
            " is no time that can be read"
        )
    except IntakeError as error:
        return str(error)
