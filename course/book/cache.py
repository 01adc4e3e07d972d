"""Where executed pages are kept, and the key that says whether they are still true.

jupyter-cache looks at a page's code cells only. A page that imports reference_impl would keep its old output when
reference_impl changes, so the cache's path carries a hash of all that a page's code can reach: reference_impl/,
the figures, the lock file, the records of bench/ and, for the page that lists the exercises and commands, solutions/,
the checks and the table of commands.
"""
import hashlib
import os
from pathlib import Path

IN_BOOK = "W2S_BOOK"  # set in the environment of kernels that run the book's pages
INPUTS = ("reference_impl/**/*.py", "course/book/figures.py", "course/book/stills.py", "autograder/authoring/catalogue.py",
          "course/cli.py", "autograder/chapters/*/test_*.py", "solutions/*.py", "bench/results/*.json", "requirements.lock")


def code_key(root: Path) -> str:
    """Sixteen hexadecimal digits that change when a file changes that pages import or read."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in INPUTS for path in root.glob(pattern)}):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_path(root: Path) -> Path:
    """The folder of executed pages for the code as it is now. It may not exist yet."""
    return root / "_build" / "executed" / code_key(root)


def in_book() -> bool:
    """Is this process a kernel that runs a page of the book (and not a reader's live notebook)?"""
    return os.environ.get(IN_BOOK) == "1"
