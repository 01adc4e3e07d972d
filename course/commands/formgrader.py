"""`course formgrader`: nbgrader's formgrader, in the browser, for a course directory."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from course.folders import course_root_there

SUMMARY = "open nbgrader's formgrader, where written answers are graded by hand"
EPILOG = """\
Ctrl-C twice ends it. Afterwards `course report` writes the pages and grades again. Exit codes: as
JupyterLab's; 2 could not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which course directory, and whether to open a browser."""
    parser.add_argument(
        "--course-root",
        type=Path,
        default=Path("class"),
        metavar="DIR",
        help="the course directory that `course grade` used (default: class)",
    )
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address and open nothing"
    )
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """JupyterLab's exit code."""
    from autograder.classroom.grade_class import COURSE_ROOT

    root = course_root_there(COURSE_ROOT if args.sample else args.course_root)
    command = [sys.executable, "-m", "jupyterlab", "--LabApp.default_url=/formgrader"]
    if args.no_browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container, where JupyterLab asks for it
        command.append("--allow-root")
    return subprocess.run(command, cwd=root, check=False).returncode
