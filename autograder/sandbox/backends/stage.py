"""The few files of ours that exist inside a sandbox: the worker, and the reference without what is
to be written.

A stage is a folder made on the host and bound read-only. It holds copies, never links, and source
only: bytecode of a withheld module would be the module. Checks, mistakes, solutions and the
grader's own code stay outside, because nothing inside needs them and a student's code can read
whatever is there.
"""

import ast
import contextlib
import functools
import runpy
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import autograder
import reference_impl
from autograder.checks.restrictions.guard import WHY
from autograder.common.errors import CourseError
from autograder.sandbox.monitor.lifetime import remove_when_we_end

# Everything of `autograder` that the worker imports; a test compares this with what it really
# loads.
WORKER_FILES = (
    "__init__.py",
    "checks/__init__.py",
    "checks/assertions/__init__.py",
    "checks/restrictions/__init__.py",
    "checks/student/__init__.py",
    "checks/restrictions/absent_operators.py",
    "checks/assertions/comparison_time.py",
    "checks/assertions/describing.py",
    "checks/student/executor.py",
    "checks/student/torch_requests.py",
    "checks/student/failed.py",
    "checks/student/call_history.py",
    "checks/student/tracebacks.py",
    "checks/assertions/values.py",
    "checks/restrictions/guard.py",
    "sandbox/__init__.py",
    "sandbox/inside/__init__.py",
    "sandbox/protocol/__init__.py",
    "sandbox/inside/fault_attribution.py",
    "sandbox/protocol/frames.py",
    "sandbox/protocol/tensors.py",
    "sandbox/inside/notebook_env.py",
    "sandbox/inside/worker.py",
)
# What it imports when a check first asks for it, and the program that forks it.
LATER_FILES = (
    "checks/inputs/__init__.py",
    "checks/kernels/__init__.py",
    "sandbox/inside/zygote.py",
    "checks/kernels/no_torch_fallback.py",
    "checks/kernels/races.py",
    "checks/kernels/compiler.py",
    "checks/kernels/counters.py",
    "checks/inputs/fakes.py",
    "checks/kernels/warm_up.py",
    "checks/kernels/interpreter.py",
    "checks/kernels/source_rules.py",
    "checks/kernels/launches.py",
    "checks/kernels/memory_marks.py",
    "checks/student/module_access.py",
    "checks/kernels/replay.py",
)
REFERENCE = Path(reference_impl.__file__).parent
AUTOGRADER = Path(autograder.__file__).parent
OURS = ("autograder", "course", "reference_impl", "solutions")
LOCK = AUTOGRADER.parent / "requirements.lock"


def stage(
    withhold: Sequence[str] | Mapping[str, str] = (),
    extra: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """A folder to bind into a sandbox, without what is in `withhold`, names or names with the
    reason.

    Of the reference a module ("reference_impl.embeddings.counts") is left out, and a function stays
    without its body; the name of a package is written down, so that the walls hide it
    (`hidden_packages`) and the worker puts a stand-in there. extra: further source files, from
    their path to their text. Made once per process and set of names, removed when the process ends,
    however it ends. Raises CourseError for a name that is no module: a misspelt one would leave the
    answer in.
    """
    why = dict(withhold) if isinstance(withhold, Mapping) else dict.fromkeys(withhold, WHY)
    return _stage(tuple(sorted(why.items())), tuple(sorted(extra.items())))


@functools.cache
def _stage(withhold: tuple[tuple[str, str], ...], extra: tuple[tuple[str, str], ...]) -> Path:
    packages = {
        name
        for name, _ in withhold
        if name.isidentifier() and name not in OURS and name not in sys.stdlib_module_names
    }
    functions = {name: why for name, why in withhold if name not in packages and _function_of(name)}
    hidden = [
        path
        for name, _ in withhold
        if name not in packages and name not in functions
        for path in _files_of(name)
    ]
    folder = Path(tempfile.mkdtemp(prefix="word2serve-stage-"))
    remove_when_we_end(folder)
    for name in (*WORKER_FILES, *LATER_FILES):
        _copy(AUTOGRADER / name, folder / "autograder" / name)
    for name, text in extra:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for source in REFERENCE.rglob("*.py"):
        if not any(source == path or path in source.parents for path in hidden):
            target = folder / "reference_impl" / source.relative_to(REFERENCE)
            _copy(source, target)
            module = ".".join(
                ("reference_impl", *source.relative_to(REFERENCE).with_suffix("").parts)
            )
            gone = {
                name.removeprefix(f"{module}."): why
                for name, why in functions.items()
                if name.rpartition(".")[0] == module
            }
            if gone:
                target.write_text(
                    without(source.read_text(encoding="utf-8"), module, gone), encoding="utf-8"
                )
    names = {name: why for name, why in withhold if name not in functions}
    (folder / "withheld_names.py").write_text(f"WHY = {names!r}\n", encoding="utf-8")
    (folder / "pinned_names.py").write_text(f"NAMES = {pinned()!r}\n", encoding="utf-8")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)  # the user inside is not the one who made it
    return folder


def pinned(lock: Path = LOCK) -> list[str]:
    """The packages that an environment of ours must have on this system, as a module of the same
    name is spelt; none without a lock.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    found = []
    for line in lock.read_text(encoding="utf-8").splitlines() if lock.is_file() else ():
        with contextlib.suppress(InvalidRequirement):  # a remark, an empty line
            one = Requirement(line)
            found += (
                [one.name.lower().replace("-", "_")]
                if one.marker is None or one.marker.evaluate()
                else []
            )
    return sorted(found)


def hidden_packages(stage: Path) -> list[str]:
    """The packages that are withheld in a stage."""
    return [
        name for name in runpy.run_path(str(stage / "withheld_names.py"))["WHY"] if "." not in name
    ]


def without(source: str, module: str, functions: Mapping[str, str]) -> str:
    """A module's text in which some functions at its top refuse, with the reason, instead of what
    they did.
    """
    lines = source.split("\n")
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.FunctionDef) and node.name in functions:
            first = node.body[0].lineno - 1
            refusal = f"refuse({module + '.' + node.name!r}, {functions[node.name]!r})"
            body = ["    from autograder.checks.restrictions.guard import refuse", f"    {refusal}"]
            head = (
                lines[first][: node.body[0].col_offset]
                if node.body[0].lineno == node.lineno
                else ""
            )
            lines[first : node.end_lineno] = [*([head] if head.strip() else []), *body]
    return "\n".join(lines)


def _function_of(name: str) -> bool:
    """Whether a name is a function at the top of a module of the reference."""
    module, _, function = name.rpartition(".")
    path = REFERENCE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    return (
        module.startswith("reference_impl.")
        and path.is_file()
        and any(
            isinstance(node, ast.FunctionDef) and node.name == function
            for node in ast.parse(path.read_text(encoding="utf-8")).body
        )
    )


def _files_of(module: str) -> list[Path]:
    first, *rest = module.split(".")
    path = REFERENCE.joinpath(*rest)
    found = [one for one in (path.with_suffix(".py"), path) if rest and one.exists()]
    if first != "reference_impl" or not found:
        raise CourseError(
            f"cannot withhold {module!r}: there is no such module or function in reference_impl,"
            " and it is no package; mend `withhold`"
        )
    return found


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
