"""The `course` command: one table of subcommands, each loaded only when it is asked for.

A subcommand is a module in `course/commands/` with SUMMARY, add_arguments(parser) and run(args).
Exit codes: 0 all is well; 1 the thing asked about is not in order (a check failed, a page did not
build); 2 the command could not be carried out (usage, environment, missing data).
"""

import argparse
import difflib
import importlib
import json
import re
import sys
from importlib.metadata import version
from typing import NoReturn

from autograder.common.errors import CourseError
from course import extras
from course.renamed import modern
from course.streams import lasting

COMMANDS = {
    "make": "do everything that `make course` does: data, book, exercises, sample class",
    "download-data": "bring the pinned corpora and vectors into the cache, and check their hashes",
    "book": "build the book into _build/html",
    "start": "put a chapter's notebook into this folder, and fetch the data of its last part",
    "check": "run the checks of an exercise on your notebook",
    "hint": "open the next hint of an exercise",
    "validate": "see what the grader will see of your notebook, before you submit it",
    "viva": "ask three questions about each function that somebody wrote",
    "golf": ("score a small language model on text drawn after submission, and keep a leaderboard"),
    "hunt": "find the one small change that was made in your own function",
    "examples": "list the examples that students of a class wrote, and what those would catch",
    "package": "put your functions that pass into your own package, word2serve_me",
    "capstone": "make a small chat model, from raw text to a server, and its report card",
    "generate-assignment": "make the student notebooks in exercises/ from solutions/",
    "release-assignment": "put an assignment into an archive for students",
    "collect": (
        "put what a class handed in into nbgrader's submitted/, without touching the originals"
    ),
    "grade": "grade a download of submissions: collect, autograde, report",
    "autograde": "grade what `course collect` has brought",
    "formgrader": "open nbgrader's formgrader, where written answers are graded by hand",
    "return": "write what the learning platform takes back: grades and feedback",
    "worker": "grade on this machine for `course grade --dask` on another",
    "due": (
        "show or set an assignment's due date and a student's extension, in nbgrader's gradebook"
    ),
    "regrade": "after checks have changed: show what changes, and write it with --apply",
    "report": "write the class report from the records of the last grading",
    "similar": "name pairs of students whose code is alike, to look at; never a verdict",
    "release-feedback": "put the feedback pages into a zip that a learning platform takes",
    "export": "write the grades for Canvas, Moodle or Gradescope",
    "serve": "serve a language model over HTTP, with OpenAI's API",
    "author": "for authors of exercises: check, matrix, mutants, prove, try",
    "completion": "print a script that completes commands and options in bash, zsh or fish",
    "doctor": "say what this machine can isolate, and prove it with escape attempts",
}


MODULES = {"return": "return_"}  # a word that Python keeps for itself
EXIT_CODES = "Exit codes: 0 well, 1 not in order, 2 could not run."


class Parser(argparse.ArgumentParser):
    """A parser that answers a slip in an option or in a word with what was probably meant.

    as_json: the error goes to stdout too.
    """

    as_json = False

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and leave with exit code 2."""
        words = (
            message.removeprefix("unrecognized arguments: ").split()
            if message.startswith("unrecognized")
            else []
        )
        known = [
            option
            for action in self._everything()
            for option in action.option_strings
            if option.startswith("--")
        ]
        close = [
            found
            for word in words
            if word.startswith("--")
            for found in difflib.get_close_matches(word.split("=")[0], known, n=1)
        ]
        slip = re.search(r"invalid choice: '?(.+?)'? \(choose from (.*)\)", message)
        close += (
            difflib.get_close_matches(slip[1], re.findall(r"[\w.-]+", slip[2]), n=1) if slip else []
        )
        message += f"; did you mean {', '.join(close)}?" if close else ""
        if self.as_json:
            print(json.dumps({"error": message}), flush=True)
        super().error(message)

    def _everything(self) -> list[argparse.Action]:
        """Its own actions and those of the parsers below it."""
        below = [
            sub
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)
            for sub in action.choices.values()
        ]
        return [*self._actions, *(action for sub in below for action in sub._everything())]


def build_parser(command: str | None) -> argparse.ArgumentParser:
    """The parser, with the arguments of `command` only: the other modules are not imported."""
    parser = Parser(
        prog="course",
        description="word2serve: read the book, do the exercises, grade a class.",
        epilog=(
            "`course COMMAND --help` explains one command. Exit codes: 0 well, 1 not in order, 2"
            " could not run."
        ),
    )
    parser.add_argument(
        "--version", action="version", version=f"word2serve {version('word2serve')}"
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        sub = subparsers.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == command:
            module = importlib.import_module(
                f"course.commands.{MODULES.get(name, name.replace('-', '_'))}"
            )
            module.add_arguments(sub)
            for one in _with_parts(sub):
                if "Exit codes" not in f"{one.description} {one.epilog}":
                    one.epilog = "\n\n".join(filter(None, (one.epilog, EXIT_CODES)))
            sub.set_defaults(run=module.run)
    return parser


def _with_parts(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """A command's parser and those of its parts."""
    return [
        parser,
        *(
            part
            for action in parser._actions
            if isinstance(action, argparse._SubParsersAction)
            for part in action.choices.values()
        ),
    ]


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand and return its exit code; an error becomes one clear line on stderr, and
    with --json {"error": ...} on stdout.
    """
    argv = sys.argv[1:] if argv is None else argv
    with lasting() as shown:
        code = _run(argv)
    if (
        shown is not None and shown.lost and not isinstance(shown.lost, BrokenPipeError)
    ):  # who closes a pipe has read enough
        print(
            "course: it is done, and what it says of that could not be written:"
            f" {shown.lost.strerror}",
            file=sys.stderr,
        )
        return 2
    return code


def _run(argv: list[str]) -> int:
    argv, note = modern(argv)
    if note:
        print(note, file=sys.stderr)
    command = next((word for word in argv if not word.startswith("-")), None)
    if command and command not in COMMANDS:
        close = difflib.get_close_matches(command, COMMANDS, n=1)
        print(
            f"course: there is no command {command!r}"
            + (f"; did you mean `course {close[0]}`?" if close else "")
            + f" There are {', '.join(COMMANDS)}.",
            file=sys.stderr,
        )
        return 2
    Parser.as_json = "--json" in argv
    args = build_parser(command).parse_args(argv)
    try:
        if lacks := extras.missing(args.command):
            raise CourseError(lacks)
        return args.run(args)
    except (CourseError, OSError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError):
            if not (extra := extras.of_module(error.name)):
                raise
            text = extras.how_to_install(extra)
        else:
            text = str(error) if isinstance(error, CourseError) else _of_the_machine(error)
        if getattr(args, "json", False):
            print(json.dumps({"error": text}))
        print(f"course {args.command}: {text}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if sys.stdout.isatty():  # where a line that is written over may stand
            print(flush=True)
        print(f"course {args.command}: interrupted", file=sys.stderr)
        return 130


def _of_the_machine(error: OSError) -> str:
    """A path that is no folder, a disk that is full, a file that may not be written, where nobody
    has better words for it.
    """
    where = ", ".join(str(one) for one in (error.filename, error.filename2) if one is not None)
    return (
        f"{where or 'this machine'}: {error.strerror or error}; mend that, or give another path,"
        " and run it again"
    )


if __name__ == "__main__":
    sys.exit(main())
