"""A small BERT for another domain: trained on, or begun anew, and what the first forgets.

    python bench/domain.py [--steps 300]        about three minutes on one core

The domain is a dictionary (the definitions of Open English WordNet). One kind of run goes on from
the small BERT that has read scripture (bench/trained/bert.py), as BioBERT and FinBERT went on from
BERT; the other begins anew, with the same vocabulary (SciBERT, which began anew, had its own). Both
see the same batches in the same order, 15 % of the tokens blanked. The one that begins anew gets a
rate three times as high, that of bert.py, since the other has something to lose; neither was
searched for. It begins as bert.py begins: heads that look at neighbours, the frequencies of the
domain.

The vocabulary is that of scripture for either, so definitions fall into many pieces;
`pieces_a_word` says how many. Measured at held-out blanks of both texts. Five seeds.
"""

import argparse
import copy
import re
import time

from short_runs import (
    LENGTH,
    apart,
    blanked,
    learn,
    measure,
    rows_of,
)  # it sets threads before torch starts

# isort: split
import torch
from bert import as_tokens, at_blanks, held_out_batch, new_model
from record import save
from texts import definitions, scripture, split

from reference_impl.corpora.small_models import small_model

SEEDS, SHARE, KEEP_ON, ANEW = 5, 0.15, 5e-4, 1.5e-3
TRAINED_ON = 4_000_000  # characters of definitions: more than these steps can read


def main() -> None:
    """Train both kinds, measure, write bench/results/domain.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    kept = small_model("bert_kjv")
    train_text, held_text = split(definitions())
    train_text, held_text = train_text[:TRAINED_ON], held_text[:200_000]
    tokens, held = (as_tokens(kept.tokenizer, text) for text in (train_text, held_text))
    rows = held[: len(held) // LENGTH * LENGTH].view(-1, LENGTH)[::4]
    blanks = {
        "definitions": blanked(rows, torch.Generator().manual_seed(1), SHARE),
        "scripture": {key: part[::5] for key, part in held_out_batch(kept.tokenizer)[0].items()},
    }

    def judged(model):
        return {name: measure(model, some) for name, some in blanks.items()}

    ways = {
        "trained on": (lambda: copy.deepcopy(kept.model), KEEP_ON),
        "begun anew": (lambda: new_model(tokens), ANEW),
    }
    started, runs = time.process_time(), []
    for seed in range(args.seeds):
        for kind, (make, rate) in ways.items():
            model = make()
            losses = learn(
                model,
                at_blanks,
                lambda index, seed=seed: blanked(
                    rows_of(tokens, generator := apart(seed, index)), generator, SHARE
                ),
                steps=args.steps,
                rate=rate,
                seed=seed,
            )
            runs.append(
                {
                    "kind": kind,
                    "seed": seed,
                    **judged(model),
                    "first_loss": round(losses[0], 3),
                    "last_losses": round(sum(losses[-20:]) / 20, 3),
                }
            )
            print(runs[-1], flush=True)
    words = {
        name: len(re.findall(r"\w+|[^\w\s]", text))
        for name, text in (("definitions", held_text), ("scripture", split(scripture())[1]))
    }
    counts = {
        "definitions": len(held),
        "scripture": len(as_tokens(kept.tokenizer, split(scripture())[1])),
    }
    save(
        "domain",
        versions=("torch",),
        steps=args.steps,
        learning_rates={"trained on": KEEP_ON, "begun anew": ANEW},
        share=SHARE,
        pieces_a_word={name: round(counts[name] / words[name], 3) for name in words},
        cpu_seconds=round(time.process_time() - started),
        before={"kept": judged(kept.model), "anew": judged(new_model(tokens).eval())},
        runs=runs,
    )


if __name__ == "__main__":
    main()
