"""What a short target buys: span corruption against writing the whole text again, at equal
operations.

    python bench/span_targets.py [--seed N]        about a minute and a half a seed on one core

Two small T5s (two layers a stack, 128 wide) read the same corrupted stretches of the King James
Bible, 15 % of 64 tokens cut out in spans of 3 on average. One writes the spans behind their
sentinels, as T5 does; the other writes the whole stretch, a target five times as long. Each may
spend the same operations, forwards and backwards, as torch counts them, so the first makes more
steps. Both are asked for the same held-out tokens that were cut out: nats a token, given the source
and what the target says before. Nothing but the source tells either more: what the longer target
has before a lost token stands in the source, or was lost and is in the short one too. Beside them:
what the frequencies of tokens give.

`lengths` counts source and target for shares and mean spans, by the objective's own arithmetic and
by drawing. A seed is the start, the stretches and the spans. With --seed one seed is made and
merged into the record. Not here: what either is worth on a task after fine-tuning (Raffel et al.
2020, table 5).
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from bert import NAME, as_tokens, tokenizer_for  # noqa: E402
from bert import VOCAB_SIZE as WORDS  # noqa: E402
from record import RESULTS, save  # noqa: E402
from texts import scripture, split  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.measure.flops import count_flops, count_parameters  # noqa: E402
from reference_impl.models.t5 import T5, T5Config  # noqa: E402
from reference_impl.objectives.sequence_to_sequence import (
    PairedSequences,
    sequence_to_sequence,
)  # noqa: E402
from reference_impl.objectives.span_corruption import SpanCorruption  # noqa: E402
from reference_impl.objectives.terms import IGNORED, token_terms  # noqa: E402
from reference_impl.tokenizers.wordpiece_training import BERT_SPECIALS  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

SEEDS, TERAFLOPS, LENGTH, ROWS, SENTINELS = 5, 1.5, 64, 16, 16
END = BERT_SPECIALS.index("[SEP]")
SPANS = SpanCorruption(WORDS + SENTINELS, END, num_sentinels=SENTINELS)
CONFIG = T5Config(
    vocab_size=SPANS.vocab_size,
    hidden_size=128,
    head_dim=32,
    intermediate_size=512,
    num_layers=2,
    num_heads=4,
    dropout=0.0,
)


def batch_of(rows: Tensor, whole: bool, generator: torch.Generator) -> dict[str, Tensor]:
    """Sources, targets and labels; `lost` is True for the labels that are tokens cut out."""
    pairs, lost = [], []
    for row in rows.tolist():
        source, target = SPANS.corrupt(row, generator)
        gone = [token for token in target if token < WORDS]
        if whole:
            kept = SPANS.restore(source, target)
            places, at = [], 0
            for token in (
                source
            ):  # a sentinel stands for a span: its tokens are the lost ones of the whole text
                length = 1 if token < WORDS else _span(target, token)
                places += [token >= WORDS] * length
                at += length
            pairs.append((source, kept))
            lost.append([*places, False])
        else:
            pairs.append((source, target))
            lost.append([*(token < WORDS for token in target), False])
        assert sum(lost[-1]) == len(gone)
    return {**PairedSequences(END)(pairs), "lost": torch.tensor(lost)}


def _span(target: list[int], sentinel: int) -> int:
    """How many tokens follow this sentinel in the target."""
    after = target[target.index(sentinel) + 1 :]
    return next((i for i, token in enumerate(after) if token >= WORDS), len(after))


def new_model(seed: int) -> nn.Module:
    """An untrained T5."""
    torch.manual_seed(seed)
    return T5(CONFIG)


def trained(whole: bool, tokens: Tensor, seed: int, teraflops: float) -> tuple[nn.Module, dict]:
    """A model that has spent its operations, and what it took."""

    def batch(index: int) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(100_000 * (seed + 1) + index)
        starts = torch.randint(len(tokens) - LENGTH, (ROWS,), generator=generator)
        return batch_of(tokens[starts[:, None] + torch.arange(LENGTH)], whole, generator)

    model = new_model(seed)
    per_step = count_flops(lambda: sequence_to_sequence(model, batch(0)).total.backward())
    model.zero_grad()
    steps, started = round(teraflops * 1e12 / per_step), time.process_time()
    train(
        model,
        sequence_to_sequence,
        batch,
        TrainingConfig(
            num_steps=steps,
            learning_rate=3e-3,
            warmup_steps=100,
            schedule="linear",
            betas=(0.9, 0.98),
        ),
        progress=False,
    )
    return model.eval(), {
        "steps": steps,
        "gigaflops_a_step": round(per_step / 1e9, 3),
        "parameters": count_parameters(model),
        "target": int(batch(0)["labels"].shape[1]),
        "cpu_seconds": round(time.process_time() - started),
    }


@torch.no_grad()
def asked(model: nn.Module, held: Tensor, whole: bool) -> dict[str, float]:
    """Nats and the share said right, over the tokens that were cut out of held-out stretches,
    always the same.
    """
    rows = held[: len(held) // LENGTH * LENGTH].view(-1, LENGTH)[::3]
    batch = batch_of(rows, whole, torch.Generator().manual_seed(7))
    logits = torch.cat(
        [
            model(*parts)
            for parts in zip(
                *(batch[name].split(64) for name in ("source", "target", "source_mask")),
                strict=True,
            )
        ]
    )[batch["lost"]]
    labels = batch["labels"][batch["lost"]]
    return {
        "nats": round(float(token_terms(logits, labels).mean), 4),
        "right": round(float((logits.argmax(-1) == labels).float().mean()), 4),
        "asked": len(labels),
    }


def lengths() -> list[dict]:
    """Source and target of 512 tokens, for shares and mean spans, as counted and as drawn."""
    found = []
    for share in (0.05, 0.1, 0.15, 0.25, 0.5):
        for mean_span in (1.0, 2.0, 3.0, 5.0, 10.0):
            spans = SpanCorruption(
                32_128 + 300, 1, num_sentinels=300, share=share, mean_span=mean_span
            )
            drawn = [
                spans.corrupt(list(range(100, 612)), torch.Generator().manual_seed(seed))
                for seed in range(5)
            ]
            source, target = spans.lengths(512)
            assert all((len(a) + 1, len(b) + 1) == (source, target) for a, b in drawn)
            found.append(
                {"share": share, "mean_span": mean_span, "source": source, "target": target}
            )
    return found


def main() -> None:
    """Train, ask, write bench/results/span_targets.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, help="make this one again and keep the others")
    parser.add_argument("--teraflops", type=float, default=TERAFLOPS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    train_text, held_text = split(scripture())
    tokenizer = tokenizer_for(NAME, train_text, WORDS)
    tokens, held = as_tokens(tokenizer, train_text), as_tokens(tokenizer, held_text)
    file = RESULTS / "span_targets.json"
    runs = (
        json.loads(file.read_text(encoding="utf-8"))["runs"]
        if args.seed is not None and file.is_file()
        else []
    )
    seeds = range(SEEDS) if args.seed is None else [args.seed]
    runs = [run for run in runs if run["seed"] not in seeds]
    for seed in seeds:
        for whole in (False, True):
            model, took = trained(whole, tokens, seed, args.teraflops)
            runs.append(
                {
                    "target_is": "whole text" if whole else "spans",
                    "seed": seed,
                    **asked(model, held, whole),
                    **took,
                }
            )
            print(runs[-1], flush=True)
    rows = held[: len(held) // LENGTH * LENGTH].view(-1, LENGTH)[::3]
    batch = batch_of(rows, False, torch.Generator().manual_seed(7))
    labels = batch["labels"][batch["lost"] & (batch["labels"] != IGNORED)]
    frequency = torch.bincount(tokens, minlength=WORDS) + 1.0
    save(
        "span_targets",
        versions=("torch",),
        teraflops=args.teraflops,
        tokens=LENGTH,
        lengths=lengths(),
        unigram=round(float(-(frequency / frequency.sum()).log()[labels].mean()), 4),
        runs=sorted(runs, key=lambda run: (run["seed"], run["target_is"])),
    )


if __name__ == "__main__":
    main()
