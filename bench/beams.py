"""Does beam search find the likeliest text? The true one, found by best-first search, beside beams
of several widths.

    python bench/beams.py        about a minute on one core

The small GPT goes on from beginnings of held-out scripture. Over a few tokens the likeliest
continuation can be found with certainty: of all beginnings known so far the likeliest is
lengthened, until the likeliest is of full length. No longer text can overtake it, since each
further token lowers a probability. What is known from beams beforehand cuts off the rest.

And with the end of a verse as the end: how long are the verses that beams find, at each length
penalty, and how long were people's?
"""

import argparse
import heapq
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path[:0] = [
    str(Path(__file__).resolve().parent / "trained"),
    str(Path(__file__).resolve().parent),
]

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from strategies import verses  # noqa: E402
from torch import nn  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.generation.beam import Hypothesis, beam_search  # noqa: E402

WIDTHS, LENGTHS, PROMPTS, GIVEN, MOST_PASSES = (1, 2, 4, 8, 16, 32), (2, 4, 6), 20, 8, 20_000
PENALTIES, VERSE_BEAMS, LONGEST = (0.0, 0.5, 1.0, 1.5), 4, 80


@torch.inference_mode()
def likeliest(
    model: nn.Module, prompt: list[int], length: int, known: float
) -> tuple[Hypothesis | None, int]:
    """The likeliest continuation of so many tokens, its score the sum of its log-probabilities, and
    how many passes it took.

    `known`: the score of some continuation of this length. None if MOST_PASSES were not enough.
    """
    waiting, passes = [(0.0, ())], 0
    while waiting:
        cost, ids = heapq.heappop(waiting)
        if len(ids) == length:
            return Hypothesis(list(ids), -cost), passes
        if passes == MOST_PASSES:
            break
        passes += 1
        scores = model(torch.tensor([[*prompt, *ids]]))[0, -1].float().log_softmax(-1) - cost
        for token in (scores >= known - 1e-4).nonzero().flatten().tolist():
            heapq.heappush(waiting, (-float(scores[token]), (*ids, token)))
    return None, passes


def missed(model: nn.Module, prompts: list[list[int]], length: int) -> list[dict]:
    """For each prompt the exact best, and for each width whether it was found and how far it fell
    short, in nats.
    """
    rows = []
    for prompt in prompts:
        beams = {
            width: beam_search(model, prompt, width, length, length_penalty=0.0)[0]
            for width in WIDTHS
        }
        best, passes = likeliest(model, prompt, length, max(beam.score for beam in beams.values()))
        rows.append(
            {
                "passes": passes,
                "best": None if best is None else round(best.score, 4),
                "ids": None if best is None else best.ids,
                "found": (
                    {}
                    if best is None
                    else {width: beam.ids == best.ids for width, beam in beams.items()}
                ),
                "short": (
                    {}
                    if best is None
                    else {width: round(best.score - beam.score, 4) for width, beam in beams.items()}
                ),
            }
        )
    return rows


def verse_lengths(model: nn.Module, pairs: list[tuple[list[int], list[int]]], end_id: int) -> dict:
    """Tokens of the best finished hypothesis at each penalty, and of what people wrote up to the
    end of the verse.

    People's text is known for as many tokens as `verses` gives; a verse that goes on behind them
    counts with these.
    """
    found = {}
    for penalty in PENALTIES:
        best = [
            beam_search(
                model, prompt, VERSE_BEAMS, LONGEST, eos_ids=(end_id,), length_penalty=penalty
            )[0].ids
            for prompt, _ in pairs
        ]
        found[str(penalty)] = {
            "tokens": [len(ids) for ids in best],
            "ended": sum(ids[-1] == end_id for ids in best),
        }
    wrote = [
        written.index(end_id) + 1 if end_id in written else len(written) for _, written in pairs
    ]
    return {"beams": VERSE_BEAMS, "longest": LONGEST, "penalties": found, "people": wrote}


def main() -> None:
    """Search in both ways, write bench/results/beams.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    kept = small_model("gpt_kjv")
    model, tokenizer, started = kept.model, kept.tokenizer, time.process_time()
    pairs = verses(tokenizer, PROMPTS, GIVEN)
    prompts = [prompt for prompt, _ in pairs]
    found = {}
    for length in LENGTHS:
        found[length] = missed(model, prompts, length)
        known = [row for row in found[length] if row["best"] is not None]
        print(
            length,
            len(known),
            "known,",
            {width: sum(row["found"][width] for row in known) for width in WIDTHS},
            "passes",
            min(row["passes"] for row in found[length]),
            max(row["passes"] for row in found[length]),
            round(time.process_time() - started),
            "s",
            flush=True,
        )
    lengths = verse_lengths(model, pairs, tokenizer.encode("\n")[0])
    save(
        "beams",
        versions=("torch",),
        prompts=PROMPTS,
        given=GIVEN,
        widths=list(WIDTHS),
        most_passes=MOST_PASSES,
        searched=found,
        texts=[
            {
                "prompt": tokenizer.decode(prompt),
                "best": None if row["ids"] is None else tokenizer.decode(row["ids"]),
                "greedy": tokenizer.decode(beam_search(model, prompt, 1, 6)[0].ids),
            }
            for prompt, row in zip(prompts, found[6], strict=True)
        ],
        verses=lengths,
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()
