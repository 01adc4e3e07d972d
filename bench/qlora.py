"""QLoRA in small: an update trained on a base in four bits.

    python bench/qlora.py [--steps 30]        about a minute on one core

The small GPT of scripture in float32, and with the matrices of its blocks in NF4; each gets LoRA's
update of rank 16, and learns definitions in the same batches. A third row is the update that was
trained on float32 and is moved to the NF4 base without training. Three seeds. Measured: bits a byte
of held-out definitions. Writes bench/results/qlora.json.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).parent / "trained")]

import torch  # noqa: E402  (threads are set before torch starts)
from adapt import LORA_RATE, TARGETS, training  # noqa: E402
from adapters import texts_held_out  # noqa: E402
from gpt import BATCH, CONTEXT, bits_per_byte, load_trained  # noqa: E402
from record import save  # noqa: E402
from texts import as_tokens, definitions, split, stretches_of  # noqa: E402

from reference_impl.layers.lora import add_lora, load_lora, lora_state  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm  # noqa: E402
from reference_impl.training.loop import train  # noqa: E402
from reference_impl.weights.nf4 import quantize_linear  # noqa: E402

SEEDS, RANK = 3, 16


def based_on(four_bits: bool, seed: int):
    """The model of scripture with an update to train, on a base in float32 or in NF4."""
    model = load_trained()[0]
    if four_bits:
        quantize_linear(model, TARGETS)
    torch.manual_seed(seed + 1)
    add_lora(model, TARGETS, RANK, 2 * RANK)
    return model


def main() -> None:
    """Train on both bases, measure, write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=30)
    args = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = load_trained()[1]
    tokens, held = as_tokens(tokenizer, split(definitions())[0]), texts_held_out(tokenizer)

    def measure(model):
        return {name: round(bits_per_byte(model.eval(), *text), 4) for name, text in held.items()}

    before = {name: measure(based_on(name == "NF4", 0)) for name in ("float32", "NF4")}
    runs = []
    for seed in range(SEEDS):
        for base in ("float32", "NF4"):
            model = based_on(base == "NF4", seed)
            stretches = stretches_of(tokens, CONTEXT, BATCH, seed + 10)
            train(model, causal_lm, stretches, training(args.steps, LORA_RATE), progress=False)
            runs.append({"base": base, "seed": seed, **measure(model)})
            print(runs[-1], flush=True)
            if base == "float32":
                moved = based_on(True, seed)
                load_lora(moved, {name: t.detach() for name, t in lora_state(model).items()})
                runs.append({"base": "moved to NF4", "seed": seed, **measure(moved)})
                print(runs[-1], flush=True)
    save("qlora", versions=("torch",), steps=args.steps, seeds=SEEDS, rank=RANK, before=before,
         runs=runs)  # fmt: skip


if __name__ == "__main__":
    main()
