"""Train a small GPT on the King James Bible: bits per byte on held-out pieces, and what it writes.

    python bench/trained/gpt.py [--steps 1200]        about four minutes on one core

GPT-2's block with 0.94M parameters, a byte-level BPE of 1,024 tokens, 128 positions. Beside it
stand n-gram models of the same tokens, trained on the same text (interpolated Kneser-Ney). Loss is
compared in bits per byte, which do not depend on the vocabulary. In so short a training the GPT
stays behind the 3-grams and 4-grams: see the record. The model is kept (`small_model("gpt_kjv")`),
and other scripts go on from it.
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
    losses_of_first_steps,
    scripture,
    split,
    stretches_of,
    tokenizer_for,
)  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, names, small_model  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.models.ngram import KneserNey  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, chunk_batch, cut_chunks  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, VOCAB_SIZE, CONTEXT, BATCH = "gpt_kjv", 1024, 128, 16
CONFIG = GPTConfig(
    vocab_size=VOCAB_SIZE,
    hidden_size=128,
    num_layers=4,
    num_heads=4,
    max_position_embeddings=CONTEXT,
    dropout=0.0,
)
PROMPTS = ("And the king said unto", "In the beginning", "The river")


@torch.no_grad()
def bits_per_byte(model: nn.Module, tokens: Tensor, num_bytes: int) -> float:
    """The loss over a text of so many bytes, cut into chunks; every chunk starts without
    context.
    """
    terms = [causal_lm(model, chunk_batch(rows)) for rows in cut_chunks(tokens, CONTEXT).split(64)]
    nats = sum(float(t.total) for t in terms) / sum(t.count for t in terms)  # per token
    return nats / math.log(2) * len(tokens) / num_bytes


def load_trained() -> tuple[GPT, ByteLevelBPE]:
    """The model that this script has trained, and its tokenizer."""
    if NAME not in names():
        raise SystemExit("there is no trained GPT yet: run `python bench/trained/gpt.py` first")
    kept = small_model(NAME)
    return kept.model, kept.tokenizer


def training(steps: int) -> TrainingConfig:
    """How it is trained, in so many steps."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=4e-3,
        warmup_steps=50,
        schedule="cosine",
        min_learning_rate=2e-4,
        weight_decay=0.1,
        betas=(0.9, 0.95),
        eval_every=max(steps // 6, 1),
    )


def first_losses(count: int) -> list[float]:
    """The losses of the first steps, of warm-up all of them, trained anew; nothing is kept."""
    train_text, _ = split(scripture())
    tokens = as_tokens(tokenizer_for(NAME, train_text, VOCAB_SIZE), train_text)
    torch.manual_seed(0)
    return losses_of_first_steps(
        count, GPT(CONFIG), causal_lm, stretches_of(tokens, CONTEXT, BATCH), training(1200)
    )


def figures(model: GPT, tokenizer: ByteLevelBPE, every: int = 1) -> dict[str, float]:
    """Bits a byte over the held-out text, or with `every` nats a token over each so-manieth of its
    chunks.
    """
    _, held_out = split(scripture())
    held = as_tokens(tokenizer, held_out)
    if every == 1:
        return {"bits_per_byte": round(bits_per_byte(model, held, len(held_out.encode())), 4)}
    rows = cut_chunks(held, CONTEXT)[::every]
    with torch.no_grad():
        return {
            "nats_per_token": round(float(causal_lm(model, chunk_batch(rows)).mean), 4),
            "chunks": len(rows),
        }


def samples(model: GPT, tokenizer: ByteLevelBPE, temperature: float) -> list[str]:
    """What the model writes after each of PROMPTS."""
    params = SamplingParams(temperature=temperature, top_p=0.95, max_tokens=80, seed=0)
    return [
        prompt + tokenizer.decode(generate(model, [tokenizer.encode(prompt)], params)[0].ids)
        for prompt in PROMPTS
    ]


def main() -> None:
    """Train, measure, write bench/results/trained_gpt.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=1200)
    args = parser.parse_args()
    torch.set_num_threads(1)
    train_text, held_out = split(scripture())
    tokenizer = tokenizer_for(NAME, train_text, VOCAB_SIZE)
    tokens, held_tokens = as_tokens(tokenizer, train_text), as_tokens(tokenizer, held_out)
    num_bytes = len(held_out.encode())

    torch.manual_seed(0)
    model = GPT(CONFIG)
    started = time.process_time()
    result = train(
        model,
        causal_lm,
        stretches_of(tokens, CONTEXT, BATCH),
        training(args.steps),
        evaluate=lambda m: {"bits_per_byte": bits_per_byte(m, held_tokens, num_bytes)},
    )
    seconds = time.process_time() - started
    keep(
        NAME,
        "gpt",
        CONFIG,
        model,
        script="bench/trained/gpt.py",
        seed=0,
        corpora=["kjv"],
        steps=args.steps,
        first_losses=[row["loss"] for row in result.history[:20]],
    )
    model, tokenizer = load_trained()  # what is measured from here on is what was kept
    add_figures(NAME, figures(model, tokenizer), figures(model, tokenizer, every=8))
    grams = {
        f"{order}-gram, Kneser-Ney": (
            KneserNey([tokens.tolist()], VOCAB_SIZE, order).bits_per_byte(
                [held_tokens.tolist()], num_bytes
            )
        )
        for order in (1, 2, 3, 4)
    }
    save(
        "trained_gpt",
        versions=("torch", "numpy"),
        seed=0,
        steps=args.steps,
        cpu_seconds=round(seconds),
        parameters=sum(p.numel() for p in model.parameters()),
        tokens_seen=result.history[-1]["terms"],
        held_out={"bytes": num_bytes, "tokens": len(held_tokens)},
        bits_per_byte={
            "GPT": round(result.history[-1]["bits_per_byte"], 4),
            "must": 1.75,
            **{name: round(bits, 4) for name, bits in grams.items()},
        },
        curve=[
            {name: round(row[name], 4) for name in ("step", "loss", "bits_per_byte") if name in row}
            for row in result.history
            if row["step"] % 50 == 0 or "bits_per_byte" in row
        ],
        samples={
            "greedy": samples(model, tokenizer, 0.0),
            "temperature 0.8, top-p 0.95": samples(model, tokenizer, 0.8),
        },
    )
    for name, bits in {"GPT": result.history[-1]["bits_per_byte"], **grams}.items():
        print(f"{name}: {bits:.3f} bits per byte")


if __name__ == "__main__":
    main()
