"""Which values may pass between a check and a student, and when two of them are the same.

Both kinds of student, in this process and behind the sandbox's pipe, let through exactly these types, so that a
check cannot tell them apart: None, bool, int of 64 bits, float, str, list, tuple, dict with str keys, numpy arrays
and CPU torch tensors of the dtypes below. Types are exact: a subclass could answer "equal" to every question.
Not here: callables (arguments only, see `student`) and handles to objects that a student made.
"""
import math

import numpy as np
import torch

SCALARS = (bool, int, float, str)
TENSOR_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool,
                 torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
ARRAY_KINDS = "biuf"     # numpy's letters for bool, int, unsigned and float
MAX_DEPTH = 8


class Unreadable(Exception):
    """A value that cannot cross; the message is a sentence fragment such as "a numpy.float64; return float(x)"."""


def type_name(value: object) -> str:
    """The type as a student would write it: `float`, `numpy.float64`, `torch.Tensor`."""
    kind = type(value)
    own = kind.__module__ in ("builtins", "__main__")
    return kind.__qualname__ if own else f"{kind.__module__}.{kind.__qualname__}"


def cross(value: object, depth: int = 0) -> object:
    """A plain copy of `value`, as if it had passed through the pipe: detached, contiguous, sharing no memory.

    Raises Unreadable for anything but the types of the module's docstring.
    """
    kind = type(value)
    if kind is int and abs(value) >= 2**63:
        raise Unreadable("an int beyond 64 bits")
    if value is None or kind in SCALARS:
        return value
    if kind is torch.Tensor:
        return _cross_tensor(value)
    if kind is np.ndarray:
        if value.dtype.kind not in ARRAY_KINDS:
            raise Unreadable(f"a numpy array of dtype {value.dtype}")
        return np.array(value, order="C")
    if kind in (list, tuple, dict):
        if depth == MAX_DEPTH:
            raise Unreadable(f"more than {MAX_DEPTH} levels of lists, tuples or dictionaries")
        if kind is not dict:
            return kind(cross(item, depth + 1) for item in value)
        if any(type(key) is not str for key in value):
            raise Unreadable("a dictionary with a key that is not a str")
        return {key: cross(item, depth + 1) for key, item in value.items()}
    if isinstance(value, np.generic):
        raise Unreadable(f"a {type_name(value)}; turn it into a plain {type(value.item()).__name__} with .item()")
    if isinstance(value, torch.Tensor):
        raise Unreadable(f"a {type_name(value)}, which is a subclass of torch.Tensor; return a plain torch.Tensor")
    raise Unreadable(f"an object of type {type_name(value)}")


def _cross_tensor(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is not torch.strided:
        raise Unreadable("a sparse tensor; return a dense one with .to_dense()")
    if tensor.device.type != "cpu":
        raise Unreadable(f"a tensor on the device {tensor.device}; return it with .cpu()")
    if tensor.dtype not in TENSOR_DTYPES:
        raise Unreadable(f"a tensor of dtype {str(tensor.dtype).removeprefix('torch.')}")
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def same(left: object, right: object, rtol: float = 1e-5, atol: float = 1e-7) -> bool:
    """Whether two crossed values agree in types, dtypes, shapes and, within the tolerances, values; NaN equals NaN."""
    if type(left) is not type(right):
        return False
    if type(left) is torch.Tensor:
        return (left.dtype == right.dtype and left.shape == right.shape
                and torch.allclose(left.double(), right.double(), rtol, atol, equal_nan=True))
    if type(left) is np.ndarray:
        return (left.dtype == right.dtype and left.shape == right.shape
                and np.allclose(left.astype(float), right.astype(float), rtol, atol, equal_nan=True))
    if type(left) is float:
        return math.isclose(left, right, rel_tol=rtol, abs_tol=atol) or (math.isnan(left) and math.isnan(right))
    if type(left) in (list, tuple):
        return len(left) == len(right) and all(same(a, b, rtol, atol) for a, b in zip(left, right))
    if type(left) is dict:
        return left.keys() == right.keys() and all(same(left[key], right[key], rtol, atol) for key in left)
    return left == right
