"""What a norm costs on one thread: RMSNorm against LayerNorm, as formulas and as torch's operators,
beside one product.

    python bench/norms.py        under a minute on one core

512 tokens of LLaMA-7B's width, 4,096, in float32. The formulas are those of `layers.norms`, each
operation a pass over memory; torch's operators are what its release has for the CPU. The product is
one of the block's, 4,096 by 4,096. Runs are paired, one after the other.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from record import compare, save  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from reference_impl.layers.norms import layer_norm, rms_norm  # noqa: E402

TOKENS, WIDTH, RUNS = 512, 4096, 15


def milliseconds(work) -> float:
    """One call, in milliseconds of the process."""
    started = time.process_time()
    work()
    return 1000 * (time.process_time() - started)


def main() -> None:
    """Time all ways in turn, write bench/results/norms.json."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    x, weight, bias = (
        torch.randn(TOKENS, WIDTH, generator=generator),
        torch.ones(WIDTH),
        torch.zeros(WIDTH),
    )
    matrix = torch.randn(WIDTH, WIDTH, generator=generator)
    ways = {
        "RMSNorm, formula": lambda: rms_norm(x, weight),
        "LayerNorm, formula": lambda: layer_norm(x, weight, bias),
        "RMSNorm, torch": lambda: F.rms_norm(x, (WIDTH,), weight, 1e-6),
        "LayerNorm, torch": lambda: F.layer_norm(x, (WIDTH,), weight, bias),
        "one product": lambda: x @ matrix,
    }
    runs: dict[str, list[float]] = {name: [] for name in ways}
    with torch.inference_mode():
        for work in ways.values():
            work()
        for _ in range(RUNS):
            for name, work in ways.items():
                runs[name].append(milliseconds(work))
    rows = [
        compare(
            "RMSNorm for LayerNorm, formulas",
            "LayerNorm",
            "ms",
            runs["RMSNorm, formula"],
            runs["LayerNorm, formula"],
            larger_is_better=False,
        ),
        compare(
            "RMSNorm for LayerNorm, torch's operators",
            "LayerNorm",
            "ms",
            runs["RMSNorm, torch"],
            runs["LayerNorm, torch"],
            larger_is_better=False,
        ),
        compare(
            "RMSNorm, formula, beside one product",
            "one product",
            "ms",
            runs["RMSNorm, formula"],
            runs["one product"],
            larger_is_better=False,
        ),
        compare(
            "LayerNorm, formula, beside one product",
            "one product",
            "ms",
            runs["LayerNorm, formula"],
            runs["one product"],
            larger_is_better=False,
        ),
    ]
    save("norms", rows, versions=("torch",), tokens=TOKENS, width=WIDTH, seed=0)


if __name__ == "__main__":
    main()
