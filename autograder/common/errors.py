"""The one exception that the `course` command turns into a clear line instead of a traceback."""


class CourseError(Exception):
    """Something the user can mend. The message names the file or value and the remedy."""


class MachineError(CourseError):
    """Something of this machine that stops all work: a full disk, a locked database, a folder that
    cannot be written.
    """


class NothingHandedIn(CourseError):
    """There is no submission of an assignment where they were looked for."""
