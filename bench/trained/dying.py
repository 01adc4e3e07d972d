"""Count the units that die in small networks: four activations, by learning rate and by the size of
the start.

    python bench/trained/dying.py [--seeds 5]        about five minutes on one core

The next byte of the King James Bible from the eight before: an embedding of 16 numbers each, two
hidden layers of 192 units, logits. SwiGLU has three matrices where the others have two, so its
layers have 128 units: about as many numbers. 300 steps of SGD with momentum 0.9, batches of 64; a
gradient longer than 1 is cut to 1. Weights start as He et al. 2015 say (the gated ones without
their factor of 2), times a scale; biases at zero.

A unit is dead if on none of 4,096 held-out inputs its output answers to a change of its own inner
products: each slope is at most 1e-6 in size. Then no gradient reaches its weights, whatever the
loss is. Of ReLU's units the slope is 0 or 1; of a gated unit both slopes are asked for, that along
the gate and that along the other product. `silent` are units whose every slope along the (gate's)
inner product is that small: for the three without a gate the same number.

Cures, for ReLU at a rate of 1: a tenth of it, warm-up, shorter gradients, a norm before each layer.
No network is kept. And the same count in models that were trained by others: the gates of SmolLM2
and the GELU units of the small GPT.
"""

import argparse
import math
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from strategies import editorials  # noqa: E402
from texts import scripture, split  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.layers.feed_forward import activation  # noqa: E402
from reference_impl.objectives.causal_lm import cut_chunks  # noqa: E402
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata  # noqa: E402
from reference_impl.weights.gguf_files import read_gguf  # noqa: E402

BEFORE, WIDTH, UNITS, GATED_UNITS, STEPS, BATCH, ASKED, DEAD = 8, 16, 192, 128, 300, 64, 4096, 1e-6
KINDS = {"ReLU": "relu", "leaky ReLU": "leaky_relu", "GELU": "gelu", "SwiGLU": "silu"}
RATES, SCALES, RATE, SCALE, CLIP = (0.1, 0.3, 1.0, 3.0), (0.1, 1.0, 3.0, 10.0), 0.3, 1.0, 1.0
CURES = {
    "none": {},
    "a tenth of the rate": {"rate": 0.1},
    "warm-up over 100 steps": {"warmup": 100},
    "gradients cut to 0.1": {"clip": 0.1},
    "RMSNorm before each layer": {"norm": True},
}


class Hidden(nn.Module):
    """One layer of units, plain or gated, and what each unit's slopes are."""

    def __init__(self, wide: int, kind: str, scale: float, norm: bool):
        super().__init__()
        self.act, gated = activation(KINDS[kind]), kind == "SwiGLU"
        self.norm = nn.RMSNorm(wide) if norm else nn.Identity()
        self.first = nn.Linear(wide, GATED_UNITS if gated else UNITS)
        self.second = nn.Linear(wide, GATED_UNITS) if gated else None
        for layer in (self.first, self.second) if gated else (self.first,):
            nn.init.normal_(layer.weight, std=scale * math.sqrt((1 if gated else 2) / wide))
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(N, wide) to (N, units)."""
        x = self.norm(x)
        return self.act(self.first(x)) * (1 if self.second is None else self.second(x))

    @torch.no_grad()
    def slopes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The largest size, over the inputs, of each unit's slope along its first inner product,
        and along any: (units,) each.
        """
        x = self.norm(x)
        along_first, along_second = of_unit(
            self.act, self.first(x), None if self.second is None else self.second(x)
        )
        return along_first, torch.maximum(along_first, along_second)


def of_unit(act, gate: Tensor, up: Tensor | None) -> tuple[Tensor, Tensor]:
    """The largest sizes of the slopes of act(gate) * up along gate and along up, over all rows:
    (units,) each.
    """
    with torch.enable_grad():
        gate = gate.detach().requires_grad_()
        mixed = act(gate)
        (slope,) = torch.autograd.grad(mixed.sum(), gate)
    if up is None:
        return slope.abs().amax(0), torch.zeros(gate.shape[-1])
    return (slope * up).abs().amax(0), mixed.detach().abs().amax(0)


class Bytes(nn.Module):
    """The eight bytes before, embedded side by side, through two layers of units to the logits of
    the next.
    """

    def __init__(self, kind: str, scale: float = 1.0, norm: bool = False):
        super().__init__()
        self.embedding = nn.Embedding(256, WIDTH)
        wide = GATED_UNITS if kind == "SwiGLU" else UNITS
        self.layers = nn.ModuleList(
            [Hidden(BEFORE * WIDTH, kind, scale, norm), Hidden(wide, kind, scale, norm)]
        )
        self.output = nn.Linear(wide, 256)

    def forward(self, x: Tensor) -> Tensor:
        """(N, 8) to (N, 256)."""
        x = self.embedding(x).flatten(1)
        for layer in self.layers:
            x = layer(x)
        return self.output(x)

    @torch.no_grad()
    def dead(self, x: Tensor) -> tuple[float, float]:
        """The shares of units that are dead, and that are silent along the gate, over
        these inputs.
        """
        x, shares = self.embedding(x).flatten(1), []
        for layer in self.layers:
            along_gate, along_any = layer.slopes(x)
            shares.append(
                ((along_any <= DEAD).double().mean(), (along_gate <= DEAD).double().mean())
            )
            x = layer(x)
        return tuple(
            round(float(torch.stack(some).mean()), 4) for some in zip(*shares, strict=True)
        )


def windows(text: str, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """So many random places of a text: the bytes before, (N, 8), and the byte there, (N,)."""
    data = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
    starts = torch.randint(len(data) - BEFORE, (count,), generator=generator)
    rows = data[starts[:, None] + torch.arange(BEFORE + 1)].long()
    return rows[:, :-1], rows[:, -1]


def of_bytes_alone(text: str) -> float:
    """The entropy of a text's bytes in bits: what a network loses that knows how common each is,
    and nothing else.
    """
    shares = torch.bincount(
        torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8).long()
    ).double() / len(text.encode())
    return float(-(shares * shares.clamp(min=1e-300).log2()).sum())


def run(
    texts: tuple[str, str],
    kind: str,
    rate: float,
    scale: float,
    seed: int,
    warmup: int = 0,
    clip: float = CLIP,
    norm: bool = False,
) -> dict[str, float | None]:
    """Train one network: the shares of dead units before and after, and bits a byte of what is held
    out.
    """
    torch.manual_seed(seed)
    model = Bytes(kind, scale, norm)
    asked, answers = windows(texts[1], ASKED, torch.Generator().manual_seed(10**6))
    given, following = windows(texts[0], STEPS * BATCH, torch.Generator().manual_seed(seed))
    before = model.dead(asked)[0]
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / max(warmup, 1))
        part = slice(step * BATCH, (step + 1) * BATCH)
        optimizer.zero_grad()
        F.cross_entropy(model(given[part]), following[part]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    with torch.no_grad():
        bits = float(F.cross_entropy(model(asked), answers)) / math.log(2)
    if not math.isfinite(
        bits
    ):  # numbers that are none have no slope either: nothing can be counted
        return {"before": before, "dead": None, "silent": None, "bits": None}
    dead, silent = model.dead(asked)
    return {"before": before, "dead": dead, "silent": silent, "bits": round(bits, 4)}


def rows_of(texts: tuple[str, str], seeds: int, **settings) -> dict[str, object]:
    """One row of the record: its settings, and what came out under every seed."""
    runs = [run(texts, seed=seed, **settings) for seed in range(seeds)]
    row = {**settings, **{key: [one[key] for one in runs] for key in runs[0]}}
    known = [one for one in row["dead"] if one is not None]
    print(
        settings, "dead", statistics.mean(known) if known else None, "bits", row["bits"], flush=True
    )
    return row


@torch.no_grad()
def in_models() -> dict[str, dict[str, object]]:
    """Dead units of trained models on their kind of text, and how often a unit's gate lets nothing
    through.
    """
    smollm2 = corpora.load("smollm2")
    words = tokenizer_from_metadata(
        read_gguf(next(corpora.path("smollm2").glob("*.gguf"))).metadata
    )
    papers = torch.tensor([given for given, _ in editorials(words, 32, 128)])  # 4,096 tokens
    gpt = small_model("gpt_kjv")
    verses = cut_chunks(torch.tensor(gpt.tokenizer.encode(split(scripture())[1])), 128)[:32, :128]
    found = {}
    for name, model, ids in (("SmolLM2-135M", smollm2, papers), ("small GPT", gpt.model, verses)):
        counts = {"units": 0, "inputs": ids.numel(), "dead": 0, "silent": 0}

        def count(layer, given, counts=counts):
            x = given[0].flatten(0, 1)  # (N, C)
            gated = hasattr(layer, "gate")
            along_gate, along_up = of_unit(
                layer.act, (layer.gate if gated else layer.up)(x), layer.up(x) if gated else None
            )
            counts["dead"] += int((torch.maximum(along_gate, along_up) <= DEAD).sum())
            counts["silent"] += int((along_gate <= DEAD).sum())
            counts["units"] += along_gate.numel()

        hooks = [block.feed_forward.register_forward_pre_hook(count) for block in model.blocks]
        model.hidden(ids)
        for hook in hooks:
            hook.remove()
        found[name] = counts
        print(name, counts, flush=True)
    return found


def main() -> None:
    """Train all, write bench/results/trained_dying.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)
    started, texts = time.process_time(), split(scripture())
    models = in_models()
    by_rate = [
        rows_of(texts, seeds, kind=kind, rate=rate, scale=SCALE) for rate in RATES for kind in KINDS
    ]
    by_scale = [
        rows_of(texts, seeds, kind=kind, rate=RATE, scale=scale)
        for scale in SCALES
        if scale != SCALE
        for kind in KINDS
    ]
    cures = [
        {
            "cure": name,
            **rows_of(texts, seeds, **{"kind": "ReLU", "rate": 1.0, "scale": SCALE, **change}),
        }
        for name, change in CURES.items()
    ]
    save(
        "trained_dying",
        versions=("torch",),
        seeds=list(range(seeds)),
        steps=STEPS,
        inputs=ASKED,
        slope_of_the_dead=DEAD,
        parameters={kind: sum(p.numel() for p in Bytes(kind).parameters()) for kind in KINDS},
        clip=CLIP,
        rate_of_scales=RATE,
        bits_of_bytes_alone=round(of_bytes_alone(texts[1]), 4),
        units={kind: 2 * (GATED_UNITS if kind == "SwiGLU" else UNITS) for kind in KINDS},
        by_rate=by_rate,
        by_scale=by_scale,
        cures=cures,
        in_models=models,
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()
