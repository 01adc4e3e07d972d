"""`--time-limit` of every command that grades submissions: what each of them may use."""

import argparse

HELP = (
    "what one submission may use, its cells and calls together (default: 60); waiting for a"
    " processor is not charged, and three times as many seconds by the clock end it too. What is"
    " not graded by then needs manual grading"
)
LEAST, MOST = 1, 86_400


def add_budget(parser: argparse.ArgumentParser, more: str = "") -> None:
    """The option. more: what the help says behind the sentences for all."""
    parser.add_argument(
        "--time-limit", dest="budget", type=float, default=None, metavar="SECONDS", help=HELP + more
    )


def budget_of(args: argparse.Namespace) -> float:
    """The seconds, 60 where none were given. Raises CourseError."""
    from autograder.common.errors import CourseError
    from autograder.grading.grade import BUDGET_SECONDS

    if args.budget is None:
        return BUDGET_SECONDS
    if not LEAST <= args.budget <= MOST:
        raise CourseError(f"--time-limit {args.budget:g}: give seconds from {LEAST} to {MOST}")
    return args.budget
