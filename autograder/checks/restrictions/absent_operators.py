"""Withheld operators that are not there at all while an exercise asks for their work: in the
sandbox.

The guard of `withheld` looks at calls, and code can stop it from looking, or call from a thread.
Here the operator itself is changed, whoever calls it and by whatever name: torch's dispatcher
refuses it, and a withheld function of Python's has other code. Only operators that nothing allowed
is made of can go: `torch.softmax` is a part of `cross_entropy`, so for such a one the guard is all
there is.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any

ALONE = (
    "_norm",
    "attention",
    "lstm",
    "_transformer_encoder_layer",
    "_fused_adamw",
)  # parts of names of such operators
# The last one is asked first inside `torch.func.vmap` and its like, which take composites apart.
KEYS = ("CPU", "AutogradCPU", "FuncTorchDynamicLayerFrontMode")
# What is in force: the bar, torch's library of refusals, and the functions with their own code.
_now: list[Any] = []


def bar(
    whose: object, operators: Mapping[str, Callable], functions: list[tuple[FunctionType, CodeType]]
) -> None:
    """From now on, and until this is called for another, these are refused.

    operators: what is called in the place of each, by torch's name. functions: each with the code
    that it has meanwhile.
    """
    if _now and _now[0] is whose:
        return
    _lift()
    _now[:] = [whose, None, [(function, function.__code__) for function, _ in functions]]
    for function, code in functions:
        function.__code__ = code
    if operators:
        _now[1] = _refusing(operators)


def _lift() -> None:
    if _now:
        _, library, functions = _now
        if library is not None:
            library._destroy()
        for function, code in functions:
            function.__code__ = code
        _now.clear()


def _refusing(operators: Mapping[str, Callable]) -> Any:
    torch = sys.modules["torch"]
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is replaced is what is meant
        for name, refuse in operators.items():
            short = name.removeprefix("aten::")
            packet = (
                getattr(torch.ops.aten, short, None)
                if any(part in f"_{short}" for part in ALONE)
                else None
            )
            for overload in packet.overloads() if packet is not None else ():
                for key in KEYS:
                    library.impl(
                        short if overload == "default" else f"{short}.{overload}", refuse, key
                    )
    return library


def refusing_code(name: str, why: str) -> CodeType:
    """Code that any function without a closure can have: it refuses."""
    scope: dict[str, Any] = {}
    source = (
        "def refused(*args, **more):\n"
        "    from autograder.checks.restrictions.guard import refuse\n"
        f"    refuse({name!r}, {why!r})\n"
    )
    exec(compile(source, "<withheld>", "exec"), scope)
    return scope["refused"].__code__
