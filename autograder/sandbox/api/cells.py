"""The cells that run in a sandbox, what is told of them, and what they printed."""

from dataclasses import dataclass

REMEMBERED_TEXT = 4000  # characters of any text that a sandbox sends for a human
# Control characters would reach a terminal or a database; a tab and a new line may.
CONTROL = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


@dataclass(frozen=True)
class Cell:
    """One code cell to run inside: its grade id, None for a cell that the student added, and its
    source.
    """

    grade_id: str | None
    source: str

    def filename(self, index: int) -> str:
        """How the student's tracebacks call the cell at this place."""
        return f"cell {index + 1} ({self.grade_id or 'added'})"


@dataclass(frozen=True)
class CellError:
    """A cell that failed: its place among the cells, its grade id, a kind of StudentError, and text
    for the student.
    """

    index: int
    grade_id: str | None
    kind: str
    text: str


class Printed:
    """What the code inside printed: the first `limit` characters, and how many more there were."""

    def __init__(self, limit: int):
        self._limit, self._shown, self._cut = limit, "", 0

    def remember(self, answer: dict) -> None:
        """Take what an answer brought along, trusting nothing in it."""
        text, cut = answer.get("printed"), answer.get("cut")
        if type(text) is str and type(cut) is int and cut >= 0:
            room = self._limit - len(self._shown)
            self._shown += clean(text, room)
            self._cut += min(cut, 10**12) + max(0, len(text) - room)

    @property
    def text(self) -> str:
        """What is kept, with a last line that says how much was cut."""
        return self._shown + (
            f"\n[{self._cut:,} more characters were printed and not kept]" if self._cut else ""
        )


def clean(text: str, limit: int) -> str:
    """The beginning of a text from inside, without control characters."""
    return text[:limit].translate(CONTROL)
