"""Write a string of letters backwards: with attention, and from one vector of fixed size, by
length, over five seeds.

    python bench/trained/reversing.py [--steps 250]        about four minutes on one core

Both are the encoder-decoder of `models/seq2seq.py`, trained on the same strings in the same order.
The one without attention is given the same vector at every step: what its two readers ended with
(Cho et al. 2014). Strings in training have 2 to LONGEST letters, drawn at random; none of the
test's strings can be expected among them but the shortest. Writes
bench/results/trained_reversing.json; no model is kept.
"""

import argparse
import os
import random
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.models.seq2seq import Seq2Seq, Seq2SeqConfig  # noqa: E402
from reference_impl.objectives.sequence_to_sequence import (
    PairedSequences,
    sequence_to_sequence,
)  # noqa: E402

START, END, LETTERS = 0, 1, 12
LONGEST, LENGTHS, TRIED = 16, (2, 4, 8, 12, 16, 20, 24), 100
BATCH, RATE, CLIP, STEPS, SEEDS = 64, 4e-3, 1.0, 250, range(5)
CONFIG = Seq2SeqConfig(
    source_vocab_size=LETTERS + 2, target_vocab_size=LETTERS + 2, embedding_size=24, hidden_size=64
)


class WhatWasRead(nn.Module):
    """In the place of attention: at every step what the forward reader ended with, beside the
    backward reader's end.
    """

    def __init__(self, size: int):
        super().__init__()
        self.key = nn.Linear(2 * size, size)  # asked for by Seq2Seq.encode, and not used

    def forward(
        self, query: Tensor, keys: Tensor, memory: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The same vector for each query, and weights that say nothing."""
        forward, backward = memory.chunk(2, dim=-1)  # (B, S, H) each
        last = mask.sum(-1) - 1
        return torch.cat(
            (forward[torch.arange(len(last)), last], backward[:, 0]), -1
        ), mask / mask.sum(-1, keepdim=True)


def strings(draw: random.Random, lengths: list[int]) -> list[list[int]]:
    """Random strings of these lengths, as ids."""
    return [[draw.randrange(LETTERS) + 2 for _ in range(length)] for length in lengths]


def batch_of(rows: list[list[int]]) -> dict[str, Tensor]:
    """Each string with itself backwards."""
    return PairedSequences(end_id=END, start_id=START)([(row, row[::-1]) for row in rows])


def trained(attention: bool, seed: int, steps: int) -> Seq2Seq:
    """A model after so many steps; both kinds see the same strings."""
    torch.manual_seed(seed)
    model, draw = Seq2Seq(CONFIG), random.Random(seed)
    if not attention:
        model.attention = WhatWasRead(CONFIG.hidden_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.1)
    for _ in range(steps):
        length = draw.randint(2, LONGEST)  # one a batch: nothing is padding
        loss = sequence_to_sequence(model, batch_of(strings(draw, [length] * BATCH))).mean
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        rates.step()
    return model.eval()


def exact(model: Seq2Seq, length: int) -> float:
    """The share of strings of this length that are written backwards without a slip."""
    rows = strings(random.Random(1_000 + length), [length] * TRIED)
    batch = batch_of(rows)
    written, _ = model.write(
        batch["source"], batch["source_mask"], start_id=START, end_id=END, max_tokens=length + 4
    )
    return sum(said == row[::-1] for said, row in zip(written, rows, strict=True)) / TRIED


def main() -> None:
    """Train both kinds under every seed, write by length, save the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    kinds, started = {"attention": True, "one vector": False}, time.process_time()
    found: dict[str, dict[str, list[float]]] = {
        kind: {str(length): [] for length in LENGTHS} for kind in kinds
    }
    for seed in SEEDS:
        for kind, attention in kinds.items():
            model = trained(attention, seed, steps)
            for length in LENGTHS:
                found[kind][str(length)].append(exact(model, length))
            print(
                seed,
                kind,
                {length: shares[-1] for length, shares in found[kind].items()},
                flush=True,
            )
    save(
        "trained_reversing",
        versions=("torch",),
        steps=steps,
        seed=list(SEEDS),
        seeds=len(SEEDS),
        tried=TRIED,
        longest_in_training=LONGEST,
        cpu_seconds=round(time.process_time() - started),
        width=CONFIG.hidden_size,
        letters=LETTERS,
        exact=found,
        parameters={
            kind: sum(
                p.numel()
                for name, p in model.named_parameters()
                if attention or "attention" not in name
            )
            for kind, attention in kinds.items()
            for model in [Seq2Seq(CONFIG)]
        },
        mean={
            kind: {length: round(statistics.mean(shares), 4) for length, shares in by.items()}
            for kind, by in found.items()
        },
    )


if __name__ == "__main__":
    main()
