"""Whether layers run our kernels or torch's operators: one switch, and the record that
decides its default.

    "proven"    on a GPU those of our kernels that the committed GPU record shows right
                and faster: the default
    "torch"     none
    "triton"    all, wherever one can run: on a GPU, or in Triton's interpreter

W2S_KERNELS sets it before Python starts, `use_kernels` inside a program. `PROVEN` is
what `bench/gpu_verdict.py` makes of the committed bench/results/gpu.json, and a test
compares the two: without a record it is empty, and layers run what torch has.

Not here: the kernels; attention to a cache in blocks and writing to it, for which torch
has no operator, so that a GPU always runs ours (see `backend`). This module imports no
Triton: layers ask it at every call.
"""

import contextlib
import os
from collections.abc import Iterator

import torch
from torch import Tensor

CHOICES = ("proven", "torch", "triton")
OPERATIONS = ("attention", "packed_attention", "rms_norm", "swiglu")
PROVEN: frozenset[str] = frozenset()
INTERPRETED_DTYPES = (torch.float32, torch.float16)
COMPILED_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


class SelectionError(ValueError):
    """A choice that there isn't."""


def interpreting() -> bool:
    """Whether Triton was told to run kernels in its interpreter."""
    return os.environ.get("TRITON_INTERPRET", "0") not in ("", "0", "false", "off")


def _checked(choice: str) -> str:
    if choice not in CHOICES:
        raise SelectionError(
            f"kernels {choice!r} (W2S_KERNELS or use_kernels): choose from"
            f" {', '.join(CHOICES)}"
        )
    return choice


_choice = _checked(os.environ.get("W2S_KERNELS", "proven"))


@contextlib.contextmanager
def use_kernels(choice: str) -> Iterator[None]:
    """Run the layers inside this block with the kernels of this choice, in every
    thread.
    """
    global _choice
    before, _choice = _choice, _checked(choice)
    try:
        yield
    finally:
        _choice = before


def runs_ours(operation: str, x: Tensor) -> bool:
    """Whether a layer runs our kernel of this operation on a tensor like x."""
    if _choice == "torch" or _choice == "proven" and operation not in PROVEN:
        return False
    if interpreting():
        return x.dtype in INTERPRETED_DTYPES
    return x.is_cuda and x.dtype in COMPILED_DTYPES
