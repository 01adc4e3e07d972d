"""Runs the kernels of a recorded call again, in a process that has never seen the notebook (see
`launches`).

The kernels are taken from the notebook's text. Only what `kernel_source` lets through is run, so
that a kernel can do nothing but read and write its tensors; and these hold numbers that the
student's process was never told. What the kernels leave in memory, and what they read, write and
multiply, is counted here.
"""

import ast
import copy
import importlib
import linecache
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
import triton
from torch import Tensor

from autograder.checks.kernels import interpreter as kernels
from autograder.checks.kernels.compiler import Pointer, compiled, look
from autograder.checks.kernels.memory_marks import MARKED, offsets_of, whole
from autograder.checks.kernels.source_rules import MODULES, own_names, refusals
from autograder.checks.student.failed import Failed

MOST_MEMORY = 1 << 22  # numbers that a launcher may make
NOT_IN_A_CELL = (
    "The kernel `{}` stands in no cell of the notebook: write it there, with `@triton.jit` and"
    " `def`."
)
HALF = "A kernel is given numbers that torch made {}: let the kernel change their type, with `.to`."


def replay(
    request: dict, buffers: Sequence[tuple[Tensor, Tensor]], scope: dict
) -> tuple[object, dict[str, int]]:
    """Run, or only compile, the launches that a request holds; what there is to return, and the
    counts.

    scope: the kernels' globals, empty.
    """
    told, notebook = request["recorded"], Notebook(request["cells"], scope)
    launches = told["launches"]
    made = [notebook.kernel(one["kernel"], one["file"], one["line"]) for one in launches]
    if request["compile"]:
        if not launches:
            raise Failed("unreadable", "No kernel was launched, so there is nothing to compile.")
        for kernel in made:
            look(kernel)
        return [
            compiled(kernel, *_given(one, _as_pointer)) for kernel, one in zip(made, launches)
        ], {}
    memory = Memory([one for one in request["args"] if isinstance(one, Tensor)])

    def again() -> None:
        for kernel, one in zip(made, launches):
            memory.change(one["changes"])
            positional, named = _given(one, memory.tensor)
            kernel[tuple(one["grid"])](*positional, **named)
            memory.mark(one["touched"])
        memory.change(told["changes"])

    harness = kernels.Harness(buffers, request["seed"])
    kernels.run(harness, again, (), {}, nullcontext())
    if told["computed"]:
        raise Failed("unreadable", kernels.BESIDE.format(told["computed"]))
    counted = harness.counted(request["args"])
    return told["value"], counted | {"copied": max(int(told["copied"]), memory.copied)}


class Memory:
    """The tensors of a call: those that were given, and behind them those that the
    launcher made.
    """

    def __init__(self, given: list[Tensor]):
        self.copied = 0  # bytes of floats that torch moved
        self._flat = [whole(one) for one in given]
        self._told: list[Tensor | None] = [None] * len(given)  # what the recorder saw there last
        self._marks: list[
            tuple[int, Tensor]
        ] = []  # the first mark, and what stood there when it was set
        self._end = 0
        self.mark(range(len(given)))
        for number, one in enumerate(given):
            if one.dtype not in MARKED:
                self._told[number] = self._flat[number].clone()

    def mark(self, touched: Sequence[int]) -> None:
        """From now on the launcher sees new marks in these."""
        for number in touched:
            flat = self._flat[number]
            self._told[number] = None
            if flat.dtype in MARKED:
                self._marks.append((self._end, flat.clone()))
                self._end += flat.numel()

    def change(self, changes: list) -> None:
        """Do what torch did to memory between two launches: write numbers that are the same for
        every input, and copy.
        """
        for number, told in changes:
            if number >= len(self._flat):
                self._make(told)
            flat, last = self._flat[number], self._told[number]
            if told.shape != flat.shape or told.dtype != flat.dtype:
                raise Failed("unreadable", "The memory of a kernel's tensor changed its size.")
            new, moved = self._meant(told)
            fresh = torch.ones_like(moved) if last is None or flat.dtype in MARKED else told != last
            stays = (
                new.view(torch.uint8)
                .reshape(len(new), -1)
                .eq(flat.view(torch.uint8).reshape(len(flat), -1))
                .all(1)
            )
            self.copied += int((moved & ~stays).sum()) * flat.element_size()
            flat[fresh] = new[fresh]
            self._told[number] = told.clone()

    def tensor(self, number: int, dtype: str, size: list, stride: list, offset: int) -> Tensor:
        """A tensor of a launch, as it lay in memory."""
        flat = self._flat[number].view(getattr(torch, dtype))
        return flat.as_strided(size, stride, offset)  # raises where that leaves the memory

    def _make(self, told: Tensor) -> None:
        if sum(one.numel() for one in self._flat) + told.numel() > MOST_MEMORY:
            raise Failed(
                "unreadable", f"The tensors of one call have more than {MOST_MEMORY:,} numbers."
            )
        if (
            told.is_floating_point()
            and told.dtype not in MARKED
            and told.numel()
            and not told.eq(told[0]).all()
        ):
            raise Failed("unreadable", HALF.format(str(told.dtype).removeprefix("torch.")))
        self._flat.append(torch.zeros_like(told))
        self._told.append(None)

    def _meant(self, told: Tensor) -> tuple[Tensor, Tensor]:
        """What stands in memory where the launcher saw this, and which of it was copied from
        elsewhere.
        """
        if told.dtype not in MARKED or not self._marks:
            return told, torch.zeros(told.shape, dtype=torch.bool)
        place, new = offsets_of(told, self._end), told.clone()
        for first, content in self._marks:
            here = (place >= first) & (place < first + len(content))
            new[here] = content[place[here] - first].to(told.dtype)
        return new, place >= 0


class Notebook:
    """The kernels in the text of a notebook's cells, and what they name from outside."""

    def __init__(self, cells: list[tuple[str, str]], scope: dict):
        self._scope, self._interprets = scope, kernels.interprets()
        scope["__name__"] = "kernels_of_a_student"
        self._kernels: dict[tuple[str, int], Any] = {}
        self._functions: dict[tuple[str, int], ast.FunctionDef] = {}
        self._known: dict[str, object] = {}
        self._file_of: dict[ast.FunctionDef, str] = {}
        for filename, source in cells:
            try:
                tree = ast.parse(source)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            linecache.cache[filename] = (
                len(source),
                None,
                source.splitlines(keepends=True),
                filename,
            )
            self._read(filename, tree)

    def kernel(self, name: str, filename: str, line: int) -> Any:
        """A kernel that can be started.

        Raises Failed for one that may not be run, and one that is not there.
        """
        if (filename, line) in self._kernels:
            return self._kernels[filename, line]
        tree = self._functions.get((filename, line))
        if tree is None or tree.name != name or not _is_jit(tree):
            raise Failed("unreadable", NOT_IN_A_CELL.format(name))
        self._known[name] = tree
        self._kernels[filename, line] = self._made(name, tree)
        return self._kernels[filename, line]

    def _read(self, filename: str, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for one in node.names:
                    self._import(
                        one.asname or one.name.split(".")[0],
                        one.name if one.asname else one.name.split(".")[0],
                    )
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for one in node.names:
                    self._import(one.asname or one.name, f"{node.module}.{one.name}")
            elif isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                self._functions[filename, first] = node
                self._file_of[node] = filename
                self._known.setdefault(node.name, node)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                self._known[node.name] = node
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
            if len(targets) == 1 and isinstance(targets[0], ast.Name) and node.value is not None:
                self._constant(targets[0].id, node.value)

    def _import(self, name: str, path: str) -> None:
        """What an import of a notebook means to its kernels: Triton's language and `math`; other
        modules are none of theirs.
        """
        if path in (*MODULES, "triton"):
            self._known[name] = importlib.import_module(path)
        elif path.rpartition(".")[0] in MODULES:
            module = importlib.import_module(path.rpartition(".")[0])
            self._known[name] = getattr(module, path.rpartition(".")[2], None)
        else:
            self._known.setdefault(name, ast.Module([], []))  # refused where a kernel names it

    def _constant(self, name: str, value: ast.expr) -> None:
        """A number or a text that a cell gives a name to, or a `tl.constexpr` of one."""
        wrapped = (
            isinstance(value, ast.Call)
            and ast.unparse(value.func).endswith("constexpr")
            and len(value.args) == 1
        )
        try:
            plain = ast.literal_eval(value.args[0] if wrapped else value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return
        if isinstance(plain, (bool, int, float, str, type(None))):
            self._known[name] = triton.language.constexpr(plain) if wrapped else plain

    def _made(self, name: str, tree: ast.FunctionDef) -> Any:
        """The function of a syntax tree, a kernel or a helper of one, with all that it names."""
        if said := next(refusals(tree, self._known), ""):
            raise Failed("unreadable", f"`{name}` cannot be run: {said}")
        is_jit = _is_jit(tree)
        _bare(tree)
        code = compile(ast.Module([tree], []), self._file_of[tree], "exec", dont_inherit=True)
        exec(code, self._scope)
        self._scope[name] = made = (
            self._jitted(self._scope[name], tree) if is_jit else self._scope[name]
        )
        for other in (
            {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
            - own_names(tree)
            - {name}
        ):
            known = self._known.get(other)
            if isinstance(known, ast.FunctionDef):
                if other not in self._scope:
                    self._made(other, known)
            elif other in self._known:
                self._scope[other] = known
        return made

    def _jitted(self, plain: Any, tree: ast.FunctionDef) -> Any:
        """What `triton.jit` makes of a function; where kernels are interpreted, of this syntax and
        not of the text around it.
        """
        if not self._interprets:
            return triton.jit(plain)
        from triton.runtime import interpreter

        self._scope.setdefault("tl", interpreter.tl)
        self._scope.setdefault("interpreter_semantic", interpreter.interpreter_semantic)
        changed = interpreter.FunctionRewriter.ast_transformer.visit(
            ast.Module([copy.deepcopy(tree)], [])
        )
        found: dict[str, Any] = {}
        exec(
            compile(
                ast.fix_missing_locations(changed), self._file_of[tree], "exec", dont_inherit=True
            ),
            self._scope,
            found,
        )
        interpreter.InterpretedFunction.rewritten_fn[plain] = found[tree.name]
        return interpreter.InterpretedFunction(plain)


def _bare(tree: ast.FunctionDef) -> None:
    """Take what is evaluated when a function is made out of its syntax: decorators, types and
    defaults, but for constants.
    """
    arguments = tree.args
    for default in (
        *arguments.defaults,
        *(one for one in arguments.kw_defaults if one is not None),
    ):
        try:
            ast.literal_eval(default)
        except (ValueError, TypeError, MemoryError, RecursionError):
            raise Failed(
                "unreadable",
                f"`{tree.name}` cannot be run: `{ast.unparse(default)[:80]}` is no constant.",
            ) from None
    for one in ast.walk(arguments):
        if isinstance(one, ast.arg):
            constant = one.annotation is not None and ast.unparse(one.annotation).strip(
                "'\""
            ).endswith("constexpr")
            one.annotation = ast.copy_location(ast.Constant("constexpr"), one) if constant else None
    tree.decorator_list, tree.returns = [], None


def _is_jit(tree: ast.FunctionDef) -> bool:
    names = [one.func if isinstance(one, ast.Call) else one for one in tree.decorator_list]
    return any(ast.unparse(one).split(".")[-1] == "jit" for one in names)


def _given(launch: dict, tensor: Any) -> tuple[tuple, dict[str, object]]:
    """The arguments of a launch, positional and by name."""

    def one(noted: list) -> object:
        kind, *parts = noted
        if kind == "tensor":
            return tensor(*parts)
        return triton.language.dtype(parts[0]) if kind == "dtype" else parts[0]

    return tuple(map(one, launch["positional"])), {
        name: one(noted) for name, noted in launch["named"].items()
    }


def _as_pointer(number: int, dtype: str, *layout: object) -> object:
    return Pointer(kernels.POINTERS[getattr(torch, dtype)])
