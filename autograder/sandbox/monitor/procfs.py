"""What /proc tells of a sandbox's processes, from outside: their memory, their files, how long they
waited for a processor.

Where /proc is not there or does not tell, the answer is 0 or nothing: the limits that the kernel
holds are in force all the same.
"""

import os
from contextlib import suppress
from pathlib import Path

WRITABLE = ("/tmp", "/dev/shm")  # inside, each a small file system in memory


def tree_memory(pid: int, suspicious: int) -> int:
    """Bytes of memory in use by `pid` and all its descendants; 0 where /proc does not tell.

    Resident sizes count a page once for each process that shares it, as forked ones do. Only if
    their sum is over `suspicious` is the exact and slower proportional size read.
    """
    pids = [pid, *descendants(pid)]
    total = sum(resident(one) for one in pids)
    return total if total <= suspicious else sum(_proportional(one) for one in pids)


def descendants(pid: int) -> list[int]:
    """All processes below `pid`, as far as /proc tells."""
    pids, found = [], [pid]
    while found := [child for one in found for child in children(one)]:
        pids += found
    return pids


def files_made(pid: int) -> int:
    """Files and folders in the sandbox's own places in memory; 0 where that cannot be told.

    Their bytes are capped by the mounts. Empty files are not, and each takes a kilobyte of the
    kernel's memory.
    """
    return max(
        (
            sum(_files_in(f"/proc/{child}/root", place) for place in WRITABLE)
            for child in children(pid)
        ),
        default=0,
    )


def _files_in(root: str, place: str) -> int:
    try:
        folder = os.open(
            root + place, os.O_PATH | os.O_DIRECTORY
        )  # once: the root changes while a sandbox is set up
    except OSError:
        return 0
    try:
        if os.fstat(folder).st_dev == os.stat(place).st_dev:
            return 0  # not set up yet: it is the machine's own
        found = os.fstatvfs(folder)
        return found.f_files - found.f_ffree
    except OSError:
        return 0
    finally:
        os.close(folder)


def children(pid: int) -> list[int]:
    """The children of all threads of a process."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        return [
            int(child)
            for task in tasks
            for child in _read(f"/proc/{pid}/task/{task}/children").split()
        ]
    except (OSError, ValueError):
        return []


def _read(name: str) -> bytes:
    """A small file of the kernel's, in one piece. This is done many times for each submission."""
    descriptor = os.open(name, os.O_RDONLY)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)


def resident(pid: int) -> int:
    """Bytes of memory in use by one process, shared pages included; 0 where /proc does not tell."""
    try:
        return int(_read(f"/proc/{pid}/statm").split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError, IndexError):
        return 0


def peak(pid: int) -> int:
    """The most bytes of memory that one process had at a time since it began, shared pages
    included; 0 where /proc does not tell.
    """
    try:
        [line] = [
            line
            for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if line.startswith("VmHWM:")
        ]
        return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _proportional(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    except (OSError, ValueError, IndexError):
        return resident(pid)


def scheduled(pids: list[int]) -> dict[int, tuple[float, float]]:
    """By thread of some processes: seconds that it ran, and that it was ready to run and waited for
    a processor, since it began.
    """
    found = {}
    for pid in pids:
        try:
            tasks = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for task in tasks:
            with suppress(OSError, ValueError):
                found[int(task)] = _scheduled(f"/proc/{pid}/task/{task}/schedstat")
    return found


def waited_here() -> float:
    """Seconds that the calling thread was ready to run and waited for a processor, since it began;
    0 where /proc does not tell.
    """
    try:
        return _scheduled("/proc/thread-self/schedstat")[1]
    except (OSError, ValueError):
        return 0.0


def _scheduled(name: str) -> tuple[float, float]:
    ran, waited, _ = _read(name).split()
    return int(ran) / 1e9, int(waited) / 1e9
