"""What questions may ask of a value, and how an argument is shown; floats are never asked."""

import sys

import torch

SHOWN = 60  # characters of a value that is asked for
SHOWN_ELEMENTS = 12  # of a tensor whose values are shown
SHOWN_ARGUMENT = 160  # characters
EXACT = (bool, int, str, type(None))
# Parts of the text of an argument that does not tell all its values (see `shown`).
MORE_THAN_SHOWN = tuple(
    f"a {kind}" for kind in ("tensor of", "list of", "tuple of", "dict of", "generator", "function")
)


def describe(value: object) -> dict:
    """{"kind"} and, where there is one, a tensor's "shape" or the "text" of an exact value."""
    if is_block(value):
        return _of_block(value)
    if isinstance(value, torch.Tensor):
        return {"kind": "tensor", "shape": list(value.shape)}
    kind = type(value).__name__
    if isinstance(value, float):
        return {"kind": kind, "text": f"{value:.4g}"}
    if isinstance(value, EXACT):
        text = repr(value) if isinstance(value, (bool, str)) else str(value)
        return {"kind": kind, "text": text} if len(text) <= SHOWN else {"kind": kind}
    if type(value) in (list, tuple, dict):
        size = {"kind": kind, "length": len(value)}
        if _is_exact(value) and len(text := repr(value)) <= SHOWN:
            size["text"] = text
        return size
    return {"kind": kind}


def is_block(value: object) -> bool:
    """Whether it is a value of a Triton kernel in the interpreter."""
    language = sys.modules.get("triton.language")
    return language is not None and isinstance(value, (language.tensor, language.constexpr))


def _of_block(value) -> dict:
    if not hasattr(value, "handle"):
        return describe(value.value)
    data = value.handle.data
    if data.size > 1:
        return {"kind": "tensor", "shape": [int(one) for one in data.shape]}
    # A pointer is an address, which no question may depend on.
    if value.dtype.is_ptr() or data.dtype.kind not in "iub":
        return {"kind": "scalar"}
    return {"kind": "int", "text": str(int(data.reshape(-1)[0]))}


def _is_exact(value: object) -> bool:
    """Whether lists, tuples and dictionaries hold nothing but what prints alike every time."""
    if isinstance(value, dict):
        return all(map(_is_exact, [*value, *value.values()]))
    if isinstance(value, (list, tuple)):
        return type(value) in (list, tuple) and all(map(_is_exact, value))
    return type(value) in EXACT


def shown(value: object) -> str:
    """An argument for a reader: small ones with their values, large tensors by their shape."""
    if isinstance(value, torch.Tensor):
        if value.numel() <= SHOWN_ELEMENTS:
            return f"tensor({_rounded(value.tolist())})"
        return f"a tensor of shape {tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, list):
        return _short(f"[{', '.join(map(shown, value))}]", value)
    if isinstance(value, tuple):
        inside = ", ".join(map(shown, value))
        return _short(f"({inside},)" if len(value) == 1 else f"({inside})", value)
    if isinstance(value, dict):
        pairs = [f"{shown(key)}: {shown(one)}" for key, one in value.items()]
        return _short(f"{{{', '.join(pairs)}}}", value)
    if isinstance(value, (*EXACT, float)):
        text = repr(value)
        return text if len(text) <= SHOWN_ARGUMENT else f"{text[: SHOWN_ARGUMENT - 1]}…"
    if isinstance(value, torch.Generator):
        return "a generator"
    return "a function" if callable(value) else f"a {type(value).__name__}"  # never an address


def _short(text: str, value) -> str:
    return text if len(text) <= SHOWN_ARGUMENT else f"a {type(value).__name__} of {len(value)}"


def _rounded(numbers):
    if isinstance(numbers, list):
        return [_rounded(one) for one in numbers]
    return round(numbers, 3) if isinstance(numbers, float) else numbers
