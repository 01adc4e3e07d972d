"""What a run of `course grade` did, in lines for a terminal."""

from dataclasses import dataclass, field
from pathlib import Path

from autograder.course_layout import SECRET_FILE
from autograder.grading.intake.lms_layouts import OF_OTHERS


@dataclass
class Summary:
    """What a run gave, and where it lies.

    manual: submissions that need manual grading; written: written answers of these that wait to be
    read. people: submissions that need a look for another reason than such an answer. notes: by
    student, what else was handed in and is not graded. changed: a line for each student whose
    results are others than before; details: one for each exercise of these. left_out: entries that
    are nobody's submission, with the reason. stale: students whose verdict is by older checks.
    mended: students whose record could not be read and was made again; lost: those of whom it still
    cannot be read, with the reason. anew: a sentence where the gradebook had lost what was graded
    before, else "". foreign: students who were judged with another secret than the one that is
    there; renewed: whether this run drew that. failed: students on whose work the checker itself
    failed. absent: names on the roster without a submission.
    """

    assignment: str
    submissions: int
    kept: int
    people: int
    isolation: str
    seconds: float
    gradebook: str
    feedback: Path
    grades: Path
    report: Path
    written: int = 0
    notes: dict[str, list[str]] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    anew: str = ""
    foreign: list[str] = field(default_factory=list)
    renewed: bool = False
    details: list[str] = field(default_factory=list)
    manual: int = 0
    failed: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    @property
    def not_graded(self) -> dict[str, str]:
        """Of `left_out` what may be somebody's work: not the folders of who handed in other
        assignments only.
        """
        return {entry: reason for entry, reason in self.left_out.items() if reason != OF_OTHERS}

    def lines(self) -> list[str]:
        """One line for each result with its path, for a terminal."""
        named = [
            f"not graded {', '.join(entries)}: {reason}"
            for reason, entries in by_reason(self.not_graded)
        ]
        missing = sorted(self.left_out.keys() - self.not_graded.keys())
        named += (
            [
                f"missing    {len(missing)} folder{'s have' if len(missing) > 1 else ' has'}"
                f" nothing of {self.assignment}, and other assignments: {', '.join(missing)}"
            ]
            if missing
            else []
        )
        named += [
            f"note       {student}: {sentence}"
            for student, some in sorted(self.notes.items())
            for sentence in some
        ]
        stale = (
            [
                f"stale      {len(self.stale)} verdicts are by checks that have changed since:"
                f" {', '.join(self.stale)}. `course grade --regrade` judges them again"
            ]
            if self.stale
            else []
        )
        named += [
            f"mended     {student}: the record could not be read, and was made again from the"
            " notebook"
            for student in self.mended
        ]
        named += [f"lost       {student}: {reason}" for student, reason in self.lost.items()]
        named += [f"lost       {self.anew}"] if self.anew else []
        named += (
            [
                f"secret     a new {SECRET_FILE} was drawn, as the one that the records were judged"
                " with is gone: who is judged from now on is asked with other hidden inputs"
            ]
            if self.renewed
            else []
        )
        named += (
            [
                said_foreign(self.foreign)
                + "If that is a slip, bring the right file back; else `course grade --regrade`"
                " judges them again"
            ]
            if self.foreign
            else []
        )
        return [
            *named,
            f"graded     {self.submissions} submissions of {self.assignment} in {self.seconds:.0f}"
            f" s, isolation {self.isolation}" + (f" ({self.kept} unchanged)" if self.kept else ""),
            *self._absent(),
            f"gradebook  {self.gradebook}",
            f"feedback   {self.feedback}",
            f"grades     {self.grades}",
            f"report     {self.report}",
            *stale,
            *self._left_to_people(),
            *([said_failed(self.failed)] if self.failed else []),
        ]

    def _absent(self) -> list[str]:
        if not self.absent:
            return []
        return [
            (
                f"absent     {len(self.absent)} on the roster submitted nothing: "
                f"{', '.join(self.absent)}"
            )
        ]

    def _left_to_people(self) -> list[str]:
        """How many submissions need manual grading, the number that every page and nbgrader give;
        and what else needs a look.
        """
        found = []
        if self.manual:
            answers = (
                f", with {self.written} written answer{'s' * (self.written > 1)} to read"
                if self.written
                else ""
            )
            found.append(
                f"manual     {self.manual} submission{'s need' if self.manual > 1 else ' needs'}"
                f" manual grading, in formgrader{answers}"
            )
        if self.people:
            found.append(
                f"look at    {self.people} submission{'s' * (self.people > 1)}, for another reason"
                " than an unread answer; the report says why"
            )
        return found


def by_reason(left_out: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Reasons in the order of the first entry of each, with all entries that have it: of a class,
    what is said of many is said once.
    """
    found: dict[str, list[str]] = {}
    for entry, reason in sorted(left_out.items()):
        found.setdefault(reason, []).append(entry)
    return list(found.items())


def said_failed(students: list[str]) -> str:
    """On whose work the checker itself failed, as the last line of a run."""
    count = "1 submission" if len(students) == 1 else f"{len(students)} submissions"
    return (
        f"FAILED     the checker itself failed on {count}, which is not the student's fault:"
        f" {', '.join(students)}. The report says where; the same command tries again"
    )


def said_foreign(students: list[str]) -> str:
    """Whose verdicts are of another secret, as a line for a terminal; the remedy is the
    caller's.
    """
    return (
        f"secret     {len(students)} verdicts were judged with another {SECRET_FILE} than this:"
        f" {', '.join(students)}. "
    )
