"""GPT-2 124M in training on a GPU: its share of the peak, and against nanoGPT's model in the same loop.

Both are compiled, take 16 x 1,024 tokens a step in bfloat16 by autocast, without dropout, with the exact GELU that
nanoGPT has, and torch's fused AdamW.

Not here: training on a CPU (see `training_step`), reading data, more than one GPU.
"""
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bench.gpu_timing import PEAK_FLOPS, in_turn, rate
from bench.record import compare
from reference_impl.models.gpt import GPT, GPTConfig

BATCH_SIZE, LENGTH, VOCAB_SIZE = 16, 1024, 50_304  # nanoGPT's vocabulary: GPT-2's, filled up to a multiple of 64
NAME = "GPT-2 124M training"


def nanogpt(file: Path) -> nn.Module:
    """nanoGPT's model, with biases as GPT-2 has them."""
    spec = importlib.util.spec_from_file_location("nanogpt_model", file)
    module = sys.modules["nanogpt_model"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.GPT(module.GPTConfig(block_size=LENGTH, vocab_size=VOCAB_SIZE, dropout=0.0, bias=True))


def step_of(model: nn.Module, loss_of: Callable[[nn.Module, Tensor, Tensor], Tensor]) -> Callable[[], None]:
    """One training step on the GPU."""
    model = model.cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    compiled = torch.compile(model)
    ids = torch.randint(0, 50_257, (BATCH_SIZE, LENGTH + 1), device="cuda")
    inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(compiled, inputs, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def training_rows(rivals: Path, absent: list[str]) -> list[dict[str, Any]]:
    """Operations a second by 6 N + 12 L C T a token, as nanoGPT counts them; `absent` is told of a missing rival."""
    ours = GPT(GPTConfig(vocab_size=VOCAB_SIZE, max_position_embeddings=LENGTH, hidden_act="gelu", dropout=0.0))
    matrices = sum(p.numel() for p in ours.parameters()) - ours.position.weight.numel()
    flops = BATCH_SIZE * LENGTH * (6 * matrices + 12 * 12 * 768 * LENGTH)
    sides = [step_of(ours, lambda model, inputs, targets: nn.functional.cross_entropy(
        model(inputs).flatten(0, 1), targets.flatten()))]
    file = rivals / "nanogpt" / "model.py"
    if file.is_file():
        sides.append(step_of(nanogpt(file), lambda model, inputs, targets: model(inputs, targets)[1]))
    else:
        absent.append(f"{NAME} against nanoGPT compiled: there is no {file}; only the share of the peak is measured")
    speeds = [rate(flops / 1e12, seconds) for seconds in in_turn(*sides)]
    rows = [compare(NAME, "989 TFLOP/s, the peak", "TFLOP/s", speeds[0], [PEAK_FLOPS / 1e12] * len(speeds[0]), 0.35,
                    0.45)]
    return rows + [compare(NAME, "nanoGPT compiled", "TFLOP/s", speeds[0], theirs, 1.0) for theirs in speeds[1:]]
