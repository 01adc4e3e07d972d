"""Names that say when: "2026-03-01 10-00", "attempt 2". Only such names put several hand-ins of one student in order."""
import re
from datetime import datetime

# With dashes: eight digits alone may be a student's number.
TIME = re.compile(r"(?P<date>\d{4}-\d\d-\d\d)(?:[ T_]+(?P<hour>\d\d)[-:.h_](?P<minute>\d\d)(?:[-:.m_](?P<second>\d\d)(?:\.\d{1,6})?)?)?(?: ?UTC|Z)?")
COUNT = re.compile(r"(?:attempt|hand-?in|try|version)[ _-]?(?P<count>\d{1,3})", re.IGNORECASE)


def moment(name: str) -> tuple | None:
    """A key by which folders of hand-ins are put in order; None for a name that says no time and no count."""
    counted, timed = COUNT.fullmatch(name), TIME.fullmatch(name)
    if counted:
        return (0, int(counted["count"]))
    return (1, *(timed[part] or "" for part in ("date", "hour", "minute", "second"))) if timed and _date(timed) else None


def stamp(name: str) -> str | None:
    """The time that a folder's name says, in UTC as nbgrader's timestamp.txt has it; None where it says no hour."""
    timed = TIME.fullmatch(name)
    return f"{timed['date']} {timed['hour']}:{timed['minute']}:{timed['second'] or '00'} UTC" if timed and timed["hour"] and _date(timed) else None


def _date(timed: re.Match) -> bool:
    try:
        datetime.fromisoformat(f"{timed['date']} {timed['hour'] or '00'}:{timed['minute'] or '00'}:{timed['second'] or '00'}")
    except ValueError:
        return False
    return True
