"""Where executed pages are kept, and whether each is still true.

jupyter-cache keeps a page's outputs by its code cells. A page that imports reference_impl would
then keep its old output when reference_impl changes. So each executed page carries the files that
it read when it ran (course/book/build/dependencies.py) with their hashes. It is true as long as all
of them are as they were; a change in one chapter's modules asks for that chapter's pages only.
"""

import hashlib
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from course.book.build.dependencies import EVERYTHING, LISTED

IN_BOOK = "W2S_BOOK"  # set in the environment of kernels that run the book's pages
ALWAYS = (
    "requirements.lock",
    "course/book/build/dependencies.py",
    "course/book/build/kernel_pool.py",
)  # what every page depends on
CODE = ("reference_impl", "course", "autograder", "solutions", "bench")
NOT_READ = {"__pycache__", ".ipynb_checkpoints", "_build", "node_modules"}


def cache_path(root: Path) -> Path:
    """The folder of executed pages. It may not exist yet."""
    return root / "_build" / "executed_pages"


def in_book() -> bool:
    """Is this process a kernel that runs a page of the book (and not a reader's live notebook)?"""
    return os.environ.get(IN_BOOK) == "1"


@lru_cache(maxsize=8192)
def _hash_of_file(path: Path, changed: int, size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def fingerprint(root: Path, name: str) -> str:
    """Sixteen digits for what `name` is at this moment: a file, a listed folder ("bench/results/"),
    or EVERYTHING.

    A file or folder that does not exist has the fingerprint "missing".
    """
    if name == EVERYTHING:
        return hash_of(root, files_below(root, CODE))
    path = root / name
    try:
        if name.endswith(LISTED):
            return hashlib.sha256(
                "\0".join(sorted(set(os.listdir(path)) - NOT_READ)).encode()
            ).hexdigest()[:16]
        state = path.stat()
        return _hash_of_file(path, state.st_mtime_ns, state.st_size)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return "missing"


def fingerprints(root: Path, names: Iterable[str], since: float) -> dict[str, str]:
    """Each of `names`, and of ALWAYS, with its fingerprint; "changed" if it was written to after
    the time `since`.

    The page that read it may have met the older state, so that it has to run again.
    """

    def late(name):
        path = root / name
        return path.is_file() and path.stat().st_mtime > since

    return {
        name: "changed" if late(name) else fingerprint(root, name)
        for name in sorted({*names, *ALWAYS})
    }


def changed(root: Path, read: dict[str, str] | None) -> list[str]:
    """Which of the files that a page read are no longer as they were; all is unknown (`["?"]`)
    without a list.
    """
    if not read:
        return ["?"]
    return [name for name, before in read.items() if fingerprint(root, name) != before]


def files_below(root: Path, folders: Iterable[str]) -> list[Path]:
    """Every file below the named folders that a person keeps, in a fixed order."""
    return sorted(
        path
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.is_file() and not NOT_READ & set(path.relative_to(root).parts)
    )


def hash_of(root: Path, paths: Iterable[Path]) -> str:
    """A hash over names and contents."""
    digest = hashlib.sha256()
    for path in paths:
        state = path.stat()
        digest.update(
            (
                f"{path.relative_to(root).as_posix()}\0"
                f"{_hash_of_file(path, state.st_mtime_ns, state.st_size)}\0"
            ).encode()
        )
    return digest.hexdigest()[:16]


def drop_untrue(root: Path) -> dict[str, list[str]]:
    """Remove every executed page that read something which has changed; page file -> what changed,
    by name.

    A page whose file was deleted by hand, or never written to its end, is removed from the list
    too.
    """
    if not cache_path(root).is_dir():
        return {}
    from jupyter_cache import get_cache

    cache = get_cache(str(cache_path(root)))
    dropped = {}
    for record in cache.list_cache_records():
        kept = cache_path(root) / "executed" / record.hashkey / "base.ipynb"
        why = changed(root, (record.data or {}).get("read")) if kept.is_file() else ["?"]
        if why:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.touch()  # jupyter-cache removes no record whose file is missing
            cache.remove_cache(record.pk)
            dropped[record.uri] = why
    return dropped


def runs(root: Path) -> dict[str, str]:
    """Page file -> when the run that is shown of it took place.

    A page that has not run is not there.
    """
    if not cache_path(root).is_dir():
        return {}
    from jupyter_cache import get_cache

    records = sorted(
        get_cache(str(cache_path(root))).list_cache_records(), key=lambda record: record.created
    )
    return {record.uri: f"{record.pk} {record.created.isoformat()}" for record in records}


def read_by_pages(root: Path) -> dict[str, list[str]]:
    """Page, as a path below `root` -> the files that its last run read, without those that all
    pages read.
    """
    from jupyter_cache import get_cache

    records = sorted(
        get_cache(str(cache_path(root))).list_cache_records(), key=lambda record: record.created
    )
    return {
        Path(record.uri).relative_to(root).as_posix(): sorted(
            set(record.data.get("read", {})) - set(ALWAYS)
        )
        for record in records
    }
