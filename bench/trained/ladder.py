"""A ladder of nine small GPTs, each text read once; a law fitted to them; and the largest run,
foretold before it is made.

    python bench/trained/ladder.py [--until rates|grid|law|largest] [--anew]
        after gpt.py; ten minutes on one core

Three sizes (two layers, 24, 48 and 96 wide) are trained on three lengths of scripture, three seeds
each: a seed draws the weights and which of the text's chunks are read, and no chunk is read twice.
All have the rate of `gpt.py`. The shortest trainings are tried with other rates as well, two seeds
each, on a half of the held-out chunks that no other loss is taken from: the record has them. (At
first each size had the best of these. The smallest then had four times the rate, and two seeds of
its longest training ended 0.27 nats apart; that was given up before any law was fitted.) A size is
counted without the embedding and the positions; the record has the fit with them, too.

The order is the point. First the rates, then the nine, then the law with its errors and what it
says of a run of four layers, 128 wide, over the whole text; that is written. Then the largest run
is made. What the record has is not done again, so that the prediction cannot be mended afterwards;
`--anew` begins at nothing.

Errors of the law: each of the nine left out and foretold from the other eight; and 200 fits to runs
drawn again, for each of the nine as many seeds as there are, with repetition.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402  (threads are set before torch starts)
import torch  # noqa: E402
from gpt import NAME, VOCAB_SIZE  # noqa: E402
from record import RESULTS, save  # noqa: E402
from texts import as_tokens, scripture, split, tokenizer_for  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl.measure.scaling_law import Run, ScalingLaw, fit_scaling_law  # noqa: E402
from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, chunk_batch, cut_chunks  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

LENGTH, BATCH, SEEDS, RATE_SEEDS, DRAWS = 64, 16, 3, (0, 1), 200
SIZES = {24: 2, 48: 2, 96: 2}  # width: layers
LARGEST, LARGEST_SEEDS = (128, 4), 2
STEPS = (160, 320, 640)  # of 1,024 tokens; the largest reads the whole text
RATE, RATES = 4e-3, (2e-3, 4e-3, 8e-3, 16e-3)


class Text:
    """The chunks that are learned from and those that are held out, in two halves."""

    def __init__(self):
        trained_on, held_out = split(scripture())
        tokenizer = tokenizer_for(NAME, trained_on, VOCAB_SIZE)
        self.rows = cut_chunks(as_tokens(tokenizer, trained_on), LENGTH)
        held = cut_chunks(as_tokens(tokenizer, held_out), LENGTH)
        self.chosen_by, self.measured_on = held[::2], held[1::2]
        self.most = len(self.rows) // BATCH  # steps that read the text once

    def batches(self, seed: int):
        """Chunks in an order that the seed draws; none comes twice."""
        order = torch.randperm(len(self.rows), generator=torch.Generator().manual_seed(1000 + seed))
        return lambda number: chunk_batch(self.rows[order[number * BATCH : (number + 1) * BATCH]])


@torch.no_grad()
def nats(model: GPT, rows: Tensor) -> float:
    """The mean loss of a token over chunks."""
    model.eval()
    terms = [causal_lm(model, chunk_batch(part)) for part in rows.split(128)]
    return sum(float(one.total) for one in terms) / sum(one.count for one in terms)


def trained(
    text: Text, width: int, layers: int, steps: int, rate: float, seed: int
) -> dict[str, Any]:
    """One run: its sizes, its losses on both halves of the held-out text, and what it cost."""
    torch.manual_seed(seed)
    model = GPT(
        GPTConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=width,
            num_layers=layers,
            num_heads=width // 8 if width < 32 else width // 16,
            max_position_embeddings=LENGTH,
            dropout=0.0,
        )
    )
    every, tables = (
        sum(p.numel() for p in part)
        for part in (list(model.parameters()), [model.embedding.weight])
    )
    config = TrainingConfig(
        num_steps=steps,
        learning_rate=rate,
        warmup_steps=min(50, steps // 8),
        schedule="cosine",
        min_learning_rate=rate / 20,
        weight_decay=0.1,
        betas=(0.9, 0.95),
        seed=seed,
    )
    started = time.process_time()
    history = train(model, causal_lm, text.batches(seed), config, progress=False).history
    found = {
        "width": width,
        "layers": layers,
        "parameters": every - tables - LENGTH * width,
        "with_tables": every,
        "tokens": history[-1]["terms"],
        "steps": steps,
        "rate": rate,
        "seed": seed,
        "nats": round(nats(model, text.measured_on), 4),
        "nats_chosen_by": round(nats(model, text.chosen_by), 4),
        "cpu_seconds": round(time.process_time() - started, 1),
    }
    print(found, flush=True)
    return found


def as_runs(rows: Sequence[dict[str, Any]], size: str = "parameters") -> list[Run]:
    """Rows of the record as a law wants them."""
    return [Run(row[size], row["tokens"], row["nats"]) for row in rows]


def cells(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The runs by size and length, a list of seeds each."""
    kinds = sorted({(row["width"], row["steps"]) for row in rows})
    return [[row for row in rows if (row["width"], row["steps"]) == kind] for kind in kinds]


def constants(law: ScalingLaw) -> dict[str, float]:
    """A law for the record."""
    return {name: round(value, 6) for name, value in vars(law).items()}


def fitted(grid: list[dict[str, Any]], largest: dict[str, float]) -> dict[str, Any]:
    """The law, its errors, and what it says of the largest run."""
    law, groups, draw = fit_scaling_law(as_runs(grid)), cells(grid), np.random.default_rng(0)
    left_out = []
    for group in groups:
        without = fit_scaling_law(as_runs([row for row in grid if row not in group]))
        left_out.append(
            {
                "width": group[0]["width"],
                "tokens": group[0]["tokens"],
                "foretold": round(without.loss(group[0]["parameters"], group[0]["tokens"]), 4),
                "measured": round(float(np.mean([row["nats"] for row in group])), 4),
                "floor": round(without.floor, 4),
            }
        )
    drawn = [
        fit_scaling_law(
            as_runs(
                [group[i] for group in groups for i in draw.integers(len(group), size=len(group))]
            )
        )
        for _ in range(DRAWS)
    ]
    with_tables = fit_scaling_law(as_runs(grid, "with_tables"))
    return {
        "law": constants(law),
        "left_out": left_out,
        "drawn_again": [constants(one) for one in drawn],
        "with_tables": constants(with_tables),
        "of": largest,
        "foretold": {
            "parameters": round(law.loss(largest["parameters"], largest["tokens"]), 4),
            "with_tables": round(with_tables.loss(largest["with_tables"], largest["tokens"]), 4),
            "drawn_again": [
                round(one.loss(largest["parameters"], largest["tokens"]), 4) for one in drawn
            ],
        },
    }


def sizes_of_largest(text: Text) -> dict[str, float]:
    """The largest run's numbers and tokens, counted without training it."""
    width, layers = LARGEST
    with torch.device("meta"):
        model = GPT(
            GPTConfig(
                vocab_size=VOCAB_SIZE,
                hidden_size=width,
                num_layers=layers,
                num_heads=4,
                max_position_embeddings=LENGTH,
            )
        )
    every = sum(p.numel() for p in model.parameters())
    return {
        "width": width,
        "layers": layers,
        "parameters": every - (VOCAB_SIZE + LENGTH) * width,
        "with_tables": every,
        "tokens": text.most * BATCH * LENGTH,
        "steps": text.most,
    }


def main() -> None:
    """Do what the record lacks, in order, and write it after every run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--until", choices=("rates", "grid", "law", "largest"), default="largest")
    parser.add_argument("--anew", action="store_true", help="forget what the record has")
    args = parser.parse_args()
    torch.set_num_threads(1)
    path, text = RESULTS / "trained_ladder.json", Text()
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() and not args.anew else {}
    state: dict[str, Any] = {name: kept.get(name, []) for name in ("rates", "grid", "largest")} | {
        "law": kept.get("law")
    }

    def add(part: str, *what) -> None:
        known = {(row["width"], row["steps"], row["rate"], row["seed"]) for row in state[part]}
        if (what[0], *what[2:]) in known:
            return
        state[part].append(trained(text, *what))
        write()

    def write() -> None:
        every = [row for part in ("rates", "grid", "largest") for row in state[part]]
        save(
            "trained_ladder",
            versions=("torch", "numpy", "scipy"),
            seed=list(range(SEEDS)),
            tokens_a_step=BATCH * LENGTH,
            vocabulary=VOCAB_SIZE,
            held_out={"tokens": text.measured_on.numel() // (LENGTH + 1) * LENGTH},
            cpu_seconds=round(sum(row["cpu_seconds"] for row in every)),
            **state,
        )

    for width, layers in SIZES.items():
        for rate in RATES:
            for seed in RATE_SEEDS:
                add("rates", width, layers, STEPS[0], rate, seed)
    if args.until != "rates":
        for seed in range(SEEDS):
            for width, layers in SIZES.items():
                for steps in STEPS:
                    add("grid", width, layers, steps, RATE, seed)
    if args.until in ("law", "largest") and state["law"] is None:
        state["law"] = fitted(state["grid"], sizes_of_largest(text))
        write()
        print("foretold", state["law"]["foretold"]["parameters"], state["law"]["law"], flush=True)
    if args.until == "largest":
        for seed in range(LARGEST_SEEDS):
            add("largest", *LARGEST, text.most, RATE, seed)


if __name__ == "__main__":
    main()
