"""Where tokens stand: rows added to them (BERT), or distances in every score (DeBERTa), at equal
operations.

    python bench/distances.py [--seed N]        about a minute and a half a seed on one core

Encoders of two layers, 128 wide, with the same head, learn to fill the blanks of the King James
Bible, on the same stretches of 32 tokens: BERT with its table of positions, DeBERTa's disentangled
attention, and, as the control, BERT whose table of positions stays zero: a bag of words. Each may
spend the same operations, forwards and backwards, as torch counts them; DeBERTa's scores cost more,
so it makes fewer steps. All start from normal numbers, but for one more BERT, whose rows start as
sinusoids and whose heads start by looking at a neighbour each, as the kept small BERT's do
(bench/trained/bert.py). Then all held-out blanks are asked.

A seed is the start and the stretches. With --seed one seed is made and merged into the record. Not
here: DeBERTa's mask decoder, which adds absolute positions at the end (He et al. 2021, section
3.2).
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
    CONFIG,
    NAME,
    VOCAB_SIZE,
    as_tokens,
    held_out_batch,
    masking,
    start,
    stretches,
    tokenizer_for,
)  # noqa: E402
from record import RESULTS, save  # noqa: E402
from texts import scripture, split  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.layers.initial import start_normal  # noqa: E402
from reference_impl.measure.flops import count_flops, count_parameters  # noqa: E402
from reference_impl.models.bert import BertForMaskedLM  # noqa: E402
from reference_impl.models.deberta import DebertaConfig, DebertaForMaskedLM  # noqa: E402
from reference_impl.objectives.terms import IGNORED, Terms, token_terms  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

SEEDS, TERAFLOPS, ROWS, SHARE = 3, 1.5, 32, 0.4
KINDS = ("no positions", "added rows", "added rows, told where to look", "disentangled")


def new_model(kind: str, tokens: Tensor, seed: int) -> nn.Module:
    """An untrained encoder with its head, which knows how frequent tokens are."""
    torch.manual_seed(seed)
    if kind == "disentangled":
        model = DebertaForMaskedLM(
            DebertaConfig(
                vocab_size=VOCAB_SIZE,
                hidden_size=CONFIG.hidden_size,
                num_layers=CONFIG.num_layers,
                num_heads=CONFIG.num_heads,
                intermediate_size=CONFIG.intermediate_size,
                max_distance=CONFIG.max_position_embeddings,
                hidden_dropout=0.0,
                attention_dropout=0.0,
            )
        )
        start_normal(model.deberta, std=0.04)
        for table in (model.deberta.embedding, model.deberta.distances):
            nn.init.normal_(table.weight, std=0.02)
    else:
        model = BertForMaskedLM(CONFIG)
        start(model.bert, neighbours=kind.endswith("to look"))
        if kind == "no positions":
            model.bert.embeddings.position.weight.data.zero_()
            model.bert.embeddings.position.weight.requires_grad = False
    frequency = torch.bincount(tokens, minlength=VOCAB_SIZE) + 1.0
    model.masked_lm.decoder.bias.data = (frequency / frequency.sum()).log()
    return model


def terms(model: nn.Module, batch: dict[str, Tensor]) -> Terms:
    """The loss at the blanks; the head runs nowhere else."""
    chosen = batch["labels"] != IGNORED
    vectors = (
        model.deberta(batch["ids"])
        if isinstance(model, DebertaForMaskedLM)
        else model.bert(batch["ids"]).tokens
    )
    return token_terms(model.masked_lm(vectors[chosen]), batch["labels"][chosen])


def trained(kind: str, tokens: Tensor, seed: int, teraflops: float) -> tuple[nn.Module, dict]:
    """A model that has spent its operations, and what it took."""
    blanks = masking(SHARE)

    def batch(index: int) -> dict[str, Tensor]:
        rows, generator = stretches(tokens, 100_000 * (seed + 1) + index)
        ids, labels = blanks.mask_tokens(rows[:ROWS], generator)
        return {"ids": ids, "labels": labels}

    model = new_model(kind, tokens, seed)
    per_step = count_flops(lambda: terms(model, batch(0)).total.backward())
    model.zero_grad()
    steps, started = round(teraflops * 1e12 / per_step), time.process_time()
    train(
        model,
        terms,
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


def main() -> None:
    """Train, ask, write bench/results/distances.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, help="make this one again and keep the others")
    parser.add_argument("--kind", choices=KINDS, help="of the seed, make this kind only")
    parser.add_argument("--teraflops", type=float, default=TERAFLOPS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    train_text, _ = split(scripture())
    tokenizer = tokenizer_for(NAME, train_text, VOCAB_SIZE)
    tokens = as_tokens(tokenizer, train_text)
    blanks, _ = held_out_batch(tokenizer)
    frequency = torch.bincount(tokens, minlength=VOCAB_SIZE) + 1.0
    labels = blanks["labels"][blanks["labels"] != IGNORED]
    unigram = float(-(frequency / frequency.sum()).log()[labels].mean())
    file = RESULTS / "distances.json"
    runs = (
        json.loads(file.read_text(encoding="utf-8"))["runs"]
        if args.seed is not None and file.is_file()
        else []
    )
    seeds = range(SEEDS) if args.seed is None else [args.seed]
    kinds = KINDS if args.kind is None else [args.kind]
    runs = [run for run in runs if run["seed"] not in seeds or run["kind"] not in kinds]
    for seed in seeds:
        for kind in kinds:
            model, took = trained(kind, tokens, seed, args.teraflops)
            with torch.no_grad():
                nats = float(terms(model, blanks).mean)
            runs.append({"kind": kind, "seed": seed, "nats": round(nats, 4), **took})
            print(runs[-1], flush=True)
    save(
        "distances",
        versions=("torch",),
        teraflops=args.teraflops,
        share_of_blanks=SHARE,
        unigram=round(unigram, 4),
        blanks=len(labels),
        runs=sorted(runs, key=lambda run: (run["seed"], run["kind"])),
    )


if __name__ == "__main__":
    main()
