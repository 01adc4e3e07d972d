"""Withheld packages at home as they are in grading: importing one is no fault, using it is.

In a sandbox the files of a withheld package are not there, and stand-ins are
(`checks.withheld.install`). At home the package is there, and to import it runs its own code, which
the guard would take for the student's use of it. So a student's imports get the same stand-ins, for
as long as the student's code is run or checked; everybody else's get the package, which the checks
may need.
"""

import builtins
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from autograder.checks.restrictions.guard import StandInModule


@contextmanager
def stand_ins(withheld: Mapping[str, str], module: str) -> Iterator[None]:
    """A block in which code of `module`, by its `__name__`, that imports a package of `withheld`,
    from name to reason, gets its stand-in.
    """
    real, packages = (
        builtins.__import__,
        {name: why for name, why in withheld.items() if "." not in name},
    )

    def imported(
        name: str,
        globals: Mapping | None = None,
        locals: Mapping | None = None,
        fromlist: tuple = (),
        level: int = 0,
    ) -> object:
        package = name.partition(".")[0]
        if level or package not in packages or (globals or {}).get("__name__") != module:
            return real(name, globals, locals, fromlist, level)
        made = StandInModule(package)
        made.__dict__["_said"] = (package, packages[package])
        return made

    builtins.__import__ = imported
    try:
        yield
    finally:
        builtins.__import__ = real
