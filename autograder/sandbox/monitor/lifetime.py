"""Nothing of ours outlives us: helpers die with the process that started them, and its folders go
too.

A process that is killed runs no clean-up of its own. So the kernel is asked to kill our helpers
with us, and a folder is removed by a shell that waits on a pipe for our end, however it comes.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h
WAIT_AND_REMOVE = 'while read -r _; do :; done; rm -rf -- "$1"'


def die_with(parent: int) -> None:
    """In a helper: ask the kernel to kill us when `parent`, which started us, ends.

    Elsewhere than Linux: nothing.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the kernel was asked
        os._exit(1)


def remove_when_we_end(folder: Path) -> None:
    """Have `folder` removed when this process and what it forked are gone, even by SIGKILL."""
    waits, held = os.pipe()  # closed on exec: only forks of ours hold the writing end too
    os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", WAIT_AND_REMOVE, "sh", str(folder)],
        {"PATH": "/usr/bin:/bin"},
        setsid=True,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, waits, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    os.close(waits)
    _HELD.append(held)


_HELD: list[int] = []  # the writing ends, open as long as we live
