"""What a notebook's cells find around them inside the sandbox: a stand-in for Jupyter, and a limit
on printing.

Widgets, `display` and figures are for a reader; while grading they must neither fail nor cost the
half second that importing IPython takes. They are replaced by objects that accept everything and do
nothing. matplotlib is the real one, drawing to memory: a helper may compute with what it returns.
"""

import io
import sys
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType

ALWAYS_INERT = ("IPython", "ipywidgets", "anywidget")


class Inert:
    """Accepts any call, attribute, index or loop, and does nothing.

    As a decorator it returns the function.
    """

    def __init__(self, *args: object, **kwargs: object):
        # `class Slider(anywidget.AnyWidget)` arrives here too, with a name, bases and a namespace.
        pass

    def __call__(self, *args: object, **kwargs: object) -> object:
        return args[0] if len(args) == 1 and isinstance(args[0], FunctionType) else self

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(
                name
            )  # copying, pickling and subclassing ask for these and must hear "no"
        return self

    def __getitem__(self, key: object) -> object:
        return self

    def __setitem__(self, key: object, value: object) -> None:
        pass

    def __iter__(self):
        return iter(())

    def __enter__(self) -> object:
        return self

    def __exit__(self, *error: object) -> bool:
        return False


class _InertModules:
    """Finds and loads modules below `roots`, each an empty package in which every name is Inert."""

    def __init__(self, roots: tuple[str, ...]):
        self.roots = roots

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        return (
            ModuleSpec(fullname, self, is_package=True)
            if fullname.split(".")[0] in self.roots
            else None
        )

    def create_module(self, spec: ModuleSpec) -> None:
        """An ordinary module will do."""

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == "IPython":
            module.get_ipython = lambda: None  # "not in a notebook", which is what libraries ask
        elif module.__name__ == "autograder.check":
            module.check = check
        else:
            module.__getattr__ = lambda name: Inert().__getattr__(name)


def check(*args: object, **kwargs: object) -> float:
    """`autograder.check.check` inside: points are given outside."""
    return 0.0


def install() -> dict:
    """Put the stand-ins in place and return the names that Jupyter gives to every cell."""
    sys.meta_path.insert(0, _InertModules(ALWAYS_INERT))
    sys.meta_path.append(
        _InertModules(("autograder", "course"))
    )  # last: the worker's own modules are found before
    return {"display": Inert(), "get_ipython": lambda: Inert(), "exit": sys.exit, "quit": sys.exit}


def refuse_compiler() -> None:
    """Say in words that `torch.compile` cannot compile here: that needs a C++ compiler, which is
    not inside.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return
    compile_really = torch.compile

    def compile(model: object = None, *, backend: object = "inductor", **options: object) -> object:
        """`torch.compile` for the backends that need no compiler ("eager", "aot_eager" and
        functions).
        """
        if backend == "inductor":
            raise RuntimeError(
                'torch.compile has no compiler while grading; leave it out, or pass backend="eager"'
            )
        return compile_really(model, backend=backend, **options)

    torch.compile = compile


class Sink(io.TextIOBase):
    """Takes what is printed: the first `limit` characters are kept, the rest is counted.

    It never blocks.
    """

    encoding, errors = "utf-8", "replace"

    def __init__(self, limit: int):
        self.room, self.kept, self.cut = limit, [], 0
        self.buffer = _Bytes(self)

    def writable(self) -> bool:
        """Yes: print asks."""
        return True

    def write(self, text: str) -> int:
        """Keep or count `text`; returns its length, as files do."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        taken = text[: self.room]
        if taken:
            self.kept.append(taken)
            self.room -= len(taken)
        self.cut += len(text) - len(taken)
        return len(text)

    def take(self) -> tuple[str, int]:
        """What was kept since the last time, and how many characters were dropped since."""
        text, cut = "".join(self.kept), self.cut
        self.kept, self.cut = [], 0
        return text.encode("utf-8", "replace").decode("utf-8"), cut


class _Bytes(io.RawIOBase):
    """`sys.stdout.buffer`: bytes written here are printed as text."""

    def __init__(self, sink: Sink):
        self.sink = sink

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:
        return len(data) if self.sink.write(bytes(data).decode("utf-8", "replace")) >= 0 else 0
