"""`course viva`: questions about a student's own functions, for practice or for a talk."""

import argparse
import json
from functools import partial
from pathlib import Path

SUMMARY = "ask three questions about each function that somebody wrote"
EPILOG = """\
The questions come from the code itself and from runs of it: what lines assign and how often they
run, also on longer inputs, and what a small change does. They name lines and quote none. No
language model is involved; the code runs in the sandbox. They are meant to be answered on paper,
code in hand.
With a notebook: practice on your own work; `--key` shows the answers. With --class: a page to print
for each student whose functions earned full points, the key, and answers.csv to type letters into.
Then `course viva 01 --record` puts the points into the gradebook as the assignment viva-01 and
names who answers at chance level (exact binomial test, one-sided, p > 0.05, at least 6 questions).
It can show that somebody does not follow code that earned full points. It cannot show who wrote it:
wrong answers are a reason to talk, never proof, and right ones come with study, too.
Exit codes: 0 there are questions, 1 for some functions or students there are none, 2 could not
run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which assignment, and whose work."""
    parser.add_argument("assignment", metavar="ASSIGNMENT", help='its number, such as "01"')
    parser.add_argument(
        "notebook",
        nargs="?",
        default="",
        metavar="NOTEBOOK",
        help="your notebook (default: the one in mywork/)",
    )
    parser.add_argument("--key", action="store_true", help="show the answers, with their reasons")
    parser.add_argument(
        "--class", dest="whole_class", action="store_true", help="a page for each student"
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="read what was typed into answers.csv into the gradebook, and report",
    )
    parser.add_argument(
        "--course-root",
        type=Path,
        default=None,
        metavar="DIR",
        help="with --class: the course directory that `course grade` used (default: class)",
    )
    parser.add_argument(
        "--report",
        type=Path,
        default=None,
        metavar="DIR",
        help="with --class: where the pages go (default: report/viva/ in the course directory)",
    )
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")
    parser.add_argument("--seed", default="", metavar="TEXT", help="other questions of practice")
    parser.add_argument("--json", action="store_true", help="print the questions as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Exit code 1 where a function has no question."""
    if args.record:
        return _record(args)
    return _of_class(args) if args.whole_class else _of_notebook(args)


def _of_notebook(args: argparse.Namespace) -> int:
    from autograder.grading.assignment import load_assignment
    from autograder.sandbox.api.cells import Cell
    from autograder.viva.ask import ask_all, draws, functions_of, handed_out_of
    from course.commands.check import notebook_path
    from course.commands.validate import backend_at_home
    from course.own_notebook import taken

    loaded = load_assignment(args.assignment)
    work = taken(notebook_path(args.notebook, loaded), loaded)
    exercises = functions_of(loaded)
    sources = {one.id: work.own.get(one.id.split(".", 1)[1], "") for one in exercises}
    cells = [Cell(piece.grade_id, piece.source) for piece in work.pieces]
    draw_for = draws(exercises, args.seed, b"practice")
    with _sandboxes(loaded, backend_at_home()) as pool, _opened(pool, cells) as student:
        asked = ask_all(exercises, student, sources, draw_for, handed_out_of(loaded))
    if args.json:
        print(json.dumps([one.to_json() for one in asked], indent=1))
    else:
        print("\n".join(_lines(asked, args.key)))
    return 1 if not asked or any(one.reason for one in asked) else 0


def _sandboxes(loaded, backend):
    from autograder.grading.grade import sandboxes

    return sandboxes(loaded, backend)


def _opened(pool, cells):
    from autograder.viva.ask import recorder_cell

    return pool.open_student([*cells, recorder_cell()])


def _lines(asked, key: bool) -> list[str]:
    """For a terminal."""
    found = []
    for one in asked:
        if one.reason:
            found += [f"{one.exercise}: no questions, {one.reason}", ""]
            continue
        found += [f"{one.exercise}: your call is {one.call}", ""]
        found += [f"{place:5}  {line}" for place, line in enumerate(one.source.split("\n"), 1)]
        found.append("")
        for number, question in enumerate(one.questions, 1):
            found.append(f"  {number}. {question.text}")
            found += [f"     {'abcd'[i]}) {text}" for i, text in enumerate(question.options)]
            if key:
                found.append(f"     answer: {'abcd'[question.answer]}. {question.why}")
            found.append("")
    if not asked:
        found.append("There is no function in this notebook yet.")
    elif not key:
        found.append("The answers: the same command with --key.")
    return found


def _of_class(args: argparse.Namespace) -> int:
    from autograder.classroom.grade_class import places, records
    from autograder.classroom.reports.html_pages import assignment_title
    from autograder.common.error_boundary import Guard
    from autograder.grading.assignment import course_secret
    from autograder.viva.class_answers import write_table
    from autograder.viva.class_pages import asked_of, write_pages
    from course.folders import course_root_there, new_place, say_made

    root, report = places(args.course_root, args.report, args.sample)
    course_root_there(root)
    place = new_place(args.report, "--report", folder=True)
    loaded, rows = records(root, args.assignment)
    folder = report if args.report else report / "viva"
    secret, guard, made = course_secret(root), Guard(root), []
    with _sandboxes(loaded, None) as pool:
        for verdict in (verdict for verdict, _ in rows if verdict.readable):
            asked = guard.run(
                verdict.student,
                "asking about its code",
                partial(asked_of, loaded, verdict, pool, secret),
            )
            if asked is not None:
                made.append((verdict, asked))
    title = assignment_title(loaded)
    write_pages(folder, loaded.name, title, made)
    table = write_table(folder, made)
    say_made(place)
    _show_class(made, guard.troubles, folder, table, args.json)
    without = any(one.reason for _, asked in made for one in asked)
    return 1 if without or guard.troubles else 0


def _show_class(made, troubles: dict, folder: Path, table: Path, as_json: bool) -> None:
    if as_json:
        listed = {verdict.student: [one.to_json() for one in asked] for verdict, asked in made}
        print(json.dumps(listed, indent=1))
    else:
        for verdict, asked in made:
            count = sum(len(one.questions) for one in asked)
            print(f"{verdict.label}: {count} questions on {len(asked)} functions with full points")
        for student, trouble in troubles.items():
            print(f"no page    {student}: {trouble}")
        print(f"pages      {folder} ({len(made)} to print, and key.html)")
        print(f"answers    {table}: type the letters into it, then `course viva NN --record`")


def _record(args: argparse.Namespace) -> int:
    from autograder.classroom.grade_class import places
    from autograder.classroom.gradebook.course import course_config
    from autograder.grading.assignment import load_assignment
    from autograder.viva.class_answers import record, report, scores
    from course.folders import course_root_there

    root, folder = places(args.course_root, args.report, args.sample)
    course_root_there(root)
    found = scores(folder if args.report else folder / "viva")
    name = record(course_config(root.resolve()), load_assignment(args.assignment).number, found)
    print("\n".join(report(found)))
    print(f"gradebook  {len(found)} students in {name}")
    return 0
