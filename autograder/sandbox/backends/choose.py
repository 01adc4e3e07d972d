"""The choice among the sandbox's backends: the strongest that works here, or the one asked for by
name.
"""

from autograder.common.errors import CourseError
from autograder.sandbox.backends.base import Backend, ProcessBackend
from autograder.sandbox.backends.bubblewrap import BubblewrapBackend
from autograder.sandbox.backends.container import ContainerBackend
from autograder.sandbox.backends.warm import WarmBackend


def choose_backend(
    name: str | None = None, allow_unsafe: bool = False, cold: bool = False
) -> Backend:
    """The strongest backend that works here, or the one named ("bubblewrap", "container",
    "process").

    cold: bubblewrap starts every sandbox anew, instead of a fork of a process that has imported
    torch. `process` is given only by name together with `allow_unsafe`. Raises CourseError with
    what to install.
    """
    walled = BubblewrapBackend if cold else WarmBackend
    known = {one.name: one for one in (walled, ContainerBackend, ProcessBackend)}
    if name is not None and name not in known:
        raise CourseError(f"no sandbox backend is called {name!r}; there are {', '.join(known)}")
    if name == "process":
        if not allow_unsafe:
            raise CourseError(
                "the process backend isolates nothing: student code would run as you. Use it only"
                " for code that you trust, and then say so with --allow-unsafe"
            )
        return ProcessBackend()
    reasons = []
    for backend in [known[name]()] if name else [walled(), ContainerBackend()]:
        reason = backend.unavailable()
        if reason is None:
            return backend
        reasons.append(f"{backend.name}: {reason}")
    raise CourseError("nothing here can isolate student code. " + " ".join(reasons))
