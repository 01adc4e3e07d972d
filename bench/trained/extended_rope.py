"""Extend a small ModernBERT from 96 to 768 letters: five ways to set RoPE's frequencies, before and
after a short training at the new length.

    python bench/trained/extended_rope.py [--steps 80] [--seeds 3]
        about four minutes on one core; keeps no model

It starts from the all-global twin of bench/trained/modernbert.py ("modernbert_kjv_global"), whose
training saw stretches of 96 letters. Each way divides the frequency of every pair of a head of 16
dimensions by something:
- unchanged: by 1;
- position interpolation: by 8 (Chen et al. 2023);
- NTK-aware: as a base 8^(16/14) times as large does (Peng et al. 2024, section 3.1);
- NTK-by-parts: by 8 below one rotation in 96 letters, by 1 above four (LLaMA 3.1's limits);
- YaRN: as NTK-by-parts, and scores grow by (0.1 ln 8 + 1) squared.

Three of them continue, with the same batches: two stretches of 768 a step, as many letters as the
16 stretches of 96 before. A seed changes the batches. Asked are the blanks of every eighth held-out
stretch.
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from modernbert import KEPT, LENGTHS, SHARE, TRAINED, asked, bits, blanks, letters  # noqa: E402
from record import save  # noqa: E402
from texts import scripture, split  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.layers.feed_forward import activation  # noqa: E402
from reference_impl.layers.long_context import Yarn, with_temperature  # noqa: E402
from reference_impl.layers.rotary import rotary_tables, slow_interpolation  # noqa: E402
from reference_impl.models.modernbert import ModernBertForMaskedLM  # noqa: E402
from reference_impl.objectives.terms import Terms, token_terms  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

LONG, BATCH, STEPS, EVERY = LENGTHS[-1], 2, 80, 8
CONTINUED = ("unchanged", "position interpolation", "YaRN")
FACTOR = LONG / TRAINED
Batch = dict[str, Tensor]


def ways(head_dim: int, base: float) -> dict[str, Yarn]:
    """For each way the divisor of each pair's frequency, and the factor of the tables."""
    pairs = torch.arange(0, head_dim, 2).double() / head_dim
    stretched = FACTOR ** (head_dim / (head_dim - 2))  # by how much the base grows
    parts = slow_interpolation(head_dim, base, FACTOR, 1.0, 4.0, TRAINED)
    return {
        "unchanged": Yarn(torch.ones_like(pairs), 1.0),
        "position interpolation": Yarn(torch.full_like(pairs, FACTOR), 1.0),
        "NTK-aware": Yarn(stretched**pairs, 1.0),
        "NTK-by-parts": Yarn(parts, 1.0),
        "YaRN": Yarn(parts, 0.1 * math.log(FACTOR) + 1),
    }


def reading(model: ModernBertForMaskedLM, way: Yarn) -> Callable[[Tensor], Tensor]:
    """The model's logits of each letter with these frequencies in all layers, all global."""
    encoder, config = model.encoder, model.config

    def read(ids: Tensor) -> Tensor:
        tables = rotary_tables(
            torch.arange(ids.shape[1]),
            config.hidden_size // config.num_heads,
            config.global_rope_theta,
            way.interpolation,
        )
        tables = with_temperature(tables, way.temperature)
        x = encoder.embedding_norm(encoder.embedding(ids))  # (B, T, C)
        for block in encoder.blocks:
            x = block(x, tables, None)
        return model.decoder(model.norm(activation("gelu")(model.dense(encoder.norm(x)))))

    return read


def batches_of(ids: Tensor, seed: int) -> Callable[[int], Batch]:
    """Random stretches of the new length with blanks; batch i is a function of seed and i."""
    choose = blanks(SHARE)

    def batch(index: int) -> Batch:
        generator = torch.Generator().manual_seed(100_000 * (seed + 1) + index)
        starts = torch.randint(len(ids) - LONG, (BATCH,), generator=generator)
        shown, labels = choose.mask_tokens(ids[starts[:, None] + torch.arange(LONG)], generator)
        return {"ids": shown, "labels": labels}

    return batch


def continued(way: Yarn, ids: Tensor, seed: int, steps: int) -> ModernBertForMaskedLM:
    """The kept model after a short training at the new length."""
    model = small_model(KEPT["all global"]).model

    def at_blanks(model: nn.Module, batch: Batch) -> Terms:
        return token_terms(reading(model, way)(batch["ids"]), batch["labels"])

    settings = TrainingConfig(
        num_steps=steps,
        learning_rate=2e-3,
        warmup_steps=steps // 6,
        schedule="cosine",
        min_learning_rate=1e-4,
        weight_decay=0.01,
        betas=(0.9, 0.98),
    )
    train(model, at_blanks, batches_of(ids, seed), settings, progress=False)
    return model.eval()


def main() -> None:
    """Extend in all ways under every seed, write bench/results/trained_extended_rope.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept, started = small_model(KEPT["all global"]), time.process_time()
    ids, other = (letters(kept.tokenizer, text) for text in split(scripture()))
    held = {name: tensor[::EVERY] for name, tensor in asked(other).items()}
    config = kept.model.config
    chosen = ways(config.hidden_size // config.num_heads, config.global_rope_theta)
    with torch.no_grad():
        before = bits(reading(kept.model, chosen["unchanged"]), held, TRAINED)["bits"]
        found = {
            name: {
                "divided_by": [round(value, 3) for value in way.interpolation.tolist()],
                "before": bits(reading(kept.model, way), held, LONG)["bits"],
                "after": [],
            }
            for name, way in chosen.items()
        }
    for seed in range(options.seeds):
        for name in CONTINUED:
            way = chosen[name]
            model = continued(way, ids, seed, options.steps)
            with torch.no_grad():
                found[name]["after"].append(bits(reading(model, way), held, LONG)["bits"])
            print(seed, name, found[name]["before"], found[name]["after"][-1], flush=True)
    save(
        "trained_extended_rope",
        versions=("torch",),
        seed=list(range(options.seeds)),
        steps=options.steps,
        batch=BATCH,
        trained_length=TRAINED,
        length=LONG,
        pieces=before,
        cpu_seconds=round(time.process_time() - started),
        found=found,
    )


if __name__ == "__main__":
    main()
