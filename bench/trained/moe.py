"""Mixtures of experts trained here: how much they memorize, and how their load is balanced.

    python bench/trained/moe.py [--steps 300] [--seeds 3]        about five minutes on one core

Facts, five seeds: 6,000 random pairs of 128 symbols each have a random answer out of 128. A model
adds the two embeddings (16 dimensions), passes them through one feed-forward layer with a residual
connection, and predicts the answer; it sees all facts in each of 250 steps. Compared are
- dense: a SwiGLU of 32;
- wide: one of 256, with as many parameters as all experts together;
- sixteen experts of 16, two per pair: as many active parameters as dense, router aside.

Text: byte LLaMAs of two layers on the King James Bible, with the same batches under every seed:
- dense: a feed-forward layer of 192;
- eight experts of 96, two per byte: without balancing, with the load-balancing loss (coefficient
  0.01), and with the bias of Wang et al. (step 0.005).
Kept are bits a byte of held-out text, how much more than its even share the busiest expert of each
layer gets, what a capacity drops and costs, and where the bytes of one sentence go (seed 0).
"""

import argparse
import math
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from texts import as_tokens, scripture, split, stretches_of  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.layers.feed_forward import GatedFeedForward  # noqa: E402
from reference_impl.layers.moe import (  # noqa: E402
    MixtureOfExperts,
    Router,
    Routing,
    load,
    load_balancing_loss,
    update_bias,
    within_capacity,
)
from reference_impl.models.llama import Llama, LlamaConfig  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, cut_chunks  # noqa: E402
from reference_impl.objectives.terms import Terms  # noqa: E402
from reference_impl.tokenizers.byte_level import train_byte_level_bpe  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

LENGTH, BATCH, STEPS, HELD = 128, 8, 300, 64
SENTENCE = "And they sat upon the bank of the river"
SIZES = {
    "vocab_size": 256,
    "hidden_size": 96,
    "num_layers": 2,
    "num_heads": 4,
    "num_kv_heads": 2,
    "max_position_embeddings": LENGTH,
    "tie_word_embeddings": True,
}
EXPERTS = LlamaConfig(
    **SIZES, intermediate_size=192, num_experts=8, experts_per_token=2, expert_size=96
)
KINDS = {
    "dense": LlamaConfig(**SIZES, intermediate_size=192),
    "unbalanced": EXPERTS,
    "loss": EXPERTS,
    "bias": EXPERTS,
}
FACTS, SYMBOLS, WIDTH = 6000, 128, 16
CAPACITIES = (1.0, 1.25, 1.5, 2.0)
COEFFICIENT, STEP = 0.01, 0.005


class Memory(nn.Module):
    """One feed-forward layer between the embeddings of a pair and the answer."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.first, self.second = (nn.Embedding(SYMBOLS, WIDTH) for _ in range(2))
        self.layer = layer
        self.output = nn.Linear(WIDTH, SYMBOLS, bias=False)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Logits of the answer."""
        x = nn.functional.rms_norm(self.first(first) + self.second(second), (WIDTH,))
        return self.output(x + self.layer(x[None])[0])


LAYERS = {
    "dense": lambda: GatedFeedForward(WIDTH, 32),
    "wide": lambda: GatedFeedForward(WIDTH, 256),
    "experts": lambda: MixtureOfExperts(Router(WIDTH, 16, 2), 16),
}


def memorized(kind: str, seed: int, steps: int = 250) -> dict[str, object]:
    """How many of the facts a model knows after training on them."""
    torch.manual_seed(seed)
    pairs, answers = torch.randperm(SYMBOLS**2)[:FACTS], torch.randint(SYMBOLS, (FACTS,))
    first, second = pairs // SYMBOLS, pairs % SYMBOLS
    layer, last = LAYERS[kind](), {}
    if kind == "experts":
        layer.router.register_forward_hook(lambda _, __, one: last.update(routing=one))
    model = Memory(layer)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-2, total_steps=steps)
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(first, second), answers)
        if last:
            loss = loss + COEFFICIENT * load_balancing_loss(last["routing"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    known = (model(first, second).argmax(1) == answers).double().mean()
    return {
        "kind": kind,
        "seed": seed,
        "known": round(float(known), 4),
        "layer": sum(p.numel() for p in layer.parameters()),
    }


class Routings:
    """What the routers of a model chose in its last pass, layer by layer."""

    def __init__(self, model: Llama):
        self.last: dict[int, Routing] = {}
        self.layers = [b.feed_forward for b in model.blocks if model.config.num_experts]
        for i, layer in enumerate(self.layers):
            layer.router.register_forward_hook(
                lambda _, __, routing, i=i: self.last.update({i: routing})
            )


def objective_of(kind: str, routings: Routings):
    """The language model's loss, with what balances the experts."""

    def objective(model: Llama, batch) -> Terms:
        terms = causal_lm(model, batch)
        if kind == "loss":
            extra = sum(load_balancing_loss(one) for one in routings.last.values())
            return terms.plus(Terms(extra, 1), COEFFICIENT)
        if kind == "bias" and model.training:
            for i, layer in enumerate(routings.layers):
                update_bias(layer.router, routings.last[i], STEP)
        return terms

    return objective


def training(steps: int) -> TrainingConfig:
    """The same for all."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=3e-3,
        warmup_steps=40,
        schedule="cosine",
        min_learning_rate=3e-4,
        weight_decay=0.1,
        betas=(0.9, 0.95),
    )


@torch.no_grad()
def bits_per_byte(model: Llama, rows: Tensor, routings: Routings) -> tuple[float, Tensor]:
    """Bits a byte of held-out rows, and the mean load of every layer's experts."""
    nats, loads = 0.0, []
    for some in rows.split(BATCH):
        logits = model(some[:, :-1]).flatten(0, 1)
        nats += float(nn.functional.cross_entropy(logits, some[:, 1:].flatten(), reduction="sum"))
        loads.append(torch.stack([load(one) for one in routings.last.values()] or [torch.ones(1)]))
    return nats / rows[:, 1:].numel() / math.log(2), torch.stack(loads).mean(0)


@torch.no_grad()
def with_capacity(model: Llama, rows: Tensor, routings: Routings) -> dict[str, dict[str, float]]:
    """For each capacity factor, the fraction of choices that is dropped, and bits a byte."""
    found = {}
    for factor in CAPACITIES:
        for layer in routings.layers:
            layer.capacity_factor = factor
        bits, _ = bits_per_byte(model, rows, routings)
        kept = [
            within_capacity(one.experts, math.ceil(factor * one.experts.numel() / 8)).float().mean()
            for one in routings.last.values()
        ]
        found[str(factor)] = {
            "dropped": round(1 - float(torch.stack(kept).mean()), 4),
            "bits": round(bits, 4),
        }
    for layer in routings.layers:
        layer.capacity_factor = None
    return found


def measure(kind: str, model: Llama, rows: Tensor, routings: Routings) -> dict[str, object]:
    """One row of the record."""
    bits, loads = bits_per_byte(model, rows, routings)
    found = {"kind": kind, "bits": round(bits, 4)}
    if routings.layers:
        busiest = loads.max(1).values / loads.mean(1)
        found |= {
            "loads": [[round(one, 4) for one in layer.tolist()] for layer in loads],
            "busiest": [round(one, 3) for one in busiest.tolist()],
            "capacity": with_capacity(model, rows, routings),
        }
    return found


@torch.no_grad()
def where_it_goes(model: Llama, routings: Routings) -> list[list[int]]:
    """The two experts of each byte of SENTENCE, in the last layer."""
    model(torch.tensor([list(SENTENCE.encode())]))
    return routings.last[len(model.blocks) - 1].experts.tolist()


def parameters(config: LlamaConfig) -> dict[str, int]:
    """All of them, and those that a token uses."""
    model = Llama(config)
    total = sum(p.numel() for p in model.parameters())
    idle = config.num_experts - config.experts_per_token if config.num_experts else 0
    expert = 3 * config.hidden_size * (config.expert_size or 0)
    return {"total": total, "active": total - config.num_layers * idle * expert}


def trained(kind: str, seed: int, tokens: Tensor, steps: int) -> tuple[Llama, Routings]:
    """A byte LLaMA after its training, and what watches its routers."""
    torch.manual_seed(seed)
    model = Llama(KINDS[kind])
    routings, batches = Routings(model), stretches_of(tokens, LENGTH, BATCH, seed)
    objective = objective_of(kind, routings)
    train(model, objective, batches, training(steps), progress=False)
    return model.eval(), routings


def main() -> None:
    """Train all kinds under all seeds and write bench/results/trained_moe.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = train_byte_level_bpe([], 256)
    tokens, others = (as_tokens(tokenizer, text) for text in split(scripture()))
    rows = cut_chunks(others, LENGTH)[::16][:HELD]
    started = time.process_time()
    facts = [memorized(kind, seed) for seed in range(5) for kind in LAYERS]
    runs, seconds, routes = [], [round(time.process_time() - started)], {}
    print(facts, flush=True)
    for seed in range(options.seeds):
        started = time.process_time()
        for kind in KINDS:
            model, routings = trained(kind, seed, tokens, options.steps)
            runs.append({"seed": seed, **measure(kind, model, rows, routings)})
            if seed == 0 and routings.layers:
                routes[kind] = where_it_goes(model, routings)
            print(runs[-1], flush=True)
        seconds.append(round(time.process_time() - started))
    save(
        "trained_moe",
        versions=("torch",),
        steps=options.steps,
        cpu_seconds=seconds,
        seeds=options.seeds,
        facts={"number": FACTS, "symbols": SYMBOLS, "runs": facts},
        held_out=list(rows.shape),
        parameters={kind: parameters(config) for kind, config in KINDS.items()},
        experts=8,
        capacities=list(CAPACITIES),
        sentence=SENTENCE,
        routes=routes,
        runs=runs,
    )


if __name__ == "__main__":
    main()
