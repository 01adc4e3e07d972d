"""Carries out what a check asks of a student's code, beside that code: in this process, or in the
sandbox's worker.

One implementation for both places is what makes them alike. A request is a dictionary of plain
values; `OPERATIONS` names what it may ask for. Objects that a student made stay here, under numbers
that the checker gives out (see `handles`), until the next stage begins. Nothing here protects
anything: the code it serves may rewrite all of it.

torch is used only if something else imported it, so that a sandbox without torch starts fast.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext

from autograder.checks.assertions.describing import a_kind, listed, names_of, text_of
from autograder.checks.restrictions.guard import CallGuard, Withheld
from autograder.checks.student.call_history import Given
from autograder.checks.student.failed import Failed
from autograder.checks.student.torch_requests import TorchRequests
from autograder.checks.student.tracebacks import globals_behind, student_traceback

OPERATIONS = (
    "call",
    "get",
    "next",
    "close",
    "script",
    "inspect",
    "load",
    "mode",
    "gradients",
    "update",
    "kernel",
    "replay",
)
ITS_LINE = "replace this line", "replace its `raise NotImplementedError` line"  # of the stub


class Executor(TorchRequests):
    """A student's namespace and the objects made in it.

    callback: makes, from the number of one of the checker's callables, the function that stands for
    it here. let_through: exceptions that are not the student's (an interrupt from the keyboard, at
    home). is_fault: whether an exception is a fault of the room around the code, not of the
    student. packed: the bytes of a value as it would cross, where an argument that a call left as
    it was need not go back.
    """

    def __init__(
        self,
        namespace: Mapping[str, object],
        callback: Callable[[int], Callable],
        let_through: tuple[type[BaseException], ...] = (),
        packed: Callable[[object], bytes] | None = None,
        is_fault: Callable[[BaseException, object], bool] = lambda error, namespace: False,
        bars: bool = False,
    ):
        self.namespace, self.callback, self.let_through = namespace, callback, let_through
        self.packed, self.is_fault = packed, is_fault
        self.after_run: Callable[[], None] = lambda: None  # between a call and its answer
        self.objects: dict[int, object] = {}
        self.stage: int | None = None
        self._given = Given()
        self.bars = bars  # whether withheld operators are not there at all (see `barred`)
        self.guard = CallGuard({})
        self._guards: dict[tuple, CallGuard] = {}
        self.storages: dict[
            int, object
        ] = {}  # by the id of a buffer's view: the memory that it is a view of

    def begin(self, stage: int) -> None:
        """Objects live as long as the stage that made them."""
        if stage != self.stage:
            self.stage, self.objects = stage, {}
            self._given.forget()

    def deliver(self, tag: str, inner: object) -> object:
        """What an argument of ours that is no plain value becomes on this side (see
        `arguments.lower`).
        """
        if tag == "callback":
            return self.callback(inner)
        if tag == "handle":
            return self.objects[inner]
        if tag == "fake":
            from autograder.checks.inputs.fakes import make

            return make(*inner)
        import torch

        if tag == "generator":
            generator = torch.Generator()
            generator.set_state(inner)
            return generator
        storage, size, stride, offset = (
            inner  # a buffer: a view with strides into memory with guards around it
        )
        view = storage.as_strided(size, stride, offset)
        self.storages[id(view)] = storage
        return view

    def carry_out(self, request: dict) -> dict:
        """The answer to a request: {"say": "returned", "value", "args"} or {"say": "error", "kind",
        "text"}.
        """
        if request["do"] not in OPERATIONS:
            raise ValueError(f"no operation is called {request['do']!r}")
        withheld = request.get("withheld") or {}
        key = tuple(withheld.items())
        if key not in self._guards:
            self._guards[key] = CallGuard(withheld, self.bars)
        self.guard = self._guards[key]
        try:
            return {"say": "returned"} | getattr(self, f"_{request['do']}")(request)
        except Failed as failed:
            return {"say": "error", "kind": failed.kind, "text": failed.text}
        finally:
            self.storages.clear()

    def _call(self, request: dict) -> dict:
        function, label = self._function(request["of"], request["name"]), request["label"]
        self._reuse(request)
        before = self._before(request)
        counter = self._counter() if request.get("count") else None
        value = self._run(label, function, request["args"], request["kwargs"], counter)
        self.after_run()
        if request["keep"] is not None:
            if request.get("iterate") and not hasattr(type(value), "__next__"):
                raise Failed(
                    "unreadable",
                    f"`{label}` returned {a_kind(value)}; a generator, which gives one piece at a"
                    " time, was asked for: use `yield`.",
                )
            self.objects[request["keep"]], value = value, None
        handed_over = [
            item
            for kind, item in zip(request["kinds"], [*request["args"], *request["kwargs"].values()])
            if kind == "value"
        ]
        answer = {
            "value": self.plain(label, value),
            "args": self._after(request, before),
            "tracked": _tracked(request["args"]),
            "stale": (
                request["of"] is None and self._given.changed(value, handed_over, self.let_through)
            ),
        }
        if request["of"] is None:
            self._given.keep(value, answer["value"])
        return answer | ({"counted": counter.found()} if counter else {})

    def _reuse(self, request: dict) -> None:
        """Let the arguments of a function's call come in the objects of the call before, if all of
        them are plain values.
        """
        if (
            request["of"] is None
            and request["keep"] is None
            and all(kind == "value" for kind in request["kinds"])
        ):
            name = request["name"]
            request["args"] = tuple(
                self._given.argument(name, place, item)
                for place, item in enumerate(request["args"])
            )
            request["kwargs"] = {
                key: self._given.argument(name, key, item)
                for key, item in request["kwargs"].items()
            }

    def _get(self, request: dict) -> dict:
        value, path = self.objects[request["of"]], request["name"]
        for part in path.split("."):
            try:
                value = value[int(part)] if part.isdecimal() else getattr(value, part)
            except self.let_through:
                raise
            except BaseException as error:
                known = listed(names_of(value))
                raise Failed(
                    "unreadable",
                    f"`{request['label']}` cannot be read:"
                    f" {text_of(str, error) or 'it is not there'}. There is"
                    f" {known or 'nothing by name'}.",
                ) from None
        return {"value": self.plain(request["label"], value), "args": []}

    def _next(self, request: dict) -> dict:
        """Up to `count` pieces of a generator, and whether that was the end."""
        stream, pieces, ended = self.objects[request["of"]], [], False
        while len(pieces) < request["count"] and not ended:
            piece = self._run(request["label"], next, (stream, _END), {}, None, stream)
            ended = piece is _END
            if not ended:
                pieces.append(self.plain(request["label"], piece))
        return {"value": {"pieces": pieces, "ended": ended}, "args": []}

    def _close(self, request: dict) -> dict:
        stream = self.objects.pop(request["of"])
        self._run(request["label"], getattr(stream, "close", lambda: None), (), {}, None, stream)
        return {"value": None, "args": []}

    def _script(self, request: dict) -> dict:
        """Many calls, one after the other. What one raises is noted and the next one still runs.

        `watch` names attributes that are read after each call. The value is a list of (value,
        raised, text, watched).
        """
        outcomes = []
        for name, args, kwargs in request["commands"]:
            value, raised, text, label = None, "", "", f"{request['label']}.{name}".strip(".")
            try:
                function = self._function(request["of"], name)
                value = self.plain(label, self._run(label, function, args, kwargs))
            except Failed as failed:
                if failed.kind in ("memory", "missing", "not_attempted", "unreadable", "withheld"):
                    raise
                raised, text = failed.raised, failed.text
            watched = {
                path: self._get(
                    {"of": request["of"], "name": path, "label": f"{request['label']}.{path}"}
                )["value"]
                for path in request["watch"]
            }
            outcomes.append((value, raised, text, watched))
        return {"value": outcomes, "args": []}

    def _function(self, of: int | None, name: str) -> Callable:
        """A function by name, a method of an object, or (with no name) the object itself."""
        if of is None:
            function = self.namespace.get(name)
            if not callable(function):
                raise Failed(
                    "missing",
                    f"There is no function named `{name}`: its cell did not run, or it failed.",
                )
            return function
        target = self.objects[of]
        try:
            function = getattr(target, name) if name else target
        except self.let_through:
            raise
        except AttributeError:
            raise Failed(
                "missing",
                f"`{type(target).__name__}` has no method `{name}`. "
                f"It has {listed(names_of(target)) or 'none'}.",
            ) from None
        except BaseException as error:
            raise Failed(
                "error", text_of(student_traceback, error, globals_behind(target, self.namespace))
            ) from None
        if not callable(function):
            kind = type(target).__name__
            raise Failed(
                "missing",
                (
                    f"`{kind}.{name}` is {a_kind(function)}; a method was asked for."
                    if name
                    else (
                        f"A `{kind}` cannot be called: it has no `__call__` (in an nn.Module, write"
                        " `forward`)."
                    )
                ),
            )
        return function

    def _run(
        self,
        label: str,
        function: Callable,
        args: tuple,
        kwargs: dict,
        counter: object = None,
        owner: object = None,
    ) -> object:
        """Call it; whatever goes wrong is a Failed."""
        try:
            with counter or nullcontext(), self.guard:
                return function(*args, **kwargs)
        except self.let_through:
            raise
        except Failed:
            raise
        except Withheld as error:
            raise Failed("withheld", text_of(str, error)) from None
        except NotImplementedError as error:
            raise Failed(
                "not_attempted",
                f"`{label}` is not written yet: {text_of(str, error).replace(*ITS_LINE, 1)}",
            ) from None
        except MemoryError:
            raise Failed(
                "memory", f"`{label}` asked for more memory than there is.", "MemoryError"
            ) from None
        except BaseException as error:  # SystemExit and the like must not end the check either
            namespace = globals_behind(function if owner is None else owner, self.namespace)
            text = text_of(student_traceback, error, namespace)
            if self.is_fault(error, namespace):
                raise Failed("fault", text) from None
            memory = isinstance(error, RuntimeError) and "can't allocate memory" in text
            raise Failed("memory" if memory else "error", text, type(error).__name__) from None

    def plain(self, label: str, value: object) -> object:
        """A copy of what goes back, under the rules of `values.cross`, once torch is there to have
        tensors at all.
        """
        if "torch" not in sys.modules:
            return value
        from autograder.checks.assertions.values import cross

        try:
            return cross(value)
        except self.let_through:
            raise
        except BaseException as reason:  # Unreadable; a hostile object can raise anything
            raise Failed("unreadable", f"`{label}` returned {text_of(str, reason)}.") from None

    def _before(self, request: dict) -> list:
        """The bytes of the arguments before a call, where they are needed."""
        return [
            (
                None
                if self.packed is None or kind == "other"
                else self.packed(self._memory_of(kind, item))
            )
            for kind, item in zip(request["kinds"], request["args"])
        ]

    def _after(self, request: dict, before: list) -> list:
        """The positional arguments as the call left them: (True, None) for one that is as it was,
        or cannot go back.
        """
        after = []
        for kind, item, old in zip(request["kinds"], request["args"], before):
            try:
                left = None if kind == "other" else self._memory_of(kind, item)
                unchanged = (
                    kind == "other"
                    or old is not None
                    and self.packed is not None
                    and old == self.packed(left)
                )
            except Exception as reason:
                raise Failed(
                    "unreadable",
                    f"`{request['label']}` left an argument as {text_of(str, reason)}.",
                ) from None
            after.append((True, None) if unchanged else (False, self.plain(request["label"], left)))
        return after

    def _memory_of(self, kind: str, item: object) -> object:
        """What stands for an argument on its way back: the whole memory of a buffer, the state of a
        generator.
        """
        if kind == "buffer":
            return self.storages[id(item)]
        return item.get_state() if kind == "generator" else item

    def _counter(self) -> object:
        from autograder.checks.kernels.counters import Counter

        return Counter()


_END = object()


def _tracked(args: tuple) -> bool:
    """Whether a call left an argument in autograd's hands; every tensor arrives without."""
    torch = sys.modules.get("torch")
    return torch is not None and any(
        isinstance(one, torch.Tensor) and (one.requires_grad or one.grad is not None)
        for one in args
    )
