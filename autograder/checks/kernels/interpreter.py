"""Triton kernels on a CPU: run in Triton's interpreter under a harness, or only compiled for a
Hopper GPU.

A process that set TRITON_INTERPRET=1 before it imported triton only interprets (a student's
notebook; in the sandbox a worker of its own, warmed by `interpreting`). Any other one compiles,
which needs no GPU, and interprets while `Switch` is on: so a known mistake answers in the grader's
own process too.

The interpreter forgives what a GPU does not, so the harness looks at what it passes over: loads,
stores and atomics outside the tensors of the launch are refused in words before they happen (they
would pass once and crash the next time), and so is a data race (see `races`). Program instances run
in an order drawn from a seed. It also counts. Beside a student's code these counts only teach; in
grading `replay` counts, where there is no such code.
"""

import os
import random
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.checks.kernels.compiler import (
    COMPILE,
    Launch,
    Pointer,
    compiled,
    compiled_elsewhere,
    kernels_behind,
    look,
    refused,
)
from autograder.checks.kernels.no_torch_fallback import Beside
from autograder.checks.kernels.races import ATOMIC, LOAD, STORE, Race, Races, said
from autograder.checks.student.failed import Failed

POINTERS = {
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.float32: "*fp32",
    torch.float64: "*fp64",
    torch.bool: "*i1",
    torch.int8: "*i8",
    torch.uint8: "*u8",
    torch.int16: "*i16",
    torch.int32: "*i32",
    torch.int64: "*i64",
}
VARIABLE = "TRITON_INTERPRET"
BESIDE = "torch computes beside your kernels (`{}`). The numbers are computed in kernels."
STRAYS = ("tl.load reads", "tl.store writes", "an atomic operation changes")
MAX_ELEMENTS = 1 << 22  # of all tensors of a launch: the interpreter takes a millisecond a load


def interpret(
    function: Callable,
    args: tuple,
    kwargs: dict,
    buffers: Sequence[tuple[Tensor, Tensor]],
    seed: int,
) -> tuple[object, dict[str, int]]:
    """Call `function`, whose kernels run under the harness; what it returned, and the counts.

    buffers: pairs of a guarded view among the arguments and the memory that it is a view of. seed:
    COMPILE has the kernels compiled by a fresh process, for a notebook's, which cannot.
    """
    _ready()
    if seed == COMPILE:
        return _compile_elsewhere(function, args, kwargs), {}
    for name, kernel in kernels_behind(function).items():
        if said := refused(kernel):
            raise Failed("unreadable", f"`{name}` cannot be run: {said}")
    harness = Harness(buffers, seed)
    value = run(harness, function, args, kwargs, harness.beside)
    if harness.beside.computed:
        raise Failed("unreadable", BESIDE.format(harness.beside.computed))
    return value, harness.counted(args)


def run(harness: "Harness", function: Callable, args: tuple, kwargs: dict, beside: Any) -> object:
    """Call a function whose kernels run under a harness; what it returned.

    Raises Failed for what no GPU forgives.
    """
    with Switch(), harness, beside:
        try:
            value = function(*args, **kwargs)
        except Exception as error:
            if harness.complaint:
                raise Failed("unreadable", harness.complaint) from None
            # The interpreter reports only the text of what happened in a kernel; the cause knows
            # the student's line.
            raise (
                error.__cause__
                if type(error).__name__ == "InterpreterError" and error.__cause__
                else error
            )
    if harness.complaint:  # the student's code swallowed it
        raise Failed("unreadable", harness.complaint)
    if not harness.programs:
        raise Failed(
            "unreadable",
            "No kernel was launched: `kernel[grid](...)` starts one program for each place of the"
            " grid.",
        )
    return value


class Switch:
    """A block in which Triton's functions are interpreted, whatever they were made for; afterwards
    all is as it was.

    Triton's interpreter changes `triton.language`, and leaves some of that behind: after it nothing
    compiles. So the changes are kept, and undone in the end.
    """

    def __enter__(self) -> None:
        from triton.runtime import interpreter
        from triton.runtime.jit import JITFunction

        made: dict[
            int, Any
        ] = {}  # by id: a hash of Triton's is one of all the source behind the function

        def interpreted(kernel: Any) -> Any:
            if id(kernel) not in made:
                made[id(kernel)] = interpreter.InterpretedFunction(kernel.fn)
            return made[id(kernel)]

        self._undo = [
            (owner, name, getattr(owner, name))
            for owner, name in (
                (JITFunction, "__getitem__"),
                (JITFunction, "__call__"),
                (interpreter, "_patch_lang"),
            )
        ]
        self._changes: list[Any] = []
        patch = interpreter._patch_lang

        def kept(function: Callable) -> Any:
            self._changes.append(patch(function))
            return SimpleNamespace(
                restore=lambda: None
            )  # in the end: a function may be patched while another one is

        JITFunction.__getitem__ = lambda kernel, grid: interpreted(kernel)[grid]
        JITFunction.__call__ = lambda kernel, *args, **kwargs: interpreted(kernel)(*args, **kwargs)
        interpreter._patch_lang = kept
        self._variable = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = "1"  # Triton looks there again at some calls

    def __exit__(self, *error: object) -> None:
        if self._variable is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = self._variable
        for owner, name, original in self._undo:
            setattr(owner, name, original)
        for changes in reversed(self._changes):
            changes.restore()


class Harness:
    """Wraps the interpreter inside a `with` block.

    Counts: launches, programs, loads, stores, bytes read and written, the most that one program
    wrote, and operations of `tl.dot`; `beside` watches torch. `complaint` is the sentence about the
    first stray, or "". A grid may be as large as asked while one of its programs does the work of
    all: so the most is counted.
    """

    def __init__(self, buffers: Sequence[tuple[Tensor, Tensor]], seed: int):
        self.launches = self.programs = self.read = self.written = self.most = self.loads = (
            self.stores
        ) = self.operations = self.rounded = self._own = 0
        self.complaint, self.beside = "", Beside()
        # The number of an object may come again, and name another: only a view of its own memory is
        # one.
        self._buffers = [
            (view, memory) for view, memory in buffers if _begin_of(view) == _begin_of(memory)
        ]
        self._guarded = {_begin_of(memory): view for view, memory in self._buffers}
        self._reads = dict.fromkeys(self._guarded, 0)
        self._order, self._random = {}, random.Random(seed)
        self._names: list[tuple[str, np.ndarray]] = []

    def __enter__(self) -> "Harness":
        from triton.runtime import interpreter

        builder, executor = interpreter.InterpreterBuilder, interpreter.GridExecutor
        wrappers = [
            (builder, "create_masked_load", self._load),
            (builder, "create_masked_store", self._store),
            (builder, "create_atomic_rmw", self._atomic_rmw),
            (builder, "create_atomic_cas", self._atomic_cas),
            (builder, "create_dot", self._dot),
            (builder, "set_grid_dim", self._set_grid),
            (builder, "set_grid_idx", self._set_place),
            (executor, "_init_args_hst", self._begin),
            (executor, "__call__", self._launch),
        ]
        self._undo = [(owner, name, getattr(owner, name)) for owner, name, _ in wrappers]
        for owner, name, ours in wrappers:
            setattr(owner, name, self._wrapped(ours, getattr(owner, name)))
        return self

    def __exit__(self, *error: object) -> None:
        for owner, name, original in self._undo:
            setattr(owner, name, original)

    @staticmethod
    def _wrapped(ours: Callable, original: Callable) -> Callable:
        return lambda owner, *args, **kwargs: ours(partial(original, owner), *args, **kwargs)

    def counted(self, args: tuple) -> dict[str, int]:
        """All counts, by name; "read 2" is what was read of the third argument."""
        names = (
            "launches",
            "programs",
            "read",
            "written",
            "most",
            "loads",
            "stores",
            "operations",
            "rounded",
        )
        reads = {
            f"read {place}": self.read_of(view)
            for place, one in enumerate(args)
            for view, _ in self._buffers
            if one is view
        }
        return (
            {name: getattr(self, name) for name in names} | {"copied": self.beside.copied} | reads
        )

    def read_of(self, view: Tensor) -> int:
        """Bytes that were read through a guarded view."""
        return self._reads[_begin_of(view)]

    def _load(
        self, original: Callable, pointers: Any, mask: Any, *others: Any, **named: Any
    ) -> Any:
        addresses = self._access(LOAD, pointers, mask)
        loaded = original(pointers, mask, *others, **named)
        self.loads += 1
        count = len(addresses) * loaded.data.itemsize
        self.read += count
        for begin, view in self._guarded.items() if len(addresses) else ():
            if begin <= addresses[0] < begin + view.untyped_storage().nbytes():
                self._reads[begin] += count
        return loaded

    def _store(
        self, original: Callable, pointers: Any, value: Any, mask: Any, *others: Any, **named: Any
    ) -> Any:
        addresses = self._access(STORE, pointers, mask)
        self.stores += 1
        count = len(addresses) * value.data.itemsize
        self.written, self._own = self.written + count, self._own + count
        self.most = max(self.most, self._own)
        return original(pointers, value, mask, *others, **named)

    def _atomic_rmw(
        self, original: Callable, kind: Any, pointers: Any, value: Any, mask: Any, *others: Any
    ) -> Any:
        self._access(ATOMIC, pointers, mask)
        return original(kind, pointers, value, mask, *others)

    def _atomic_cas(self, original: Callable, pointers: Any, *others: Any) -> Any:
        self._access(ATOMIC, pointers, None)
        return original(pointers, *others)

    def _dot(self, original: Callable, a: Any, b: Any, *others: Any) -> Any:
        self.operations += 2 * a.data.size * b.data.shape[-1]
        precision = others[1] if len(others) > 1 else None
        self.rounded += a.data.dtype == np.float32 and getattr(precision, "name", "") == "TF32"
        return original(a, b, *others)

    def _set_grid(self, original: Callable, *size: int) -> None:
        original(*size)
        self._grid = size
        places = [(x, y, z) for x in range(size[0]) for y in range(size[1]) for z in range(size[2])]
        shuffled = self._random.sample(places, len(places))
        self._order = dict(zip(places, shuffled))

    def _set_place(self, original: Callable, *place: int) -> None:
        self.programs, self._own = self.programs + 1, 0
        self._instance = int(np.ravel_multi_index(self._order[place], self._grid)) + 1
        original(*self._order[place])

    def _launch(self, original: Callable, *args: Any, **named: Any) -> Any:
        """A whole launch, without the profile that looks for withheld names: the interpreter makes
        a million calls of its own, which took nine times as long. Withheld operators of torch are
        still refused, and in grading the rest is not there.
        """
        self.launches += 1
        looks = sys.getprofile()
        sys.setprofile(None)
        try:
            with self.beside.launch():
                return original(*args, **named)
        finally:
            sys.setprofile(looks)

    def _begin(self, original: Callable, args: Any, named: Any) -> Any:
        """A launch begins: note which addresses belong to its tensors."""
        on_host, named_on_host = original(args, named)
        parameters = [
            f"`{name}`" for name in original.args[0].arg_names
        ]  # of the kernel, by the student's names
        given = [
            *zip(parameters, on_host),
            *((f"`{name}`", one) for name, one in named_on_host.items()),
        ]
        described = [(name, getattr(one, "base", one)) for name, one in given]  # or a descriptor
        self._tensors = [(name, one) for name, one in described if isinstance(one, Tensor)]
        reached = sum(
            one.untyped_storage().nbytes() // one.element_size() for _, one in self._tensors
        )
        if reached > MAX_ELEMENTS:
            raise Failed(
                "unreadable", f"The tensors of one launch have more than {MAX_ELEMENTS:,} numbers."
            )
        self._names = [(name, self._addresses(tensor)) for name, tensor in self._tensors]
        self._races = Races(tensor for _, tensor in self._tensors)
        return on_host, named_on_host

    def _addresses(self, tensor: Tensor) -> np.ndarray:
        """Sorted addresses of what a kernel may touch through a tensor: a guarded view's own
        numbers, or all of its memory.
        """
        storage = tensor.untyped_storage()
        view = self._guarded.get(storage.data_ptr())
        if view is None:
            return storage.data_ptr() + np.arange(
                0, storage.nbytes(), tensor.element_size(), dtype=np.int64
            )
        places = torch.zeros(view.shape, dtype=torch.int64) + view.storage_offset()
        for dim, (size, stride) in enumerate(zip(view.shape, view.stride())):
            places += (torch.arange(size) * stride).reshape(
                [-1 if d == dim else 1 for d in range(view.dim())]
            )
        return np.sort(storage.data_ptr() + places.flatten().numpy() * view.element_size())

    def _access(self, kind: int, pointers: Any, mask: Any) -> np.ndarray:
        """The addresses that the mask lets through.

        Raises for one outside the tensors of the launch, and for a data race.
        """
        addresses = self._inside(STRAYS[kind], pointers, mask)
        width = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
        if races := self._races.access(kind, self._instance, addresses, width):
            self._found(races)
        return addresses

    def _found(self, races: list[Race]) -> None:
        """Refuse the launch for a data race."""
        self.complaint = self.complaint or said(races[0], self._grid, self._tensors)
        raise RuntimeError(self.complaint)

    def _inside(self, what: str, pointers: Any, mask: Any) -> np.ndarray:
        """The addresses that the mask lets through.

        Raises IndexError for one outside the tensors of the launch.
        """
        # A mask made of a scalar and a vector comes as int8, which would choose places by their
        # number; the mask of a descriptor is an array.
        mask = mask if mask is None or isinstance(mask, np.ndarray) else mask.data
        chosen = (
            pointers.data
            if mask is None
            else pointers.data[np.broadcast_to(mask.astype(bool), pointers.data.shape)]
        )
        addresses = chosen.astype(np.int64).reshape(-1)
        within = [np.isin(addresses, allowed) for _, allowed in self._names]
        known = np.logical_or.reduce(within) if within else np.zeros(addresses.shape, dtype=bool)
        if known.all():
            return addresses
        # Past the end of one tensor another may begin, by chance: what is met there is as stray as
        # what lies between them.
        own = next((one for one in within if known.any() and one[known.argmax()]), known)
        stray = addresses[~own]
        self.complaint = self.complaint or (
            f"{what} numbers outside {self._nearest(int(stray[0]))}. Mask what lies beyond the end,"
            " and look at the offsets."
        )
        raise IndexError(self.complaint)

    def _nearest(self, address: int) -> str:
        known = [
            (min(abs(address - int(allowed[0])), abs(address - int(allowed[-1]))), name)
            for name, allowed in self._names
            if len(allowed)
        ]
        return f"the tensors of the launch, nearest to {min(known)[1]}" if known else "any tensor"


def _begin_of(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def compile_for_hopper(function: Callable, args: tuple, kwargs: dict) -> list[dict[str, object]]:
    """Call `function`, but compile each kernel that it launches for sm_90 in place of running it.

    A list of {"kernel", "shared" (bytes), "warps"}, one for each launch. Raises Failed with what
    Triton says of a kernel that does not compile.
    """
    _ready()
    if interprets():
        raise Failed("missing", "A process that interprets kernels cannot compile them.")
    from triton.runtime.jit import JITFunction

    return [compiled(*one) for one in _launches(JITFunction, function, args, kwargs)]


def _compile_elsewhere(function: Callable, args: tuple, kwargs: dict) -> None:
    from triton.runtime.interpreter import InterpretedFunction

    compiled_elsewhere(_launches(InterpretedFunction, function, args, kwargs))


def _launches(kind: Any, function: Callable, args: tuple, kwargs: dict) -> list[Launch]:
    """Call `function`, and note each kernel of this kind that it starts, and what with, in place of
    running it.
    """
    from triton.runtime.jit import KernelInterface

    look(function)
    found: list[Launch] = []

    def passed(value: object) -> object:
        return (
            Pointer(POINTERS[value.dtype])
            if isinstance(value, Tensor) and value.dtype in POINTERS
            else value
        )

    kind.__getitem__ = lambda kernel, grid: (
        lambda *positional, **named: found.append(
            (
                kernel,
                tuple(map(passed, positional)),
                {name: passed(value) for name, value in named.items()},
            )
        )
    )
    try:
        function(*args, **kwargs)
    finally:
        kind.__getitem__ = KernelInterface.__getitem__
    if not found:
        raise Failed("unreadable", "No kernel was launched, so there is nothing to compile.")
    return found


def interprets() -> bool:
    """Whether this process was made for interpreting, so that it can compile nothing."""
    return "triton" in sys.modules and bool(sys.modules["triton"].knobs.runtime.interpret)


def _ready() -> None:
    """Whether there is Triton. Raises Failed with the remedy."""
    if "triton" not in sys.modules:
        try:
            import triton  # noqa: F401
        except ImportError:
            raise Failed(
                "missing",
                "Triton is not installed here; it has wheels for Linux only. These checks run on "
                "Linux, and in grading.",
            ) from None
