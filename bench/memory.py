"""The peak memory of one training step: our GPT against transformers' GPT-2 of the same
configuration, fp32 on a CPU.

    python bench/memory.py [--repetitions 3]

Each model runs in a process of its own: forward, loss over all tokens, backward, AdamW, twice, so
that the optimiser's moments are there in the second. "Tensors" is the most bytes of new memory
alive at once inside the two steps, beyond the weights; "process" is how far the process's greatest
resident size rose from before the steps.
"""

import argparse
import json
import os
import resource
import subprocess
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from record import compare, save  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

MUST = round(
    1 / 1.1, 3
)  # ours may take 1.1 times theirs; a ratio is written so that larger is better
SHAPE = {"vocab_size": 8192, "layers": 4, "heads": 4, "width": 256, "tokens": 256, "batch": 4}


def step_of(side: str):
    """A function that gives the loss, and the model's parameters."""
    torch.manual_seed(0)
    ids = torch.randint(0, SHAPE["vocab_size"], (SHAPE["batch"], SHAPE["tokens"] + 1))
    if side == "ours":
        from reference_impl.models.gpt import GPT, GPTConfig

        model = GPT(
            GPTConfig(
                vocab_size=SHAPE["vocab_size"],
                hidden_size=SHAPE["width"],
                num_layers=SHAPE["layers"],
                num_heads=SHAPE["heads"],
                max_position_embeddings=SHAPE["tokens"],
                dropout=0.0,
            )
        )
        return lambda: cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()), model
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=SHAPE["vocab_size"],
            n_embd=SHAPE["width"],
            n_layer=SHAPE["layers"],
            n_head=SHAPE["heads"],
            n_positions=SHAPE["tokens"],
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    inputs, labels = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    return lambda: model(inputs, labels=labels, shift_labels=labels, use_cache=False).loss, model


def measure(side: str, how: str) -> int:
    """Bytes, in this process."""
    from reference_impl.measure.tensors import TensorCounter

    torch.set_num_threads(1)
    loss, model = step_of(side)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def steps() -> None:
        for _ in range(2):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if how == "tensors":
        with TensorCounter() as counter:
            steps()
        return counter.peak
    steps()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def main() -> None:
    """Measure in processes of their own, in turn, and write bench/results/memory.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument(
        "--measure", nargs=2, metavar=("SIDE", "HOW"), help="one measurement, in this process"
    )
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(*args.measure)))
        return
    rows = []
    for how, repetitions in (
        ("tensors", 1),
        ("process", args.repetitions),
    ):  # counted bytes are the same every time
        megabytes = {"ours": [], "theirs": []}
        for _ in range(repetitions):
            for side, taken in megabytes.items():
                run = subprocess.run(
                    [sys.executable, __file__, "--measure", side, how],
                    check=True,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                taken.append(json.loads(run.stdout.splitlines()[-1]) / 1e6)
        rows.append(
            compare(
                f"peak of a training step, {how}",
                "transformers, GPT2LMHeadModel",
                "MB",
                megabytes["ours"],
                megabytes["theirs"],
                MUST,
                larger_is_better=False,
            )
        )
    save("memory", rows, versions=("torch", "transformers"), settings=SHAPE)


if __name__ == "__main__":
    main()
