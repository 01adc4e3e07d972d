"""What the package imports and a machine lent for `bench/gpu.py` may lack: jaxtyping, regex and
safetensors.

`install()` comes before the first import of the package. Only what is missing is replaced. Shapes
are then not checked; a pattern, or a file of weights, can be named and not used: whoever calls one
is told so.

Not here: torch, Triton and numpy, without which nothing is measured.
"""

import importlib.util
import sys
import types
from typing import Any

from torch import Tensor


class _AnyShape(type):
    def __getitem__(cls, _: Any) -> type:
        return Tensor


class Missing:
    """A function or class of a library that isn't there.

    Called, it gives another of its kind; used, it raises.
    """

    def __init__(self, name: str = "", *_: Any, **__: Any):
        self.name = name

    def __call__(self, *_: Any, **__: Any) -> "Missing":
        return Missing(self.name)

    def __getattr__(self, attribute: str) -> Any:
        raise ModuleNotFoundError(
            f"{self.name} isn't installed here, and something wants its {attribute}"
        )


def _module(name: str, **contents: Any) -> None:
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(contents)


def _is_missing(name: str) -> bool:
    try:
        return name not in sys.modules and importlib.util.find_spec(name) is None
    except ModuleNotFoundError:
        return True


def install() -> list[str]:
    """Replace what is missing; its names."""
    missing = [name for name in ("jaxtyping", "regex", "safetensors") if _is_missing(name)]
    if "jaxtyping" in missing:
        names = ("Bool", "Float", "Int", "Shaped", "UInt8", "Int8", "BFloat16", "Num", "Integer")
        _module("jaxtyping", **{name: _AnyShape(name, (), {}) for name in names})
    if "regex" in missing:
        _module(
            "regex",
            compile=Missing("regex"),
            escape=Missing("regex"),
            match=Missing("regex"),
            Pattern=Missing,
            Match=Missing,
            error=type("error", (Exception,), {}),
        )
    if "safetensors" in missing:
        _module("safetensors", SafetensorError=type("SafetensorError", (Exception,), {}))
        _module(
            "safetensors.torch", load_file=Missing("safetensors"), save_file=Missing("safetensors")
        )
    return missing
