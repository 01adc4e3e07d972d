"""Arguments of a call as the text that a student would write for them."""

import math

from torch import Tensor

MOST_NUMBERS = 512  # in the tensors of one input: it is shown to people
MOST_TEXT = 6000  # characters
DEEP = 6


def written(args: tuple) -> str | None:
    """The text between a call's parentheses, or None for arguments that have no short one."""
    if sum(one.numel() for one in _tensors(args)) > MOST_NUMBERS:
        return None
    try:
        text = ", ".join(_text(one, DEEP) for one in args)
    except ValueError:
        return None
    return text if len(text) <= MOST_TEXT else None


def _text(value: object, deep: int) -> str:
    if deep < 0:
        raise ValueError("nested too deeply")
    if type(value) is Tensor:
        return _tensor(value)
    if type(value) is float and not math.isfinite(value):
        return f'float("{value}")'
    if value is None or type(value) in (bool, int, float, str):
        return repr(value)
    if type(value) is dict:
        parts = (f"{_text(key, deep - 1)}: {_text(one, deep - 1)}" for key, one in value.items())
        return f"{{{', '.join(parts)}}}"
    if type(value) in (list, tuple):
        inside = ", ".join(_text(one, deep - 1) for one in value)
        if type(value) is list:
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    raise ValueError(f"a {type(value).__name__} has no text")


def _tensor(value: Tensor) -> str:
    if value.requires_grad or value.is_sparse or value.is_complex():
        raise ValueError("a tensor of an unusual kind")
    if not value.numel():
        return f"torch.zeros({tuple(value.shape)}, dtype={value.dtype})"
    return f"torch.tensor({_text(value.tolist(), DEEP)}, dtype={value.dtype})"


def _tensors(value: object) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in _tensors(one)]
    return []
