"""Go on training a GPT on another domain: all weights, only LoRA's, or from nothing.

    python bench/trained/adapt.py [--steps 300]        after gpt.py; about four minutes on one core

The model of `gpt.py` knows the King James Bible. The domain is the definitions of a dictionary
(Open English WordNet). Every way sees the same batches in the same order. Measured on held-out
definitions, and on held-out scripture: what was learnt, and what was forgotten. Learning rates are
first guesses, one for each way; none was searched for.

LoRA's update of rank 16 is kept beside the models (`small_model("gpt_definitions_lora")`): an
eighth of their numbers.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from gpt import BATCH, CONFIG, CONTEXT, bits_per_byte, load_trained  # noqa: E402
from gpt import NAME as GPT_NAME
from record import save  # noqa: E402
from texts import (
    as_tokens,
    definitions,
    losses_of_first_steps,
    scripture,
    split,
    stretches_of,
)  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.layers.lora import add_lora, lora_state, merge  # noqa: E402
from reference_impl.models.gpt import GPT  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, chunk_batch, cut_chunks  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, RANK, STEPS = "gpt_definitions_lora", 16, 300
TARGETS = ("attention.qkv", "attention.output", "feed_forward.up", "feed_forward.down")
FULL_RATE, LORA_RATE = 1e-3, 5e-3


def pretrained() -> GPT:
    """The model of `gpt.py`."""
    return load_trained()[0]


def from_nothing() -> GPT:
    """The same shape, with random weights."""
    torch.manual_seed(1)
    return GPT(CONFIG)


def with_lora(rank: int) -> GPT:
    """The model of `gpt.py`, frozen, with a low-rank update beside its matrices."""
    torch.manual_seed(1)
    model = pretrained()
    add_lora(model, TARGETS, rank=rank, alpha=2 * rank)
    return model


def training(steps: int, rate: float) -> TrainingConfig:
    """How each way is trained, in so many steps."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=rate,
        warmup_steps=20,
        min_learning_rate=rate / 20,
        weight_decay=0.1,
        betas=(0.9, 0.95),
    )


def first_losses(count: int) -> list[float]:
    """The losses of the first steps of LoRA's training at RANK, trained anew; nothing is kept."""
    tokens = as_tokens(load_trained()[1], split(definitions())[0])
    return losses_of_first_steps(
        count,
        with_lora(RANK),
        causal_lm,
        stretches_of(tokens, CONTEXT, BATCH),
        training(STEPS, LORA_RATE),
    )


def figures(model: GPT, tokenizer: ByteLevelBPE, every: int = 1) -> dict[str, float]:
    """Bits a byte of held-out definitions, or with `every` nats a token over each so-manieth of
    their chunks.
    """
    held_out = split(definitions())[1]
    held = as_tokens(tokenizer, held_out)
    if every == 1:
        return {"bits_per_byte": round(bits_per_byte(model, held, len(held_out.encode())), 4)}
    rows = cut_chunks(held, CONTEXT)[::every]
    with torch.no_grad():
        return {
            "nats_per_token": round(float(causal_lm(model, chunk_batch(rows)).mean), 4),
            "chunks": len(rows),
        }


def main() -> None:
    """Train each way, measure, write bench/results/trained_adapt.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = load_trained()[1]
    domain_text, domain_held = split(definitions())
    domain = stretches_of(as_tokens(tokenizer, domain_text), CONTEXT, BATCH)
    held = {
        name: (as_tokens(tokenizer, text), len(text.encode()))
        for name, text in (("definitions", domain_held), ("scripture", split(scripture())[1]))
    }
    ways: dict[str, tuple[Callable[[], GPT], float]] = {
        "from nothing": (from_nothing, 4e-3),
        "all weights": (pretrained, FULL_RATE),
        "LoRA, rank 4": (lambda: with_lora(4), LORA_RATE),
        "LoRA, rank 16": (lambda: with_lora(16), LORA_RATE),
    }

    def measure(model: GPT) -> dict[str, float]:
        model.eval()
        return {name: round(bits_per_byte(model, *text), 4) for name, text in held.items()}

    found = {"before": {"bits_per_byte": measure(pretrained()), "trained_parameters": 0}}
    for name, (make, rate) in ways.items():
        model, started = make(), time.process_time()
        history = train(model, causal_lm, domain, training(args.steps, rate)).history
        found[name] = {
            "trained_parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
            "learning_rate": rate,
            "cpu_seconds": round(time.process_time() - started),
            "bits_per_byte": measure(model),
        }
        if name == f"LoRA, rank {RANK}":
            config = {"base": GPT_NAME, "targets": list(TARGETS), "rank": RANK, "alpha": 2 * RANK}
            keep(
                NAME,
                "lora",
                config,
                lora_state(model),
                script="bench/trained/adapt.py",
                seed=1,
                corpora=["oewn_glosses"],
                steps=args.steps,
                first_losses=[row["loss"] for row in history[:20]],
            )
            kept = small_model(NAME).model
            add_figures(NAME, figures(kept, tokenizer), figures(kept, tokenizer, every=20))
        if name.startswith("LoRA"):
            merge(model)
            found[name]["merged_bits_per_byte"] = measure(model)
        print(name, found[name], flush=True)
    save(
        "trained_adapt",
        versions=("torch", "numpy"),
        seed=0,
        steps=args.steps,
        targets=list(TARGETS),
        ways=found,
    )


if __name__ == "__main__":
    main()
