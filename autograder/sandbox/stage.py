"""The few files of ours that exist inside a sandbox: the worker, and the reference without what is to be written.

A stage is a folder made on the host and bound read-only. It holds copies, never links, and source only: bytecode of
a withheld module would be the module. Checks, mistakes, solutions and the grader's own code stay outside, because
nothing inside needs them and a student's code can read whatever is there.
"""
import functools
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import autograder
import reference_impl
from autograder.errors import CourseError
from autograder.sandbox.lifetime import remove_when_we_end

# Everything of `autograder` that the worker imports; a test compares this with what it really loads.
WORKER_FILES = ("__init__.py", "checks/__init__.py", "checks/executor.py", "checks/failed.py", "checks/tracebacks.py",
                "checks/values.py", "sandbox/__init__.py", "sandbox/blame.py", "sandbox/frames.py", "sandbox/inside.py",
                "sandbox/worker.py")
# What it imports when a check first asks for it.
LATER_FILES = ("checks/counters.py", "checks/fakes.py", "checks/interpreting.py", "checks/kernels.py",
               "checks/module_access.py")
REFERENCE = Path(reference_impl.__file__).parent
AUTOGRADER = Path(autograder.__file__).parent


def stage(withhold: list[str] | tuple[str, ...] = (), extra: Mapping[str, str] = MappingProxyType({})) -> Path:
    """A folder to bind into a sandbox, without the modules in `withhold` ("reference_impl.embeddings.counts").

    extra: further source files, from their path to their text. Made once per process and set of names, removed when the
    process ends, however it ends. Raises CourseError for a name that is no module: a misspelt one would leave the answer in.
    """
    return _stage(tuple(sorted(set(withhold))), tuple(sorted(extra.items())))


@functools.lru_cache(maxsize=None)
def _stage(withhold: tuple[str, ...], extra: tuple[tuple[str, str], ...]) -> Path:
    hidden = [path for name in withhold for path in _files_of(name)]
    folder = Path(tempfile.mkdtemp(prefix="word2serve-stage-"))
    remove_when_we_end(folder)
    for name in (*WORKER_FILES, *LATER_FILES):
        _copy(AUTOGRADER / name, folder / "autograder" / name)
    for name, text in extra:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for source in REFERENCE.rglob("*.py"):
        if not any(source == path or path in source.parents for path in hidden):
            _copy(source, folder / "reference_impl" / source.relative_to(REFERENCE))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)   # the user inside is not the one who made it
    return folder


def _files_of(module: str) -> list[Path]:
    first, *rest = module.split(".")
    path = REFERENCE.joinpath(*rest)
    found = [one for one in (path.with_suffix(".py"), path) if rest and one.exists()]
    if first != "reference_impl" or not found:
        raise CourseError(f"cannot withhold {module!r}: there is no such module in reference_impl; mend `withhold`")
    return found


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
