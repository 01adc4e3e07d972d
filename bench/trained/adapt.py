"""Go on training a GPT on another domain: all weights, only LoRA's, or from nothing.

    python bench/trained/adapt.py [--steps 300]        after gpt.py; about four minutes on one core

The model of `gpt.py` knows the King James Bible. The domain is the definitions of a dictionary (Open English WordNet).
Every way sees the same batches in the same order. Measured on held-out definitions, and on held-out scripture: what was
learnt, and what was forgotten. Learning rates are first guesses, one for each way; none was searched for.
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
from gpt import CONFIG, batches_of, bits_per_byte, load_trained  # noqa: E402
from record import save  # noqa: E402
from texts import as_tokens, definitions, scripture, split  # noqa: E402

from reference_impl.layers.lora import add_lora, merge  # noqa: E402
from reference_impl.models.gpt import GPT  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

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


def main() -> None:
    """Train each way, measure, write bench/results/trained_adapt.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = load_trained()[1]
    domain_text, domain_held = split(definitions())
    domain = batches_of(as_tokens(tokenizer, domain_text))
    held = {name: (as_tokens(tokenizer, text), len(text.encode()))
            for name, text in (("definitions", domain_held), ("scripture", split(scripture())[1]))}
    ways: dict[str, tuple[Callable[[], GPT], float]] = {
        "from nothing": (from_nothing, 4e-3), "all weights": (pretrained, FULL_RATE),
        "LoRA, rank 4": (lambda: with_lora(4), LORA_RATE), "LoRA, rank 16": (lambda: with_lora(16), LORA_RATE)}

    def measure(model: GPT) -> dict[str, float]:
        model.eval()
        return {name: round(bits_per_byte(model, *text), 4) for name, text in held.items()}
    found = {"before": {"bits_per_byte": measure(pretrained()), "trained_parameters": 0}}
    for name, (make, rate) in ways.items():
        model, started = make(), time.process_time()
        config = TrainingConfig(num_steps=args.steps, learning_rate=rate, warmup_steps=20, min_learning_rate=rate / 20,
                                weight_decay=0.1, betas=(0.9, 0.95))
        train(model, causal_lm, domain, config)
        found[name] = {"trained_parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
                       "learning_rate": rate, "cpu_seconds": round(time.process_time() - started),
                       "bits_per_byte": measure(model)}
        if name.startswith("LoRA"):
            merge(model)
            found[name]["merged_bits_per_byte"] = measure(model)
        print(name, found[name], flush=True)
    save("trained_adapt", versions=("torch", "numpy"), seed=0, steps=args.steps, targets=list(TARGETS), ways=found)


if __name__ == "__main__":
    main()
