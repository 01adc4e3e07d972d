"""Parts "flash" and "paged" of `bench/gpu.py`: attention against SDPA's fast backends, and what
memory bounds.

Rivals: FlashAttention-2 and cuDNN as torch's SDPA runs them; torch's own norm and gate; the copy of
a large tensor.
"""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import rms_norm as torch_rms_norm
from torch.nn.functional import scaled_dot_product_attention, silu

from bench.gpu_checks import hopper_or_its_stand_in, paged_case
from bench.gpu_timing import Bench, Job, Rival, rate
from bench.gpu_verdict import EACH_ALONE, FLASH, RIVAL
from bench.record import compare
from reference_impl.kernels.flash_attention import flash_attention, flash_attention_varlen
from reference_impl.kernels.paged_decode import paged_attention
from reference_impl.kernels.rmsnorm import rms_norm
from reference_impl.kernels.selection import use_kernels
from reference_impl.kernels.swiglu import swiglu
from reference_impl.kernels.traffic import paged_decode_bytes
from reference_impl.layers.packing import packed_attention

CUDNN, PLAIN = "cuDNN in torch's SDPA", "own plain form"
LENGTHS = (4096, 8192, 16384)


def sdpa(bench: Bench, backend: SDPBackend, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """torch's operator by one backend; in a rehearsal by the one that a CPU has."""
    with sdpa_kernel(SDPBackend.MATH if bench.rehearsal else backend):
        return scaled_dot_product_attention(q, k, v, is_causal=True)


def inputs(bench: Bench, length: int, grad: bool) -> list[Tensor]:
    """Queries, keys and values of 16 heads of 128, 32,768 tokens together."""
    tokens = bench.size(length, length // 256)
    return [
        bench.randn(bench.size(32_768 // length, 1), tokens, 16, 128, grad=grad).transpose(1, 2)
        for _ in range(3)
    ]


def flops(q: Tensor) -> float:
    """Of a causal forward pass, in units of 10^12."""
    return 4 * q.shape[0] * q.shape[1] * q.shape[2] ** 2 * q.shape[3] / 2 / 1e12


def forward(bench: Bench, length: int) -> None:
    """Causal attention of head size 128."""
    q, k, v = inputs(bench, length, grad=False)
    bench.race(
        f"flash forward, head 128, {length:,} tokens",
        "TFLOP/s",
        flops(q),
        lambda: flash_attention(q, k, v, causal=True),
        {
            FLASH: Rival(lambda: lambda: sdpa(bench, SDPBackend.FLASH_ATTENTION, q, k, v), 1.0),
            CUDNN: Rival(
                lambda: lambda: sdpa(bench, SDPBackend.CUDNN_ATTENTION, q, k, v), None, 0.75
            ),
        },
        {"400 TFLOP/s": (400.0, 1.0, None)},
    )


def backward(bench: Bench, length: int) -> None:
    """Its gradients, 2.5 times the operations."""
    leaves = inputs(bench, length, grad=True)
    grad = torch.randn_like(leaves[0])

    def gradients(out: Tensor) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(out, leaves, grad, retain_graph=True)

    ours: list[Callable[[], Any]] = []

    def run() -> Any:  # made at the first call, inside the attempt
        if not ours:
            ours.append(gradients(flash_attention(*leaves, causal=True)))
        return ours[0]()

    bench.race(
        f"flash backward, head 128, {length:,} tokens",
        "TFLOP/s",
        2.5 * flops(leaves[0]),
        run,
        {
            FLASH: Rival(
                lambda: gradients(sdpa(bench, SDPBackend.FLASH_ATTENTION, *leaves)), 0.8, 0.95
            ),
            CUDNN: Rival(lambda: gradients(sdpa(bench, SDPBackend.CUDNN_ATTENTION, *leaves))),
        },
    )


def second(bench: Bench, length: int) -> None:
    """The form made for Hopper, forward and backward, beside the plain one, cuDNN and
    FlashAttention-2.
    """
    leaves = inputs(bench, length, grad=True)
    detached, grad = [leaf.detach() for leaf in leaves], torch.randn_like(leaves[0])
    attention = hopper_or_its_stand_in(bench)

    def gradients(forward_pass: Callable[..., Tensor]) -> Callable[[], Any]:
        out = forward_pass(*leaves)
        return lambda: torch.autograd.grad(out, leaves, grad, retain_graph=True)

    ours: list[Callable[[], Any]] = []

    def run_backward() -> Any:
        if not ours:
            ours.append(gradients(lambda *x: attention(*x, causal=True)))
        return ours[0]()

    def plain(*x: Tensor) -> Tensor:
        return flash_attention(*x, causal=True)

    def torchs(backend: SDPBackend) -> Callable[..., Tensor]:
        return lambda *x: sdpa(bench, backend, *x)

    flash_2, cudnn = torchs(SDPBackend.FLASH_ATTENTION), torchs(SDPBackend.CUDNN_ATTENTION)
    bench.race(
        f"second form forward, head 128, {length:,} tokens",
        "TFLOP/s",
        flops(leaves[0]),
        lambda: attention(*detached, causal=True),
        {
            PLAIN: Rival(lambda: lambda: plain(*detached), 1.0),
            FLASH: Rival(lambda: lambda: flash_2(*detached), 1.0),
            CUDNN: Rival(lambda: lambda: cudnn(*detached), None, 0.75),
        },
    )
    bench.race(
        f"second form backward, head 128, {length:,} tokens",
        "TFLOP/s",
        2.5 * flops(leaves[0]),
        run_backward,
        {
            PLAIN: Rival(lambda: gradients(plain), 1.0),
            FLASH: Rival(lambda: gradients(flash_2), 0.8, 0.95),
            CUDNN: Rival(lambda: gradients(cudnn)),
        },
    )


def window(bench: Bench) -> None:
    """1k of 16k tokens against all of them."""
    q, k, v = inputs(bench, 16_384, grad=False)
    bench.race(
        "sliding window 1k of 16k",
        "calls/s",
        1,
        lambda: flash_attention(q, k, v, causal=True, window=1024),
        {"own full causal": Rival(lambda: lambda: flash_attention(q, k, v, causal=True), 5, 7)},
    )


def varlen(bench: Bench) -> None:
    """Sequences of 256 to 4,096 tokens packed, against padded to the longest; 1 is what the tokens
    saved would give.
    """
    lengths = (
        torch.linspace(bench.size(256, 4), bench.size(4096, 37), bench.size(16, 3)).long().tolist()
    )
    starts = torch.tensor(
        [0, *itertools.accumulate(lengths)], dtype=torch.int32, device=bench.device
    )
    packed = [bench.randn(sum(lengths), 16, 128) for _ in range(3)]
    longest = lengths[-1]
    token_ratio = len(lengths) * longest / sum(lengths)

    def padded() -> Callable[[], Any]:
        whole = [bench.randn(len(lengths), longest, 16, 128).transpose(1, 2) for _ in range(3)]
        return lambda: flash_attention(*whole, causal=True)

    def each_alone() -> Callable[[], Any]:
        row = [x.transpose(0, 1)[None] for x in packed]  # (1, 16, N, 128)

        def run() -> Tensor:
            with use_kernels("torch"):
                return packed_attention(*row, starts, causal=True)

        return run

    bench.race(
        "variable length",
        "calls/s",
        1,
        lambda: flash_attention_varlen(
            *packed, starts, starts, max_seqlens=(longest, longest), causal=True
        ),
        {
            "own padded": Rival(padded, 0.85 * token_ratio, 0.95 * token_ratio),
            EACH_ALONE: Rival(each_alone, 1.0),
        },
    )


def memory(bench: Bench, name: str) -> None:
    """A kernel bound by memory, against the bandwidth that a copy of 1 GB reaches and against
    torch's own.
    """
    rows, columns = bench.size(16_384, 5), bench.size(4096, 37)
    x, y, grad = (bench.randn(rows, columns, grad=i < 2) for i in range(3))
    weight = bench.randn(columns, grad=True)
    size = x.numel() * x.element_size()
    ours, theirs, leaves, forward_moves, backward_moves = {
        "RMSNorm": (
            rms_norm,
            lambda a, b: torch_rms_norm(a, (columns,), b, 1e-6),
            (x, weight),
            2,
            3,
        ),
        "SwiGLU": (swiglu, lambda a, b: silu(a) * b, (x, y), 3, 5),
    }[name]
    detached = [leaf.detach() for leaf in leaves]

    def gradients(function: Callable[..., Tensor]) -> Callable[[], Any]:
        out = function(*leaves)
        return lambda: torch.autograd.grad(out, leaves, grad, retain_graph=True)

    made: list[Callable[[], Any]] = []

    def run_backward() -> Any:
        if not made:
            made.append(gradients(ours))
        return made[0]()

    for way, moves, run, rival in (
        ("forward", forward_moves, lambda: ours(*detached), lambda: lambda: theirs(*detached)),
        ("backward", backward_moves, run_backward, lambda: gradients(theirs)),
    ):
        moved = moves * size / 1e9
        copied = 2 * 2 * bench.size(2**29, 2**9) / 1e9

        def both(
            way: str = way,
            run: Callable[[], Any] = run,
            moved: float = moved,
            copied: float = copied,
        ) -> dict[str, Any]:
            return against_copy(bench, f"{name} {way}", moved, copied, run, 0.85, 0.92)

        bench.race(f"{name} {way}", "GB/s", moved, run, {RIVAL: Rival(rival)})
        if (row := bench.attempt(f"{name} {way} against copy of 1 GB", both)) is not None:
            bench.row(row)


def against_copy(
    bench: Bench,
    name: str,
    moved: float,
    copied: float,
    run: Callable[[], Any],
    must: float,
    aim: float,
) -> dict[str, Any]:
    """Bytes a second of ours and of a copy, which moves another number of bytes."""
    mine, theirs = bench.in_turn(run, bench.copy())
    return compare(name, "copy of 1 GB", "GB/s", rate(moved, mine), rate(copied, theirs), must, aim)


def decode(bench: Bench) -> None:
    """Paged decoding over 1 GB of cache."""
    contexts = [bench.size(4096, 37)] * bench.size(64, 2)
    case = paged_case(bench, contexts, 16, 32, 8, 128)
    moved = paged_decode_bytes(contexts, 32, 8, 128, case["q"].element_size()) / 1e9
    name, copied = "paged decode over 1 GB of cache", 2 * 2 * bench.size(2**29, 2**9) / 1e9

    def run() -> Tensor:
        return paged_attention(**case, scale=128**-0.5)

    bench.race(name, "GB/s", moved, run, {})
    if (
        row := bench.attempt(
            f"{name} against copy of 1 GB",
            lambda: against_copy(bench, name, moved, copied, run, 0.8, 0.9),
        )
    ) is not None:
        bench.row(row)


FLASH_JOBS = [
    *(
        Job(f"forward {length}", lambda bench, length=length: forward(bench, length), 35)
        for length in LENGTHS
    ),
    *(
        Job(f"backward {length}", lambda bench, length=length: backward(bench, length), 50)
        for length in LENGTHS
    ),
    Job("window", window, 20),
    Job("variable length", varlen, 30),
    *(
        Job(f"second form {length}", lambda bench, length=length: second(bench, length), 60)
        for length in LENGTHS[1:]
    ),
]
PAGED_JOBS = [
    Job("decode", decode, 30),
    Job("RMSNorm", lambda bench: memory(bench, "RMSNorm"), 40),
    Job("SwiGLU", lambda bench: memory(bench, "SwiGLU"), 40),
]
