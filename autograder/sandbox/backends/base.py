"""Ways to start the worker, from the strongest to none; `choice.py` chooses among them.

bubblewrap  namespaces, an unprivileged user, no network, a system-call filter: for other people's
            code
container   docker or podman, where bubblewrap is missing
process     a plain process with resource limits: no isolation at all, for code that you would run
            yourself; used only when asked for by name

A backend says how to start the worker (`Launch`); what is common to all, the pipe and the watch
over time and memory, is in `process.py`.
"""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from autograder.sandbox.api.limits import Limits

# One thread: the grader runs one sandbox on each core. No bytecode cache, no display, no home.
# glibc gives back what is freed: it would keep up to 64 MiB in its heap, which a later call under a
# cap could use unseen.
KEEPS_NOTHING = {"MALLOC_MMAP_THRESHOLD_": str(1 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 20)}
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "USER": "student",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/tmp/matplotlib",
} | KEEPS_NOTHING


@dataclass(frozen=True)
class Launch:
    """A command to start, the file descriptors it inherits, and those that the starter closes
    afterwards.
    """

    command: list[str]
    inherit: tuple[int, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    close: tuple[int, ...] = ()
    stop: tuple[
        str, ...
    ] = ()  # a command that ends what killing the started process would leave running
    stdio: bool = False  # the pipe is the standard input and output (in a container)


class Child(Protocol):
    """The outermost process of a sandbox as its starter sees it; subprocess.Popen is one."""

    pid: int

    def wait(self, timeout: float | None = None) -> int:
        """How it ended, as Popen tells it; raises subprocess.TimeoutExpired."""
        ...


class Backend:
    """What all backends share. `isolates` is the promise; `course doctor` is the proof."""

    name = ""
    isolates = False
    tier = ""

    def unavailable(self) -> str | None:
        """Why it cannot be used here and what to do about it, or None if it can."""
        raise NotImplementedError

    def launch(
        self, stage: Path, limits: Limits, warm: Sequence[str], read: int, write: int
    ) -> Launch:
        """How to start a worker that reads requests from `read` and writes answers to `write`."""
        raise NotImplementedError

    def share(self, stage: Path, limits: Limits, warm: Sequence[str], wait: bool = True) -> None:
        """Make now what processes that are forked from this one can use together.

        Nothing, where each start is by itself.
        """

    def start(
        self, stage: Path, limits: Limits, warm: Sequence[str], read: int, write: int, errors: int
    ) -> tuple[Child, tuple[str, ...]]:
        """Start a worker, whose complaints go to `errors` until it is ready; and the command that
        ends what killing it would leave.
        """
        launch = self.launch(stage, limits, warm, read, write)
        try:
            # Called from a thread, it must be one that lives on: the kernel kills the sandbox when
            # it ends.
            child = subprocess.Popen(
                launch.command,
                env=launch.environment,
                pass_fds=() if launch.stdio else launch.inherit,
                stdin=read if launch.stdio else subprocess.DEVNULL,
                stdout=write if launch.stdio else subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        finally:
            for fd in launch.close:
                os.close(fd)
        return child, launch.stop


class ProcessBackend(Backend):
    """No isolation: student code runs as you, and can do what you can.

    For trusted code, and to show what tests catch.
    """

    name = "process"
    tier = (
        "none: a plain process with limits on memory and time; it can read and write whatever"
        " you can"
    )

    def unavailable(self) -> str | None:
        """Never: this needs nothing."""
        return None

    def launch(
        self, stage: Path, limits: Limits, warm: Sequence[str], read: int, write: int
    ) -> Launch:
        """The interpreter itself, with the caller's environment."""
        command = worker_command(
            stage, limits, warm, read, write, sites=site_folders(), count_processes=False
        )
        return Launch(
            command,
            (read, write),
            dict(os.environ) | {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"} | KEEPS_NOTHING,
        )


def worker_command(
    stage: Path | str,
    limits: Limits,
    warm: Sequence[str],
    read: int,
    write: int,
    sites: Sequence[str | Path],
    count_processes: bool,
    python: Sequence[str] = (),
) -> list[str]:
    """The worker's own command line; `stage` and `sites` as they are called inside.

    -I and -S leave out the user's folders, environment and .pth files: nothing that someone or an
    editable install put there is imported.
    """
    config = {
        "read": read,
        "write": write,
        "path": [str(stage), *map(str, sites)],
        "warm": list(warm),
        "limits": limits.to_json(),
        "count_processes": count_processes,
    }
    return [
        *(python or (base_python(), "-I", "-S", "-B")),
        f"{stage}/autograder/sandbox/inside/worker.py",
        json.dumps(config),
    ]


def base_python() -> str:
    """The interpreter behind the virtual environment: it needs no pyvenv.cfg beside it."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def site_folders() -> list[Path]:
    """The folders that hold the installed packages, torch's and numpy's whereabouts included."""
    folders = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]
    for name in ("numpy", "torch"):
        spec = find_spec(name)
        if spec and spec.submodule_search_locations:
            folders.append(Path(list(spec.submodule_search_locations)[0]).parent)
    return list(dict.fromkeys(folder.resolve() for folder in folders if folder.is_dir()))
