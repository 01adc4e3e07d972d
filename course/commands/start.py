"""`course start NN`: a notebook of your own to work in."""

import argparse
import json
import shutil
from pathlib import Path

SUMMARY = "put a chapter's notebook into this folder, to work in"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which assignment, and where to."""
    parser.add_argument("assignment", metavar="ASSIGNMENT", help='a chapter such as "12"')
    parser.add_argument(
        "--to", type=Path, default=Path(), metavar="DIR", help="the folder (default: this one)"
    )
    parser.add_argument("--json", action="store_true", help="print where it is as JSON")


def run(args: argparse.Namespace) -> int:
    """Copy the notebook as students get it; what is there already stays."""
    from autograder.authoring.catalogue import EXERCISES, assignment
    from autograder.common.errors import CourseError

    one = assignment(args.assignment)
    target = args.to / f"{one.name}.ipynb"
    if target.exists():
        raise CourseError(f"{target} is there already and was left as it is: open that one")
    args.to.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(EXERCISES / one.name / target.name, target)
    if args.json:
        print(json.dumps({"assignment": one.name, "path": str(target)}))
    else:
        print(f"{target} is yours: open it in JupyterLab, VS Code or Colab, and run the cells")
    return 0
