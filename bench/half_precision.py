"""A training step under bfloat16 autocast against float32, at three widths, and what half precision
does to a loss.

    python bench/half_precision.py [--rounds 3]        about a minute on one core

`training_step.py` has such rows, too; its record was made on a processor that cannot multiply
bfloat16. This record says whether the one below it can. Steps are those of that program: two
layers, 8 x 128 tokens, our loop, fused AdamW, the two taking turns. Then the trained GPT of
scripture reads 64 held-out chunks: its loss in float32; from float32 logits rounded to bfloat16;
and with log-softmax and mean in bfloat16 as well.
"""

import argparse
import os
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}

import torch  # noqa: E402  (threads are set before torch starts)
from record import compare, save  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402
from trained.texts import as_tokens, scripture, split  # noqa: E402
from training_step import ours  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.objectives.causal_lm import cut_chunks  # noqa: E402

WIDTHS, STEPS = (128, 256, 512), 3


@torch.no_grad()
def losses() -> dict[str, float]:
    """The same logits, three ways to make a loss of them."""
    kept = small_model("gpt_kjv")
    rows = cut_chunks(as_tokens(kept.tokenizer, split(scripture())[1]), 128)[:64]
    logits, labels = kept.model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()
    half = logits.bfloat16()
    return {
        "float32": float(cross_entropy(logits, labels)),
        "bfloat16 logits, float32 loss": float(cross_entropy(half.float(), labels)),
        "all in bfloat16": float(-half.log_softmax(-1).gather(-1, labels[:, None]).mean()),
        "bfloat16, added up one by one": (
            float(
                torch.cumsum(
                    -half.log_softmax(-1).gather(-1, labels[:, None])[:, 0], 0, dtype=torch.bfloat16
                )[-1]
            )
            / len(labels)
        ),
    }


def main() -> None:
    """Measure, write bench/results/half_precision.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    flags = (
        Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").is_file() else ""
    )
    rows = []
    for width in WIDTHS:
        size = (width, 2, 4, 8, 128)
        plain, half = ours(size), ours(size, autocast=torch.bfloat16)
        plain(1), half(1)
        times = [(1000 * half(STEPS) / STEPS, 1000 * plain(STEPS) / STEPS) for _ in range(rounds)]
        rows.append(
            compare(
                f"bf16 autocast, d {width}, 2 layers, 8 x 128 tokens",
                "own float32",
                "ms",
                *map(list, zip(*times, strict=True)),
                larger_is_better=False,
            )
        )
    save(
        "half_precision",
        rows,
        versions=("torch",),
        bf16_instructions=[name for name in ("avx512_bf16", "amx_bf16") if name in flags],
        clock="processor time",
        losses={name: round(value, 4) for name, value in losses().items()},
    )


if __name__ == "__main__":
    main()
