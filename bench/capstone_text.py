"""What the capstone reads: tokens and bytes of its text, and tokens of its tuning examples.

    python bench/capstone_text.py [--steps 50]        a minute; trains the tokenizer of seed 0

The text is the whole training text of the full recipe; a tuning step is averaged over the first
steps of seed 0. Nothing here needs a trained model, so a plan can be made before the run. Writes
bench/results/capstone_text.json.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parent))

from record import save

from course.capstone import tasks
from course.capstone.parts import Parts
from course.capstone.pipeline import run_stages
from course.capstone.settings import FULL
from course.capstone.stages import Run
from course.capstone.tokenizer import documents, load_text, load_tokenizer
from course.capstone.tune import Examples, tuning_batch
from reference_impl.objectives.terms import IGNORED

NAMES = ("short", "sums", "talks", "replay")  # the parts of a tuning step


def text_counts(run: Run) -> dict:
    """Tokens and bytes of the training text, by corpus, each document with its end token."""
    held = set()
    texts, tokenizer = documents(run), load_tokenizer(run)
    for name in ("scripture", "glosses"):
        held.update(getattr(texts, name))
    from reference_impl import corpora

    verses = [one for one in corpora.load("kjv").split("\n") if one and one not in held]
    own = {"scripture": set(verses)}
    counts = {name: {"documents": 0, "bytes": 0, "tokens": 0} for name in ("scripture", "glosses")}
    for text in texts.train:
        row = counts["scripture" if text in own["scripture"] else "glosses"]
        row["documents"] += 1
        row["bytes"] += len(text.encode()) + 1
        row["tokens"] += len(tokenizer.encode(text)) + 1
    return counts


def example_lengths(examples: Examples, count: int = 300) -> dict:
    """Mean tokens of an example of each kind, and how many of them have a label."""
    found = {}
    for kind in tasks.KINDS:
        draw, make = random.Random(f"lengths {kind}"), getattr(tasks, kind)
        rows = [examples.of(make(draw)) for _ in range(count)]
        found[kind] = {
            "tokens": round(fmean(len(row.ids) for row in rows), 1),
            "labels": round(fmean(sum(one != IGNORED for one in row.labels) for row in rows), 1),
        }
    return found


def step_tokens(run: Run, examples: Examples, steps: int) -> dict:
    """Mean tokens of a tuning step by part: padded, and those with a label."""
    text, sums = load_text(run), {name: [0, 0] for name in NAMES}
    for step in range(steps):
        batch = tuning_batch(run, examples, text, step)
        for name in NAMES:
            labels = batch[f"{name}.labels"]
            sums[name][0] += labels.numel()
            sums[name][1] += int((labels != IGNORED).sum())
    return {
        name: {"tokens": round(padded / steps, 1), "labels": round(learned / steps, 1)}
        for name, (padded, learned) in sums.items()
    }


def main() -> None:
    """Train the tokenizer in a temporary folder, count, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), 0, FULL, "cpu", Parts())
        run_stages(run, "tokenizer")
        examples = Examples(run)
        shown = examples.of(tasks.Item("sums", "47+85", tasks.worked_out(47, 85)))
        tokenizer = examples.tokenizer
        save(
            "capstone_text",
            versions=("torch", "regex"),
            text=text_counts(run),
            held_out_bytes_per_token=run.manifest("tokenizer")["bytes_per_token"],
            vocabulary=run.manifest("tokenizer")["vocab"],
            examples=example_lengths(examples),
            step=step_tokens(run, examples, args.steps),
            shown=[
                [tokenizer.decode([one]), label != IGNORED]
                for one, label in zip(shown.ids, shown.labels, strict=True)
            ],
        )


if __name__ == "__main__":
    main()
