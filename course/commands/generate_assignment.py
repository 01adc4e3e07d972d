"""`course generate-assignment`: the student notebooks in exercises/, made from solutions/."""

import argparse

from course.commands.author import reported, run_build

SUMMARY = "make the student notebooks in exercises/ from solutions/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which assignments, and whether to write."""
    parser.add_argument(
        "assignment", nargs="*", metavar="ASSIGNMENT", help='such as "01" (default: all)'
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing; exit 1 if a committed notebook is not what the sources give",
    )
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")


def run(args: argparse.Namespace) -> int:
    """Exit code 1 when --check finds a notebook that differs."""
    return reported(run_build, args, "build")
