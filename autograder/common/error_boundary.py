"""The one place where an exception over one item of a class becomes that item's own trouble, and
where it is logged.

Every loop over a class (finding, judging, storing, writing pages) does its work for one item
through `Guard.run`. So no item can end a batch, whatever is wrong with it or with us. What is wrong
with the whole machine (MachineError: a full disk, a locked database) still ends the run: no item is
to blame, and nothing that is written is lost.
"""

import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from autograder.common.errors import MachineError
from autograder.course_layout import LOG_FILE

T = TypeVar("T")


class Guard:
    """Runs work item by item.

    `troubles`: by item, a sentence for a human; `log`: the file with the tracebacks.
    """

    def __init__(self, course_root: Path | None = None):
        self.log = course_root / LOG_FILE if course_root else None
        self.troubles: dict[str, str] = {}

    def run(self, item: str, doing: str, work: Callable[[], T]) -> T | None:
        """What `work()` returns; None if it raised, with the trouble of `item` noted and the
        traceback logged.
        """
        try:
            return work()
        except MachineError:
            raise
        except Exception as error:
            self.troubles[item] = sentence(error, doing, self.log)
            self._write(item, doing)
            return None

    def _write(self, item: str, doing: str) -> None:
        if self.log is None:
            return
        text = (
            f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC  {item!a},"
            f" {doing}\n{traceback.format_exc()}\n"
        )
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            raise MachineError(
                f"{self.log} cannot be written: {error.strerror}. Mend that and run again"
            ) from error


def sentence(error: Exception, doing: str, log: Path | None = None) -> str:
    """What a human reads of an exception of ours."""
    where = f"; the traceback is in {log}" if log else ""
    return f"The grader failed while {doing}: {type(error).__name__}{where}."
