"""Whose file is it? How learning platforms and people lay out what a class handed in, read from
names alone.

Four layouts, each at the top of what was given or below folders that wrap all of it:

own      STUDENT/ASSIGNMENT/..., STUDENT/NOTEBOOK.ipynb, STUDENT.zip
Moodle   "Anna Müller_123456_assignsubmission_file_/..." or the same flat,
         "..._assignsubmission_file_NAME.ipynb"
Canvas   "smithbob_LATE_102_9002_NAME-1.ipynb": name, LATE if it was, the user's number, the file's
         number, the name; with anonymous grading "LATE_anon_x7Yz1_9002_NAME.ipynb". See `canvas`.

Moodle writes a blank for each underscore of a name; its number names the student within the
assignment. Canvas puts letters, digits and underscores of the name together; its user's number is
the same in every assignment. One number is two people on two platforms: `identity` tells them
apart.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autograder.grading.intake.timestamps import moment

MOODLE = re.compile(
    r"(?P<name>[^_].{0,200}?)_(?P<id>\d{1,12})_assignsubmission_(?P<plugin>[a-z]{1,40})(?:_(?P<file>.*))?",
    re.DOTALL,
)
NUMBER = re.compile(
    r"[1-9][0-9]{0,19}"
)  # Canvas's have up to 17 digits: an institution's number may stand in front
ANONYMOUS = re.compile(
    r"(?P<late>LATE_)?anon_(?P<id>[A-Za-z0-9]{1,20})_(?P<late_too>LATE_)?(?P<number>[1-9][0-9]{0,19}_)?(?P<file>.+)",
    re.DOTALL,
)
TEXTS = ("text.html", "link.html")  # what Canvas writes where a student handed in no file
YEAR_AND_MONTH = re.compile(r"(19|20)[0-9]{2}_(0?[1-9]|1[0-2])")
# begins the name of what macOS keeps about a file, where it cannot keep it in the file
APPLE_DOUBLE = "._"
QUIET = {
    "__MACOSX",
    ".ipynb_checkpoints",
    ".DS_Store",
    "__pycache__",
    "Thumbs.db",
    "desktop.ini",
}  # nobody's work
DEEPEST = 3  # folders that may wrap a class
OF_OTHERS = (  # the reason of who handed in nothing of this one
    "only other assignments are in this folder"
)


def is_quiet(name: str) -> bool:
    """Whether a file or folder of this name is nobody's work: what systems and editors leave
    behind.
    """
    return name in QUIET or name.startswith(APPLE_DOUBLE)


@dataclass(frozen=True)
class CanvasName:
    """What Canvas says in the name of a file: who, its number of the user, whether it was late, the
    file's own name.

    anonymous: the number is a word that stands for the student in this assignment only. start:
    where in the name the file's own begins. numbered: the file has a number; a text or a link has
    none.
    """

    name: str
    id: str
    late: bool
    file: str
    start: int
    anonymous: bool = False
    numbered: bool = True


def canvas(entry: str) -> CanvasName | None:
    """Read a name as Canvas's ContentZipper writes it; None for any other.

    Its parts stand between underscores, and a student's or a group's name may have underscores too.
    So the user's number and the file's are the first two parts that are numbers and stand together,
    as Canvas itself takes them when files come back. LATE is a part of its own somewhere before the
    file's number. Numbers of Canvas begin with no zero; a year and a month are none. A text or a
    link in the place of a file has no number.
    """
    found = ANONYMOUS.fullmatch(entry)
    if found and (found["number"] or found["file"] in TEXTS):
        late = bool(found["late"] or found["late_too"])
        return CanvasName(
            f"anon_{found['id']}",
            found["id"],
            late,
            found["file"],
            found.start("file"),
            anonymous=True,
            numbered=bool(found["number"]),
        )
    parts = entry.split("_")
    for place in range(len(parts) - 1):
        user, number, file, numbered = (
            parts[place],
            parts[place + 1],
            "_".join(parts[place + 2 :]),
            True,
        )
        if NUMBER.fullmatch(user) and not file and number in TEXTS:
            file, numbered = number, False
        elif not (NUMBER.fullmatch(user) and NUMBER.fullmatch(number)):
            continue
        if not file or YEAR_AND_MONTH.fullmatch(f"{user}_{number}"):
            return None
        name = "_".join(part for part in parts[:place] if part != "LATE")
        return CanvasName(
            name, user, "LATE" in parts[:place], file, len(entry) - len(file), numbered=numbered
        )
    return None


def identity(entry: str, number: str) -> str:
    """Who has this number: the platform that `entry` came from, and the number.

    "" without a number; the bare number where nothing says which platform it is of.
    """
    if not number:
        return ""
    found = canvas(entry)
    platform = (
        "moodle"
        if MOODLE.fullmatch(entry)
        else ""
        if not found
        else "anonymous"
        if found.anonymous
        else "canvas"
    )
    return f"{platform} {number}".strip()


@dataclass(frozen=True)
class Item:
    """One file of what was handed over: its parts as a path, where its bytes are, and what is wrong
    with it.

    `inside`: names of members from the zip at `path` inwards; empty for a file on disk.
    """

    parts: tuple[str, ...]
    path: Path
    inside: tuple[str, ...] = ()
    problem: str = ""

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.parts[-1]


@dataclass
class Hand:
    """What one student handed in: files by their path below the student, and who that is, as the
    platform says.

    entry: the name of the entry of what was handed over. id: the platform's number, "" where there
    is none. zipped: the files are one zip that is named for the student. moment, when: a key for
    the order of several hand-ins of this student, and the time of this one, where a folder's name
    says so; see again.py.
    """

    student: str
    entry: str
    id: str = ""
    late: bool = False
    zipped: bool = False
    moment: tuple = ()
    when: str | None = None
    files: list[tuple[tuple[str, ...], Item]] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """See `identity`."""
        return identity(self.entry, self.id)


def hands(
    items: list[Item], assignment: str, others: Collection[str] = ()
) -> tuple[list[Hand], dict[str, str]]:
    """Who handed in what; and every other entry with the reason why it is nobody's.

    others: other assignments' names.
    """
    for depth in range(DEEPEST + 1):
        found, left = _at(items, depth, assignment, others)
        tops = {item.parts[: 1 + depth] for item in items}
        if found or len(tops) != 1 or any(len(item.parts) <= depth + 1 for item in items):
            return found, left
    return found, left


def _at(
    items: list[Item], depth: int, assignment: str, others: Collection[str]
) -> tuple[list[Hand], dict[str, str]]:
    """As `hands`, for a class whose entries lie `depth` folders below the top."""
    entries: dict[str, list[Item]] = {}
    for item in items:
        entries.setdefault(item.parts[depth], []).append(item)
    found: dict[tuple[str, str], Hand] = {}
    left: dict[str, str] = {}
    for entry, members in entries.items():
        below = [(item.parts[depth + 1 :], item) for item in members]
        for hand in _hands_of(entry, below, assignment, others, left):
            known = found.setdefault(
                (hand.student if not hand.id else "", hand.identity or hand.entry), hand
            )
            if known is not hand:
                known.files += hand.files
                known.late = known.late or hand.late
    return list(found.values()), left


def _hands_of(
    entry: str,
    below: list[tuple[tuple[str, ...], Item]],
    assignment: str,
    others: Collection[str],
    left: dict[str, str],
) -> Iterator[Hand]:
    """The hand that one entry is, if it is one; else the reason goes into `left`."""
    alone = len(below) == 1 and below[0][0] == ()
    item = below[0][1]
    moodle = MOODLE.fullmatch(entry)
    by_canvas = canvas(entry) if alone else None
    if moodle:
        file = moodle["file"] or ""
        if alone and not file and not item.problem:
            left[entry] = "a Moodle entry without a file in it"
            return
        files = [((file or entry,), item)] if alone else below
        yield Hand(moodle["name"], entry, moodle["id"], files=files)
    elif by_canvas:
        yield Hand(
            by_canvas.name or by_canvas.id,
            entry,
            by_canvas.id,
            by_canvas.late,
            files=[((by_canvas.file,), item)],
        )
    elif alone and entry.lower().endswith(".zip"):
        yield Hand(entry[:-4], entry, zipped=True, files=[((entry,), item)])
    elif alone and item.problem:
        yield Hand(entry, entry, files=[((entry,), item)])
    elif alone:
        what = (
            "a notebook without a student's name"
            if entry.lower().endswith(".ipynb")
            else "no folder, zip or notebook"
        )
        left[entry] = f"{what}; give it as STUDENT/{assignment}/{assignment}.ipynb"
    else:
        inner = any(parts[0] == assignment for parts, _ in below)
        flat = any(len(parts) == 1 and parts[0].lower().endswith(".ipynb") for parts, _ in below)
        flat = flat or any(
            len(parts) == 2 and moment(parts[0]) and parts[1].lower().endswith(".ipynb")
            for parts, _ in below
        )
        wraps = any(_is_download(parts[0]) or assignment in parts[1:-1] for parts, _ in below)
        if (
            inner or flat and not wraps
        ):  # all else in it is this student's too: there may be a second notebook
            yield Hand(
                entry,
                entry,
                files=[
                    (parts[1:] or parts if parts[0] == assignment else parts, item)
                    for parts, item in below
                    if parts[0] not in others
                ],
            )
        elif wraps:
            left[entry] = (
                "a folder with more than one student's work in it; give that folder itself"
            )
        elif all(parts[0] in others for parts, _ in below):
            left[entry] = OF_OTHERS
        elif any(item.problem for _, item in below):
            yield Hand(entry, entry, files=below)
        else:
            left[entry] = f"a folder without {assignment}/ and with no notebook at its top"


def _is_download(name: str) -> bool:
    return bool(MOODLE.fullmatch(name) or canvas(name))
