"""A causal model whose loss counts all of its tokens, beside twins that are asked at fewer of them:
what does a token teach?

    python bench/trained/asked_share.py        after gpt.py; about two minutes on one core

A masked model learns from its blanks only, 15 % of the tokens in BERT's recipe, 40 % in this
course's. To see what that share alone costs, everything else stays: one causal model of the ladder
(two layers, 48 wide), the same weights to begin with, the same chunks in the same order, the same
rates. Only the loss counts a drawn 15 or 40 % of the places in place of all. Three seeds; held out,
every place counts for all. Beside them, asked everywhere: the same model stopped sooner, each
length with a schedule of its own, so that one can say how many tokens a share is worth.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from gpt import VOCAB_SIZE  # noqa: E402
from ladder import BATCH, LENGTH, Text, nats  # noqa: E402
from record import save  # noqa: E402

from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm  # noqa: E402
from reference_impl.objectives.terms import IGNORED  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

WIDTH, LAYERS, RATE, STEPS, SEEDS = 48, 2, 4e-3, 640, 3
SHARES, SOONER = (1.0, 0.4, 0.15), (160, 320)


def run(text: Text, share: float, steps: int, seed: int) -> dict[str, Any]:
    """One training: which share of the places was asked, for how many steps, and the loss on all
    places held out.
    """
    torch.manual_seed(seed)
    model = GPT(
        GPTConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=WIDTH,
            num_layers=LAYERS,
            num_heads=3,
            max_position_embeddings=LENGTH,
            dropout=0.0,
        )
    )
    of_step, asked, before = text.batches(seed), 0, time.process_time()

    def batches(number: int) -> dict[str, torch.Tensor]:
        batch = of_step(number)
        drawn = (
            torch.rand(
                batch["ids"].shape,
                generator=torch.Generator().manual_seed(seed * 1_000_003 + number),
            )
            < share
        )
        return {"ids": batch["ids"], "labels": batch["labels"].masked_fill(~drawn, IGNORED)}

    config = TrainingConfig(
        num_steps=steps,
        learning_rate=RATE,
        warmup_steps=min(50, steps // 8),
        min_learning_rate=RATE / 20,
        weight_decay=0.1,
        betas=(0.9, 0.95),
        seed=seed,
    )
    asked = train(model, causal_lm, batches, config, progress=False).history[-1]["terms"]
    found = {
        "share": share,
        "steps": steps,
        "seed": seed,
        "tokens": steps * BATCH * LENGTH,
        "asked": asked,
        "nats": round(nats(model, text.measured_on), 4),
    }
    print(found, f"{time.process_time() - before:.0f} s", flush=True)
    return found


def main() -> None:
    """Train, write bench/results/trained_asked_share.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    text, started = Text(), time.process_time()
    runs = [run(text, share, STEPS, seed) for share in SHARES for seed in range(SEEDS)]
    runs += [run(text, 1.0, steps, seed) for steps in SOONER for seed in range(SEEDS)]
    save(
        "trained_asked_share",
        versions=("torch",),
        seed=list(range(SEEDS)),
        width=WIDTH,
        layers=LAYERS,
        rate=RATE,
        runs=runs,
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()
