"""What a compiler for GPUs makes of a student's kernels: looked at, and compiled for a Hopper GPU,
which needs none.

A compiler reads the branches that one launch needs, and those alone. So first the source of every
kernel that a function can reach is looked at for what no compiler takes in any branch: syntax that
Triton's has no rule for, and names from outside. Then the kernels that one call launches are
compiled. A process that interprets cannot: it has a fresh one do it, with the kernels' source and
the types of their arguments. Nothing here imports torch, so that this one starts soon.
"""

import ast
import builtins
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from autograder.checks.kernels.source_rules import refusals
from autograder.checks.student.failed import Failed

HOPPER = ("cuda", 90, 32)
MAX_MESSAGE = 1500
COMPILE = -1  # in place of a seed: see `expect_compiled`
SECONDS = 60  # for a fresh process; what it did not say by then, grading asks
NO_COMPILER_TAKES = "`{}` runs in the interpreter, but does not compile for a GPU: {}"
_read: dict[CodeType, str] = {}  # what was refused of each kernel
Launch = tuple[Any, tuple, dict[str, object]]  # kernel, positional and named arguments


class Pointer(str):
    """Stands for a tensor among a kernel's arguments: Triton's name of its type."""


def expect_compiled(student: Any, name: str, *args: object) -> None:
    """A check's: the kernels that a student's function launches compile.

    A process that interprets lists none, and has them compiled.
    """
    if not student.compiles(name, *args):
        student.kernel(name, *args, seed=COMPILE)


def look(function: Callable) -> None:
    """Raises Failed where a kernel that `function` can reach has what no compiler takes."""
    for name, kernel in kernels_behind(function).items():
        if said := next(_refusals(kernel), ""):
            raise Failed("unreadable", NO_COMPILER_TAKES.format(name, said))


def refused(kernel: Any) -> str:
    """What a kernel's source says that reaches beyond its launch, or ""; see `kernel_source`."""
    code = kernel.fn.__code__
    if code not in _read:  # a source takes longer to read than a small kernel to run
        tree = _parsed(kernel.fn)
        _read[code] = "" if tree is None else next(refusals(tree, _scope(kernel.fn)), "")
    return _read[code]


def compiled(kernel: Any, positional: tuple, named: dict[str, object]) -> dict[str, object]:
    """One launch, compiled. Raises Failed with the line that the compiler refuses, and why."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    arguments = dict(zip([one.name for one in kernel.params], positional)) | named
    signature, constants, aligned = {}, {}, {}
    for place, parameter in enumerate(kernel.params):
        value = arguments.pop(parameter.name, parameter.default)
        if parameter.is_constexpr or (type(value) is int and value == 1):
            signature[parameter.name], constants[parameter.name] = "constexpr", value
            continue
        signature[parameter.name] = _kind(parameter.name, value)
        if isinstance(value, Pointer) or type(value) is int and value % 16 == 0:
            aligned[(place,)] = [["tt.divisibility", 16]]
    options = {name: arguments[name] for name in ("num_warps", "num_stages") if name in arguments}
    try:
        done = triton.compile(
            ASTSource(kernel, signature, constants, aligned),
            target=GPUTarget(*HOPPER),
            options=options,
        )
    except Exception as error:
        raise Failed(
            "unreadable", NO_COMPILER_TAKES.format(kernel.__name__, _in_words(error))
        ) from None
    return {
        "kernel": kernel.__name__,
        "shared": int(done.metadata.shared),
        "warps": int(done.metadata.num_warps),
    }


def compiled_elsewhere(launches: list[Launch]) -> None:
    """The same in a fresh process, for kernels that this one only interprets.

    Raises Failed; silent where nothing is known.
    """
    try:
        said = _asked_elsewhere(launches)
    except (
        OSError,
        subprocess.TimeoutExpired,
        TypeError,
        ValueError,
        IndexError,
    ):  # no source, no JSON, no answer
        return
    if said:
        raise Failed("unreadable", said)


def _asked_elsewhere(launches: list[Launch]) -> str:
    source: dict[str, str] = {}
    for kernel, _, _ in launches:
        _write_down(kernel, source)
    asked = [
        (
            kernel.fn.__name__,
            [_marked(one) for one in positional],
            {name: _marked(one) for name, one in named.items()},
        )
        for kernel, positional, named in launches
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels_of_a_student.py"
        path.write_text(
            "\n".join(["from __future__ import annotations", "import triton", *source.values()]),
            encoding="utf-8",
        )
        done = subprocess.run(
            [sys.executable, "-c", f"from {__name__} import answer; answer()", str(path)],
            input=json.dumps(asked),
            text=True,
            capture_output=True,
            timeout=SECONDS,
            env=os.environ | {"TRITON_INTERPRET": "0", "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        return json.loads(done.stdout.splitlines()[-1])


def answer() -> None:
    """The fresh process: compile what stands in a file as stdin asks, and print what is refused, or
    "".
    """
    import runpy

    path = sys.argv[-1]
    sys.path.insert(0, str(Path(path).parent))
    kernels, said = runpy.run_path(path, run_name=Path(path).stem), ""
    try:
        for name, positional, named in json.load(sys.stdin):
            compiled(
                kernels[name],
                tuple(map(_unmarked, positional)),
                {key: _unmarked(one) for key, one in named.items()},
            )
    except Failed as failed:
        said = failed.text
    print(json.dumps(said))


def kernels_behind(function: Callable) -> dict[str, Any]:
    """Every kernel and helper that a function names, or one that it names does, by its
    name there.
    """
    found: dict[str, Any] = {}
    seen, wanted = set(), [("", function)]
    while wanted:
        name, one = wanted.pop()
        plain = getattr(one, "fn", one)
        if id(one) in seen or not isinstance(plain, FunctionType):
            continue
        seen.add(id(one))
        if plain is not one:
            found[name or plain.__name__] = one
        scope = _scope(plain)
        wanted += [
            (other, scope[other])
            for other in _names(plain.__code__)
            if other in scope
            and (
                _is_kernel(scope[other])
                or getattr(scope[other], "__globals__", None) is plain.__globals__
            )
        ]
    return found


def _names(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_freevars)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _scope(plain: FunctionType) -> dict[str, object]:
    """Names that a function sees from outside: globals, and what a function around it holds."""
    held = {
        name: cell.cell_contents
        for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or ())
        if cell != CellType()
    }
    return plain.__globals__ | held


def _is_kernel(value: object) -> bool:
    """Whether something was marked `@triton.jit`, in a process of either kind; Triton's own are
    none of a student's.
    """
    return isinstance(getattr(value, "fn", None), FunctionType) and not _from_triton(value.fn)


def _from_triton(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith("triton.")


def _refusal(node: ast.stmt | ast.expr) -> str:
    """Why the compiler takes no node of this kind or shape in a kernel; "" if it does."""
    from triton.compiler.code_generator import CodeGenerator

    if isinstance(node, (ast.Starred, ast.FormattedValue)):
        return ""
    kind = type(node).__name__
    if not hasattr(CodeGenerator, f"visit_{kind}") or isinstance(node, ast.FunctionDef):
        return f"Triton's compiler does not take `{kind.lower()}` in a kernel"
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return "one comparison at a time: join two with `&`"
    if isinstance(node, ast.For) and not isinstance(node.iter, ast.Call):
        return "a loop goes over a `range`"
    return ""


def _refusals(kernel: Any) -> Iterator[str]:
    """What no compiler takes of a kernel, each as a line and a reason; by the rules of the compiler
    that is installed.
    """
    from triton.compiler.code_generator import CodeGenerator

    tree = _parsed(kernel.fn)
    if tree is None:
        return
    own = {
        one.id
        for one in ast.walk(tree)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    } | {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    loops = (
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.While)
        or isinstance(one, ast.For)
        and "static_range" not in ast.unparse(one.iter)
    )
    in_loops = {id(one) for loop in loops for one in ast.walk(loop) if isinstance(one, ast.Return)}
    for node in (one for statement in tree.body for one in ast.walk(statement)):
        if not isinstance(node, (ast.stmt, ast.expr)):
            continue
        said = "a kernel cannot return from inside a loop" if id(node) in in_loops else ""
        said = said or _refusal(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            said = said or _foreign(node.id, _scope(kernel.fn), CodeGenerator.builtin_namespace)
        if said:
            yield (
                f"line {node.lineno - tree.lineno + 1} of it,"
                f" `{ast.unparse(node).splitlines()[0][:80]}`: {said}."
            )


def _foreign(name: str, scope: dict[str, object], known: dict[str, object]) -> str:
    """Why a name from outside may not be used in a kernel, or ""."""
    from triton import language

    value = scope.get(name)
    if (
        name in known
        or isinstance(value, (ModuleType, language.constexpr, language.dtype))
        or _is_kernel(value)
        or _from_triton(value)
        or getattr(value, "__triton_builtin__", False)
    ):
        return ""
    if name in scope:
        return (
            f"`{name}` is a name from outside the kernel; mark a helper with `@triton.jit`"
            if callable(value)
            else (
                f"`{name}` is a global (`{type(value).__name__}`) that no kernel sees; give it as"
                " an argument"
            )
        )
    return (
        f"`{name}` is Python's; use what `tl` has"
        if hasattr(builtins, name)
        else f"there is no `{name}`"
    )


def _parsed(plain: FunctionType) -> ast.FunctionDef | None:
    """A function's syntax; None where its source is not to be had."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(plain))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def _write_down(kernel: Any, source: dict[str, str]) -> None:
    """Add a kernel's source to `source`, and whatever it names from outside, by name."""
    plain = kernel.fn
    tree, text = _parsed(plain), textwrap.dedent(inspect.getsource(plain))
    if tree is None:
        raise TypeError(f"{plain.__name__} is no function that can be read")
    source[plain.__name__] = text if text.startswith("@") else f"@triton.jit\n{text}"
    scope = _scope(plain)
    for name in {
        one.id for one in ast.walk(tree) if isinstance(one, ast.Name)
    } & scope.keys() - source.keys():
        value = scope[name]
        if isinstance(value, ModuleType):
            source[name] = f"import {value.__name__} as {name}"
        elif _is_kernel(value):
            _write_down(value, source)
            if name != value.fn.__name__:
                source[name] = f"{name} = {value.fn.__name__}"
        elif type(value).__name__ == "constexpr":
            source[name] = f"{name} = triton.language.constexpr({value.value!r})"
        elif _from_triton(value) and hasattr(value, "__name__"):
            source[name] = f"from {value.__module__} import {value.__name__} as {name}"


def _marked(value: object) -> list:
    """An argument as JSON can carry it."""
    return (
        ["pointer", str(value)]
        if isinstance(value, Pointer)
        else ["dtype", value.name]
        if type(value).__name__ == "dtype"
        else ["plain", value]
    )


def _unmarked(marked: list) -> object:
    from triton import language

    return (
        Pointer(marked[1])
        if marked[0] == "pointer"
        else language.dtype(marked[1])
        if marked[0] == "dtype"
        else marked[1]
    )


def _kind(name: str, value: object) -> str:
    """What Triton calls the type of an argument."""
    if isinstance(value, Pointer):
        return str(value)
    if type(value) in (bool, int, float):
        return {bool: "i1", float: "fp32"}.get(type(value)) or (
            "i32" if abs(value) < 2**31 else "i64"
        )
    raise Failed(
        "unreadable", f"`{name}` is {type(value).__name__}; a kernel takes tensors and numbers."
    )


def _in_words(error: BaseException) -> str:
    """What a compiler said: the line where it stopped, and why; its own words where it
    names none.
    """
    while hasattr(error.__cause__, "node"):
        error = error.__cause__
    node, why = (
        getattr(error, "node", None),
        getattr(error, "error_message", None) or (str(error.__cause__) if error.__cause__ else ""),
    )
    if getattr(node, "lineno", None) is None or not why:
        return str(error).strip()[-MAX_MESSAGE:]
    if bare := re.fullmatch(
        r"\w+\(([\"'])(.*)\1,?\)", why, re.DOTALL
    ):  # an exception of Python's, as it prints itself
        why = bare[2]
    return (
        f"line {node.lineno} of it, `{ast.unparse(node).splitlines()[0][:80]}`: {why[:MAX_MESSAGE]}"
    )
