"""As many numbers in different places: LoRA on all matrices or on some, and adapters.

    python bench/adapters.py [--steps 40]        about two minutes on one core

The small GPT of scripture goes on with definitions, in the same batches each way; about 131,000
numbers learn. One guessed rate for all, and few steps: what is compared is how each begins.
Reported: bits a byte of held-out definitions, and of held-out scripture. Three seeds.

And what a token costs: four layers of GPT-2's width, one token at a time, as they are, with LoRA
beside, merged, and with adapters. Rivals in turn, ratios of pairs.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from adapt import TARGETS, training  # noqa: E402
from gpt import BATCH, CONTEXT, bits_per_byte, load_trained  # noqa: E402
from record import compare, save  # noqa: E402
from texts import as_tokens, definitions, scripture, split, stretches_of  # noqa: E402

from reference_impl.layers.adapters import add_adapters  # noqa: E402
from reference_impl.layers.lora import add_lora, merge  # noqa: E402
from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm  # noqa: E402
from reference_impl.training.loop import train  # noqa: E402

SEEDS, ATTENTION, FEED_FORWARD, BEHIND = (
    3,
    TARGETS[:2],
    TARGETS[2:],
    ("attention.output", "feed_forward.down"),
)
RATE = 5e-3


def lora(model: GPT, targets, rank: int) -> GPT:
    """The model with an update of this rank beside these matrices."""
    add_lora(model, targets, rank, 2 * rank)
    return model


def adapters(model: GPT, size: int) -> GPT:
    """The model with adapters of this size."""
    add_adapters(model, BEHIND, size)
    return model


WAYS = {
    "LoRA": lambda model: lora(model, TARGETS, 16),
    "adapters": lambda model: adapters(model, 62),
    "LoRA, attention": lambda model: lora(model, ATTENTION, 43),
    "LoRA, feed-forward": lambda model: lora(model, FEED_FORWARD, 26),
}


def texts_held_out(tokenizer):
    """A part of the held-out definitions, and of scripture: tokens and bytes of each."""
    parts = {}
    lines = split(definitions())[1].splitlines(keepends=True)
    verses = split(scripture())[1].splitlines(keepends=True)
    for name, some in (("definitions", lines[::12]), ("scripture", verses[::6])):
        parts[name] = (as_tokens(tokenizer, "".join(some)), len("".join(some).encode()))
    return parts


def costs() -> list[dict]:
    """Milliseconds of one token through four layers of GPT-2's width."""
    config = GPTConfig(vocab_size=1024, num_layers=4, max_position_embeddings=16, dropout=0.0)

    def made(change):
        torch.manual_seed(0)
        model = GPT(config)
        change(model)
        return model.eval()

    models = {
        "as it is": made(lambda model: None),
        "LoRA of rank 8 beside": made(lambda model: lora(model, TARGETS, 8)),
        "LoRA of rank 8, merged": made(lambda model: merge(lora(model, TARGETS, 8))),
        "adapters of size 64": made(lambda model: adapters(model, 64)),
    }
    ids, times = torch.tensor([[5]]), {name: [] for name in models}
    with torch.no_grad():
        for turn in range(65):
            for name, model in models.items():
                started = time.perf_counter()
                for _ in range(5):
                    model(ids)
                if turn >= 5:
                    times[name].append((time.perf_counter() - started) / 5)
    return [
        compare(
            name, "as it is", "seconds a token", found, times["as it is"], larger_is_better=False
        )
        for name, found in times.items()
        if name != "as it is"
    ]


def main() -> None:
    """Train each way, measure, write bench/results/adapters.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = load_trained()[1]
    tokens, held = as_tokens(tokenizer, split(definitions())[0]), texts_held_out(tokenizer)

    def measure(model):
        return {name: round(bits_per_byte(model.eval(), *text), 4) for name, text in held.items()}

    runs = []
    for seed in range(SEEDS):
        for way, make in WAYS.items():
            torch.manual_seed(seed + 1)
            model, started = make(load_trained()[0]), time.process_time()
            train(
                model,
                causal_lm,
                stretches_of(tokens, CONTEXT, BATCH, seed + 10),
                training(args.steps, RATE),
                progress=False,
            )
            seconds = time.process_time() - started
            runs.append(
                {
                    "way": way,
                    "seed": seed,
                    "cpu_seconds": round(seconds),
                    **measure(model),
                    "learned": sum(p.numel() for p in model.parameters() if p.requires_grad),
                }
            )
            print(runs[-1], flush=True)
    rows = costs()
    save(
        "adapters",
        rows,
        versions=("torch", "numpy"),
        steps=args.steps,
        seeds=SEEDS,
        before=measure(load_trained()[0]),
        rate=RATE,
        runs=runs,
    )
    for way in WAYS:
        print(
            way,
            {
                text: round(statistics.fmean(one[text] for one in runs if one["way"] == way), 3)
                for text in ("definitions", "scripture")
            },
        )


if __name__ == "__main__":
    main()
