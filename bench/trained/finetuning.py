"""Ways to fine-tune MiniLM on a tenth of the film snippets, five seeds each: what learns, the rate,
warm-up, epochs.

    python bench/trained/finetuning.py [--seconds 120]
        about twenty minutes on one core, in pieces of your choice

Data, network and rates by layer are those of `sentiment.py`. A seed draws which 17 of the blocks of
50 neighbours are trained on, the new head, the order and the dropout; the same seed gives every way
the same blocks. All are asked for the same 1,055 snippets, every second of the blocks held out
there. Beside them, over the same blocks: counts of words, and MiniLM's vectors without any label,
by the cosine with sentences that name the two classes.

Each run is written when it ends, and what the record has is not run again; `--anew` begins at
nothing. An interval is that of Student's t over the five seeds: it covers the draw of the training
blocks, not that of the snippets asked for.
"""

import argparse
import json
import math
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402  (threads are set before torch starts)
import torch  # noqa: E402
from record import RESULTS, save  # noqa: E402
from scipy.stats import t as student_t  # noqa: E402
from sentiment import (  # noqa: E402
    BATCH,
    LENGTH,
    NEIGHBOURS,
    RATES,
    MeanClassifier,
    batches,
    held_out,
    naive_bayes,
    regression,
    tokens_and_labels,
    vectors,
)
from torch import Tensor  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.models.bert import Bert  # noqa: E402
from reference_impl.models.heads import mean_pool, similarity  # noqa: E402
from reference_impl.objectives.task_losses import sequence_classification  # noqa: E402
from reference_impl.training.fine_tuning import epoch_batches, fine_tuning_groups  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

SEEDS, BLOCKS = 5, 17
NAMED = (
    ("a bad film", "a good film"),
    ("negative", "positive"),
    ("I did not like this film.", "I liked this film."),
    ("This review is negative.", "This review is positive."),
    ("terrible", "great"),
)


@dataclass(frozen=True)
class Way:
    """How a run fine-tunes: the body's peak rate (the head has ten times as much), warm-up, epochs,
    where it starts.
    """

    rate: float = RATES.learning_rate
    warmup: float = 0.1
    epochs: int = 2
    start: str = "MiniLM"  # or "random"


ALL = Way()
WAYS = {
    "all layers": ALL,
    "random weights": Way(3e-4, start="random"),
    **{f"rate {rate:g}": replace(ALL, rate=rate) for rate in (3e-4, 1e-3, 1e-5)},
    "no warm-up": replace(ALL, warmup=0.0),
    "1 epoch": replace(ALL, epochs=1),
}


class Task:
    """The snippets of one seed: what is trained on, and what is asked for."""

    def __init__(self, seed: int):
        self.texts, self.rows, self.labels = tokens_and_labels()
        places, held = torch.arange(len(self.rows)), held_out(len(self.rows))
        blocks = (places[~held] // NEIGHBOURS).unique()
        drawn = blocks[
            torch.randperm(len(blocks), generator=torch.Generator().manual_seed(seed))[:BLOCKS]
        ]
        asked = held & (places // NEIGHBOURS % 10 == 2)
        self.parts = {
            "train": places[torch.isin(places // NEIGHBOURS, drawn)].tolist(),
            "held": places[asked].tolist(),
        }
        self.data = {
            name: batches([self.rows[i] for i in part], self.labels[part], BATCH)
            for name, part in self.parts.items()
        }
        self.truth = {name: self.labels[part].numpy() for name, part in self.parts.items()}


@torch.no_grad()
def labels_by(model: MeanClassifier, some: list[dict[str, Tensor]]) -> Tensor:
    """What the model says, in the order of the batches; it stays in the mode it is in."""
    return torch.cat([model(batch["ids"], batch["mask"]).argmax(-1) for batch in some])


def with_dropout(model: MeanClassifier, some: list[dict[str, Tensor]]) -> dict[str, float]:
    """What is measured when somebody forgets `eval()`: two passes over the same texts."""
    torch.manual_seed(0)
    model.train()
    one, other = labels_by(model, some), labels_by(model, some)
    right = torch.cat([batch["labels"] for batch in some])
    return {
        "accuracy with dropout": float((one == right).double().mean()),
        "labels that change": float((one != other).double().mean()),
    }


def fine_tuned(way: Way, task: Task, seed: int) -> dict[str, Any]:
    """One run: its curve and what it reaches on what is held out."""
    torch.manual_seed(seed)
    bert = corpora.load("minilm")
    model = MeanClassifier(Bert(bert.config) if way.start == "random" else bert)
    model.bert.embeddings.requires_grad_(way.start == "random")
    some, count = task.data["train"], len(task.data["train"])
    order, steps = epoch_batches(count, 1, seed=seed), way.epochs * count
    config = TrainingConfig(
        num_steps=steps,
        learning_rate=way.rate,
        warmup_steps=round(way.warmup * steps),
        schedule="linear",
        weight_decay=RATES.weight_decay,
        autocast=torch.bfloat16,
        seed=seed,
    )
    history = train(
        model,
        sequence_classification,
        lambda number: some[order(number)[0]],
        config,
        progress=False,
        groups=lambda m: fine_tuning_groups(m, replace(RATES, learning_rate=way.rate)),
    ).history
    losses = [row["loss"] for row in history]
    right = torch.cat([batch["labels"] for batch in task.data["held"]])
    said = labels_by(model.eval(), task.data["held"])
    found = {
        "accuracy": float((said == right).double().mean()),
        "says positive": float(said.double().mean()),
        "steps": steps,
        "loss": [
            round(sum(part) / len(part), 4)
            for part in (losses[at : at + 6] for at in range(0, steps, 6))
        ],
    }
    return {**found, **(with_dropout(model, task.data["held"]) if way == ALL else {})}


@torch.no_grad()
def readings(bert: Bert, some: list[dict[str, Tensor]]) -> dict[str, np.ndarray]:
    """Three ways to read one vector out of a text's, (N, C) each, in the rows' own order."""
    bert.eval()
    found: dict[str, list[Tensor]] = {"mean": [], "[CLS]": [], "pooler": []}
    for batch in some:
        output = bert(batch["ids"], mask=batch["mask"])
        for name, vector in zip(
            found,
            (mean_pool(output.tokens, batch["mask"]), output.tokens[:, 0], output.pooled),
            strict=True,
        ):
            found[name].append(vector)
    order = torch.cat([batch["places"] for batch in some]).argsort()
    return {name: torch.cat(parts)[order].numpy() for name, parts in found.items()}


def without_training(task: Task, bert: Bert) -> dict[str, Any]:
    """What needs no step of the body: a head on frozen vectors, counts of words, sentences that
    name the classes.
    """
    frozen = {name: readings(bert, some) for name, some in task.data.items()}
    heads = {how: regression(frozen["train"][how], task.truth["train"]) for how in frozen["train"]}
    tokenizer, held = corpora.load("bert_tokenizer"), torch.tensor(frozen["held"]["mean"])
    named = {}
    for names in NAMED:
        both = batches([tokenizer.encode(name).ids for name in names], torch.tensor([0, 1]), 2)
        said = similarity(held, torch.tensor(vectors(bert, both))).argmax(-1).numpy()
        named[" / ".join(names)] = float((said == task.truth["held"]).mean())
    larger = int(task.truth["train"].mean() > 0.5)
    return {
        "head alone": heads["mean"].score(frozen["held"]["mean"], task.truth["held"]),
        "head alone, by": {
            how: head.score(frozen["held"][how], task.truth["held"]) for how, head in heads.items()
        },
        "naive Bayes": naive_bayes(
            {name: [task.texts[i] for i in part] for name, part in task.parts.items()}, task.truth
        ),
        "larger class of the training": float((task.truth["held"] == larger).mean()),
        "named classes": named,
        "head": {
            "weights": [round(float(value), 4) for value in heads["mean"].coef_[0]],
            "bias": round(float(heads["mean"].intercept_[0]), 4),
        },
    }


def interval(values: list[float]) -> dict[str, float]:
    """Mean, and half of the 95 % interval of Student's t."""
    mean, many = sum(values) / len(values), len(values)
    spread = (
        math.sqrt(sum((value - mean) ** 2 for value in values) / (many - 1))
        if many > 1
        else math.nan
    )
    return {
        "mean": round(mean, 4),
        "half": round(float(student_t.ppf(0.975, many - 1)) * spread / math.sqrt(many), 4),
    }


def write(runs: dict[str, dict[str, Any]], untrained: dict[str, Any], task: Task) -> None:
    """The record: each run, and intervals of what all seeds have, and of how much less that is than
    all layers reach.
    """
    reached = {
        name: {seed: run["accuracy"] for seed, run in some.items()} for name, some in runs.items()
    }
    for name in ("head alone", "naive Bayes", "larger class of the training"):
        reached[name] = {seed: found[name] for seed, found in untrained.items()}
    for how in ("[CLS]", "pooler"):
        reached[f"head alone, by {how}"] = {
            seed: found["head alone, by"][how] for seed, found in untrained.items()
        }
    for names in map(" / ".join, NAMED):
        reached[names] = {seed: found["named classes"][names] for seed, found in untrained.items()}
    full = {name: by_seed for name, by_seed in reached.items() if len(by_seed) == SEEDS}
    best = full.get("all layers", {})
    save(
        "trained_finetuning",
        versions=("torch", "scikit-learn", "scipy"),
        seed=list(range(SEEDS)),
        interval="95 %, Student's t over the seeds; of differences, seed by seed",
        snippets={name: len(part) for name, part in task.parts.items()},
        neighbours=NEIGHBOURS,
        tokens_at_most=LENGTH,
        batch=BATCH,
        rates={
            "of the head to that of the top layer": RATES.head_scale,
            "of a layer to that of the one above it": RATES.layer_decay,
        },
        ways={name: vars(way) for name, way in WAYS.items()},
        named=NAMED,
        autocast="bfloat16",
        cpu_seconds=round(
            sum(run["cpu_seconds"] for some in runs.values() for run in some.values())
        ),
        accuracy={name: interval(list(by_seed.values())) for name, by_seed in full.items()},
        below_all_layers={
            name: interval([best[seed] - by_seed[seed] for seed in best])
            for name, by_seed in full.items()
            if best
        },
        untrained=untrained,
        runs=runs,
    )


def main() -> None:
    """Run what the record lacks, and write it after every run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="begin no run after so many seconds"
    )
    parser.add_argument("--anew", action="store_true", help="forget what the record has")
    args = parser.parse_args()
    torch.set_num_threads(1)
    started, path = time.monotonic(), RESULTS / "trained_finetuning.json"
    kept = (
        json.loads(path.read_text(encoding="utf-8"))
        if path.exists() and not args.anew
        else {"runs": {}, "untrained": {}}
    )
    runs, untrained = (
        {name: some for name, some in kept["runs"].items() if name in WAYS},
        kept["untrained"],
    )
    for seed in map(str, range(SEEDS)):
        if "head alone, by" not in untrained.get(seed, {}):
            untrained[seed] = without_training(Task(int(seed)), corpora.load("minilm"))
    tasks = {str(seed): Task(seed) for seed in range(SEEDS)}
    for name, way in WAYS.items():
        for seed, task in tasks.items():
            if seed in runs.setdefault(name, {}) or time.monotonic() - started > args.seconds:
                continue
            before = time.process_time()
            found = fine_tuned(way, task, int(seed))
            runs[name][seed] = {**found, "cpu_seconds": round(time.process_time() - before, 1)}
            print(
                name,
                seed,
                {key: value for key, value in found.items() if key != "loss"},
                flush=True,
            )
            write(runs, untrained, task)


if __name__ == "__main__":
    main()
