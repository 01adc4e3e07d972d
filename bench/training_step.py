"""How long a GPT's training step takes: our model in our loop against nanoGPT's and transformers'
in plain torch loops.

All take the same tokens in float32 on one thread: forward, backward, clipping, AdamW with two
groups, gradients let go. The three take turns, a few steps each, as often as asked. All have
torch's fused AdamW: transformers' Trainer makes it so by default, our loop too; nanoGPT's
`configure_optimizers` asks for it on a GPU only, so that its two groups are given to a fused one
here. nanoGPT's GELU is the exact one, GPT-2's the tanh form, which takes longer: ours has against
each rival what that rival has. A fourth contestant is our own loop under bf16 autocast, against our
own float32: it can be faster only where the processor multiplies bf16 (avx512_bf16 or amx_bf16);
the record says whether this one does.

    python bench/training_step.py [--rounds 5] [--steps 3] [--rivals FOLDER]

nanoGPT is on no package index. Its rows are measured if FOLDER/nanogpt/model.py is there (or the
folder that W2S_RIVALS names), and left out, with a word, if not.
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
from reference_impl.objectives.batches import Batch  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, chunk_batch  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402
from reference_impl.training.optimizer import decay_groups  # noqa: E402

VOCAB_SIZE, RATE, DECAY, BETAS = 4096, 1e-4, 0.1, (0.9, 0.95)
SIZES = {
    "d 256, 4 layers, 8 x 128 tokens": (256, 4, 4, 8, 128),
    "d 384, 6 layers, 2 x 256 tokens": (384, 6, 6, 2, 256),
}
Run = Callable[[int], float]
"""Trains a contestant for so many steps and returns the processor time they took, in seconds.

A busy machine does not spoil it, and with one thread it is the time on a quiet one.
"""


def blocks(batch_size: int, length: int) -> torch.Tensor:
    """Token ids with the one after each block."""
    return torch.randint(
        VOCAB_SIZE, (batch_size, length + 1), generator=torch.Generator().manual_seed(0)
    )


def ours(size: tuple, act: str = "gelu_new", autocast: torch.dtype | None = None) -> Run:
    """Our model in our loop, with all that the loop does at each step.

    A call of `train` makes an optimiser, whose first step makes the moments; the rivals keep
    theirs. So ours goes one step more, and the clock starts with the second.
    """
    width, layers, heads, batch_size, length = size
    model = GPT(
        GPTConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=width,
            num_layers=layers,
            num_heads=heads,
            max_position_embeddings=length,
            hidden_act=act,
            dropout=0.0,
        )
    )
    batch = chunk_batch(blocks(batch_size, length))

    def run(steps: int) -> float:
        begun = []

        def batches(number: int) -> Batch:
            begun.append(time.process_time())
            return batch

        config = TrainingConfig(
            num_steps=steps + 1,
            learning_rate=RATE,
            weight_decay=DECAY,
            betas=BETAS,
            schedule="constant",
            autocast=autocast,
        )
        train(model, causal_lm, batches, config, progress=False)
        return time.process_time() - begun[1]

    return run


def plain_loop(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_of: Callable[[], torch.Tensor]
) -> Run:
    """What a rival is trained by."""

    def run(steps: int) -> float:
        begun = time.process_time()
        for _ in range(steps):
            loss_of().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return time.process_time() - begun

    model.train()
    return run


def nanogpt(size: tuple, file: Path) -> Run:
    """nanoGPT's model and groups of parameters, with biases as GPT-2 has them."""
    width, layers, heads, batch_size, length = size
    spec = importlib.util.spec_from_file_location("nanogpt_model", file)
    module = sys.modules["nanogpt_model"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.GPT(
        module.GPTConfig(
            block_size=length,
            vocab_size=VOCAB_SIZE,
            n_layer=layers,
            n_head=heads,
            n_embd=width,
            dropout=0.0,
            bias=True,
        )
    )
    tokens = blocks(batch_size, length)
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    groups = [
        {"params": group["params"], "weight_decay": group["weight_decay"]}
        for group in model.configure_optimizers(DECAY, RATE, BETAS, "cpu").param_groups
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=BETAS, fused=True)
    return plain_loop(model, optimizer, lambda: model(inputs, targets)[1])


def hugging_face(size: tuple) -> Run:
    """transformers' GPT-2 with SDPA.

    It is fed the same positions; it takes one label fewer than it has tokens.
    """
    width, layers, heads, batch_size, length = size
    config = transformers.GPT2Config(
        vocab_size=VOCAB_SIZE,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        n_positions=length,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
        attn_implementation="sdpa",
        bos_token_id=None,
        eos_token_id=None,
    )
    model = transformers.GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(decay_groups(model, DECAY), lr=RATE, betas=BETAS, fused=True)
    inputs = blocks(batch_size, length)[:, :-1].contiguous()
    return plain_loop(model, optimizer, lambda: model(inputs, labels=inputs).loss)


def has_bf16() -> str:
    """Which instructions for bf16 the processor has, by /proc/cpuinfo."""
    cpuinfo = Path("/proc/cpuinfo")
    flags = set(cpuinfo.read_text().split()) if cpuinfo.is_file() else set()
    return ", ".join(sorted(flags & {"avx512_bf16", "amx_bf16"})) or "none"


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument(
        "--rivals", type=Path, default=Path(os.environ.get("W2S_RIVALS", "/opt/rivals"))
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    file = options.rivals / "nanogpt" / "model.py"
    rows = []
    for name, size in SIZES.items():
        contestants = {
            "transformers": hugging_face(size),
            "ours": ours(size),
            "bf16": ours(size, autocast=torch.bfloat16),
        }
        if file.is_file():
            contestants |= {"nanoGPT": nanogpt(size, file), "ours, exact GELU": ours(size, "gelu")}
        else:
            print(f"no {file}: its rows are left out", file=sys.stderr)
        for run in contestants.values():
            run(1)
        times = {contestant: [] for contestant in contestants}
        for _ in range(options.rounds):
            for contestant, run in contestants.items():
                times[contestant].append(run(options.steps) / options.steps * 1e3)
        for mine, rival, must in (
            ("ours, exact GELU", "nanoGPT", 0.97),
            ("ours", "transformers", 1.05),
        ):
            if rival in times:
                rows.append(
                    compare(
                        f"GPT training step, {name}",
                        rival,
                        "ms",
                        times[mine],
                        times[rival],
                        must,
                        larger_is_better=False,
                    )
                )
        rows.append(
            compare(
                f"bf16 autocast, {name}",
                "own float32",
                "ms",
                times["bf16"],
                times["ours"],
                1.25,
                2.2,
                larger_is_better=False,
            )
        )
    save(
        "training_step",
        rows,
        versions=("torch", "transformers"),
        bf16_instructions=has_bf16(),
        clock="processor time",
        optimizer="fused AdamW for all",
        nanogpt=(
            "model.py of karpathy/nanoGPT with a fused AdamW"
            if any(row["rival"] == "nanoGPT" for row in rows)
            else "not at hand"
        ),
    )


if __name__ == "__main__":
    main()
