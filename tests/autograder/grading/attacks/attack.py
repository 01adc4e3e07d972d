"""What an attack is, in the table: a hostile cell, or an odd file, and what the verdict must say of
it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

NOT_DOUBLE = "It does not double."


@dataclass(frozen=True)
class Attack:
    """One submission of an attacker, which earns nothing.

    source: of the cell that should double a number (`function` may name another exercise: "scaled",
    "asked"). It knows FACTS, what an attacker could know of this machine. Where it gets through, it
    answers rightly and so earns points; what it needs for that it has from nowhere else. says: what
    the verdict must say, one of these texts. entry: instead of a source, a function of the honest
    notebook that makes the files that are handed in, by path below the student ("" for a zip in the
    student's place). copies: how many students hand it in, when one leaves something for the next.
    called: the student's name. dear: it takes more than ten seconds of somebody's time.
    """

    name: str
    source: str = ""
    says: tuple[str, ...] | str = NOT_DOUBLE
    function: str = "double"
    entry: Callable[[Callable[..., bytes]], dict[str, bytes]] | None = None
    copies: int = 1
    called: str = ""
    dear: bool = False
    family: str = field(default="", compare=False)

    @property
    def student(self) -> str:
        """The name under which it is handed in."""
        return self.called or self.name

    def said_in(self, text: str) -> bool:
        """Whether a verdict's text says what it must."""
        return any(
            one in text for one in ((self.says,) if isinstance(self.says, str) else self.says)
        )
