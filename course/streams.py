"""What is shown never stops what is done: a pipe that nobody reads any more, a full disk, a
terminal that lacks a letter.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


class Lasting:
    """A stream that goes on when what it writes to is gone.

    lost: the first error that it met, or None.
    """

    def __init__(self, stream: TextIO):
        self._stream, self.lost = stream, None
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, or do nothing once writing has failed."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._lose(error)
            return len(text)

    def flush(self) -> None:
        """The same for what was written before."""
        try:
            self._stream.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        self.lost = self.lost or error
        nothing = os.open(
            os.devnull, os.O_WRONLY
        )  # takes what the stream still holds, now and when Python ends
        os.dup2(nothing, self._stream.fileno())
        os.close(nothing)


@contextmanager
def lasting() -> Iterator[Lasting | None]:
    """The block in which standard output and standard error last; gives the output.

    Descriptors 0 to 2 are open in it: a file that was opened as one of them would be taken for it
    by the next program.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest that is free
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and Lasting(stream) for stream in before)
    try:
        yield sys.stdout
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        sys.stdout, sys.stderr = before
