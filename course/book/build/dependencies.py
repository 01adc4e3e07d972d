"""Note which files of the repository a page reads while it runs: its modules, records, weights.

The kernel of a page calls `watch` before its first cell. Python announces each file that it opens
and each folder that it lists (PEP 578's audit events); those below the repository go, one a line,
into a file of notes. What another program reads is not seen: when a page starts a Python process or
a shell, it is noted as reading everything. Asking only whether a file exists is not seen either.
"""

import importlib.util
import os
import re
import sys
import time
from pathlib import Path

EVERYTHING = "*"  # the line for a page that starts a process which may read anything
LISTED = "/"  # at the end of the line of a folder that was listed
CPU = "cpu "  # before the CPU seconds of the page so far, after each cell
OUTSIDE = ("_build", ".venv", ".git", ".pytest_cache")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
MAY_READ_ANYTHING = re.compile(r"(python[\d.]*|course|jupyter.*|pytest|env|sh|bash|dash|zsh)$")
SEARCHES = re.compile(r"<frozen importlib|[/\\]importlib[/\\]|[/\\]pkgutil\.py$")
SPAWNED = {
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.popen_forkserver",
    "multiprocessing.popen_spawn_win32",
}


def relative(path, root: Path) -> str | None:
    """`path` below `root` with its source in the place of compiled code; None if it lies outside or
    is made here.
    """
    try:
        path = Path(os.path.abspath(os.fsdecode(path))).relative_to(root)
    except (TypeError, ValueError):  # a descriptor, or another folder
        return None
    if path.parts[:1] and path.parts[0] in OUTSIDE or path.name.startswith("__editable__"):
        return None
    if path.suffix == ".pyc":
        try:
            path = Path(importlib.util.source_from_cache(str(path)))
        except ValueError:
            return None
    return path.as_posix()


def kernel_line(notes: Path, root: Path) -> str:
    """What a page's kernel runs first, so that it watches itself and leaves no name behind."""
    watch = "__import__('course.book.build.dependencies').book.build.dependencies.watch"
    return f"{watch}({str(notes)!r}, {str(root)!r})"


def watch(notes: str, root: str) -> None:
    """Note what this process and its forks read below `root` from here on, at the end of the file
    `notes`.
    """
    root = Path(root)
    out = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    seen = set()

    def note(line):
        if line is not None and line not in seen:
            seen.add(line)
            os.write(out, f"{line}\n".encode())

    def listen(event, args):
        if event == "open":
            mode, flags = args[1], args[2] or 0
            if not (set(mode or "") & set("wax+") or (mode is None and flags & WRITES)):
                note(relative(args[0], root))
        elif event in ("os.listdir", "os.scandir"):
            if not SEARCHES.search(
                sys._getframe(1).f_code.co_filename
            ):  # looking for a module is no reading
                folder = relative(args[0] if args[0] is not None else ".", root)
                note(folder and folder + LISTED)
        elif event == "subprocess.Popen":
            if MAY_READ_ANYTHING.match(os.path.basename(os.fsdecode(args[0] or args[1][0]))):
                note(EVERYTHING)
        elif event in ("os.system", "os.exec", "os.posix_spawn") or (
            event == "import" and args[0] in SPAWNED
        ):
            note(EVERYTHING)

    sys.addaudithook(listen)
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        shell.events.register(
            "post_run_cell", lambda _: os.write(out, f"{CPU}{time.process_time():.2f}\n".encode())
        )
    _tell_of_safetensors(lambda path: note(relative(path, root)))


def _tell_of_safetensors(note):
    """safetensors opens its files outside Python, which announces nothing: note them on
    the way in.
    """
    import safetensors

    opened = safetensors.safe_open

    def safe_open(filename, *args, **settings):
        note(filename)
        return opened(filename, *args, **settings)

    safetensors.safe_open = safe_open
