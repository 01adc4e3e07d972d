"""Attention on one core: plain, plain into kept memory, torch's fused operator and our tiled twin,
beside what the core can do.

    OMP_NUM_THREADS=1 python bench/attention_bytes.py        about a minute

Plain attention writes its scores down, into memory that the system must give it at each call; a
second plain one keeps its memory from call to call, so that this is not what is compared. torch's
scaled_dot_product_attention has a flash kernel for the CPU; the twin is
`reference_impl.kernels.flash_attention.flash_forward_twin`, tiles in Python. All have the same
inputs, one thread and float32, and take turns; counted is the processor's time, since others use
the machine. Two roofs are timed beside them: a copy of a tensor that no cache holds, and a product
of two matrices. The twin pays Python and torch's operators for each tile, so that its ratio says
what tiling gives in spite of that.

Not here: a GPU (`bench/gpu.py flash`).
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.record import compare, save  # noqa: E402
from reference_impl.kernels.backend import Tiles  # noqa: E402
from reference_impl.kernels.flash_attention import flash_forward_twin  # noqa: E402

LENGTHS = (256, 512, 1024, 2048, 4096)
HEADS, WIDTH, RUNS, SEED = 4, 64, 7, 0
TILES = Tiles(256, 256)
PLAIN, KEPT, FUSED, TWIN = (
    "plain attention",
    "plain, into kept memory",
    "torch's fused operator",
    "our tiled twin",
)


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Scores, softmax, mixture: each a tensor of its own."""
    return (q @ k.mT * WIDTH**-0.5).softmax(-1) @ v


def into_kept(length: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The same with its two squares and its result made once."""
    scores, shares, out = (
        torch.empty(HEADS, length, length),
        torch.empty(HEADS, length, length),
        torch.empty(HEADS, length, WIDTH),
    )

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        torch.matmul(q, k.mT, out=scores)
        torch.softmax(scores.mul_(WIDTH**-0.5), -1, out=shares)
        return torch.matmul(shares, v, out=out)

    return run


def twin(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same in tiles, (H, T, D) in and out."""
    return flash_forward_twin(
        *(x.transpose(0, 1) for x in (q, k, v)),
        causal=False,
        window=None,
        scale=WIDTH**-0.5,
        tiles=TILES,
    )[0].transpose(0, 1)


def fused(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """torch's own, which on a CPU is a flash kernel."""
    return scaled_dot_product_attention(q[None], k[None], v[None])[0]


def seconds(run: Callable[[], Any]) -> float:
    """Processor time of one run."""
    begun = time.process_time()
    run()
    return time.process_time() - begun


def main() -> None:
    """Time all, compare, save."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    big, matrix = torch.randn(2**26), torch.randn(1024, 1024)
    target = torch.empty_like(big)
    copies = [2 * big.nbytes / seconds(lambda: target.copy_(big)) for _ in range(RUNS + 1)][1:]
    products = [2 * 1024**3 / seconds(lambda: matrix @ matrix) for _ in range(RUNS + 1)][1:]
    rows, taken, apart = [], {}, {}
    for length in LENGTHS:
        ways = {PLAIN: plain, KEPT: into_kept(length), FUSED: fused, TWIN: twin}
        q, k, v = (torch.randn(HEADS, length, WIDTH) for _ in range(3))
        first = {name: way(q, k, v) for name, way in ways.items()}
        apart[length] = {
            name: float((out - first[PLAIN]).abs().max()) for name, out in first.items()
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(RUNS):
            for name, way in ways.items():
                times[name].append(seconds(lambda way=way: way(q, k, v)))
        taken[length] = times
        rows += [
            compare(
                f"{name}, {length:,} tokens",
                PLAIN,
                "s",
                times[name],
                times[PLAIN],
                larger_is_better=False,
            )
            for name in (KEPT, FUSED, TWIN)
        ]
    save(
        "attention_bytes",
        rows,
        versions=("torch",),
        seed=SEED,
        heads=HEADS,
        width=WIDTH,
        tiles=[TILES.rows, TILES.columns],
        copy_bytes_a_second=copies,
        product_operations_a_second=products,
        seconds=taken,
        largest_difference=apart,
    )


if __name__ == "__main__":
    main()
