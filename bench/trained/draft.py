"""Train the small GPT's drafts: one layer, half as wide, the same tokens.

They guess what the large one then verifies.

    python bench/trained/draft.py [--steps 1200]        after gpt.py; about four minutes on one core

Text, batches and rates are those of `gpt.py`. Five seeds; a seed draws the weights and the
stretches that are read. That of seed 0 is kept (`small_model("gpt_kjv_draft")`). The others are
there for one figure: how much of the large model's probability each of them has in common with it,
on held-out text. An untrained one stands beside them.
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from gpt import (
    BATCH,
    CONTEXT,
    VOCAB_SIZE,
    bits_per_byte,
    figures,
    load_trained,
    training,
)  # noqa: E402
from gpt import NAME as LARGE  # noqa: E402
from record import save  # noqa: E402
from texts import (
    as_tokens,
    folder,
    losses_of_first_steps,
    scripture,
    split,
    stretches_of,
    tokenizer_for,
)  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, cut_chunks  # noqa: E402
from reference_impl.training.loop import train  # noqa: E402

NAME, SEEDS, ROWS = "gpt_kjv_draft", 5, 20
CONFIG = GPTConfig(
    vocab_size=VOCAB_SIZE,
    hidden_size=64,
    num_layers=1,
    num_heads=2,
    max_position_embeddings=CONTEXT,
    dropout=0.0,
)


def first_losses(count: int) -> list[float]:
    """The losses of the first steps of the kept one, trained anew; nothing is kept."""
    text, _ = split(scripture())
    torch.manual_seed(0)
    tokens = as_tokens(tokenizer_for(LARGE, text, VOCAB_SIZE), text)
    return losses_of_first_steps(
        count, GPT(CONFIG), causal_lm, stretches_of(tokens, CONTEXT, BATCH), training(1200)
    )


@torch.no_grad()
def overlap(draft: GPT, large: GPT, rows: Tensor) -> float:
    """The mean over places of the sum of min(p, q): the share of sampled guesses that is kept
    (Leviathan et al. 2023, theorem 3.5).
    """
    p, q = (model.eval()(rows[:, :CONTEXT]).softmax(-1) for model in (large, draft))
    return float(torch.minimum(p, q).sum(-1).mean())


@torch.no_grad()
def same_best(draft: GPT, large: GPT, rows: Tensor) -> float:
    """The share of places where both have the same likeliest token: that of greedy guesses that is
    kept.
    """
    p, q = (model.eval()(rows[:, :CONTEXT]).argmax(-1) for model in (large, draft))
    return float((p == q).float().mean())


def main() -> None:
    """Train, measure, write bench/results/trained_draft.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=1200)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    text, held_out = split(scripture())
    large, tokenizer = load_trained()
    tokens, held = as_tokens(tokenizer, text), as_tokens(tokenizer, held_out)
    rows, found = cut_chunks(held, CONTEXT)[::ROWS], []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        model, started = GPT(CONFIG), time.process_time()
        untrained = {
            "overlap": round(overlap(model, large, rows), 4),
            "same_best": round(same_best(model, large, rows), 4),
        }
        result = train(
            model, causal_lm, stretches_of(tokens, CONTEXT, BATCH, seed), training(steps)
        )
        if seed == 0:
            keep(
                NAME,
                "gpt",
                CONFIG,
                model,
                script="bench/trained/draft.py",
                seed=0,
                corpora=["kjv"],
                steps=steps,
                first_losses=[row["loss"] for row in result.history[:20]],
            )
            shutil.copy(folder(LARGE) / "bpe.json", folder(NAME) / "bpe.json")
            model = small_model(NAME).model  # what is measured is what is kept
            add_figures(NAME, figures(model, tokenizer), figures(model, tokenizer, every=8))
        found.append(
            {
                "seed": seed,
                "bits_per_byte": round(
                    bits_per_byte(model.eval(), held, len(held_out.encode())), 4
                ),
                "overlap": round(overlap(model, large, rows), 4),
                "same_best": round(same_best(model, large, rows), 4),
                "untrained": untrained,
                "cpu_seconds": round(time.process_time() - started),
            }
        )
        print(found[-1], flush=True)
    save(
        "trained_draft",
        versions=("torch",),
        seed=list(range(SEEDS)),
        steps=steps,
        places=rows[:, :CONTEXT].numel(),
        drafts=found,
        parameters={
            "draft": sum(p.numel() for p in model.parameters()),
            "large": sum(p.numel() for p in large.parameters()),
        },
    )


if __name__ == "__main__":
    main()
