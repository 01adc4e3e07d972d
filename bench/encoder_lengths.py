"""What attention and a whole layer of ModernBERT-base's shape cost from 512 to 8,192 tokens: dense,
fused and local.

    python bench/encoder_lengths.py        about two minutes on one core

One head of 64 numbers, float32, one core. Four ways to the same kind of result:

- dense: the formula, every score written down (`plain_attention`);
- flash: torch's fused operator, which on a CPU is FlashAttention's algorithm too, tile by tile, and
  exact;
- masked: the same operator with ModernBERT's window, 64 to each side, as a mask;
- local: the window in chunks, which computes no score far outside it (`window_attention`).

Of each, at each length: the pairs whose score is wanted, operations by the course's counter, the
most bytes of tensors alive at once by its other counter, seconds of processor time in five turns,
and the growth of a fresh process's peak resident memory, which counts what an operator needs inside
itself too. Dense and flash must agree, masked and local too: the largest difference is kept.

And a whole layer as the model has it (12 heads, width 768, GeGLU of 1,152, weights drawn at
random): seconds with all pairs, fused, and with the window in chunks, three turns.

Not here: half precision, a GPU.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402  (threads are set before torch starts)
from record import compare, save  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl.layers.attention import (
    attention,
    merge_heads,
    plain_attention,
    split_heads,
)  # noqa: E402
from reference_impl.layers.masks import window_mask  # noqa: E402
from reference_impl.layers.rotary import rotary_tables, rotate  # noqa: E402
from reference_impl.measure.flops import count_flops  # noqa: E402
from reference_impl.measure.tensors import TensorCounter  # noqa: E402
from reference_impl.models.longformer import find_global, window_attention  # noqa: E402
from reference_impl.models.modernbert import Block, ModernBertConfig  # noqa: E402

LENGTHS, HEAD_DIM, SIDE, REPEATS, TURNS = (512, 1024, 2048, 4096, 8192), 64, 64, 5, 3
WAYS = ("dense", "flash", "masked", "local")


def vectors(length: int) -> list[Tensor]:
    """Queries, keys and values of one head, (1, 1, T, D) each."""
    generator = torch.Generator().manual_seed(length)
    return [torch.randn(1, 1, length, HEAD_DIM, generator=generator) for _ in range(3)]


def in_chunks(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A window of SIDE to each side, and no global token."""
    everywhere = torch.ones(q.shape[0], q.shape[2], dtype=torch.bool)
    return window_attention(q, k, v, SIDE, everywhere, find_global(~everywhere))


def way(name: str, length: int) -> Callable[[], Tensor]:
    """The call that is measured."""
    q, k, v = vectors(length)
    if name == "masked":
        mask = window_mask(length, before=SIDE, after=SIDE)
        return lambda: attention(q, k, v, mask)
    run = {"dense": plain_attention, "flash": attention, "local": in_chunks}[name]
    return lambda: run(q, k, v)


def seconds(run: Callable[[], Tensor]) -> float:
    """Of this processor's time in one call, after one that is not counted: other work on the
    machine counts little.
    """
    run()
    started = time.process_time()
    run()
    return time.process_time() - started


def resident(which: str) -> int:
    """Bytes of this process's memory that lie in RAM now ("VmRSS"), or did at the peak ("VmHWM");
    Linux only.
    """
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(which))


def grown(name: str, length: int) -> int:
    """How far this fresh process's peak in RAM lies, in bytes, above what it held before
    one call.
    """
    way(name, 256)()  # what torch sets up once
    run = way(name, length)
    before = resident("VmRSS")
    run()
    return resident("VmHWM") - before


def layer(length: int) -> dict[str, list[float]]:
    """Seconds of a layer, global and local, in turn."""
    config = ModernBertConfig()
    torch.manual_seed(0)
    block, x = Block(config, first=False), torch.randn(1, length, config.hidden_size)
    bases = {"global": config.global_rope_theta, "local": config.local_rope_theta}

    def run(kind: str) -> Tensor:
        tables = rotary_tables(
            torch.arange(length), config.hidden_size // config.num_heads, bases[kind]
        )
        parts = block.attention.qkv(block.attention_norm(x)).chunk(3, dim=-1)
        q, k, v = (split_heads(part, config.num_heads) for part in parts)
        mixed = (attention if kind == "global" else in_chunks)(
            rotate(q, tables), rotate(k, tables), v
        )
        y = x + block.attention.output(merge_heads(mixed))
        return y + block.feed_forward(block.feed_forward_norm(y))

    found = {kind: [] for kind in bases}
    for _ in range(TURNS):
        for kind, times in found.items():
            times.append(round(seconds(lambda kind=kind: run(kind)), 4))
    return found


@torch.no_grad()
def main() -> None:
    """Measure, write bench/results/encoder_lengths.json."""
    if len(sys.argv) == 4 and sys.argv[1] == "--grown":  # a process of its own for each peak
        print(grown(sys.argv[2], int(sys.argv[3])))
        return
    torch.set_num_threads(1)
    rows, lengths = [], []
    for length in LENGTHS:
        near = int(window_mask(length, before=SIDE, after=SIDE).sum())
        found = {"length": length, "scores_bytes": 4 * length * length, "ways": {}}
        for name in WAYS:
            run = way(name, length)
            with TensorCounter() as counter:
                run()
            child = subprocess.run(
                [sys.executable, Path(__file__).resolve(), "--grown", name, str(length)],
                check=True,
                capture_output=True,
                text=True,
            )
            found["ways"][name] = {
                "pairs": length * length if name in ("dense", "flash") else near,
                "flops": count_flops(run),
                "counted_bytes": counter.peak,
                "resident_bytes": int(child.stdout),
            }
        runs = {name: way(name, length) for name in WAYS}
        found["apart"] = {
            "flash, dense": float((runs["flash"]() - runs["dense"]()).abs().max()),
            "local, masked": float((runs["local"]() - runs["masked"]()).abs().max()),
        }
        turns = [{name: seconds(run) for name, run in runs.items()} for _ in range(REPEATS)]
        for name in WAYS:
            found["ways"][name]["seconds"] = [round(turn[name], 5) for turn in turns]
        del runs
        found["layer"] = layer(length)
        lengths.append(found)
        rows += [
            compare(
                f"window in chunks, {length} tokens",
                rival,
                "ms",
                [1e3 * turn["local"] for turn in turns],
                [1e3 * turn[rival] for turn in turns],
                larger_is_better=False,
            )
            for rival in WAYS[:3]
        ]
        print(found, flush=True)
    save(
        "encoder_lengths", rows, versions=("torch",), head_dim=HEAD_DIM, side=SIDE, lengths=lengths
    )


if __name__ == "__main__":
    main()
