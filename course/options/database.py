"""`--db` of every command that opens the gradebook: from then on the course root's
nbgrader_config.py names that database.
"""

import argparse
import sys
from pathlib import Path

HELP = (
    "keep the gradebook in this database from now on: postgresql://USER@HOST/DATABASE, or sqlite"
    " for gradebook.db in the course directory. It is written to nbgrader_config.py there, once,"
    " and what the old database holds is copied. A password belongs in ~/.pgpass or PGPASSWORD"
)


def add_database(parser: argparse.ArgumentParser) -> None:
    """The option."""
    parser.add_argument("--db", metavar="URL", help=HELP)


def take_database(args: argparse.Namespace, course_root: Path, make: bool = False) -> None:
    """Do what `--db` asks for, if it was given.

    make: the course root need not be there yet. Raises CourseError.
    """
    if args.db is None:
        return
    from autograder.classroom.gradebook.migrate import use_database
    from autograder.common.errors import CourseError

    if not make and not course_root.is_dir():
        raise CourseError(f"{course_root}: there is no course root; run `course grade` first")
    if copied := use_database(course_root, args.db):
        print(f"database   {copied}", file=sys.stderr)
