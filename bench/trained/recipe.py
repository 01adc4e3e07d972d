"""Seven ways to train one small decoder with the same number of FLOPs.

    python bench/trained/recipe.py        after gpt.py; five minutes on one core

A run is appended to the file --progress, if one is given, and what the file has is not done again.

The model is LLaMA's block, two of them, 96 wide. The baseline is AdamW with weight decay 0.1 and a
cosine. Five variants change one thing each, and the last makes all changes but the missing decay.
Learning rates are chosen for AdamW and for Muon by a half of the held-out chunks; the losses are
of the other half. A variant gets as many steps as the baseline's FLOPs allow, its optimizer's
matrix products included.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from gpt import VOCAB_SIZE  # noqa: E402
from ladder import LENGTH, Text, nats  # noqa: E402
from record import save  # noqa: E402

from reference_impl.measure.flops import count_flops  # noqa: E402
from reference_impl.models.llama import Llama, LlamaConfig  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm  # noqa: E402
from reference_impl.objectives.z_loss import causal_lm_with_z_loss  # noqa: E402
from reference_impl.training.muon import Muon  # noqa: E402
from reference_impl.training.optimizer import scale_and_clip, set_learning_rate  # noqa: E402
from reference_impl.training.schedules import learning_rate  # noqa: E402

STEPS, SEEDS, RATES = 240, (0, 1), (1e-3, 2e-3, 4e-3, 8e-3)


@dataclass(frozen=True)
class Recipe:
    """What a training does apart from its learning rate and its seed."""

    muon: bool = False
    schedule: str = "cosine"
    qk_norm: bool = False
    z_loss: bool = False
    weight_decay: float = 0.1


BASELINE = Recipe()
ALL = Recipe(muon=True, schedule="wsd", qk_norm=True, z_loss=True)
VARIANTS = {
    "baseline": BASELINE,
    "no weight decay": replace(BASELINE, weight_decay=0.0),
    "WSD": replace(BASELINE, schedule="wsd"),
    "QK-norm": replace(BASELINE, qk_norm=True),
    "z-loss": replace(BASELINE, z_loss=True),
    "Muon": replace(BASELINE, muon=True),
    "all four": ALL,
}


class Training:
    """A model with its optimizers, one step at a time."""

    def __init__(self, recipe: Recipe, seed: int):
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=96,
            intermediate_size=256,
            num_layers=2,
            num_heads=4,
            num_kv_heads=4,
            max_position_embeddings=LENGTH,
            tie_word_embeddings=True,
            qk_norm=recipe.qk_norm,
        )
        self.recipe, self.model = recipe, Llama(config)
        self.objective = causal_lm_with_z_loss if recipe.z_loss else causal_lm
        matrices = [p for p in self.model.blocks.parameters() if p.ndim == 2]
        decayed = [self.model.embedding.weight, *([] if recipe.muon else matrices)]
        known = {id(p) for p in (*matrices, *decayed)}
        others = [p for p in self.model.parameters() if id(p) not in known]
        decay = recipe.weight_decay
        groups = [
            {"params": decayed, "weight_decay": decay},
            {"params": others, "weight_decay": 0.0},
        ]
        self.optimizers = [torch.optim.AdamW(groups, lr=1.0, betas=(0.9, 0.95))]
        if recipe.muon:
            self.optimizers.append(Muon(matrices, lr=1.0, weight_decay=decay))

    def step(self, batch: dict[str, torch.Tensor], rate: float) -> None:
        """One step at this learning rate."""
        for optimizer in self.optimizers:
            set_learning_rate(optimizer, rate)
            optimizer.zero_grad()
        terms = self.objective(self.model, batch)
        terms.total.backward()
        scale_and_clip(self.model.parameters(), 1 / terms.count, 1.0)
        for optimizer in self.optimizers:
            optimizer.step()


def flops_of_a_step(text: Text, recipe: Recipe) -> int:
    """All matrix products of one step, the optimizer's included."""
    training, batch = Training(recipe, 0), text.batches(0)(0)
    return int(count_flops(lambda: training.step(batch, 1e-3)))


def largest_logit(model: Llama, rows: torch.Tensor) -> float:
    """The largest absolute log normalizer over some chunks."""
    with torch.no_grad():
        return float(model(rows[:64, :-1]).logsumexp(-1).abs().max())


def trained(
    text: Text, name: str, rate: float, seed: int, steps: int, progress: Path | None
) -> dict[str, Any]:
    """Train one variant and measure it, unless that has been done."""
    lines = progress.read_text().splitlines() if progress and progress.exists() else []
    asked = {"variant": name, "rate": rate, "seed": seed, "steps": steps}
    for run in map(json.loads, lines):
        if asked.items() <= run.items():
            return run
    found = asked | measured(text, VARIANTS[name], rate, seed, steps)
    if progress:
        progress.write_text("\n".join([*lines, json.dumps(found)]) + "\n")
    print(found, flush=True)
    return found


def measured(text: Text, recipe: Recipe, rate: float, seed: int, steps: int) -> dict[str, float]:
    """The losses of one training, its largest log normalizer, and its seconds."""
    started = time.process_time()
    training, batches = Training(recipe, seed), text.batches(seed)
    training.model.train()
    for step in range(steps):
        now = learning_rate(step, steps, rate, min(50, steps // 8), recipe.schedule, rate / 20)
        training.step(batches(step), now)
    return {
        "nats": round(nats(training.model, text.measured_on), 4),
        "nats_chosen_by": round(nats(training.model, text.chosen_by), 4),
        "largest_log_z": round(largest_logit(training.model, text.chosen_by), 2),
        "cpu_seconds": round(time.process_time() - started, 1),
    }


def main() -> None:
    """Choose two learning rates, then train every variant under every seed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--progress", type=Path)
    progress = parser.parse_args().progress
    torch.set_num_threads(1)
    text = Text()
    flops = {name: flops_of_a_step(text, recipe) for name, recipe in VARIANTS.items()}
    steps = {name: STEPS * flops["baseline"] // each for name, each in flops.items()}
    tried = [
        trained(text, name, rate, 0, steps[name], progress)
        for name in ("baseline", "Muon")
        for rate in RATES
    ]
    best = {
        name: min(
            (run for run in tried if run["variant"] == name), key=lambda run: run["nats_chosen_by"]
        )["rate"]
        for name in ("baseline", "Muon")
    }
    runs = []
    for seed in SEEDS:
        for name, recipe in VARIANTS.items():
            rate = best["Muon" if recipe.muon else "baseline"]
            runs.append(trained(text, name, rate, seed, steps[name], progress))
    save(
        "trained_recipe",
        versions=("torch",),
        seed=list(SEEDS),
        flops_a_step=flops,
        steps=steps,
        rates=best,
        tried=tried,
        runs=runs,
        cpu_seconds=round(sum(run["cpu_seconds"] for run in [*tried, *runs])),
    )


if __name__ == "__main__":
    main()
