"""Permutation language modelling against blanks, at equal operations: the same network, asked in
two ways.

    python bench/orders.py [--seed N]        about a minute and a half a seed on one core

One network, XLNet's of two layers, 128 wide, learns from the same stretches of 32 tokens of the
King James Bible. In one way a sixth of the tokens are said in a random order, each from the given
ones and those said before it, by a second stream (Yang et al. 2019, sections 2.2 and 2.3); in the
other a sixth are [MASK], and all are said at once. Each may spend the same operations, forwards and
backwards, as torch counts them. A second stream that is as long as what it predicts costs little,
and no gradient goes through the first one's last layer: the two ways make about as many steps.

Then both are asked for the same held-out blanks from the same given tokens, no blank seeing
another. That is how the second was trained; the first was asked so only for the first token of each
order. So it is also asked in its own way, each blank from the given ones and the blanks before it,
in five random orders: `in order`. The second cannot be asked that: it fills its blanks all at once.
Beside them: what the frequencies of tokens give.

A seed is the start, the stretches and the orders. With --seed one seed is made and merged into the
record. Not here: memory of a text before, spans of places, a task after fine-tuning.
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
from bert import (
    MASK_ID,
    NAME,
    VOCAB_SIZE,
    as_tokens,
    held_out_batch,
    masking,
    stretches,
    tokenizer_for,
)  # noqa: E402
from record import RESULTS, save  # noqa: E402
from texts import scripture, split  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl.measure.flops import count_flops, count_parameters  # noqa: E402
from reference_impl.models.xlnet import XLNetConfig, XLNetLM  # noqa: E402
from reference_impl.objectives.permutation import (
    GIVEN,
    Permutation,
    permutation_lm,
    visible,
)  # noqa: E402
from reference_impl.objectives.terms import IGNORED, Terms, token_terms  # noqa: E402
from reference_impl.tokenizers.wordpiece_training import BERT_SPECIALS  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

SEEDS, TERAFLOPS, ROWS = 3, 1.5, 32
SPECIALS = range(len(BERT_SPECIALS))
CONFIG = XLNetConfig(
    vocab_size=VOCAB_SIZE,
    hidden_size=128,
    num_layers=2,
    num_heads=4,
    intermediate_size=512,
    dropout=0.0,
)


def new_model(tokens: Tensor, seed: int) -> XLNetLM:
    """An untrained network that knows how frequent tokens are; numbers as wide as 128 coordinates
    want them.
    """
    torch.manual_seed(seed)
    model = XLNetLM(CONFIG)
    for name, weight in model.named_parameters():
        if weight.ndim > 1 and "embedding" not in name and name != "output.weight":
            weight.data *= 2
    frequency = torch.bincount(tokens, minlength=VOCAB_SIZE) + 1.0
    model.output.bias.data = (frequency / frequency.sum()).log()
    return model


def at_blanks(model: XLNetLM, batch: dict[str, Tensor]) -> Terms:
    """The loss of the other way: one stream, [MASK] at the blanks; the output layer runs nowhere
    else.
    """
    chosen = batch["labels"] != IGNORED
    return token_terms(
        model.output(model.xlnet(batch["ids"]).vectors[chosen]), batch["labels"][chosen]
    )


def trained(way: str, tokens: Tensor, seed: int, teraflops: float) -> tuple[XLNetLM, dict]:
    """A network that has spent its operations, and what it took."""
    orders, blanks = Permutation(SPECIALS), masking(1 / 6)

    def batch(index: int) -> dict[str, Tensor]:
        rows, generator = stretches(tokens, 100_000 * (seed + 1) + index)
        if way == "orders":
            return orders(rows[:ROWS].tolist(), generator)
        ids, labels = blanks.mask_tokens(rows[:ROWS], generator)
        return {"ids": ids, "labels": labels}

    objective = permutation_lm if way == "orders" else at_blanks
    model = new_model(tokens, seed)
    per_step = count_flops(lambda: objective(model, batch(0)).total.backward())
    model.zero_grad()
    steps, started = round(teraflops * 1e12 / per_step), time.process_time()
    train(
        model,
        objective,
        batch,
        TrainingConfig(
            num_steps=steps,
            learning_rate=1.5e-3,
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
        "cpu_seconds": round(time.process_time() - started),
    }


@torch.no_grad()
def in_turns(model: XLNetLM, ids: Tensor, turns: Tensor) -> float:
    """Nats a blank.

    `turns` (B, T) is GIVEN, or when a place is said; places of one turn do not see each other.
    """
    seen = visible(turns, torch.ones_like(ids, dtype=torch.bool))
    total = count = 0
    for row_ids, row_turns, row_seen in zip(
        ids.split(64), turns.split(64), seen.split(64), strict=True
    ):
        places = [(row != GIVEN).nonzero().flatten() for row in row_turns]
        most = max(map(len, places))
        targets = torch.zeros(len(row_ids), most, ids.shape[1], dtype=torch.bool)
        labels = torch.full((len(row_ids), most), IGNORED)
        for row, where in enumerate(places):
            targets[row, torch.arange(len(where)), where] = True
            labels[row, : len(where)] = row_ids[row, where]
        terms = token_terms(model(row_ids, visible=row_seen, targets=targets), labels)
        total, count = total + float(terms.total), count + terms.count
    return total / count


def main() -> None:
    """Train, ask, write bench/results/orders.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, help="make this one again and keep the others")
    parser.add_argument("--teraflops", type=float, default=TERAFLOPS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    train_text, _ = split(scripture())
    tokenizer = tokenizer_for(NAME, train_text, VOCAB_SIZE)
    tokens = as_tokens(tokenizer, train_text)
    blanks, _ = held_out_batch(tokenizer)
    chosen = blanks["labels"] != IGNORED
    truth = torch.where(chosen, blanks["labels"], blanks["ids"])
    at_once = torch.where(chosen, 0, GIVEN)
    frequency = torch.bincount(tokens, minlength=VOCAB_SIZE) + 1.0
    file = RESULTS / "orders.json"
    runs = (
        json.loads(file.read_text(encoding="utf-8"))["runs"]
        if args.seed is not None and file.is_file()
        else []
    )
    seeds = range(SEEDS) if args.seed is None else [args.seed]
    runs = [run for run in runs if run["seed"] not in seeds]
    for seed in seeds:
        for way in ("orders", "blanks"):
            model, took = trained(way, tokens, seed, args.teraflops)
            if way == "blanks":
                with torch.no_grad():
                    nats = {"nats": round(float(at_blanks(model, blanks).mean), 4)}
            else:
                generator = torch.Generator().manual_seed(3)
                drawn = [
                    torch.where(
                        chosen,
                        torch.rand(chosen.shape, generator=generator).argsort(1).argsort(1),
                        GIVEN,
                    )
                    for _ in range(5)
                ]
                nats = {
                    "nats": round(in_turns(model, truth, at_once), 4),
                    "in_order": round(
                        sum(in_turns(model, truth, turns) for turns in drawn) / len(drawn), 4
                    ),
                }
            runs.append({"way": way, "seed": seed, **nats, **took})
            print(runs[-1], flush=True)
    save(
        "orders",
        versions=("torch",),
        teraflops=args.teraflops,
        blanks=int(chosen.sum()),
        mask_id=MASK_ID,
        unigram=round(float(-(frequency / frequency.sum()).log()[truth[chosen]].mean()), 4),
        runs=sorted(runs, key=lambda run: (run["seed"], run["way"])),
    )


if __name__ == "__main__":
    main()
