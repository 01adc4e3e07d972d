"""Blanks drawn once or drawn anew: what RoBERTa changed first, at equal steps.

    python bench/fresh_maskings.py [--steps 300]        about three minutes on one core

Each run continues from the small BERT at its step 100 (bench/trained/bert_early.py), which has
hardly left the frequencies behind. To meet a text again and again within so few steps, it reads a
thirtieth of the King James Bible only, cut at fixed places. In each epoch the same stretches come,
in another order. 15 % of the tokens are blanks: in one kind of run the same in every epoch, in the
other drawn anew. BERT's release drew ten times in advance; with as many epochs as here that is
nearly the same as drawing anew, so it is no kind of its own.

Measured on all blanks of every fifth held-out stretch, always the same, and on the stretches that
were read: once at the blanks of the first epoch, once at blanks that no run has seen. Five seeds.
"""

import argparse
import copy
import time

from short_runs import (
    BATCH,
    LENGTH,
    apart,
    blanked,
    learn,
    measure,
)  # it sets threads before torch starts

# isort: split
import torch
from bert import as_tokens, at_blanks, held_out_batch
from record import save
from texts import scripture, split
from torch import Tensor

from reference_impl.corpora.small_models import small_model

SEEDS, PART, SHARE, RATE = 5, 30, 0.15, 1e-3
KINDS = ("drawn once", "drawn anew")


def batches_of(rows: Tensor, kind: str, seed: int):
    """Batch i, a function of i alone: epochs of the same rows, with the blanks of the first epoch
    or of their own.
    """
    each = len(rows) // BATCH

    def batch(index: int) -> dict[str, Tensor]:
        epoch, place = divmod(index, each)
        drawn = blanked(rows, apart(seed, 0 if kind == "drawn once" else epoch), SHARE)
        order = torch.randperm(len(rows), generator=apart(seed, 500_000 + epoch))[
            place * BATCH : (place + 1) * BATCH
        ]
        return {key: part[order] for key, part in drawn.items()}

    return batch


def main() -> None:
    """Train each kind, measure, write bench/results/fresh_maskings.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    early = small_model("bert_kjv_early")
    tokens = as_tokens(early.tokenizer, split(scripture())[0])
    rows = tokens[: len(tokens) // PART // LENGTH * LENGTH].view(-1, LENGTH)
    held = {key: part[::5] for key, part in held_out_batch(early.tokenizer)[0].items()}
    started, runs = time.process_time(), []
    for seed in range(args.seeds):
        first, unseen = (blanked(rows, apart(seed, number), SHARE) for number in (0, 900_000))
        for kind in KINDS:
            model = copy.deepcopy(early.model)
            learn(
                model,
                at_blanks,
                batches_of(rows, kind, seed),
                steps=args.steps,
                rate=RATE,
                seed=seed,
            )
            runs.append(
                {
                    "kind": kind,
                    "seed": seed,
                    "held_out": measure(model, held),
                    "blanks_of_first_epoch": measure(model, first),
                    "other_blanks": measure(model, unseen),
                }
            )
            print(runs[-1], flush=True)
    save(
        "fresh_maskings",
        versions=("torch",),
        steps=args.steps,
        rows=[],
        learning_rate=RATE,
        share=SHARE,
        text={"tokens": rows.numel(), "epochs": round(args.steps / (len(rows) // BATCH), 1)},
        cpu_seconds=round(time.process_time() - started),
        before=measure(early.model, held),
        runs=runs,
    )


if __name__ == "__main__":
    main()
