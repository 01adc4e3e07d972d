"""Train every small model anew, one after another: what `make train` runs.

    python bench/trained/all.py [NAME ...]
        names of scripts, in place of all; about two hours on one core

Each script writes its record; most keep their model. A script that fails is named at the end, and
the others run.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

SCRIPTS = (
    "gpt",
    "bert",
    "bert_early",
    "spelling",
    "ngrams",
    "lstm",
    "reversing",
    "vectors",
    "electra",
    "sentiment",
    "finetuning",
    "adapt",
    "chats",
    "dpo",
    "vocabularies",
    "elmo",
    "peeking",
    "positions",
    "spelling_transformer",
    "electra_stages",
    "sums",
    "grpo",
    "rules",
    "hacked",
    "unmasked",
    "gpt_longer",
    "ladder",
    "asked_share",
    "gpt_head",
    "llama",
    "modernbert",
    "extended_rope",
    "gated",
    "dying",
    "retrieval",
    "draft",
    "draft_heads",
    "bank_reader",
    "induction",
    "moe",
    "fill_mask",
    "recipe",
    "capstone",
)
"""In this order: `bert_early` is held beside what `bert` keeps; `ngrams`, `lstm`, `adapt`, `chats`,
`dpo`, `peeking`, `positions` and `unmasked` begin with what `gpt` keeps; `spelling_transformer` is
held beside what `spelling` keeps, `electra_stages` begins with what `bert` keeps, `grpo` with what
`sums` keeps, and `hacked` with what `gpt` keeps. `gpt_longer` and `ladder` read the tokens of
`gpt`, `asked_share` the chunks of `ladder`, `gpt_head` begins with what `gpt` and `lstm` keep, and
`draft` and `draft_heads` are held beside what `gpt` keeps."""


def main() -> int:
    """Run the scripts; 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "names", nargs="*", choices=[*SCRIPTS, []], metavar="NAME", help=", ".join(SCRIPTS)
    )
    names, failed = parser.parse_args().names or SCRIPTS, []
    for number, name in enumerate(names, 1):
        started = time.monotonic()
        print(f"{number} of {len(names)}: {name}", flush=True)
        if subprocess.run(
            [sys.executable, Path(__file__).with_name(f"{name}.py")], check=False
        ).returncode:
            failed.append(name)
        print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
