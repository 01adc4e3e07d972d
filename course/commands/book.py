"""`course book`: build the book into _build/html."""

import argparse
from pathlib import Path

SUMMARY = "build the book into _build/html"


def add_arguments(parser) -> None:
    """How strict, how many pages run at once, and whether to print."""
    parser.add_argument(
        "--strict",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="treat warnings and findings as errors (the default; --no-strict only prints them)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=None,
        metavar="N",
        help="pages run side by side (default: the cores)",
    )
    parser.add_argument(
        "--pdf",
        action="store_true",
        help="also print the whole book into _build/word2serve.pdf (needs Chromium)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print where the book is as JSON; progress goes to stderr",
    )


def run(args) -> int:
    """Build what changed and print where the landing page is."""
    import json
    import os
    import sys

    from course.book.build.build import build_book

    root, out = Path(__file__).resolve().parents[2], sys.stderr if args.json else sys.stdout
    made = {
        "book": build_book(
            root,
            jobs=args.jobs or os.cpu_count() or 1,
            strict=args.strict,
            say=lambda line: print(line, file=out, flush=True),
        )
    }
    if args.pdf:
        from course.book.build.pdf import print_book

        made["pdf"] = print_book(root, made["book"].parent)
    print(
        json.dumps(made, default=str)
        if args.json
        else "\n".join(f"{what}: {where}" for what, where in made.items())
    )
    return 0
