"""The results that a student's last calls gave: they must stay what they were when later calls run.

A function that keeps one buffer and answers with it again and again is right each time, and changes what it had handed
out before. So the last results are kept beside copies of them, and looked at after each call.
"""
from collections import deque

RESULTS = 8              # so many results are looked at again after each call
KEPT_BYTES = 2**20       # of each of them at most


class Given:
    """The last results and, beside each, a plain copy of it as it was."""

    def __init__(self):
        self._last: deque[tuple[object, object]] = deque(maxlen=RESULTS)

    def keep(self, value: object, copy: object) -> None:
        """Remember a result, if it is one that can be written into and is not large."""
        if _small(copy):
            self._last.append((value, copy))

    def forget(self) -> None:
        """Another stage begins."""
        self._last.clear()

    def changed(self, let_through: tuple[type[BaseException], ...]) -> bool:
        """Whether one of them is not what it was: the code kept it, and wrote into it since."""
        if not self._last:
            return False
        from autograder.checks.values import cross, same
        try:
            return any(not same(cross(value), before, 0, 0) for value, before in self._last)
        except let_through:
            raise
        except BaseException:      # a hostile object may answer anything
            return True


def _small(value: object) -> bool:
    """A tensor, an array, a list, a tuple or a dictionary that can be kept for some calls."""
    if type(value) in (list, tuple, dict):
        items = value.values() if type(value) is dict else value
        return len(value) < 100 and sum(getattr(item, "nbytes", 0) for item in items) <= KEPT_BYTES
    return hasattr(value, "dtype") and value.nbytes <= KEPT_BYTES
