"""Train a small GPT with its mask and its twin without, and see what a loss near 0 is worth.

    python bench/trained/unmasked.py [--steps 400]        about four minutes on one core

GPT-2's block with 0.17M parameters, on the King James Bible in the tokens of the small GPT, in
stretches of 32 and the token after them. Both models start from the same numbers and see the same
batches, under five seeds; they differ in the mask alone. Without it every token that is asked for
has been read, save the one after the stretch. So the last place is measured apart, and so is
writing: the token after 8, 16 or 32 tokens of held-out text, of which nothing more is given. The
pair of seed 0 is kept (`small_model("gpt_kjv_unmasked")`, `small_model("gpt_kjv_masked")`).
"""

import argparse
import math
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
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
from torch.nn.functional import cross_entropy  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.models.ngram import KneserNey  # noqa: E402
from reference_impl.models.unmasked import UnmaskedGPT  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, cut_chunks  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

TOKENS_OF, VOCAB_SIZE, CONTEXT, BATCH, SEEDS, GIVEN = "gpt_kjv", 1024, 32, 32, 5, (8, 16, 32)
CONFIG = GPTConfig(
    vocab_size=VOCAB_SIZE,
    hidden_size=64,
    num_layers=2,
    num_heads=4,
    max_position_embeddings=CONTEXT,
    dropout=0.0,
)
KINDS = {
    "with the mask": (GPT, "gpt", "gpt_kjv_masked"),
    "without": (UnmaskedGPT, "unmasked", "gpt_kjv_unmasked"),
}
PROMPTS = ("And the king said unto", "In the beginning", "The river")


def training(steps: int) -> TrainingConfig:
    """How both are trained."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=6e-3,
        warmup_steps=50,
        schedule="cosine",
        min_learning_rate=3e-4,
        weight_decay=0.1,
        betas=(0.9, 0.95),
    )


def held_out(every: int = 2) -> Tensor:
    """Stretches of held-out text with the token after each, (N, CONTEXT + 1)."""
    train_text, other = split(scripture())
    return cut_chunks(as_tokens(tokenizer_for(TOKENS_OF, train_text, VOCAB_SIZE), other), CONTEXT)[
        ::every
    ]


@torch.no_grad()
def measured(model: GPT, rows: Tensor) -> dict[str, float]:
    """Nats a token: as training asks, before the last place and at it; and of the token after a
    shorter text.
    """
    nats = cross_entropy(
        model(rows[:, :-1]).transpose(1, 2), rows[:, 1:], reduction="none"
    )  # (N, T)
    after = {
        f"after {given} tokens": float(cross_entropy(model(rows[:, :given])[:, -1], rows[:, given]))
        for given in GIVEN
    }
    return {
        "before the last place": float(nats[:, :-1].mean()),
        "at the last place": float(nats[:, -1].mean()),
        **after,
    }


def figures(model: GPT, tokenizer: ByteLevelBPE, every: int = 1) -> dict[str, float]:
    """What the kept numbers give, over each so-manieth held-out stretch."""
    return {
        name.replace(" ", "_"): round(value, 4)
        for name, value in measured(model, held_out()[::every]).items()
    }


def first_losses(count: int) -> list[float]:
    """The losses of the first steps without the mask, of warm-up all of them, trained anew; nothing
    is kept.
    """
    train_text, _ = split(scripture())
    tokens = as_tokens(tokenizer_for(TOKENS_OF, train_text, VOCAB_SIZE), train_text)
    torch.manual_seed(0)
    return losses_of_first_steps(
        count, UnmaskedGPT(CONFIG), causal_lm, stretches_of(tokens, CONTEXT, BATCH), training(400)
    )


def samples(model: GPT, tokenizer: ByteLevelBPE) -> dict[str, list[str]]:
    """What it writes after each of PROMPTS, the likeliest token each time, and drawn."""
    params = {
        name: SamplingParams(temperature=temperature, top_p=0.95, max_tokens=24, seed=0)
        for name, temperature in (("greedy", 0.0), ("temperature 0.8, top-p 0.95", 0.8))
    }
    return {
        name: [
            prompt
            + tokenizer.decode(generate(model, [tokenizer.encode(prompt)], how, cache=False)[0].ids)
            for prompt in PROMPTS
        ]
        for name, how in params.items()
    }


def main() -> None:
    """Train ten models, keep two, write bench/results/trained_unmasked.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    train_text, _ = split(scripture())
    tokenizer = tokenizer_for(TOKENS_OF, train_text, VOCAB_SIZE)
    tokens, rows = as_tokens(tokenizer, train_text), held_out()
    started, found, written, curves = time.process_time(), {}, {}, {}
    for name, (kind, key, kept_as) in KINDS.items():
        runs = []
        for seed in range(SEEDS):
            torch.manual_seed(seed)
            model = kind(CONFIG)
            history = train(
                model,
                causal_lm,
                stretches_of(tokens, CONTEXT, BATCH, seed),
                training(steps),
                progress=False,
            ).history
            last = [row["loss"] for row in history[-20:]]
            if seed == 0:
                keep(
                    kept_as,
                    key,
                    CONFIG,
                    model,
                    script="bench/trained/unmasked.py",
                    seed=0,
                    corpora=["kjv"],
                    steps=steps,
                    first_losses=(
                        [row["loss"] for row in history[:20]] if kind is UnmaskedGPT else []
                    ),
                )  # one script, one training to repeat
                (folder(kept_as) / "bpe.json").write_bytes(
                    (folder(TOKENS_OF) / "bpe.json").read_bytes()
                )
                kept = small_model(kept_as)
                add_figures(
                    kept_as,
                    figures(kept.model, tokenizer),
                    figures(kept.model, tokenizer, every=10),
                )
                written[name] = samples(kept.model, tokenizer)
                curves[name] = [
                    {"step": row["step"], "loss": round(row["loss"], 4)}
                    for row in history
                    if row["step"] == 1 or row["step"] % 20 == 0
                ]
            runs.append(
                {"last training losses": sum(last) / len(last), **measured(model.eval(), rows)}
            )
            print(name, seed, runs[-1], flush=True)
        found[name] = {key: [round(run[key], 4) for run in runs] for key in runs[0]}
    seconds = time.process_time() - started
    grams = {
        f"{order}-gram, Kneser-Ney": KneserNey([tokens.tolist()], VOCAB_SIZE, order)
        for order in (1, 2, 3)
    }
    lists = rows.tolist()
    save(
        "trained_unmasked",
        versions=("torch", "numpy"),
        seed=list(range(SEEDS)),
        steps=steps,
        cpu_seconds=round(seconds),
        parameters=sum(p.numel() for p in GPT(CONFIG).parameters()),
        tokens_seen=steps * BATCH * CONTEXT,
        held_out={"stretches": len(rows), "places": CONTEXT},
        nats=found,
        counts_after_all={
            name: round(
                -sum(math.log(gram.probability(row[-1], row[:-1])) for row in lists) / len(lists), 4
            )
            for name, gram in grams.items()
        },
        curves=curves,
        samples=written,
    )


if __name__ == "__main__":
    main()
