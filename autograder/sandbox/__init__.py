"""Run student code where it can harm nothing, and talk to it through a pipe that only data can
pass.

`open_student(cells, withhold)` is what grading uses; `course doctor` proves what this machine can
hold back. The names are loaded on first use, because the worker inside the sandbox imports this
package too and must stay small.
"""

_WHERE = {
    "Cell": "api.cells",
    "RemoteStudent": "api.student",
    "open_student": "api.opening",
    "Limits": "api.limits",
    "Pool": "api.pool",
    "choose_backend": "backends.choose",
}
__all__ = list(_WHERE)


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
