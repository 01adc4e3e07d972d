"""What a student's side cannot do, as an exception on that side; across the pipe it becomes a
StudentError.

And the other way round: an exception of ours, on the student's side.
"""

import builtins


class Failed(Exception):
    """A kind of StudentError, a sentence, and the class of what the student's code raised,
    or "".
    """

    def __init__(self, kind: str, text: str, raised: str = ""):
        super().__init__(kind, text)
        self.kind, self.text, self.raised = kind, text, raised


def builtin_exception(name: str, text: str) -> Exception:
    """An exception of that builtin class, or RuntimeError where there is none that takes a text."""
    kind = getattr(builtins, name, None)
    try:
        return (
            kind(text)
            if isinstance(kind, type) and issubclass(kind, Exception)
            else RuntimeError(text)
        )
    except TypeError:  # UnicodeDecodeError and its like want more than a text
        return RuntimeError(text)
