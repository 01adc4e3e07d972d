"""Replaced tokens learned in a second stage: a discriminator that begins as the trained small BERT.

    python bench/trained/electra_stages.py [--steps 400]
        after bert.py and electra.py; about five minutes on one core

Trained together with its generator for as many operations as bench/trained/electra.py allows, a
discriminator of this size learns the share of replaced tokens and nothing about which they are
(`joint`, the model kept there). Clark et al. 2020, section 3.2, saw the same where a discriminator
met a trained generator without a start of its own: "the majority class". Their cure is used here:
the encoder starts with the weights of a masked language model.

From there two ways go on with equal operations, three seeds each, on the same stretches:
- replaced: replacements are drawn by their frequency in the text, 15 % of the places ("unigram" in
  the paper's figure 3; a generator that costs nothing);
- masked: masked language modelling goes on, as before.

Each discriminator is judged by three kinds of replacement in held-out text: by frequency, by the
early BERT, by the finished one. 0.5 is chance: the chance that a replaced token looks more
suspicious than one left alone.

And a probe that neither was trained on: in half of the held-out stretches two neighbours in the
middle half were exchanged. Logistic regression on the mean of a stretch's vectors says which; the
tokens of a stretch are the same either way, so counts are at chance. Three halvings of the
stretches into those that fit and those that measure.

The discriminator of the first seed is kept (`small_model("electra_kjv_stages")`).
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import copy  # noqa: E402  (threads are set before torch starts)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from bert import LENGTH, as_tokens, at_blanks, masking, new_model, stretches  # noqa: E402
from electra import config, figures  # noqa: E402
from record import save  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402
from texts import folder, losses_of_first_steps, scripture, split  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.measure.flops import count_flops  # noqa: E402
from reference_impl.models.bert import BertForMaskedLM  # noqa: E402
from reference_impl.models.electra import Electra, ElectraForPreTraining  # noqa: E402
from reference_impl.objectives.replaced_token import replaced_terms, sample  # noqa: E402
from reference_impl.objectives.terms import IGNORED, Terms  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, STEPS, SEEDS, SHARE, RATE = "electra_kjv_stages", 400, 3, 0.15, 1e-3
Batch = dict[str, Tensor]


def discriminator_from(trained: BertForMaskedLM) -> ElectraForPreTraining:
    """The trained encoder below a head that is drawn."""
    torch.manual_seed(0)
    model = ElectraForPreTraining(config(2))
    model.electra.load_state_dict(
        {
            name: tensor
            for name, tensor in trained.bert.state_dict().items()
            if not name.startswith("pooler")
        }
    )
    return model


def by_frequency(rows: Tensor, tokens: Tensor, generator: torch.Generator) -> Tensor:
    """The rows with a share of their tokens replaced by others of the text."""
    drawn = tokens[torch.randint(len(tokens), rows.shape, generator=generator)]
    return torch.where(torch.rand(rows.shape, generator=generator) < SHARE, drawn, rows)


def replaced_batches(tokens: Tensor, seed: int) -> Callable[[int], Batch]:
    """Batch i, a function of i alone; a token that was drawn in its own place is not replaced."""

    def batch(index: int) -> Batch:
        rows, generator = stretches(tokens, 10_000 * (seed + 2) + index)
        shown = by_frequency(rows, tokens, generator)
        return {"ids": shown, "replaced": (shown != rows).long()}

    return batch


def masked_batches(tokens: Tensor, seed: int) -> Callable[[int], Batch]:
    """The same stretches with blanks."""

    def batch(index: int) -> Batch:
        ids, labels = masking(SHARE).mask_tokens(*stretches(tokens, 10_000 * (seed + 2) + index))
        return {"ids": ids, "labels": labels}

    return batch


def told(model: ElectraForPreTraining, batch: Batch) -> Terms:
    """Which tokens were replaced, asked of all of them."""
    return replaced_terms(
        model(batch["ids"]), batch["replaced"], torch.ones_like(batch["ids"], dtype=torch.bool)
    )


def training(steps: int) -> TrainingConfig:
    """As the training before it, with a lower rate."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=RATE,
        warmup_steps=steps // 10,
        schedule="linear",
        betas=(0.9, 0.98),
    )


def first_losses(count: int) -> list[float]:
    """The losses of the first steps of the second stage, trained anew; nothing is kept."""
    kept = small_model("bert_kjv")
    tokens = as_tokens(kept.tokenizer, split(scripture())[0])
    return losses_of_first_steps(
        count, discriminator_from(kept.model), told, replaced_batches(tokens, 0), training(STEPS)
    )


@torch.no_grad()
def by_model(rows: Tensor, filler: BertForMaskedLM) -> tuple[Tensor, dict[str, float]]:
    """The rows with blanks filled by samples of a model, and how that went."""
    generator = torch.Generator().manual_seed(3)
    ids, labels = masking(SHARE).mask_tokens(rows, generator)
    chosen = labels != IGNORED
    logits, truth = filler.masked_lm(filler.bert(ids).tokens[chosen]), labels[chosen]
    guesses = sample(logits, torch.rand(len(truth), generator=generator))
    filled = rows.masked_scatter(chosen, guesses)
    return filled, {
        "blanks": round(float(chosen.double().mean()), 4),
        "replaced": round(float((filled != rows).double().mean()), 4),
        "right_if_sampled": round(float((guesses == truth).double().mean()), 4),
        "right_if_likeliest": round(float((logits.argmax(-1) == truth).double().mean()), 4),
        "mean_probability_of_truth": round(
            float(logits.softmax(-1).gather(1, truth[:, None]).mean()), 4
        ),
    }


@torch.no_grad()
def suspicion(
    model: ElectraForPreTraining, rows: Tensor, shown: dict[str, Tensor]
) -> dict[str, float]:
    """For each kind of replacement the area under the curve."""
    found = {}
    for name, ids in shown.items():
        logits = torch.cat([model(part).view(part.shape) for part in ids.split(128)])
        found[name] = round(
            float(roc_auc_score((ids != rows).flatten().numpy(), logits.flatten().numpy())), 4
        )
    return found


def neighbours_exchanged(rows: Tensor) -> tuple[Tensor, np.ndarray]:
    """Half of the rows with two different neighbours of the middle half exchanged, and which."""
    generator = torch.Generator().manual_seed(4)
    at = torch.randint(LENGTH // 4, 3 * LENGTH // 4 - 1, (len(rows),), generator=generator)
    exchange = torch.rand(len(rows), generator=generator) < 0.5
    order = torch.arange(LENGTH).repeat(len(rows), 1)
    here = exchange.nonzero().flatten()
    order[here, at[here]], order[here, at[here] + 1] = at[here] + 1, at[here]
    shown = rows.gather(1, order)
    return shown, (shown != rows).any(1).numpy()


@torch.no_grad()
def vectors_of(encoder: nn.Module, ids: Tensor) -> np.ndarray:
    """The mean vector of each stretch."""
    parts = (encoder(part) for part in ids.split(256))
    return torch.cat(
        [(part if isinstance(part, Tensor) else part.tokens).mean(1) for part in parts]
    ).numpy()


def probe(x: np.ndarray, y: np.ndarray) -> list[float]:
    """Accuracy where it was not fitted, for three halvings."""
    found = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        fit, measure = order[: len(y) // 2], order[len(y) // 2 :]
        middle, spread = x[fit].mean(0), x[fit].std(0) + 1e-6
        model = LogisticRegression(max_iter=500, C=0.1).fit((x[fit] - middle) / spread, y[fit])
        found.append(round(float(model.score((x[measure] - middle) / spread, y[measure])), 4))
    return found


def main() -> None:
    """Train both ways, judge all, write bench/results/trained_electra_stages.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    kept, early, joint = (
        small_model(name) for name in ("bert_kjv", "bert_kjv_early", "electra_kjv")
    )
    tokens, held = (as_tokens(kept.tokenizer, text) for text in split(scripture()))
    rows = held[: len(held) // LENGTH * LENGTH].view(-1, LENGTH)
    some = rows[::3]
    filled = {
        "the early BERT": by_model(some, early.model),
        "the finished BERT": by_model(some, kept.model),
    }
    shown = {
        "frequency": by_frequency(some, tokens, torch.Generator().manual_seed(5)),
        **{name: ids for name, (ids, _) in filled.items()},
    }
    longer = torch.cat(
        [
            held[offset:][: (len(held) - offset) // LENGTH * LENGTH].view(-1, LENGTH)
            for offset in (0, 8, 16, 24)
        ]
    )
    asked, exchanged = neighbours_exchanged(longer)

    def probed(encoder: nn.Module) -> list[float]:
        return probe(vectors_of(encoder, asked), exchanged)

    counts = np.stack([np.bincount(row, minlength=2000) for row in asked.numpy()]).astype(
        np.float32
    )
    untrained = Electra(config(2))
    untrained.load_state_dict(
        {
            name: tensor
            for name, tensor in new_model(tokens).bert.state_dict().items()
            if not name.startswith("pooler")
        }
    )
    probes = {
        "counts of tokens": probe(counts, exchanged),
        "before any training": probed(untrained.eval()),
        "BERT, step 100": probed(early.model.bert),
        "BERT, step 2,400": probed(kept.model.bert),
        "trained together": probed(joint.model.electra),
    }
    print(probes, flush=True)

    def step_cost(make: Callable, objective: Callable, batch: Batch) -> int:
        model = make()
        return count_flops(lambda: objective(model, batch).total.backward())

    cost = {
        "replaced": step_cost(
            lambda: discriminator_from(kept.model), told, replaced_batches(tokens, 0)(0)
        ),
        "masked": step_cost(
            lambda: copy.deepcopy(kept.model), at_blanks, masked_batches(tokens, 0)(0)
        ),
    }
    steps = {
        "replaced": args.steps,
        "masked": round(args.steps * cost["replaced"] / cost["masked"]),
    }
    runs, seconds = [], {}
    for seed in range(SEEDS):
        for way in ("replaced", "masked"):
            model, objective, batches = (
                (discriminator_from(kept.model), told, replaced_batches(tokens, seed))
                if way == "replaced"
                else (copy.deepcopy(kept.model), at_blanks, masked_batches(tokens, seed))
            )
            started = time.process_time()
            history = train(
                model.train(), objective, batches, training(steps[way]), progress=False
            ).history
            seconds[way] = round(time.process_time() - started)
            model.eval()
            runs.append(
                {
                    "way": way,
                    "seed": seed,
                    "probe": probed(model.electra if way == "replaced" else model.bert),
                    **({"told": suspicion(model, some, shown)} if way == "replaced" else {}),
                }
            )
            print(runs[-1], flush=True)
            if seed == 0 and way == "replaced":
                keep(
                    NAME,
                    "electra",
                    model.config,
                    model,
                    script="bench/trained/electra_stages.py",
                    seed=0,
                    corpora=["kjv"],
                    steps=args.steps,
                    first_losses=[row["loss"] for row in history[:20]],
                )
                shutil.copyfile(folder("bert_kjv") / "vocab.txt", folder(NAME) / "vocab.txt")
                of_file = small_model(NAME)
                add_figures(
                    NAME,
                    figures(of_file.model, of_file.tokenizer),
                    figures(of_file.model, of_file.tokenizer, every=5),
                )
    save(
        "trained_electra_stages",
        versions=("torch", "scikit-learn"),
        seed=0,
        steps=steps,
        learning_rate=RATE,
        share=SHARE,
        megaflops_a_step={way: round(each / 1e6, 1) for way, each in cost.items()},
        cpu_seconds_a_run=seconds,
        fillers={name: how for name, (_, how) in filled.items()},
        joint=suspicion(joint.model, some, shown),
        probed={"stretches": len(asked), "exchanged": round(float(exchanged.mean()), 4)},
        probes=probes,
        runs=runs,
    )


if __name__ == "__main__":
    main()
