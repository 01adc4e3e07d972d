"""What LoRA learned, taken apart: cut down to fewer ranks, made weaker and stronger, merged in two
precisions.

    python bench/lora_update.py        after trained/adapt.py; about two minutes on one core

The kept update of rank 16 (`small_model("gpt_definitions_lora")`), measured on held-out definitions
and scripture: with its largest singular values only, and times a strength from 0 (the old model) to
2.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from gpt import bits_per_byte  # noqa: E402
from record import save  # noqa: E402
from texts import as_tokens, definitions, scripture, split  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.layers.lora import LoRALinear  # noqa: E402

NAME, RANKS, STRENGTHS = (
    "gpt_definitions_lora",
    (0, 1, 2, 4, 8, 12, 16),
    (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0),
)


@torch.no_grad()
def change(
    layers: dict[str, LoRALinear], kept: dict[str, tuple], rank: int = 16, strength: float = 1.0
) -> None:
    """Give each layer the best copy of its update that has this rank, times a strength."""
    for name, layer in layers.items():
        a, b = kept[name]
        u, s, v = torch.linalg.svd(b @ a, full_matrices=False)
        s = s[: a.shape[0]].clone()
        s[rank:] = 0
        layer.a.copy_(v[: len(s)])
        layer.b.copy_(strength * u[:, : len(s)] * s)


def main() -> None:
    """Measure and write bench/results/lora_update.json."""
    torch.set_num_threads(1)
    kept = small_model(NAME)
    layers = {
        name: module
        for name, module in kept.model.named_modules()
        if isinstance(module, LoRALinear)
    }
    found = {
        name: (layer.a.detach().clone(), layer.b.detach().clone()) for name, layer in layers.items()
    }
    held = {}
    for name, text, every in (("definitions", definitions(), 6), ("scripture", scripture(), 3)):
        some = "".join(split(text)[1].splitlines(keepends=True)[::every])
        held[name] = (as_tokens(kept.tokenizer, some), len(some.encode()))

    def measure():
        return {name: round(bits_per_byte(kept.model, *text), 4) for name, text in held.items()}

    ranks, strengths = [], []
    for rank in RANKS:
        change(layers, found, rank=rank)
        ranks.append({"rank": rank, **measure()})
        print(ranks[-1], flush=True)
    for strength in STRENGTHS:
        change(layers, found, strength=strength)
        strengths.append({"strength": strength, **measure()})
        print(strengths[-1], flush=True)
    scale = next(iter(layers.values())).scale
    values = {
        name: [round(float(x), 4) for x in torch.linalg.svdvals(scale * b @ a)[: a.shape[0]]]
        for name, (a, b) in found.items()
    }
    save(
        "lora_update",
        versions=("torch", "numpy"),
        ranks=ranks,
        strengths=strengths,
        singular_values=values,
    )


if __name__ == "__main__":
    main()
