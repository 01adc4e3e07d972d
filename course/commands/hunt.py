"""`course hunt`: find the one small change in a copy of your own function."""

import argparse
import json
import secrets
import sys
from contextlib import contextmanager
from pathlib import Path

SUMMARY = "find the one small change that was made in your own function"
EPILOG = """\
A function of your notebook that passes its checks is shown with one change. Give the arguments of a
call on which it differs from your own by more than rounding, and the number of the changed line:
  torch.tensor([3, 2]), 2, 3          literals, and arithmetic on them
  torch.randn(2, 4, seed=1) * 100     also rand, randint, randperm, zeros, ones, full, arange, eye,
                                      linspace, tril, triu, and .double(), .reshape(2, 2), ...
The input runs in the sandbox. Every hunt has an answer that was tried before you are asked. It is
practice: nothing of it reaches a grader, and comparing the lines with your notebook would find the
change, too. Your statistics are in bug-hunts.json next to your notebook.
--answer FILE holds {"input": "torch.ones(2), 3", "line": 4}, or {"give_up": true}.
Exit codes: 0 found, shown or given up as asked, 1 the answer is wrong, there is none, or there is
nothing to hunt, 2 could not run."""
MOST_SEED = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which assignment or exercise, whose notebook, and how to answer."""
    parser.add_argument(
        "assignment", nargs="?", default="", metavar="ASSIGNMENT", help='its number, such as "04"'
    )
    parser.add_argument(
        "notebook",
        nargs="?",
        default="",
        metavar="NOTEBOOK",
        help="your notebook (default: the one in mywork/)",
    )
    parser.add_argument(
        "--exercise", default="", metavar="EXERCISE", help='one of its functions: "04.masks"'
    )
    parser.add_argument(
        "--seed", type=int, default=None, metavar="N", help="a certain hunt (default: a new one)"
    )
    parser.add_argument(
        "--answer", type=Path, default=None, metavar="FILE", help="grade an answer, as JSON"
    )
    parser.add_argument("--statistics", action="store_true", help="print how your hunts went")
    parser.add_argument("--json", action="store_true", help="print the hunt or the result as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Print a hunt, and grade answers: from a file, or at the terminal until it is found."""
    from autograder.common.errors import CourseError

    number = args.assignment or args.exercise.partition(".")[0]
    if args.statistics:
        return _statistics(args, number)
    if not number:
        raise CourseError("name a chapter, such as `course hunt 04`")
    if args.exercise and not args.exercise.startswith(f"{number}."):
        raise CourseError(f"{args.exercise} is not an exercise of chapter {number}")
    if args.answer is not None and args.seed is None:
        raise CourseError("--answer needs --seed: which hunt is answered?")
    return _hunt(args, number)


def _hunt(args: argparse.Namespace, number: str) -> int:
    from autograder.grading.assignment import load_assignment
    from autograder.grading.grade import sandboxes
    from autograder.hunt.statistics import Hunts
    from course.commands.check import notebook_path
    from course.commands.validate import backend_at_home
    from course.own_notebook import taken

    answer = _answer(args.answer) if args.answer is not None else None
    loaded = load_assignment(number)
    path = notebook_path(args.notebook, loaded)
    work = taken(path, loaded)
    seed = secrets.randbelow(MOST_SEED) if args.seed is None else args.seed
    with sandboxes(loaded, backend_at_home()) as pool:
        session = Session(pool, work, loaded, seed)
        hunt, reasons = session.find(args.exercise)
        if hunt is None:
            return _nothing(reasons, path, args.json)
        if answer is None:
            _show(hunt, seed, args)
            if args.json or not sys.stdin.isatty():
                return 0
        hunts = Hunts(_folder(path))
        if hunts.message:
            print(hunts.message, file=sys.stderr)
        if answer is None:
            return _asked(session, hunt, hunts)
        return _judged(session, hunt, hunts, answer, args.json)


def _folder(notebook: Path) -> Path:
    """Where the statistics of a notebook are: next to it, or in mywork/ for one that was given."""
    from autograder.common.atomic_files import lies_below
    from autograder.common.course_files import IN_WHEEL, MYWORK, ROOT

    given = not IN_WHEEL and lies_below(notebook, ROOT / "exercises")
    return MYWORK if given else notebook.parent


class Session:
    """One notebook in sandboxes: a fresh one for the search, and one for each answer."""

    def __init__(self, pool, work, loaded, seed: int):
        from autograder.hunt.hunt import inside_cell
        from autograder.sandbox.api.cells import Cell

        cells = [Cell(piece.grade_id, piece.source) for piece in work.pieces]
        self._pool, self._work, self._loaded, self.seed = pool, work, loaded, seed
        self._cells = [*cells, inside_cell()]

    def find(self, wanted: str):
        """(hunt, reasons): of one exercise or of one that the seed draws; None and the reason of
        each exercise without one.
        """
        import random

        from autograder.common.errors import CourseError
        from autograder.hunt.hunt import make, ready

        every = self._functions()
        chosen = [one for one in every if wanted in ("", one.id)]
        if not chosen:
            known = ", ".join(one.id for one in every)
            raise CourseError(f"there is no function {wanted!r} to hunt in; there are {known}")
        random.Random(f"order\0{self.seed}").shuffle(chosen)
        reasons = {}
        with self._student() as student:
            for one in chosen:
                source = self._work.own.get(one.id.split(".", 1)[1], "")
                found = ready(one, student, source) if source.strip() else "it is not written yet"
                if isinstance(found, str):
                    reasons[one.id] = found
                    continue
                hunt = make(found, student, random.Random(f"{one.id}\0{self.seed}"))
                if hunt is not None:
                    return hunt, reasons
                reasons[one.id] = "none of the changes that were tried can be seen in a result"
        return None, reasons

    def judge(self, hunt, text: str, line: int):
        """The judgement of one answer, in a sandbox of its own."""
        from autograder.hunt.hunt import judge

        with self._student() as student:
            return judge(hunt, student, text, line)

    @contextmanager
    def _student(self):
        from autograder.common.errors import CourseError
        from autograder.sandbox.api.student import MachineBusy

        try:
            with self._pool.open_student(self._cells) as student:
                yield student
        except MachineBusy as error:
            raise CourseError(f"{error} Nothing was counted: run it again") from None

    def _functions(self) -> list:
        every = self._loaded.exercises.values()
        return [one for one in every if one.stages and one.kind == "function"]


def _nothing(reasons: dict, notebook: Path, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"hunt": None, "reasons": reasons}, indent=1))
    else:
        print(f"There is nothing to hunt in {notebook}:")
    for exercise, reason in reasons.items():
        if not as_json:
            print(f"{exercise}: {reason}")
    return 1


def _show(hunt, seed: int, args: argparse.Namespace) -> None:
    import shlex

    lines = hunt.change.source.split("\n")
    if args.json:
        found = {"exercise": hunt.exercise, "function": hunt.function, "seed": seed}
        print(json.dumps(found | {"lines": lines}, indent=1))
        return
    print(f"{hunt.exercise}, seed {seed}: one thing in your function was changed.\n")
    print("\n".join(f"{place:4}  {line}" for place, line in enumerate(lines, 1)))
    notebook = f"{hunt.exercise[:2]} {shlex.quote(args.notebook)} " if args.notebook else ""
    print(
        f"\nWhich arguments of {hunt.function}(...) show it, and which line was changed?\n"
        f"With a script: course hunt {notebook}--exercise {hunt.exercise} --seed {seed}"
        " --answer FILE"
    )


def _asked(session, hunt, hunts) -> int:
    """Ask at the terminal until the change is found; an empty input gives up. Control-D leaves the
    hunt open.
    """
    while True:
        try:
            text = input("\narguments (empty: give up): ").strip()
            line = input("line: ").strip() if text else ""
        except EOFError:
            print(f"\nThe hunt is still open: --seed {session.seed} shows it again.")
            return 1
        if not text:
            return _gave_up(session, hunt, hunts, False)
        if not line.isdecimal() or len(line) > 6:
            print("Give the number of a line, such as 3.")
            continue
        answer = {"input": text, "line": int(line)}
        if _judged(session, hunt, hunts, answer, False) == 0:
            return 0


def _judged(session, hunt, hunts, answer: dict, as_json: bool) -> int:
    if answer.get("give_up"):
        return _gave_up(session, hunt, hunts, as_json)
    judged = session.judge(hunt, answer["input"], answer["line"])
    entry = hunts.note(_entry(hunt, session.seed, 1, "found" if judged.right else ""))
    if as_json:
        found = {"right": judged.right, "exposes": judged.exposes, "line": judged.line}
        found |= {"said": judged.said, "attempts": entry.attempts}
        print(json.dumps(found | (_solution(hunt) if judged.right else {}), indent=1))
        return 0 if judged.right else 1
    print(judged.said)
    print("The line is right." if judged.line else "That line was not changed.")
    if judged.right:
        print(f"Found, attempt {entry.attempts}. {_ending(hunt)}")
    return 0 if judged.right else 1


def _gave_up(session, hunt, hunts, as_json: bool) -> int:
    hunts.note(_entry(hunt, session.seed, 0, "given up"))
    if as_json:
        print(json.dumps({"given_up": True} | _solution(hunt), indent=1))
    else:
        print(f"{_ending(hunt)}\nThis input shows it: {hunt.exposing}")
    return 0


def _solution(hunt) -> dict:
    change = hunt.change
    found = {"lines_changed": list(change.lines), "before": change.before, "after": change.after}
    return found | {"exposing": hunt.exposing, "misconception": hunt.misconception}


def _ending(hunt) -> str:
    change = hunt.change
    where = " and ".join(map(str, change.lines))
    said = f"Line {where}: `{change.before}` became `{change.after}`."
    if hunt.misconception:
        said += f" It answers like a known mistake: {hunt.misconception}"
    return f"{said}\nIt shows on {hunt.caught} of {hunt.known} inputs of the checks."


def _entry(hunt, seed: int, attempts: int, ended: str):
    import hashlib

    from autograder.hunt.statistics import Entry

    digest = hashlib.sha256(hunt.original.encode()).hexdigest()[:12]
    return Entry(hunt.exercise, digest, seed, hunt.label, attempts, ended)


def _answer(path: Path) -> dict:
    """The answer in a file. Raises CourseError for another form."""
    from autograder.common.errors import CourseError

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CourseError(f"{path} cannot be read as JSON ({error}): see --help") from None
    if isinstance(found, dict) and found.get("give_up") is True:
        return found
    fits = isinstance(found, dict) and type(found.get("input")) is str
    if not fits or type(found.get("line")) is not int:
        raise CourseError(
            f'{path} needs an "input", a text, and a "line", a whole number, such as'
            ' {"input": "torch.ones(2), 3", "line": 4}'
        )
    return found


def _statistics(args: argparse.Namespace, number: str) -> int:
    from dataclasses import asdict

    from autograder.common.course_files import MYWORK
    from autograder.hunt.statistics import Hunts, summary

    hunts = Hunts(_folder(Path(args.notebook)) if args.notebook else MYWORK)
    if hunts.message:
        print(hunts.message, file=sys.stderr)
    chosen = [one for one in hunts.entries if one.exercise.startswith(number)]
    if args.json:
        print(json.dumps([asdict(one) for one in chosen], indent=1))
    else:
        print(f"file       {hunts.path}")
        print("\n".join(summary(chosen)))
    return 0
