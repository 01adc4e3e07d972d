"""Does the gate help, and do the norms' places? A small ModernBERT with two parts changed, one at a
time.

    python bench/trained/gated.py [--steps 300] [--seeds 3]        about four minutes on one core

The model, letters, batches and blanks are those of bench/trained/modernbert.py, in fewer steps, all
of them of one schedule:
- GeGLU, norms before: ModernBERT's block;
- GELU, norms before: up(x), GELU, down, 192 wide in place of 128, so that it has as many numbers;
- GeGLU, norms after: each norm behind its sum, as in BERT, first layer included; one norm more than
  the others, 64 numbers.

Kept are the loss of each step under every seed, and bits a blank of held-out letters in pieces of
96 after every 100. Not here: other learning rates; what suits one block may not suit another.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from modernbert import (
    ALTERNATING,
    TRAINED,
    asked,
    at_blanks,
    batches_of,
    bits,
    letters,
    new_model,
    settings,
)  # noqa: E402
from record import save  # noqa: E402
from texts import losses_of_first_steps, scripture, split  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.layers.feed_forward import FeedForward  # noqa: E402
from reference_impl.layers.initial import start_normal  # noqa: E402
from reference_impl.layers.norms import LayerNorm  # noqa: E402
from reference_impl.models.modernbert import Block, ModernBertForMaskedLM  # noqa: E402
from reference_impl.tokenizers.byte_level import train_byte_level_bpe  # noqa: E402
from reference_impl.training.loop import train  # noqa: E402

STEPS, EVERY = 300, 100
WIDE, GATED = ALTERNATING.hidden_size, ALTERNATING.intermediate_size


def as_it_is(model: ModernBertForMaskedLM) -> None:
    """Nothing is changed."""


def without_gate(model: ModernBertForMaskedLM) -> None:
    """Two matrices in place of three, each half as wide again."""
    for block in model.encoder.blocks:
        block.feed_forward = FeedForward(WIDE, GATED * 3 // 2, "gelu", bias=False)
        start_normal(block.feed_forward)


class NormsAfter(nn.Module):
    """The same block with each norm on the sum."""

    def __init__(self, block: Block):
        super().__init__()
        self.block = block
        if isinstance(block.attention_norm, nn.Identity):
            block.attention_norm = LayerNorm(WIDE, ALTERNATING.norm_eps, bias=False)

    def forward(self, x: Tensor, *given: object) -> Tensor:
        """As `Block.forward`."""
        x = self.block.attention_norm(x + self.block.attention(x, *given))
        return self.block.feed_forward_norm(x + self.block.feed_forward(x))


def norms_after(model: ModernBertForMaskedLM) -> None:
    """BERT's order in every block."""
    model.encoder.blocks = nn.ModuleList(map(NormsAfter, model.encoder.blocks))


KINDS: dict[str, Callable[[ModernBertForMaskedLM], None]] = {
    "GeGLU, norms before": as_it_is,
    "GELU, norms before": without_gate,
    "GeGLU, norms after": norms_after,
}


def made(kind: str, ids: Tensor, seed: int) -> ModernBertForMaskedLM:
    """An untrained model of a kind; what the kinds share is drawn alike."""
    model = new_model(ALTERNATING, ids, seed)
    torch.manual_seed(1000 + seed)
    KINDS[kind](model)
    return model


def first_losses(count: int) -> list[float]:
    """The first losses of the kind without a gate under the first seed."""
    ids = letters(train_byte_level_bpe([""], 256), split(scripture())[0])
    return losses_of_first_steps(
        count, made("GELU, norms before", ids, 0), at_blanks, batches_of(ids), settings(STEPS)
    )


def main() -> None:
    """Train all, write bench/results/trained_gated.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    train_text, other_text = split(scripture())
    tokenizer = train_byte_level_bpe([""], 256)
    ids = letters(tokenizer, train_text)
    held = {name: tensor[::4] for name, tensor in asked(letters(tokenizer, other_text)).items()}
    found = {kind: {"parameters": 0, "losses": [], "bits": [], "cpu_seconds": []} for kind in KINDS}
    for seed in range(options.seeds):
        for kind, one in found.items():
            model, started = made(kind, ids, seed), time.process_time()
            config = replace(settings(options.steps), eval_every=EVERY)
            history = train(
                model,
                at_blanks,
                batches_of(ids),
                config,
                lambda m: bits(m, held, TRAINED),
                progress=False,
            ).history
            one["parameters"] = sum(p.numel() for p in model.parameters())
            one["losses"].append([round(row["loss"], 3) for row in history])
            one["bits"].append([row["bits"] for row in history if "bits" in row])
            one["cpu_seconds"].append(round(time.process_time() - started))
            print(
                seed,
                kind,
                one["parameters"],
                one["bits"][-1],
                f"{one['cpu_seconds'][-1]} s",
                flush=True,
            )
    save(
        "trained_gated",
        versions=("torch",),
        seed=list(range(options.seeds)),
        steps=options.steps,
        every=EVERY,
        pieces=TRAINED,
        held_out="every fourth held-out stretch of 768 letters",
        cpu_seconds=sum(sum(one["cpu_seconds"]) for one in found.values()),
        found=found,
    )


if __name__ == "__main__":
    main()
