"""Equality up to names: block 7 here may be block 3 there, as long as it stays the same block
everywhere.

    names = Renaming()
    names.expect_same(came=[[4, 1], [4]], expected=[[0, 2], [0]],
                      cause="The second request should share the first block.")

One Renaming holds over several comparisons, so that a name cannot change in the middle of a script;
`release` forgets one that was freed and may be given out again.
"""

from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.assertions.values import readable


class Renaming:
    """A one-to-one assignment of a student's names (whole numbers or texts) to ours, which grows as
    they are compared.
    """

    def __init__(self):
        self._ours_of: dict[object, object] = {}  # from a student's name to ours
        self._theirs_of: dict[object, object] = {}

    def expect_same(
        self, came: object, expected: object, *, cause: str, name: str = "Your result"
    ) -> None:
        """Lists, tuples and dictionaries of names, the same up to renaming; None is None.

        Raises CheckFailed.
        """
        complaint = self._differs(came, expected, name)
        if complaint:
            raise CheckFailed(cause, complaint)

    def release(self, expected: object) -> None:
        """Our name is free: a student may use any name for it next time."""
        if expected in self._theirs_of:
            del self._ours_of[self._theirs_of.pop(expected)]

    def _items_differ(self, came: object, expected: list | tuple | dict, where: str) -> str:
        """Where a list, tuple or dictionary differs in itself or in one of its items, or ""."""
        if type(came) is not type(expected) or len(came) != len(expected):
            return f"{where} is {_short(came)}; {_short(expected)} was expected, up to names"
        if type(expected) is not dict:
            pairs = [(f"{where}[{i}]", came[i], item) for i, item in enumerate(expected)]
        elif list(map(repr, came)) != list(map(repr, expected)) and came.keys() != expected.keys():
            return (
                f"{where} has the keys {_short(list(came))}; {_short(list(expected))} were expected"
            )
        else:
            pairs = [(f"{where}[{readable(key)}]", came[key], expected[key]) for key in expected]
        for place, one, other in pairs:
            if found := self._differs(one, other, place):
                return found
        return ""

    def _differs(self, came: object, expected: object, where: str) -> str:
        """Where the two differ, or "" after noting the names that they share."""
        if type(expected) in (list, tuple, dict):
            return self._items_differ(came, expected, where)
        if expected is None or came is None:
            return (
                ""
                if came is expected
                else f"{where} is {_short(came)}; {_short(expected)} was expected"
            )
        if type(came) is not type(expected) or type(came) not in (int, str):
            return f"{where} is {_short(came)}; a name such as {_short(expected)} was expected"
        ours, theirs = (
            self._ours_of.setdefault(came, expected),
            self._theirs_of.setdefault(expected, came),
        )
        if theirs != came:
            return (
                f"{where} is {readable(came)}, where {readable(theirs)} stood before for the same"
                " thing"
            )
        if ours != expected:
            del self._theirs_of[expected]
            return f"{where} is {readable(came)}, which is in use for something else"
        return ""


def _short(value: object) -> str:
    return readable(value, 80)
