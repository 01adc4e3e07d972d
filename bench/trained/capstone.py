"""Run the capstone's whole pipeline with the reference implementation, and record its scores.

    python bench/trained/capstone.py [--seeds 0] [--folder FOLDER] [--tiny]
        some twenty minutes on one idle core for a seed

A run that was interrupted continues from its last checkpoint; a finished one is only read. The
record has the report card of every seed, and for each score the lowest over the seeds, from which
thresholds are set. Thresholds need five seeds: `--seeds 0 1 2 3 4`. Writes
bench/results/trained_capstone.json; with --tiny nothing is written.
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402

from course.capstone.parts import Parts  # noqa: E402
from course.capstone.pipeline import run_stages  # noqa: E402
from course.capstone.settings import FULL, TINY  # noqa: E402
from course.capstone.stages import Run  # noqa: E402
from reference_impl.corpora import cache_dir  # noqa: E402

FOLDER = cache_dir() / "capstone"


def card_of(seed: int, folder: Path, tiny: bool) -> dict:
    """The report card of a seed, whose missing stages are run."""
    run = Run(folder / f"seed-{seed}", seed, TINY if tiny else FULL, "cpu", Parts())
    run_stages(run)
    return json.loads(run.path("report", "report_card.json").read_text(encoding="utf-8"))


def lowest(cards: list[dict]) -> dict[str, dict[str, float]]:
    """The lowest share of each task over the seeds, by stage."""
    return {
        stage: {
            name: min(card["scores"][stage][name]["share"] for card in cards)
            for name in cards[0]["scores"][stage]
        }
        for stage in cards[0]["scores"]
    }


def main() -> None:
    """Run every seed, then write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    cards = [card_of(seed, args.folder, args.tiny) for seed in args.seeds]
    found = lowest(cards)
    for stage, shares in found.items():
        print(stage, shares, flush=True)
    if not args.tiny:
        save(
            "trained_capstone",
            versions=("torch", "safetensors", "regex"),
            seeds=args.seeds,
            lowest=found,
            cpu_seconds=[
                round(sum(cost.get("cpu_seconds", 0) for cost in card["costs"].values()))
                for card in cards
            ],
            cards=cards,
        )


if __name__ == "__main__":
    main()
