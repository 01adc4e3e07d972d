"""Names and texts that say when: "2026-03-01 10-00", "attempt 2", "2026-03-01 23:59 +0100".

Only such names put several hand-ins of one student in order.
"""

import re
from datetime import datetime, timezone

# With dashes: eight digits alone may be a student's number.
TIME = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)(?:["
    r" T_]+(?P<hour>\d\d)[-:.h_](?P<minute>\d\d)(?:[-:.m_](?P<second>\d\d)(?:\.\d{1,6})?)?)?(?:"
    r" ?UTC|Z)?"
)
COUNT = re.compile(r"(?:attempt|hand-?in|try|version)[ _-]?(?P<count>\d{1,3})", re.IGNORECASE)

ISO = re.compile(r"\d{4}-\d\d-\d\d")
# Hours east of UTC: the database has no zone for most of these names, and for CET one that is CEST
# in summer. CST and MST as in America.
ABBREVIATIONS = {
    "WET": 0,
    "CET": 1,
    "MET": 1,
    "EET": 2,
    "WEST": 1,
    "BST": 1,
    "MEZ": 1,
    "CEST": 2,
    "MESZ": 2,
    "EEST": 3,
    "MSK": 3,
    "JST": 9,
    "KST": 9,
    "AEST": 10,
    "AEDT": 11,
    "NZST": 12,
    "NZDT": 13,
    "AST": -4,
    "ADT": -3,
    "EST": -5,
    "EDT": -4,
    "CST": -6,
    "CDT": -5,
    "MST": -7,
    "MDT": -6,
    "PST": -8,
    "PDT": -7,
    "AKST": -9,
    "AKDT": -8,
}


def in_utc(text: str) -> datetime:
    """The time that a text says, in UTC and without a zone, as nbgrader keeps it; a text without a
    zone means UTC.

    Raises ValueError or OverflowError for a text that is no date or lacks a part of one, and for a
    zone that nobody here knows. nbgrader's own reader takes "+0100" for a hundred seconds and an
    unknown zone for UTC, so it is not asked.
    """
    from dateutil.parser import parse

    read, other = (
        parse(text, tzinfos=_zone, default=date)
        for date in (datetime(2000, 1, 1), datetime(2001, 2, 2))
    )
    if read != other:  # what a text does not say is taken from there
        raise ValueError("it does not say the whole date")
    return read.astimezone(timezone.utc).replace(tzinfo=None) if read.tzinfo else read


def _zone(name: str | None, seconds: int | None) -> object:
    from dateutil import tz

    if seconds is not None:
        return tz.tzoffset(name, seconds)
    if name is None:
        return None
    if name in ABBREVIATIONS:
        return tz.tzoffset(name, 3600 * ABBREVIATIONS[name])
    if found := tz.gettz(name):
        return found
    raise ValueError(f"the time zone {name} is not known: write an offset, as +0100")


def as_nbgrader_reads(text: str) -> str:
    """The text of a timestamp.txt, in UTC where nbgrader would read another time out of it.

    Raises ValueError for one that says no time.
    """
    from nbgrader.utils import parse_utc

    if not ISO.match(text):
        raise ValueError("it does not begin with a date as 2026-03-01")
    right = in_utc(text)
    try:
        same = parse_utc(text) == right
    except (ValueError, OverflowError, TypeError):
        same = False
    return text if same else f"{right.isoformat(sep=' ')} UTC"


def moment(name: str) -> tuple | None:
    """A key by which folders of hand-ins are put in order; None for a name that says no time and no
    count.
    """
    counted, timed = COUNT.fullmatch(name), TIME.fullmatch(name)
    if counted:
        return (0, int(counted["count"]))
    return (
        (1, *(timed[part] or "" for part in ("date", "hour", "minute", "second")))
        if timed and _date(timed)
        else None
    )


def stamp(name: str) -> str | None:
    """The time that a folder's name says, in UTC as nbgrader's timestamp.txt has it; None where it
    says no hour.
    """
    timed = TIME.fullmatch(name)
    return (
        f"{timed['date']} {timed['hour']}:{timed['minute']}:{timed['second'] or '00'} UTC"
        if timed and timed["hour"] and _date(timed)
        else None
    )


def _date(timed: re.Match) -> bool:
    try:
        datetime.fromisoformat(
            f"{timed['date']}"
            f" {timed['hour'] or '00'}:{timed['minute'] or '00'}:{timed['second'] or '00'}"
        )
    except ValueError:
        return False
    return True
