"""GPT-2 124M in training on a GPU: its share of the peak, and against nanoGPT's model in the same
loop.

Both are compiled, take 16 x 1,024 tokens a step in bfloat16 by autocast, without dropout, with the
exact GELU that nanoGPT has, and torch's fused AdamW.

Not here: training on a CPU (see `training_step`), reading data, more than one GPU.
"""

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from bench.gpu_timing import PEAK_FLOPS, Bench, Job, Rival
from reference_impl.models.gpt import GPT, GPTConfig

BATCH_SIZE, LENGTH, VOCAB_SIZE = (
    16,
    1024,
    50_304,
)  # nanoGPT's vocabulary: GPT-2's, filled up to a multiple of 64
NAME = "GPT-2 124M training"
RIVALS = Path(os.environ.get("W2S_RIVALS", "/opt/rivals"))


def nanogpt(file: Path, **config: int) -> nn.Module:
    """nanoGPT's model, with biases as GPT-2 has them."""
    if not file.is_file():
        raise FileNotFoundError(f"there is no {file}")
    spec = importlib.util.spec_from_file_location("nanogpt_model", file)
    module = sys.modules["nanogpt_model"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.GPT(module.GPTConfig(dropout=0.0, bias=True, **config))


def step_of(
    bench: Bench,
    model: nn.Module,
    loss_of: Callable[[nn.Module, Tensor, Tensor], Tensor],
    shape: tuple[int, int],
    vocab_size: int,
) -> Callable[[], None]:
    """One training step."""
    model = model.to(bench.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not bench.rehearsal)
    compiled = model if bench.rehearsal else torch.compile(model)
    ids = torch.randint(0, vocab_size, (shape[0], shape[1] + 1), device=bench.device)
    inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def step() -> None:
        with torch.autocast(bench.device, torch.bfloat16):
            loss = loss_of(compiled, inputs, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def training(bench: Bench) -> None:
    """Operations a second by 6 N + 12 L C T a token, as nanoGPT counts them."""
    size, length = bench.size(BATCH_SIZE, 2), bench.size(LENGTH, 8)
    config = GPTConfig(
        vocab_size=VOCAB_SIZE, max_position_embeddings=LENGTH, hidden_act="gelu", dropout=0.0
    )
    if bench.rehearsal:
        config = replace(
            config,
            vocab_size=64,
            hidden_size=16,
            num_layers=1,
            num_heads=2,
            max_position_embeddings=8,
        )
    ours = GPT(config)
    matrices = sum(p.numel() for p in ours.parameters()) - ours.position.weight.numel()
    flops = size * length * (6 * matrices + 12 * config.num_layers * config.hidden_size * length)
    made: list[Callable[[], None]] = []

    def step() -> None:
        if not made:
            made.append(
                step_of(
                    bench,
                    ours,
                    lambda model, inputs, targets: nn.functional.cross_entropy(
                        model(inputs).flatten(0, 1), targets.flatten()
                    ),
                    (size, length),
                    config.vocab_size,
                )
            )
        made[0]()

    def rival() -> Callable[[], None]:
        theirs = nanogpt(
            RIVALS / "nanogpt" / "model.py",
            block_size=length,
            vocab_size=config.vocab_size,
            n_layer=config.num_layers,
            n_head=config.num_heads,
            n_embd=config.hidden_size,
        )
        return step_of(
            bench,
            theirs,
            lambda model, inputs, targets: model(inputs, targets)[1],
            (size, length),
            config.vocab_size,
        )

    bench.race(
        NAME,
        "TFLOP/s",
        flops / 1e12,
        step,
        {"nanoGPT compiled": Rival(rival, 1.0)},
        {"989 TFLOP/s, the peak": (PEAK_FLOPS / 1e12, 0.35, 0.45)},
    )


JOBS = [Job("GPT-2 124M", training, 300)]
