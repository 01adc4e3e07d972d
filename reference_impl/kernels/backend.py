"""Which implementation of an operation runs, and in tiles of what size.

There are up to three: "triton" is the kernel, "torch" is the twin that does the
kernel's steps in plain torch, "sdpa" is torch's own fused operator where there is one
for the whole operation. Every entry point takes `backend=`; None means
`default_backend`: the kernel on a GPU, SDPA or else the twin on a CPU. `choose` answers
which one it would be.

On a CPU the kernels run in Triton's interpreter, for tests: set TRITON_INTERPRET=1
before Python starts. It takes float32 and float16 only (bfloat16 comes out wrong there,
in silence), so `choose` refuses the rest.

Kernels carry `@no_type_check` so that the tests' hook, which wraps functions to check
shapes, leaves them alone: Triton compiles a function's source among the names of the
module that it was written in.

Heads of another size than the kernels are made for: flash attention pads them with
zeros to the next size, which changes no score, and cuts the result. A cache can't be
padded at each call: for it torch's operator takes over, as it does for heads above the
largest size; `choose` says so in a warning, once for each size.

A launch goes to the GPU that is current, whichever holds the tensors: every launch
stands inside `device_of`.

Not here: autotuning. Tile sizes are a small table, chosen in Python, the same in every
run and in the interpreter.
"""

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from reference_impl.kernels.selection import (
    COMPILED_DTYPES,
    INTERPRETED_DTYPES,
    interpreting,
)

try:
    import triton
    import triton.language as tl
except (
    ModuleNotFoundError
):  # wheels are for Linux only: elsewhere the kernels are functions that nothing calls
    triton, tl = (
        SimpleNamespace(jit=lambda kernel: kernel),
        SimpleNamespace(constexpr=object),
    )

IMPLEMENTATIONS = {
    "vector_add": ("triton", "torch"),
    "softmax": ("triton", "torch"),
    "matmul": ("triton", "torch"),
    "rms_norm": ("triton", "torch"),
    "swiglu": ("triton", "torch"),
    "flash_attention": ("triton", "torch", "sdpa"),
    "store_kv": ("triton", "torch"),
    "paged_attention": ("triton", "torch", "sdpa"),
    "paged_prefill": ("triton", "torch", "sdpa"),
}
HEAD_DIMS = (32, 64, 128)
PADDED = ("flash_attention",)  # the operations that take smaller heads too
LONGEST_STRIDE = (
    2**23
)  # numbers from one row to the next: 256 rows of a tile then lie within 2^31


class KernelError(ValueError):
    """A backend that isn't there, or a shape or dtype that the chosen one
    can't take.
    """


@dataclass(frozen=True)
class Tiles:
    """How much one program works on at a time, and how many warps and stages of
    prefetching it gets on a GPU.
    """

    rows: int
    columns: int
    num_warps: int = 4
    num_stages: int = 2

    @property
    def launch(self) -> dict[str, int]:
        """What Triton takes beside a kernel's own arguments."""
        return {"num_warps": self.num_warps, "num_stages": self.num_stages}


def takes_heads(operation: str, head_dim: int) -> bool:
    """Whether the kernel takes heads of this size, padded or as they are."""
    return (
        head_dim in HEAD_DIMS or operation in PADDED and 0 < head_dim <= HEAD_DIMS[-1]
    )


def default_backend(
    operation: str, device: torch.device, head_dim: int | None = None
) -> str:
    """The kernel on a GPU, if it takes such heads; else torch's fused operator, or the
    twin where torch has none.
    """
    if device.type == "cuda" and (head_dim is None or takes_heads(operation, head_dim)):
        return "triton"
    return "sdpa" if "sdpa" in IMPLEMENTATIONS[operation] else "torch"


def choose(
    operation: str, x: Tensor, backend: str | None = None, head_dim: int | None = None
) -> str:
    """Which implementation `operation` runs for a tensor like x.

    Raises KernelError if that one can't take it.
    """
    if operation not in IMPLEMENTATIONS:
        raise KernelError(
            f"no operation {operation!r}: there are {', '.join(IMPLEMENTATIONS)}"
        )
    chosen = (
        default_backend(operation, x.device, head_dim) if backend is None else backend
    )
    if chosen not in IMPLEMENTATIONS[operation]:
        raise KernelError(
            f"{operation} has no backend {chosen!r}: choose from"
            f" {IMPLEMENTATIONS[operation]}"
        )
    if chosen == "triton":
        _check_triton(operation, x)
    if head_dim is not None and not takes_heads(operation, head_dim):
        sizes = (
            f"1 to {HEAD_DIMS[-1]}"
            if operation in PADDED
            else ", ".join(map(str, HEAD_DIMS))
        )
        if chosen == "triton":
            raise KernelError(
                f"{operation}: the kernel takes heads of {sizes}, not {head_dim}: leave"
                ' `backend` out, or use backend="torch" or "sdpa"'
            )
        if backend is None and x.device.type == "cuda":
            warnings.warn(
                f"{operation}: the kernel takes heads of {sizes}, not {head_dim}:"
                " torch's operator runs in its place, which is slower and waits for"
                " the GPU",
                stacklevel=3,
            )
    return chosen


def device_of(x: Tensor) -> AbstractContextManager[Any]:
    """Make the GPU of x current while a kernel is launched; nothing where x is on no
    GPU.
    """
    return torch.cuda.device(x.device) if x.is_cuda else nullcontext()


def _check_triton(operation: str, x: Tensor) -> None:
    if not hasattr(triton, "__version__"):
        raise KernelError(
            f"{operation}: Triton isn't installed (it has wheels for Linux only): use"
            ' backend="torch"'
        )
    if x.device.type != "cuda" and not interpreting():
        raise KernelError(
            f"{operation}: a Triton kernel, but the tensor is on {x.device.type}: use"
            ' backend="torch", or set TRITON_INTERPRET=1 before Python starts to run'
            " kernels in the interpreter"
        )
    dtypes = INTERPRETED_DTYPES if interpreting() else COMPILED_DTYPES
    if x.dtype not in dtypes:
        raise KernelError(
            f"{operation}: the kernel takes {', '.join(map(str, dtypes))} here, not"
            f' {x.dtype}: convert, or use backend="torch"'
        )


def padded_heads(*heads: Tensor) -> tuple[Tensor, ...]:
    """Heads with zeros up to the next size of `HEAD_DIMS`.

    Scores stay, as a zero adds nothing to a product.
    """
    width = min(size for size in HEAD_DIMS if size >= heads[0].shape[-1])
    return tuple(
        x if x.shape[-1] == width else pad(x, (0, width - x.shape[-1])) for x in heads
    )


def side_by_side(x: Tensor) -> Tensor:
    """x with the numbers of its last dimension next to each other, as kernels read
    them; rows may lie apart.

    Not further than `LONGEST_STRIDE`: inside a tile kernels count with 32 bits.
    """
    return x if x.stride(-1) == 1 and x.stride(0) <= LONGEST_STRIDE else x.contiguous()


# Each fits a Hopper's 227 KiB of shared memory and uses its tensor cores' wide
# instructions; heads of 128 spill registers, "keys" some 400 bytes a thread and the
# others next to none: `tests/.../kernels/test_compiled.py` compiles them and looks.
# None was timed.
_FLASH = {
    "forward": {
        32: Tiles(128, 128, 8, 3),
        64: Tiles(128, 128, 8, 3),
        128: Tiles(128, 128, 8, 2),
    },
    "keys": {
        32: Tiles(64, 128, 8, 3),
        64: Tiles(32, 128, 8, 3),
        128: Tiles(64, 128, 8, 2),
    },
    "queries": {
        32: Tiles(128, 64, 8, 3),
        64: Tiles(128, 64, 8, 3),
        128: Tiles(128, 64, 8, 2),
    },
}
_FLOAT32 = Tiles(32, 32, 4, 2)  # exact products in float32 use no tensor core


def flash_tiles(part: str, head_dim: int, dtype: torch.dtype) -> Tiles:
    """For flash attention's "forward", "keys" (dK and dV) or "queries" (dQ): rows are
    queries, columns are keys.
    """
    return (
        _FLOAT32 if dtype == torch.float32 or interpreting() else _FLASH[part][head_dim]
    )
