"""`course formgrader`: nbgrader's formgrader, in the browser, for a course directory."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from course.folders import course_root_there

SUMMARY = "open nbgrader's formgrader, where written answers are graded by hand"
EPILOG = """\
The first line is the address of the class report with buttons that decide on flagged submissions:
use another attempt, accept a relocated answer, give points. Each decision is recorded with the time
and your reason, and can be undone there.
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
    from autograder.classroom.decisions.server import DecisionServer
    from autograder.classroom.grade_class import COURSE_ROOT, places, with_records

    root = course_root_there(COURSE_ROOT if args.sample else args.course_root)
    command = [sys.executable, "-m", "jupyterlab", "--LabApp.default_url=/formgrader"]
    if args.no_browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container, where JupyterLab asks for it
        command.append("--allow-root")
    if not with_records(root):
        return subprocess.run(command, cwd=root, check=False).returncode
    report = places(None if args.sample else args.course_root, None, args.sample)[1]
    server = DecisionServer(root, report)
    print(f"report     {server.address}", flush=True)
    with server, subprocess.Popen(command, cwd=root) as lab:
        return serve_until(server, lab)


def serve_until(server, process: subprocess.Popen) -> int:
    """Answer requests until the process ends; return its exit code.

    Ctrl-C goes to JupyterLab as well, which asks before it ends.
    """
    server.timeout = 0.5
    while True:
        try:
            if process.poll() is not None:
                return process.returncode
            server.handle_request()
        except KeyboardInterrupt:
            continue
