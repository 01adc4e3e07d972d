"""The kind *drawn-fault*: code with one fault, drawn for each student from a list, is handed out;
the student finds it.

    broken = exercise(
        "99.broken", function="fault_line", also=["weights"], kind="drawn-fault", points=2,
        faults=Faults(SOURCE, {
            "axis": ("dim=-1", "dim=0"), "scale": ("/ d**0.5", "/ d")}))

`Faults` makes one program for each fault out of the right one. In the solutions file a locked code
cell `setup-broken` holds `{{faults}}`, which becomes the program. The notebook in exercises/ has
the fault that the exercise's name draws; `course author hand-out NN ROSTER` writes one notebook for
each student, with the fault that their id draws under the secret of the class. A stage that takes
`fault` gets the one this student has: at home by the ticket in the cell, in grading by the same
draw, whatever the notebook that came back says.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

PLACE = "{{faults}}"


@dataclass(frozen=True)
class Fault:
    """One faulty program: its name, text, the number of the line that differs, that line as it is
    and as it should be.
    """

    name: str
    source: str
    line: int
    wrong: str
    right: str


class Faults:
    """The right program and, by name, what to replace in one line of it (old, new).

    Raises ValueError for a slip.
    """

    def __init__(self, source: str, changes: Mapping[str, tuple[str, str]]):
        self.source = source.strip("\n")
        self.by_name = {name: self._made(name, *change) for name, change in changes.items()}
        if len({one.source for one in self.by_name.values()}) < max(2, len(changes)):
            raise ValueError("a drawn fault needs at least two faults, each another program")

    def _made(self, name: str, old: str, new: str) -> Fault:
        if self.source.count(old) != 1 or "\n" in old + new or old == new:
            raise ValueError(
                f"the fault {name!r} should replace {old!r}, which occurs {self.source.count(old)}"
                " times in the program, by something else in the same line"
            )
        changed = self.source.replace(old, new)
        compile(changed, name, "exec")
        pairs = list(zip(changed.split("\n"), self.source.split("\n"), strict=True))
        line = next(number for number, (wrong, right) in enumerate(pairs) if wrong != right)
        return Fault(name, changed, line + 1, pairs[line][0].strip(), pairs[line][1].strip())

    @cached_property
    def names(self) -> list[str]:
        """In an order of their own, which adding a reason or a comment does not change."""
        return sorted(self.by_name)

    def draw(self, exercise: str, student: str = "", secret: bytes = b"") -> Fault:
        """The fault of a student under a class's secret; without a student, that of the notebook in
        exercises/.
        """
        digest = hmac.new(secret, f"fault\0{exercise}\0{student}".encode(), hashlib.sha256).digest()
        return self.by_name[self.names[int.from_bytes(digest[:8], "big") % len(self.names)]]

    def cell(self, exercise: str, fault: Fault) -> str:
        """What stands in the notebook: the faulty program, and the ticket by which a check at home
        knows it.
        """
        return f"{fault.source}\n\n\ndef handed_out():\n    return {ticket(exercise, fault.name)!r}"

    def with_ticket(self, exercise: str, said: object) -> Fault | None:
        """The fault that a ticket stands for."""
        return next(
            (one for one in self.by_name.values() if ticket(exercise, one.name) == said), None
        )

    def others_cell(self, exercise: str, fault: Fault, source: str) -> bool:
        """Whether a text holds the ticket of another fault than this one."""
        return any(
            ticket(exercise, one.name) in source for one in self.by_name.values() if one != fault
        )


def ticket(exercise: str, name: str) -> str:
    """A word for a fault that does not tell it."""
    return hashlib.sha256(f"{exercise}\0{name}".encode()).hexdigest()[:8]


def fault_of(exercise, student) -> Fault:
    """The fault that this student (a student.Student) was given: as the grader says, or else by the
    ticket.
    """
    from autograder.checks.student.requests import StudentError

    if student.fault:
        return exercise.faults.by_name[student.fault]
    try:
        known = exercise.faults.with_ticket(exercise.id, student.call("handed_out").value)
    except StudentError:
        known = None
    return known or exercise.faults.draw(exercise.id)


def for_student(text: str, exercises: Mapping[str, object], student: str, secret: bytes) -> str:
    """A cell's text with the public fault of each exercise replaced by a student's own."""
    for id, one in exercises.items():
        if one.faults is not None:
            text = text.replace(
                one.faults.cell(id, one.faults.draw(id)),
                one.faults.cell(id, one.faults.draw(id, student, secret)),
            )
    return text
