"""What a cache of keys and values saves: tokens that pass through the model and milliseconds, with
it and without.

    python bench/reading_again.py        two to three minutes on one core

Greedy decoding after 16 tokens, once keeping keys and values and once reading the whole text again
for each new token. The tokens that pass through are counted by `Decoding`, and both must write the
same text. For the small GPT at several lengths, with pairs of runs one after the other; for SmolLM2
at one length, once, since there a step takes a while.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from torch import nn  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.engine.loading import load  # noqa: E402
from reference_impl.generation.loop import Decoding  # noqa: E402

TEXT = (
    "And the king of the children of Israel went up out of the land, and they dwelt by the river of"
    " the wilderness"
)
GIVEN, NEW, REPETITIONS = 16, (16, 32, 64, 112), 7


@torch.inference_mode()
def timed(
    model: nn.Module, prompt: list[int], new: int, cache: bool
) -> tuple[list[int], int, float]:
    """The likeliest tokens, how many passed through the model, and the milliseconds of it all."""
    started = time.perf_counter()
    decoding = Decoding(model, [prompt], new, cache)
    logits, written = decoding.start(), []
    for left in reversed(range(new)):
        written.append(int(logits.argmax()))
        if left:
            logits = decoding.advance(torch.tensor(written[-1:]))
    return written, decoding.num_processed, 1000 * (time.perf_counter() - started)


def row(name: str, model: nn.Module, prompt: list[int], new: int, repetitions: int) -> dict:
    """Medians over pairs of runs. RuntimeError if the two texts differ."""
    pairs = [
        (timed(model, prompt, new, True), timed(model, prompt, new, False))
        for _ in range(repetitions)
    ]
    (kept, with_cache, _), (anew, without, _) = pairs[0]
    if kept != anew:
        raise RuntimeError(f"{name}: another text with a cache than without")
    return {
        "model": name,
        "given": len(prompt),
        "new": new,
        "repetitions": repetitions,
        "tokens": {"cache": with_cache, "again": without},
        "milliseconds": {
            key: round(statistics.median(pair[side][2] for pair in pairs), 2)
            for side, key in ((0, "cache"), (1, "again"))
        },
        "ratio": round(statistics.median(again[2] / cached[2] for cached, again in pairs), 2),
    }


def main() -> None:
    """Write bench/results/reading_again.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    gpt, loaded = small_model("gpt_kjv"), load()
    rows = [
        row("GPT, 0.94M", gpt.model, gpt.tokenizer.encode(TEXT)[:GIVEN], new, REPETITIONS)
        for new in NEW
    ]
    rows.append(
        row("SmolLM2, 135M", loaded.model, loaded.tokenizer.encode(TEXT).ids[:GIVEN], 64, 1)
    )
    for one in rows:
        print(one)
    save("reading_again", versions=("torch",), measured=rows)


if __name__ == "__main__":
    main()
