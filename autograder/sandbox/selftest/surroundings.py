"""What holds a student's code on this machine, in words: the filter of system calls, the user that
it runs as, what limits it.

`course doctor` prints this above its attempts. What is said of the user is seen from outside, on a
process that was started as grading starts one; where that cannot be seen, it says so.
"""

import os
from pathlib import Path

from autograder.common.errors import CourseError
from autograder.sandbox.api.limits import MIB, Limits
from autograder.sandbox.backends import seccomp
from autograder.sandbox.backends.base import Backend
from autograder.sandbox.backends.stage import stage
from autograder.sandbox.monitor.process import Died, Process
from autograder.sandbox.monitor.procfs import descendants

WANTED = {"Uid", "CapPrm", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp"}  # of /proc/PID/status
FILTERING = "2"  # SECCOMP_MODE_FILTER
NO_USE = {
    "bubblewrap": (
        "The sandbox uses none: they belong to whoever manages the machine, and the limits below"
        " need nobody's leave."
    ),
    "container": "The engine uses them for memory and processes.",
    "process": "Nothing uses them.",
}


def surroundings(backend: Backend | None) -> dict[str, str]:
    """By topic a sentence or two: "filter", "privileges", "groups", "limits"; without a backend
    what can be said without one.
    """
    return {
        "filter": filter_words(backend),
        "privileges": privileges_words(backend),
        "groups": groups_words(backend),
        "limits": limits_words(backend),
    }


def filter_words(backend: Backend | None) -> str:
    """Which filter of system calls is in force; or that it is missing, with the remedy."""
    if backend is not None and backend.name != "bubblewrap":
        return "the engine's own" if backend.isolates else "none; this backend isolates nothing"
    try:
        return seccomp.described()
    except CourseError as error:
        return f"none. {error}"


def privileges_words(backend: Backend | None) -> str:
    """As whom this was started, and as whom student code runs."""
    user = os.geteuid()
    started = "started as root" if user == 0 else f"started as user {user}"
    if backend is None or not backend.isolates:
        return f"{started}; student code would run as the same user"
    found = _seen(backend)
    if found is None:
        return f"{started}; as whom student code runs could not be seen from outside"
    capable = any(int(found[name], 16) for name in ("CapPrm", "CapEff", "CapBnd"))
    walls = [
        "with capabilities" if capable else "without a capability",
        "with no way to gain one" if found["NoNewPrivs"] == "1" else "WITH A WAY TO GAIN ONE",
        "behind the filter" if found["Seccomp"] == FILTERING else "WITHOUT A FILTER",
    ]
    if user == 0:
        dropped = (
            "root is given up before any student code"
            if "0" not in found["Uid"].split()
            else "ROOT IS NOT GIVEN UP"
        )
        return (
            f"{started}, and {dropped}: seen from outside, a sandbox's process is user"
            f" {found['Uid'].split()[0]}, {', '.join(walls)}"
        )
    return f"{started}: student code is the same user outside and nobody inside, {', '.join(walls)}"


def groups_words(backend: Backend | None, mounts: str = "/proc/self/mounts") -> str:
    """Which version of the kernel's control groups is there, and who uses them."""
    use = NO_USE[backend.name] if backend is not None else ""
    return f"{groups_version(mounts)}. {use}".strip()


def groups_version(mounts: str = "/proc/self/mounts") -> str:
    """ "version 1", "version 2", or that none is mounted."""
    try:
        kinds = {
            fields[2]
            for line in Path(mounts).read_text().splitlines()
            if len(fields := line.split()) > 2
        }
    except OSError:
        kinds = set()
    if "cgroup" in kinds:
        return "version 1, with version 2 beside it" if "cgroup2" in kinds else "version 1"
    return "version 2" if "cgroup2" in kinds else "none are mounted"


def limits_words(backend: Backend | None, limits: Limits = Limits()) -> str:
    """What then limits memory and processes."""
    if backend is None:
        return "nothing is run"
    if backend.name == "container":
        return (
            f"memory of {limits.tree_memory // MIB:,} MiB and {limits.processes} processes, by the"
            " engine"
        )
    counted = (
        f"the kernel lets its user have {limits.processes} processes and threads"
        if backend.isolates
        else "processes are not counted"
    )
    return (
        f"the kernel lets each process have {limits.memory // MIB:,} MiB beyond what torch maps;"
        f" all of a sandbox together may have {limits.tree_memory // MIB:,} MiB, which is looked at"
        f" ten times a second; {counted}"
    )


def _seen(backend: Backend) -> dict[str, str] | None:
    """Of the innermost process of a sandbox, what the kernel says outside; None where it cannot be
    seen.
    """
    try:
        process = Process(backend, stage(), Limits(), ())
    except OSError:
        return None
    try:
        process.wait_until_ready()
        lines = (
            Path(f"/proc/{[process.pid, *descendants(process.pid)][-1]}/status")
            .read_text()
            .splitlines()
        )
        found = {
            name: value.strip()
            for name, _, value in (line.partition(":") for line in lines)
            if name in WANTED
        }
        return found if found.keys() == WANTED else None
    except (OSError, Died):
        return None
    finally:
        process.kill()
