"""Train one small decoder with seven kinds of positions on short texts, and ask each in texts up to
eight times as long.

    python bench/trained/positions.py [--steps 600] [--first 0] [--seeds 5]
        about four minutes on one core for a seed; with --first 1 the record keeps its seed 0, and
        the stored models stay

The King James Bible in the first 512 tokens of the small GPT's vocabulary, read in stretches of 64.
A seed draws the batches and the initial weights. Under one seed all kinds see the same batches and
share the initial weights that they have in common. They differ in what tells them the position of a
token: nothing; a learned vector per position (those past 64 stay as they were drawn); sinusoids, at
the scale of the embeddings; T5's bias; ALiBi; rotary; Transformer-XL's four terms. All scores are
scaled by 1 / sqrt(D), T5's too.

The loss is measured on the same held-out tokens each time: the last 32 of a stretch of 512, given
the last 64, 128, 256 or all of it. The record also says how much of the first layer's mean score
for a query and a key is explained by their distance. Stored are the models of seed 0 that a page
can run, all but Transformer-XL's (`small_model("positions_kjv")`).
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import RESULTS, save  # noqa: E402
from texts import (
    as_tokens,
    folder,
    losses_of_first_steps,
    scripture,
    split,
    tokenizer_for,
)  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.models.placed_decoder import (
    KINDS,
    PlacedConfig,
    PlacedDecoder,
    PlacedDecoders,
)  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, chunk_batch, cut_chunks  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE  # noqa: E402
from reference_impl.tokenizers.vocabulary import Vocabulary  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, CONFIG = (
    "positions_kjv",
    PlacedConfig(kinds=tuple(kind for kind in KINDS if kind != "Transformer-XL")),
)
TRAINED, LENGTHS, ASKED = 64, (64, 128, 256, 512), 32
BATCH, STEPS = 16, 600


@torch.no_grad()
def nats(model: PlacedDecoder, chunks: Tensor) -> dict[str, float]:
    """Nats a token of the last ASKED tokens of each chunk (513 ids), given so many ids before the
    end.
    """
    found = {}
    for length in LENGTHS:
        total, count = 0.0, 0
        for some in chunks.split(16):
            logits = model(some[:, -length - 1 : -1])[:, -ASKED:]
            total += float(
                nn.functional.cross_entropy(
                    logits.flatten(0, 1), some[:, -ASKED:].flatten(), reduction="sum"
                )
            )
            count += some.shape[0] * ASKED
        found[str(length)] = round(total / count, 4)
    return found


@torch.no_grad()
def share_of_distance(model: PlacedDecoder, chunks: Tensor, farthest: int = 16) -> float:
    """Of the variation of the first layer's mean scores over places 32 to 63 and distances below
    `farthest`: what distance explains.

    The mean is over texts; each head by itself, and the mean of the heads. 1: a query at any place
    treats a distance alike.
    """
    mean = torch.stack(
        [model.first_scores(some).sum(0) for some in chunks[:, :TRAINED].split(16)]
    ).sum(0) / len(chunks)
    places = torch.arange(TRAINED // 2, TRAINED)
    by_distance = torch.stack(
        [mean[:, places, places - distance] for distance in range(farthest)], -1
    ).double()  # (H, P, F)
    whole = (by_distance - by_distance.mean((1, 2), keepdim=True)).square().mean((1, 2))
    along = (by_distance.mean(1) - by_distance.mean((1, 2))[:, None]).square().mean(1)
    return round(float((along / whole).mean()), 4)


def shortened(train_text: str) -> ByteLevelBPE:
    """The small GPT's vocabulary, cut to its first tokens."""
    whole, size = tokenizer_for("gpt_kjv", train_text, 1024), CONFIG.vocab_size
    return ByteLevelBPE(Vocabulary(whole.vocabulary.tokens[:size]), whole.merges[: size - 256])


def settings(steps: int) -> TrainingConfig:
    """How every kind is trained."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=4e-3,
        warmup_steps=min(50, steps // 4),
        schedule="cosine",
        min_learning_rate=2e-4,
        weight_decay=0.01,
        betas=(0.9, 0.98),
    )


def batches_of(tokens: Tensor, seed: int = 0) -> Callable[[int], dict[str, Tensor]]:
    """The batch of each step, the same for every kind."""

    def batch(number: int) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(1_000_000 * seed + number)
        starts = torch.randint(len(tokens) - TRAINED, (BATCH,), generator=generator)
        return chunk_batch(tokens[starts[:, None] + torch.arange(TRAINED + 1)])

    return batch


def first_losses(count: int) -> list[float]:
    """The loss of the first steps under the first seed, the mean of the kept kinds."""
    text = split(scripture())[0]
    batch, losses = batches_of(as_tokens(shortened(text), text)), []
    for kind in CONFIG.kinds:
        torch.manual_seed(0)
        losses.append(
            losses_of_first_steps(
                count, PlacedDecoder(kind, CONFIG), causal_lm, batch, settings(STEPS)
            )
        )
    return torch.tensor(losses).mean(0).tolist()


def figures(models: PlacedDecoders, tokenizer: ByteLevelBPE, every: int = 1) -> dict[str, float]:
    """Nats per token of the stored kinds, given 64 tokens and 512, on every `every`-th stretch."""
    chunks = cut_chunks(as_tokens(tokenizer, split(scripture())[1]), max(LENGTHS))[::every]
    reached = {}
    for kind, model in models.items():
        found = nats(model, chunks)
        for length in (min(LENGTHS), max(LENGTHS)):
            reached[f"{kind}, {length}"] = found[str(length)]
    return reached


def trained(kind: str, seed: int, tokens: Tensor, steps: int) -> PlacedDecoder:
    """One decoder, trained from this seed's initial weights on this seed's batches."""
    torch.manual_seed(seed)
    model = PlacedDecoder(kind, CONFIG)
    train(model, causal_lm, batches_of(tokens, seed), settings(steps), progress=False)
    return model.eval()


def add_seed(
    found: dict[str, dict[str, Any]], seed: int, tokens: Tensor, chunks: Tensor, steps: int
) -> list[PlacedDecoder]:
    """Train every kind under a seed, add what it reaches to `found`; return the models to store."""
    stored = []
    for kind in KINDS:
        started = time.process_time()
        model = trained(kind, seed, tokens, steps)
        reached = nats(model, chunks)
        one = found.setdefault(
            kind,
            {
                "parameters": sum(p.numel() for p in model.parameters()),
                "nats": {length: [] for length in reached},
                "explained_by_distance": [],
                "cpu_seconds": 0,
            },
        )
        for length, value in reached.items():
            one["nats"][length].append(value)
        one["explained_by_distance"].append(share_of_distance(model, chunks))
        one["cpu_seconds"] += round(time.process_time() - started)
        print(f"seed {seed}, {kind}: {reached}", flush=True)
        if kind in CONFIG.kinds:
            stored.append(model)
    return stored


def store(models: list[PlacedDecoder], tokenizer: ByteLevelBPE, steps: int) -> None:
    """Keep the decoders of seed 0 and their tokenizer, with figures to check them by."""
    keep(
        NAME,
        "placed",
        CONFIG,
        PlacedDecoders(CONFIG, models),
        script="bench/trained/positions.py",
        seed=0,
        corpora=["kjv"],
        steps=steps,
        first_losses=first_losses(20),
    )
    (folder(NAME) / "bpe.json").write_text(
        json.dumps({"tokens": tokenizer.vocabulary.tokens, "merges": tokenizer.merges}),
        encoding="utf-8",
    )
    kept = small_model(NAME)  # what is measured from here on is what was kept
    add_figures(
        NAME, figures(kept.model, kept.tokenizer), figures(kept.model, kept.tokenizer, every=20)
    )


def write(found: dict[str, dict[str, Any]], steps: int, chunks: Tensor, held_out: str) -> None:
    """The record of the seeds that `found` has so far."""
    save(
        "trained_positions",
        versions=("torch",),
        seed=list(range(len(found["none"]["explained_by_distance"]))),
        steps=steps,
        trained_length=TRAINED,
        batch=BATCH,
        asked={"stretches": len(chunks), "last": ASKED},
        vocabulary=CONFIG.vocab_size,
        layers=CONFIG.num_layers,
        width=CONFIG.hidden_size,
        heads=CONFIG.num_heads,
        sinusoids_times=CONFIG.sinusoids_times,
        cpu_seconds=sum(one["cpu_seconds"] for one in found.values()),
        held_out=held_out,
        found=found,
    )


def main() -> None:
    """Train all kinds under every seed and write bench/results/trained_positions.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--first", type=int, default=0, help="keep the record's seeds before this")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    train_text, other_text = split(scripture())
    tokenizer = shortened(train_text)
    tokens = as_tokens(tokenizer, train_text)
    chunks = cut_chunks(as_tokens(tokenizer, other_text), max(LENGTHS))
    found: dict[str, dict[str, Any]] = {}
    if options.first:
        found = json.loads((RESULTS / "trained_positions.json").read_text())["found"]
    for seed in range(options.first, options.seeds):
        models = add_seed(found, seed, tokens, chunks, options.steps)
        if seed == 0:
            store(models, tokenizer, options.steps)
        write(found, options.steps, chunks, tokenizer.decode(chunks[0].tolist()))


if __name__ == "__main__":
    main()
