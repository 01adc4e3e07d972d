"""`course autograde`: the step of `course grade` that runs the sandbox, on what was collected."""

import argparse

from course.commands import grade

SUMMARY = "grade what `course collect` has brought; `course grade` does both and reports"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `course grade`, without a download."""
    grade.add_options(parser)
    parser.set_defaults(submissions=None)


def run(args: argparse.Namespace) -> int:
    """As `course grade`."""
    return grade.run(args)
