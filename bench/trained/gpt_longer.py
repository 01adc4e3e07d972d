"""Train the small GPT five times as long, to see whether it passes the counts of its own tokens.

    python bench/trained/gpt_longer.py [--steps 6000] [--folder FOLDER]
        after gpt.py; a quarter of an hour on one core

Model, tokens, batches and rates are those of `gpt.py`; only the number of steps differs, and so the
cosine's length. The text is then read nine times over, where `gpt.py` read it twice. Held-out text
is measured as there, every chunk without context at its start; and once at the end with chunks that
overlap by half, so that each token that counts has 64 before it: an n-gram is never without its
few. Nothing is kept but the record. With --folder a training that was stopped goes on from its last
checkpoint; the record is written at each evaluation, and says how far it came.
"""

import argparse
import contextlib
import json
import math
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from gpt import (
    BATCH,
    CONFIG,
    CONTEXT,
    NAME,
    VOCAB_SIZE,
    bits_per_byte,
    samples,
    training,
)  # noqa: E402
from record import RESULTS, save  # noqa: E402
from texts import as_tokens, scripture, split, stretches_of, tokenizer_for  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.models.gpt import GPT  # noqa: E402
from reference_impl.models.ngram import KneserNey  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, chunk_batch, cut_chunks  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

STEPS, EVALUATIONS, ORDERS = 6000, 12, (2, 3, 4, 5)
STAGES, MEAN_OF = (
    (0, 20, 50, 100, 200),
    20,
)  # what is written after so many steps; steps that a point of the curve is a mean of


@torch.no_grad()
def nats(model: nn.Module, rows: Tensor) -> float:
    """The mean loss of a token over chunks."""
    terms = [causal_lm(model, chunk_batch(part)) for part in rows.split(64)]
    return sum(float(one.total) for one in terms) / sum(one.count for one in terms)


@torch.no_grad()
def with_context(model: nn.Module, tokens: Tensor, num_bytes: int) -> float:
    """Bits a byte where every token that counts has half a context before it; the text's first half
    chunk is left out.
    """
    half = CONTEXT // 2
    rows = tokens.unfold(0, CONTEXT + 1, half)
    total, count = 0.0, 0
    for part in rows.split(64):
        logs = model(part[:, :-1])[:, half:].log_softmax(-1)  # (B, half, V)
        found = -logs.gather(-1, part[:, half + 1 :, None])
        total, count = total + float(found.sum()), count + found.numel()
    return total / count / math.log(2) * len(tokens) / num_bytes


class _EnoughError(Exception):
    """Ends a training at the last of STAGES."""


def early_samples(
    tokens: Tensor, tokenizer: ByteLevelBPE, config: TrainingConfig
) -> dict[str, str]:
    """What the model writes early on: its first steps once more, which come out as before, stopped
    at STAGES.
    """
    torch.manual_seed(0)
    model, of_step, found = GPT(CONFIG), stretches_of(tokens, CONTEXT, BATCH), {}

    def batches(step: int) -> dict[str, Tensor]:
        if step in STAGES:
            found[str(step)] = samples(model, tokenizer, 0.8)[0]
        if step == STAGES[-1]:
            raise _EnoughError
        return of_step(step)

    with contextlib.suppress(_EnoughError):
        train(model, causal_lm, batches, config, progress=False)
    return found


def main() -> None:
    """Train, measure, write bench/results/trained_gpt_longer.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--folder", help="where logs and checkpoints lie, to go on from")
    args = parser.parse_args()
    torch.set_num_threads(1)
    train_text, held_out = split(scripture())
    tokenizer = tokenizer_for(NAME, train_text, VOCAB_SIZE)
    tokens, held = as_tokens(tokenizer, train_text), as_tokens(tokenizer, held_out)
    num_bytes = len(held_out.encode())
    grams = {
        f"{order}-gram": round(
            KneserNey([tokens.tolist()], VOCAB_SIZE, order).bits_per_byte(
                [held.tolist()], num_bytes
            ),
            4,
        )
        for order in ORDERS
    }
    done = max(
        (
            int(file.name.split("-")[1])
            for file in Path(args.folder or "", "checkpoints").glob("step-*")
        ),
        default=0,
    )
    curve: list[dict[str, float]] = []
    path = RESULTS / "trained_gpt_longer.json"
    spent = (
        json.loads(path.read_text(encoding="utf-8"))["cpu_seconds"] if done and path.exists() else 0
    )
    every, started = args.steps // EVALUATIONS, time.process_time()

    def write(**more) -> None:
        save(
            "trained_gpt_longer",
            versions=("torch", "numpy"),
            seed=0,
            steps=args.steps,
            steps_done=curve[-1]["step"],
            parameters=sum(p.numel() for p in model.parameters()),
            tokens_of_the_text=len(tokens),
            tokens_a_step=16 * CONTEXT,
            cpu_seconds=round(spent + time.process_time() - started),
            held_out={"bytes": num_bytes, "tokens": len(held)},
            counts=grams,
            curve=curve,
            **more,
        )

    def evaluate(model: nn.Module) -> dict[str, float]:
        found = {
            "bits_per_byte": round(bits_per_byte(model, held, num_bytes), 4),
            "nats_held_out": round(nats(model, cut_chunks(held, CONTEXT)), 4),
            "nats_trained_on": round(nats(model, cut_chunks(tokens, CONTEXT)[::20]), 4),
        }
        curve.append({"step": done + every * (len(curve) + 1), **found})
        write()
        return found

    torch.manual_seed(0)
    model = GPT(CONFIG)
    config = replace(training(args.steps), eval_every=every, checkpoint_every=every)
    history = train(
        model, causal_lm, stretches_of(tokens, CONTEXT, BATCH), config, evaluate, folder=args.folder
    ).history
    curve[:] = [
        {
            name: round(row[name], 4)
            for name in ("step", "bits_per_byte", "nats_held_out", "nats_trained_on")
        }
        for row in history
        if "bits_per_byte" in row
    ]
    model.eval()
    parts = [history[at : at + MEAN_OF] for at in range(0, len(history), MEAN_OF)]
    write(
        stages=early_samples(tokens, tokenizer, config),
        training=[
            [
                part[-1]["step"],
                *(
                    round(sum(row[name] for row in part) / len(part), 5)
                    for name in ("loss", "learning_rate", "gradient_norm")
                ),
            ]
            for part in parts
        ],
        clipped=sum(row["gradient_norm"] > config.clip_norm for row in history),
        with_context=round(with_context(model, held, num_bytes), 4),
        samples={
            "greedy": samples(model, tokenizer, 0.0),
            "temperature 0.8, top-p 0.95": samples(model, tokenizer, 0.8),
        },
    )


if __name__ == "__main__":
    main()
