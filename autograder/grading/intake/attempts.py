"""One student, several hand-ins: which files belong to which of them, read from names alone.

A folder named for a time or a count says so ("2026-03-01 10-00", "attempt 2"): around one student's
notebook, or around what a whole class had handed in by then, as a platform's downloads of several
days. Everything else that a student has two of is ambiguous, and stays so: a platform's download
has one attempt of each, so two notebooks in it are not two attempts. What lies inside a student's
own zip or Moodle folder was named by the student and is never read as a time.
"""

import re
from collections.abc import Collection
from dataclasses import replace

from autograder.grading.intake.lms_layouts import Hand, Item, hands
from autograder.grading.intake.timestamps import moment, stamp

COPY = re.compile(
    r"(-\d{1,3}|-Copy\d{1,3}|[ _]?\(\d{1,3}\))+$"
)  # what Canvas, Jupyter and browsers append


def hand_ins(
    items: list[Item], assignment: str, others: Collection[str] = ()
) -> tuple[list[Hand], dict[str, str]]:
    """As `layouts.hands`, but who handed in several times is there several times, with another
    `moment` each.
    """
    below, top = items, ""
    while (
        below
        and len({item.parts[0] for item in below}) == 1
        and all(len(item.parts) > 1 for item in below)
    ):
        top, below = below[0].parts[0], [replace(item, parts=item.parts[1:]) for item in below]
    found, left = _by_class(below, assignment, others) if top != assignment else ([], {})
    if not found:
        found, left = hands(items, assignment, others)
    return [one for hand in found for one in _of_folders(hand)], left


def _by_class(
    items: list[Item], assignment: str, others: Collection[str]
) -> tuple[list[Hand], dict[str, str]]:
    """The hands in each of several folders that are named for times; none if that is not what there
    is.
    """
    tops = {item.parts[0] for item in items}
    found, left = [], {}
    if (
        len(tops) < 2
        or any(moment(top) is None for top in tops)
        or any(len(item.parts) < 2 for item in items)
    ):
        return found, left
    for top in sorted(tops, key=moment):
        some, why = hands(
            [replace(item, parts=item.parts[1:]) for item in items if item.parts[0] == top],
            assignment,
            others,
        )
        found += [replace(hand, moment=moment(top)) for hand in some]
        left |= {f"{top}/{entry}": reason for entry, reason in why.items()}
    return ([], {}) if any(hand.student == assignment for hand in found) else (found, left)


def _of_folders(hand: Hand) -> list[Hand]:
    if hand.zipped or hand.id or hand.moment:
        return [hand]
    notebooks = [
        parts for parts, item in hand.files if item.name.lower().endswith((".ipynb", ".zip"))
    ]
    if not notebooks or any(len(parts) < 2 or moment(parts[0]) is None for parts in notebooks):
        return [hand]
    tops = sorted({parts[0] for parts in notebooks}, key=moment)
    if len({moment(top) for top in tops}) < len(tops):
        return [hand]
    made = [
        replace(
            hand,
            moment=moment(top),
            when=stamp(top),
            files=[
                (parts[1:], item)
                for parts, item in hand.files
                if parts[0] == top and len(parts) > 1
            ],
        )
        for top in tops
    ]
    made[-1].files += [
        (parts, item) for parts, item in hand.files if parts[0] not in tops or len(parts) == 1
    ]
    return made
