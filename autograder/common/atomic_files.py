"""Files of ours, written whole or not at all; and what stands in the way said in words."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.common.errors import MachineError

REMEDIES = {
    errno.ENOSPC: "Make room on that disk",
    errno.EDQUOT: "Make room within your quota",
    errno.EACCES: "Give a folder that you may write to, or change its permissions",
    errno.EPERM: "Give a folder that you may write to, or change its permissions",
    errno.EROFS: "Give a folder on a disk that can be written to",
    errno.ENOTDIR: "A file stands where a folder is needed: move it away or give another folder",
    errno.EEXIST: "A file stands where a folder is needed: move it away or give another folder",
    errno.EISDIR: "A folder stands where a file is needed: move it away",
}


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a MachineError that names the path and the remedy."""
    try:
        yield
    except OSError as error:
        remedy = REMEDIES.get(error.errno, "Mend that")
        raise MachineError(
            f"{error.filename or path} cannot be written: {error.strerror or error}. {remedy} and"
            " run again; what was graded is kept"
        ) from error


OWNER_ONLY = 0o600  # of a file with grades or names, which may lie anywhere


def write_whole(path: Path, data: bytes | str, mode: int = 0o644) -> None:
    """Write the file beside its place and move it there, so that a kill leaves the old one.

    Raises MachineError.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = (
            path.parent / f".{path.name}.new"
        )  # one name: what a kill leaves, the next run writes over
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
        with open(descriptor, "wb") as file:
            os.fchmod(
                descriptor, os.fstat(descriptor).st_mode & mode
            )  # one that a kill left may have other rights
            file.write(data.encode(errors="backslashreplace") if isinstance(data, str) else data)
        os.replace(fresh, path)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let no other process into such a block for a file of the same folder, which is made if
    needed.

    The lock is the kernel's, on the folder: it ends with the process, however that ends.
    """
    import fcntl  # not on Windows

    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def lies_below(path: Path, folder: Path) -> bool:
    """Whether a path, its links followed, is in `folder`; a link that leads to itself is where it
    stands (`Path.resolve` raises there).
    """
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def tells_case_apart(folder: Path) -> bool:
    """Whether "Ada" and "ada" are two files in `folder`, which must exist.

    Raises MachineError if nothing can be made.
    """
    with writing(folder):
        descriptor, name = tempfile.mkstemp(prefix=".case-", suffix="a", dir=folder)
        os.close(descriptor)
        try:
            return not Path(folder, Path(name).name.upper()).exists()
        finally:
            os.unlink(name)
