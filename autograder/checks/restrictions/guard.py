"""What a student's code may not use in an exercise, because it is the answer; and the sentence when
it does all the same.

Used beside the student's code, at home and in the sandbox, by the same executor. A name is a
package or module (`tokenizers`), a function or class (`torch.nn.LSTMCell`), or a method of a C
class (`torch.Tensor.softmax`). Importing one is no fault, calling is. `CallGuard` watches the calls
of one block; it sees through other names, `from` imports and libraries that call it on the way, and
it remembers a call whose exception the student's code caught.

In the sandbox the files of a withheld module or package are not there: `install` puts stand-ins in
their place, and operators that nothing allowed is made of are refused by torch itself (`barred`).
For the others, and at home, the guard is a hint and not a wall: code that means to can stop it from
looking. Then a size or a cap has to decide.
"""

import importlib
import sys
import threading
from collections.abc import Mapping
from functools import partial
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

WHY = "it gives the answer that you are asked to write"
# The grader's own rooms that hold answers; the same for every exercise.
GRADERS = dict.fromkeys(
    (
        "autograder.authoring",
        "autograder.chapters",
        "autograder.classroom",
        "autograder.grading",
        "course.sample_class",
        "solutions",
    ),
    "it belongs to the grader",
)
# Parts of names: where one operator of a family is withheld, all of torch's with such a name are.
FAMILIES = (
    ("attention",),
    ("layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm"),
)
_touched: list[str] = []


class Withheld(Exception):
    """A student's code used what is withheld; the message is a sentence that names it and
    says why.
    """


def sentence(name: str, why: str) -> str:
    """What a student is told, in the same words at home and in grading."""
    return f"Your code uses `{name}`, which is withheld here: {why}. Write that part yourself."


def refuse(name: str, why: str) -> None:
    """Remember that it was used, and raise Withheld."""
    _touched.append(sentence(name, why))
    raise Withheld(_touched[-1])


def _refuse_operator(name: str, why: str, *args: object, **more: object) -> None:
    refuse(name, why)


class CallGuard:
    """A block in which the names in `why` (from name to reason) are refused; Withheld is raised at
    its end at the latest.

    bars: operators are changed as well, see `barred`; not at home, where other code than the
    check's would miss them.
    """

    def __init__(self, why: Mapping[str, str], bars: bool = False):
        self._why, self._bars = dict(why), bars
        self._functions: list[tuple[FunctionType, CodeType]] = []
        self._codes: dict[CodeType, str] = {}
        self._builtins: dict[object, str] = {}
        self._methods: dict[tuple[type, str], str] = {}
        self._operators: dict[str, str] = {}  # by torch's own name, as in torch.ops.aten
        self._modules: list[str] = []
        self._known: dict[
            object, str
        ] = {}  # by code object, or by the class behind a C function: a name or ""
        self._not_loaded: list[str] = []  # packages: importing one for this may take half a minute
        for name in self._why:
            self._resolve(name)
        if self._operators and "torch" in sys.modules:
            self._operators |= _twins(self._operators)
        self._mode: object = None
        if (self._builtins or self._operators) and "torch" in sys.modules:
            self._mode = _torch_mode(self._builtins, self._operators, self._why)

    def __enter__(self) -> "CallGuard":
        _touched.clear()
        if self._bars:
            from autograder.checks.restrictions.absent_operators import bar

            operators = self._operators if "torch" in sys.modules else {}
            bar(
                self,
                {
                    one: partial(_refuse_operator, name, self._why[name])
                    for one, name in operators.items()
                },
                self._functions,
            )
        for name in [name for name in self._not_loaded if name in sys.modules]:
            self._not_loaded.remove(name)
            self._builtins.update(dict.fromkeys(_static_functions(name), name))
        self._before = sys.getprofile(), threading.getprofile()
        if self._codes or self._builtins or self._methods or self._modules:
            sys.setprofile(self._look)
            threading.setprofile(self._look)
        if self._mode is not None:
            self._mode.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self._before[0])
        threading.setprofile(self._before[1])
        if self._mode is not None:
            self._mode.__exit__(*error)
        if _touched and not isinstance(error[1], Withheld):
            raise Withheld(_touched[0]) from None

    def _resolve(self, name: str) -> None:
        """Find what a name means here.

        One that is not here cannot be called, and stand-ins refuse by themselves.
        """
        parts = name.split(".")
        if name in GRADERS:  # not loaded for this
            self._modules.append(name)
            return
        if len(parts) == 1 and name not in sys.modules:
            self._modules.append(name)
            self._not_loaded.append(name)
            return
        for cut in range(len(parts), 0, -1):
            try:
                found: object = importlib.import_module(".".join(parts[:cut]))
            except ImportError:
                continue
            if isinstance(found, StandInModule):
                return
            for part in parts[cut:]:
                owner, found = found, getattr(found, part, None)
            if isinstance(found, ModuleType):
                self._modules.append(name)
                if not name.startswith("reference_impl"):
                    self._builtins.update(dict.fromkeys(_static_functions(name), name))
            elif not self._watch_object(_innermost(found), name):
                raise ValueError(
                    f"cannot withhold {name!r}: it is {type(_innermost(found)).__name__} of"
                    f" {type(owner).__name__}, not a module, function or class"
                )
            return
        self._modules.append(name)  # a package that is not loaded yet, or not installed

    def _watch_object(self, found: Any, name: str) -> bool:
        """Watch a function, class, operator or method; whether it is one, or nothing is there."""
        if isinstance(found, FunctionType):
            self._watch(found, name)
        elif isinstance(found, type):
            for one in map(_innermost, vars(found).values()):
                if isinstance(one, FunctionType):
                    self._watch(one, name)
            self._known[found] = name
        elif isinstance(found, BuiltinFunctionType):
            self._builtins[found] = name
            self._operators[f"aten::{found.__name__}"] = name
        elif hasattr(found, "overloads"):  # torch.ops.aten.NAME
            self._operators[_operator(found)] = name
        elif hasattr(found, "__objclass__"):
            self._methods[found.__objclass__, found.__name__] = name
        else:
            return found is None or isinstance(found, StandIn)
        return True

    def _watch(self, function: FunctionType, name: str) -> None:
        self._codes[function.__code__] = name
        if self._bars and not function.__code__.co_freevars:
            from autograder.checks.restrictions.absent_operators import refusing_code

            self._functions.append((function, refusing_code(name, self._why[name])))

    def _look(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            code = frame.f_code
            name = self._codes.get(code) or self._known.get(code)
            if name is None:
                inside = (
                    ""
                    if code.co_name == "<module>"
                    else self._module_of(frame.f_globals.get("__name__"))
                )
                name = self._known[code] = inside
        elif event == "c_call":
            name = self._builtins.get(argument) or self._of_class(argument)
        else:
            return
        if name:
            refuse(name, self._why[name])

    def _of_class(self, function: object) -> str:
        """For a method of a C class: the name of the method, of its class, or of the package that
        the class is in.
        """
        owner = getattr(function, "__self__", None)
        if owner is None or isinstance(owner, ModuleType):
            return self._module_of(getattr(function, "__module__", None)) if self._modules else ""
        kind = owner if isinstance(owner, type) else type(owner)
        if self._methods:
            for one in kind.__mro__:
                if (one, function.__name__) in self._methods:
                    return self._methods[one, function.__name__]
        if kind not in self._known:
            self._known[kind] = self._module_of(kind.__module__)
        return self._known[kind]

    def _module_of(self, module: object) -> str:
        if type(module) is str:
            for name in self._modules:
                if module == name or module.startswith(name + "."):
                    return name
        return ""


def _innermost(function: object) -> object:
    """What a decorator wrapped: wrappers share their code, and with it all functions that are
    wrapped alike.
    """
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _static_functions(package: str) -> list[object]:
    """The static methods of a package's C classes: they do not tell whose they are when they are
    called.
    """
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name == package or name.startswith(f"{package}.")
    ]
    kinds = {
        one for module in modules for one in list(vars(module).values()) if isinstance(one, type)
    }
    return [
        getattr(kind, name)
        for kind in kinds
        if str(kind.__module__).startswith(package)
        for name, one in vars(kind).items()
        if isinstance(one, staticmethod) and isinstance(getattr(kind, name), BuiltinFunctionType)
    ]


def _operator(function: object) -> str:
    """ "aten::layer_norm" for torch.ops.aten.layer_norm and for each of its overloads, "" for
    anything else.
    """
    packet = getattr(function, "overloadpacket", function)
    return (
        getattr(packet, "_qualified_op_name", "") if type(packet).__module__ == "torch._ops" else ""
    )


def _twins(operators: Mapping[str, str]) -> dict[str, str]:
    """Torch's other operators of the same families, such as `_scaled_dot_product_attention_math`,
    with the withheld name that each goes by.
    """
    every = {name.split(".")[0] for name in sys.modules["torch"]._C._dispatch_get_all_op_names()}
    found: dict[str, str] = {}
    for parts in FAMILIES:
        named = [operators[one] for one in operators if any(part in one for part in parts)]
        for other in every if named else ():
            if other.startswith("aten::") and any(part in other for part in parts):
                found.setdefault(other, operators.get(other, named[0]))
    return found


def _torch_mode(
    builtins: Mapping[object, str], operators: Mapping[str, str], why: Mapping[str, str]
) -> object:
    """Sees torch's functions also where C code calls them (`functools.partial`, `map`), which no
    profiler is told of.

    It sees the operators below them too: `torch.ops.aten.layer_norm` does what `torch.layer_norm`
    does.
    """
    from torch.overrides import TorchFunctionMode

    class Watch(TorchFunctionMode):
        def __torch_function__(
            self, function: object, types: object, args: tuple = (), kwargs: dict | None = None
        ) -> object:
            name = (
                builtins.get(function)
                if isinstance(function, BuiltinFunctionType)
                else operators.get(_operator(function))
            )
            if name:
                refuse(name, why[name])
            return function(*args, **(kwargs or {}))

    return Watch()


class Paused:
    """A block in which our own code runs in the middle of a student's call, and is not watched."""

    def __enter__(self) -> None:
        self._before = sys.getprofile()
        sys.setprofile(None)

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self._before)


class StandIn:
    """What stands for anything of a withheld module: it can be imported, named, subclassed, and not
    used.
    """

    def __init__(self, name: str, why: str):
        self.__dict__["_said"] = (name, why)

    def __call__(self, *args: object, **more: object) -> None:
        refuse(*self._said)

    __iter__ = __getitem__ = __enter__ = __call__

    def __getattr__(self, name: str) -> "StandIn":
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(*self._said)

    def __mro_entries__(self, bases: tuple) -> tuple:
        return ()

    def __or__(self, other: object) -> "StandIn":  # `X | None` in an annotation
        return self

    __ror__ = __or__


class StandInModule(ModuleType):
    """A withheld module: whatever it is asked for is a StandIn."""

    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(*self._said)


class _Finder:
    """Finds withheld modules and all below them before anything else does."""

    def __init__(self, why: Mapping[str, str]):
        self.why = why

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        name = next(
            (one for one in self.why if fullname == one or fullname.startswith(one + ".")), None
        )
        return ModuleSpec(fullname, self, is_package=True) if name else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The stand-in, with what it says."""
        made = StandInModule(spec.name)
        name = next(one for one in self.why if spec.name == one or spec.name.startswith(one + "."))
        made.__dict__["_said"] = (name, self.why[name])
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is in it."""


def install(why: Mapping[str, str]) -> None:
    """From now on these modules and packages are stand-ins in this process: for the sandbox."""
    sys.meta_path.insert(0, _Finder(dict(why)))
