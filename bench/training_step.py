"""How long a GPT's training step takes: our model in our loop against nanoGPT's and transformers' in plain torch loops.

All take the same tokens in float32 on one thread: forward, backward, clipping, AdamW with two groups, gradients let go.
The three take turns, a few steps each, as often as asked. nanoGPT's optimiser is made by its own
`configure_optimizers`; transformers' is torch's AdamW as the Trainer makes it ("adamw_torch_fused", its default).
A fourth contestant is our own loop under bf16 autocast, against our own float32: it can be faster only where the
processor multiplies bf16 (avx512_bf16 or amx_bf16); the record says whether this one does.

    python bench/training_step.py [--rounds 5] [--steps 4] [--rivals FOLDER]

nanoGPT is on no package index. Its rows are measured if FOLDER/nanogpt/model.py is there (or the folder that
W2S_RIVALS names), and left out, with a word, if not.
"""
import argparse
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

# Before torch is imported: one thread for every contestant.
os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}

import torch  # noqa: E402
import transformers  # noqa: E402
from record import compare, save  # noqa: E402

from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.objectives.causal_lm import block_batch, causal_lm  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402
from reference_impl.training.optimizer import decay_groups  # noqa: E402

VOCAB_SIZE, RATE, DECAY, BETAS = 4096, 1e-4, 0.1, (0.9, 0.95)
SIZES = {"d 256, 4 layers, 8 x 128 tokens": (256, 4, 4, 8, 128),
         "d 384, 6 layers, 4 x 256 tokens": (384, 6, 6, 4, 256)}
Run = Callable[[int], None]
"""Trains a contestant for so many steps."""


def blocks(batch_size: int, length: int) -> torch.Tensor:
    """Token ids with the one after each block."""
    return torch.randint(VOCAB_SIZE, (batch_size, length + 1), generator=torch.Generator().manual_seed(0))


def ours(size: tuple, autocast: torch.dtype | None = None) -> Run:
    """Our model in our loop, with all that the loop does at each step."""
    width, layers, heads, batch_size, length = size
    model = GPT(GPTConfig(vocab_size=VOCAB_SIZE, hidden_size=width, num_layers=layers, num_heads=heads,
                          max_position_embeddings=length, dropout=0.0))
    batch = block_batch(blocks(batch_size, length))

    def run(steps: int) -> None:
        config = TrainingConfig(num_steps=steps, learning_rate=RATE, weight_decay=DECAY, betas=BETAS,
                                schedule="constant", autocast=autocast)
        train(model, causal_lm, lambda number: batch, config, progress=False)
    return run


def plain_loop(model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_of: Callable[[], torch.Tensor]) -> Run:
    """What a rival is trained by."""
    def run(steps: int) -> None:
        for _ in range(steps):
            loss_of().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    model.train()
    return run


def nanogpt(size: tuple, file: Path) -> Run:
    """nanoGPT's model and optimiser, with biases as GPT-2 has them."""
    width, layers, heads, batch_size, length = size
    spec = importlib.util.spec_from_file_location("nanogpt_model", file)
    module = sys.modules["nanogpt_model"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.GPT(module.GPTConfig(block_size=length, vocab_size=VOCAB_SIZE, n_layer=layers, n_head=heads,
                                        n_embd=width, dropout=0.0, bias=True))
    tokens = blocks(batch_size, length)
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    return plain_loop(model, model.configure_optimizers(DECAY, RATE, BETAS, "cpu"), lambda: model(inputs, targets)[1])


def hugging_face(size: tuple) -> Run:
    """transformers' GPT-2 with SDPA. It is fed the same positions; it takes one label fewer than it has tokens."""
    width, layers, heads, batch_size, length = size
    config = transformers.GPT2Config(vocab_size=VOCAB_SIZE, n_embd=width, n_layer=layers, n_head=heads,
                                     n_positions=length, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                                     use_cache=False, attn_implementation="sdpa")
    model = transformers.GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(decay_groups(model, DECAY), lr=RATE, betas=BETAS, fused=True)
    inputs = blocks(batch_size, length)[:, :-1].contiguous()
    return plain_loop(model, optimizer, lambda: model(inputs, labels=inputs).loss)


def milliseconds(run: Run, steps: int) -> float:
    """Processor time a step: a busy machine does not spoil it, and with one thread it is the time of a quiet one."""
    start = time.process_time()
    run(steps)
    return (time.process_time() - start) / steps * 1e3


def has_bf16() -> str:
    """Which instructions for bf16 the processor has, by /proc/cpuinfo."""
    cpuinfo = Path("/proc/cpuinfo")
    flags = set(cpuinfo.read_text().split()) if cpuinfo.is_file() else set()
    return ", ".join(sorted(flags & {"avx512_bf16", "amx_bf16"})) or "none"


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rivals", type=Path, default=Path(os.environ.get("W2S_RIVALS", "/opt/rivals")))
    options = parser.parse_args()
    torch.set_num_threads(1)
    file = options.rivals / "nanogpt" / "model.py"
    rows = []
    for name, size in SIZES.items():
        contestants = {"ours": ours(size), "bf16": ours(size, torch.bfloat16), "transformers": hugging_face(size)}
        if file.is_file():
            contestants["nanoGPT"] = nanogpt(size, file)
        else:
            print(f"no {file}: its rows are left out", file=sys.stderr)
        for run in contestants.values():
            run(2)
        times = {contestant: [] for contestant in contestants}
        for _ in range(options.rounds):
            for contestant, run in contestants.items():
                times[contestant].append(milliseconds(run, options.steps))
        for rival, must in (("nanoGPT", 0.97), ("transformers", 1.05)):
            if rival in times:
                rows.append(compare(f"GPT training step, {name}", rival, "ms", times["ours"], times[rival], must,
                                    larger_is_better=False))
        rows.append(compare(f"bf16 autocast, {name}", "own float32", "ms", times["bf16"], times["ours"], 1.25, 2.2,
                            larger_is_better=False))
    save("training_step", rows, versions=("torch", "transformers"), bf16_instructions=has_bf16(), clock="processor time",
         nanogpt="model.py of karpathy/nanoGPT as stored at 0011cd4442915c844e9b8f5c5117f25f5a7096c5, its default path")


if __name__ == "__main__":
    main()
