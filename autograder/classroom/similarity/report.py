"""Pairs of students whose code is alike, on one page for the instructor: two notebooks to read,
never a verdict.

Compared are the code cells that the verdicts' records hold, which are what students wrote and
nothing else. Code is taken apart in children with limits, so that no text can stop the others; who
cannot be read is named. Nothing goes into records, gradebook, feedback or exports.
"""

from dataclasses import dataclass, field
from pathlib import Path

from autograder.classroom.records import is_lost
from autograder.classroom.reports.html_pages import SHOWN_CODE, render
from autograder.classroom.similarity.code_overlap import (
    COMMON,
    ENOUGH,
    FEW,
    SHARE,
    Cells,
    Pair,
    kgrams,
    pairs,
    places,
    rare,
)
from autograder.common.atomic_files import OWNER_ONLY, write_whole
from autograder.common.error_boundary import Guard
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.grading.intake.limited_child import in_limits
from autograder.grading.notebook.parse import IntakeError

SECONDS = 10  # of processor time for one child
TOGETHER = 20  # students in a child: an honest one takes a tenth of a second
MOST_PAIRS = 100  # that the page shows
ADDED = "added cells"


@dataclass
class Similar:
    """The pairs, each with the cells of both; how many students were compared; who could not be,
    with the reason.
    """

    assignment: str
    compared: int
    pairs: list[dict] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict:
        """Plain dictionaries and lists, without the sources; students by their key."""
        return {
            "assignment": self.assignment,
            "compared": self.compared,
            "unread": self.unread,
            "pairs": [
                {
                    "students": [pair["one"].student, pair["other"].student],
                    "share": round(pair["share"], 3),
                    "pieces": pair["pieces"],
                    "exercises": [cells["name"] for cells in pair["cells"]],
                }
                for pair in self.pairs
            ],
        }


def similar(assignment: Assignment, verdicts: list[Verdict], guard: Guard) -> Similar:
    """Compare the code of a class, each student with each. Takes seconds for three hundred."""
    import copydetect  # noqa: F401   here, so that the children have it

    sources = {
        verdict.student: _cells(assignment, verdict) for verdict in verdicts if verdict.readable
    }
    known = {verdict.student: verdict for verdict in verdicts}
    released = kgrams(
        {
            str(place): cell.source
            for place, cell in enumerate(assignment.pristine.cells)
            if cell.cell_type == "code"
        }
    )
    read, made = _read(sources, guard), Similar(assignment.name, 0)
    made.unread = {student: why for student, why in read.items() if isinstance(why, str)}
    made.unread |= {verdict.student: verdict.waits("") for verdict in verdicts if is_lost(verdict)}
    found = {student: some for student, some in read.items() if isinstance(some, set)}
    made.compared = len(found)
    for pair in pairs(rare(found, released))[:MOST_PAIRS]:
        cells = guard.run(
            pair.one,
            "marking what two have in common",
            lambda: in_limits(
                lambda: _beside(pair, sources[pair.one], sources[pair.other]),  # noqa: B023
                seconds=2 * SECONDS,
            ),
        )  # noqa: B023
        made.pairs.append(
            {
                "one": known[pair.one],
                "other": known[pair.other],
                "share": pair.share,
                "pieces": len(pair.common),
                "cells": cells or [],
            }
        )
    return made


def _cells(assignment: Assignment, verdict: Verdict) -> Cells:
    """The code that a student wrote, by the exercise's short name; what they added stands under one
    name.
    """
    code = [id.split(".", 1)[1] for id, one in assignment.exercises.items() if one.kind != "manual"]
    cells = {name: verdict.own[name] for name in code if verdict.own.get(name, "").strip()}
    return cells | (
        {ADDED: "\n\n".join(str(one[-1]) for one in verdict.added)} if verdict.added else {}
    )


def _read(sources: dict[str, Cells], guard: Guard) -> dict[str, set[int] | str]:
    """Each student's k-grams, or why there are none.

    Many in one child; where that fails, each in a child of its own.
    """
    read: dict[str, set[int] | str] = {}
    students = list(sources)
    for some in (students[start : start + TOGETHER] for start in range(0, len(students), TOGETHER)):
        try:
            together = in_limits(
                lambda: [list(kgrams(sources[one])) for one in some], seconds=SECONDS
            )  # noqa: B023
            read |= {one: set(keys) for one, keys in zip(some, together, strict=True)}
        except (IntakeError, RuntimeError):
            for one in some:
                read[one] = guard.run(
                    one, "comparing its code", lambda: _alone(sources[one])
                ) or guard.troubles.get(one, set())  # noqa: B023
    return read


def _alone(cells: Cells) -> set[int] | str:
    try:
        return set(in_limits(lambda: list(kgrams(cells)), seconds=SECONDS))
    except IntakeError as error:
        return str(error)


def _beside(pair: Pair, one: Cells, other: Cells) -> list[dict]:
    """The cells that share something, as pieces of text of which each is shared or not; left and
    right may be of different exercises.
    """
    left, right = places(one, pair.common), places(other, pair.common)
    names = [*one, *(name for name in other if name not in one)]
    return [
        {
            "name": name,
            "left": _pieces(one.get(name, ""), left.get(name, [])),
            "right": _pieces(other.get(name, ""), right.get(name, [])),
        }
        for name in names
        if left.get(name) or right.get(name)
    ]


def _pieces(source: str, shared: list[tuple[int, int]]) -> list[tuple[str, bool]]:
    """The source in pieces, cut at SHOWN_CODE characters."""
    found, last = [], 0
    for start, end in shared:
        found += [(source[last:start], False), (source[start:end], True)]
        last = end
    found, left, shown = [*found, (source[last:], False)], SHOWN_CODE, []
    for text, both in found:
        shown.append((text[:left], both))
        left = max(0, left - len(text))
    return [piece for piece in shown if piece[0]]


def write_similar(path: Path, made: Similar, title: str) -> Path:
    """Write the page and return its path."""
    write_whole(
        path,
        render(
            "similar.html.j2",
            title=title,
            made=made,
            share=SHARE,
            common=COMMON,
            few=FEW,
            enough=ENOUGH,
        ),
        OWNER_ONLY,
    )
    return path
