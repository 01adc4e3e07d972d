"""`course book`: build the book into _build/html."""
import argparse
from pathlib import Path

SUMMARY = "build the book into _build/html"


def add_arguments(parser) -> None:
    """How strict, how many pages run at once, and whether to print."""
    parser.add_argument("--strict", action=argparse.BooleanOptionalAction, default=True,
                        help="treat warnings and findings as errors (the default; --no-strict only prints them)")
    parser.add_argument("--jobs", type=int, default=None, metavar="N", help="pages run side by side (default: the cores)")
    parser.add_argument("--pdf", action="store_true", help="also print the whole book into _build/word2serve.pdf (needs Chromium)")


def run(args) -> int:
    """Build what changed and print where the landing page is."""
    import os

    from course.book.build import build_book
    root = Path(__file__).resolve().parents[2]
    landing = build_book(root, jobs=args.jobs or os.cpu_count() or 1, strict=args.strict,
                         say=lambda line: print(line, flush=True))
    print(f"book: {landing}")
    if args.pdf:
        from course.book.pdf import print_book
        print(f"pdf: {print_book(root, landing.parent)}")
    return 0
