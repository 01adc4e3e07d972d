"""`course grade`: grade a folder of submissions in the sandbox."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from course.folders import new_course_root, new_place, say_made
from course.options.assignment import chosen, chosen_for
from course.options.budget import add_budget, budget_of
from course.options.database import add_database, take_database

SAMPLE_ASSIGNMENT = "01-static-embeddings"
SUMMARY = "grade a folder of submissions in the sandbox and write the gradebook and feedback"
EPILOG = """\
SUBMISSIONS, as the platform's download comes or as you lay it out:
  own      STUDENT/ASSIGNMENT/NOTEBOOK.ipynb, STUDENT/NOTEBOOK.ipynb, or STUDENT.zip
  Moodle   "Anna M_123456_assignsubmission_file_/NOTEBOOK.ipynb", or the same as flat files
  Canvas   smithbob_LATE_102_9002_NOTEBOOK-1.ipynb, and with anonymous grading
           LATE_anon_x7Yz1_9002_NOTEBOOK.ipynb
  or one zip of any of these. Every entry is graded, or listed with the reason it was not. Two
  notebooks of one student, and a notebook of something else, need manual grading. No submission is
  changed, nor is nbgrader's submitted/.

A second run grades only what changed. Several attempts of one student come from a second run, or in
folders named for their time, around one student's notebook or around what the class had submitted
by then: ada/01-static-embeddings/2026-03-01 10-00/, 2026-03-01/ada.zip, "attempt 2". --attempts
says which counts: the last, or the best after the late penalty; the course directory remembers it,
and keeps all of them in hand-ins/. The run prints what became of the points; points given by hand
stay and are marked for another look.

Due dates and extensions: `course due`, or formgrader. What is late then follows from nbgrader's
timestamp.txt next to the notebook in STUDENT/ASSIGNMENT/ ("2026-03-01 10:00:00 UTC") and stands in
grades.csv as a duration. Platforms' downloads hold no times: a timestamp.txt there is the student's
own and is not used; Canvas's LATE is shown as "yes". There is no late penalty unless
nbgrader_config.py in the course directory names a plugin (c.AssignLatePenalties.plugin_class); see
`course due --help`.

The gradebook is nbgrader's: gradebook.db in the course directory, or PostgreSQL with --db
postgresql://USER@HOST/DATABASE (create the database first). formgrader and nbgrader's commands then
use the same. It is the truth about points given by hand: back it up as you would gradebook.db.
Killed, or stopped by a full disk, a lock or a server that is gone, the next run continues.

Send to students what lies in feedback/STUDENT/ASSIGNMENT/ of the course directory (`course
release-feedback` makes a zip of it); grades.csv has a row for each of them and each assignment, and
NAME.csv those of one (`course export` writes it as platforms read it). Other machines grade with
--scheduler: notebooks and the seeds of their hidden inputs go there, no name and no secret; the
gradebook is written here only. The book's page "Grading on many machines" says how.

Isolation is required: `course doctor` says what this machine has. Exit codes: 0 graded, and only
written answers need manual grading, of which a line says how many; 1 a submission needs manual
grading for another reason, or an entry was not graded, or the gradebook was lost and regenerated; a
folder in which only other assignments lie is named, and is no reason; 2 could not run, or notebooks
whose points are known, which each run grades first, did not earn them here; 3 the checker itself
failed on part of the class, which the last line names; 130 interrupted (Ctrl-C): what was graded by
then is kept, and the same command continues from there."""
CHECKER_FAILED = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the class handed in, and the options."""
    parser.add_argument(
        "submissions",
        nargs="?",
        type=Path,
        metavar="SUBMISSIONS",
        help=(
            "the submissions: a folder or one zip, see below (default: what `course"
            " collect` has brought)"
        ),
    )
    add_options(parser)
    parser.add_argument("--sample", action="store_true", help="make and grade the sample class")
    parser.epilog = EPILOG


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that `course autograde` has, too."""
    parser.set_defaults(sample=False)
    parser.add_argument(
        "--assignment",
        default="",
        help=(
            'number or name, several with commas, or "all": each that something in SUBMISSIONS is'
            " named after (default: the only one of these, or with --regrade alone the only one"
            " that was graded)"
        ),
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="submissions at the same time (default: 1)"
    )
    parser.add_argument(
        "--dask",
        dest="scheduler",
        metavar="ADDRESS",
        help=(
            "grade on the workers of a Dask scheduler, tcp://HOST:PORT or tls://HOST:PORT, "
            "see `course worker` (default: here)"
        ),
    )
    parser.add_argument(
        "--course-root",
        type=Path,
        default=None,
        metavar="DIR",
        help=(
            "nbgrader's course directory, made if it is not there (default: class; for --sample"
            " _build/course)"
        ),
    )
    parser.add_argument(
        "--report",
        type=Path,
        default=None,
        metavar="DIR",
        help=(
            "where grades.csv and the class report go (default: DIR/report of the course directory;"
            " for --sample _build/report)"
        ),
    )
    parser.add_argument(
        "--roster",
        type=Path,
        metavar="FILE",
        help="who is enrolled: Moodle's grading worksheet, which also says when each submission"
        " came (in this machine's time zone), Canvas's gradebook export, or a CSV with number,"
        " name, email; remembered for later runs",
    )
    add_budget(parser, ", and is judged again with a larger budget")
    parser.add_argument(
        "--regrade",
        action="store_true",
        help=(
            "grade SUBMISSIONS again, and every other result that is by older checks or of another"
            " .course-secret, which is drawn again if it is gone; without SUBMISSIONS only those,"
            " from the copies of earlier runs"
        ),
    )
    parser.add_argument(
        "--details",
        action="store_true",
        help=(
            "where results are others than before, name every exercise, not only each student's sum"
        ),
    )
    parser.add_argument(
        "--attempts",
        dest="hand_in",
        choices=("latest", "best"),
        help=(
            "which of a student's attempts counts, from now on in this course directory (default:"
            " latest)"
        ),
    )
    parser.add_argument(
        "--backend",
        metavar="NAME",
        help="bubblewrap, container or process (default: the strongest)",
    )
    parser.add_argument(
        "--cold",
        action="store_true",
        help="start every sandbox afresh, instead of forking it from one that has imported torch",
    )
    parser.add_argument(
        "--allow-unsafe",
        action="store_true",
        help="with --backend process: run submissions without isolation, as yourself",
    )
    add_database(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    # nbformat's validator would import it, and compile a grammar for IRIs for 1 s. No notebook is
    # checked for IRIs.
    sys.modules.setdefault("rfc3987_syntax", None)
    from autograder.classroom.chosen_assignments import wanted
    from autograder.classroom.grade_class import places
    from autograder.classroom.submissions.attempts import set_rule
    from autograder.classroom.submissions.roster import read_roster
    from autograder.common.errors import CourseError
    from autograder.grading.progress_lines import Telling
    from course.sample_class.graded import grade_sample_class

    if args.jobs < 1:
        raise CourseError(f"--jobs {args.jobs}: give 1 or more")
    budget = budget_of(args)
    roster = read_roster(args.roster) if args.roster else None
    if args.sample:
        _refuse_beside_sample(args)
    course_root, report = places(args.course_root, args.report, args.sample)
    if args.submissions:
        _refuse_wrong_source(args.submissions, course_root, report)
    made = new_course_root(course_root) if args.course_root or not args.sample else ""
    made_too = new_place(args.report, "--report", folder=True)
    take_database(args, course_root, make=True)
    say_made(made)
    names = {}
    if not args.sample:
        asked = _assignments(args, course_root)
        names = wanted(asked, args.submissions, course_root, args.regrade)
    if args.hand_in:
        set_rule(course_root, args.hand_in.replace("latest", "last"))
    if args.sample:
        telling = None if args.json else Telling()
        summaries = [grade_sample_class(course_root, args.jobs, args.allow_unsafe, report, telling)]
    else:
        summaries = _grade_each(args, names, course_root, report, budget, roster)
    say_made(made_too)
    _print_all(args, summaries, report)
    return _exit_code(args, summaries)


def _refuse_wrong_source(submissions: Path, course_root: Path, report: Path) -> None:
    """Raise CourseError where nothing is there, or where results would lie among submissions."""
    from autograder.classroom.submissions.metadata import refuse_inside
    from autograder.common.errors import CourseError
    from autograder.grading.intake.entries import nothing_at

    if not submissions.exists():
        raise CourseError(nothing_at(submissions))
    refuse_inside(submissions, **{"--course-root": course_root, "--report": report})


def _exit_code(args: argparse.Namespace, summaries: list[Any]) -> int:
    """The exit code described in `--help`; names whose checks failed, where no summary ends with
    it.
    """
    from autograder.classroom.reports.run_summary import said_failed

    failed = sorted({student for one in summaries for student in one.failed})
    if failed and len(summaries) > 1 and not args.json:
        print(said_failed(failed))
    if failed:
        return CHECKER_FAILED
    open_ends = any(
        one.people or one.not_graded or one.stale or one.anew or one.foreign for one in summaries
    )
    return int(open_ends and not args.sample)


def _grade_each(
    args: argparse.Namespace,
    names: dict[str, int],
    course_root: Path,
    report: Path,
    budget: Any,
    roster: Any,
) -> list[Any]:
    """The summaries of the assignments `names`, graded one after the other; each is printed where
    there are several.
    """
    from autograder.classroom.grade_class import grade_class
    from autograder.grading.progress_lines import Telling

    crew, backend = _crew(args, budget)
    summaries, telling = [], None if args.json else Telling()
    for place, name in enumerate(names, start=1):
        if telling and len(names) > 1:
            telling.begin((name, place, len(names)), later=sum(list(names.values())[place:]))
        summaries.append(
            grade_class(
                args.submissions,
                name,
                course_root,
                report,
                args.jobs,
                args.regrade,
                backend,
                telling,
                crew,
                roster,
            )
        )
        if len(names) > 1 and not args.json:
            _say(summaries[-1], args.details)
    return summaries


def _crew(args: argparse.Namespace, budget: Any) -> tuple[Any, Any]:
    """Who grades, and in which sandbox (None where the machines of a scheduler choose)."""
    from autograder.grading.executors.local import Here
    from autograder.sandbox import choose_backend

    if args.scheduler:
        from autograder.grading.executors.dask import DaskExecutor

        isolation = args.backend or "bubblewrap"
        return DaskExecutor(args.scheduler, isolation, args.cold, budget=budget), None
    backend = choose_backend(args.backend, args.allow_unsafe, args.cold)
    return Here(args.jobs, backend, budget), backend


def _print_all(args: argparse.Namespace, summaries: list[Any], report: Path) -> None:
    from autograder.course_layout import INDEX_PAGE

    if args.json:
        found = [asdict(summary) for summary in summaries]
        print(json.dumps(found[0] if len(found) == 1 else found, indent=1, default=str))
    elif len(summaries) == 1:
        _say(summaries[0], args.details)
    else:
        print(f"all        {report / INDEX_PAGE}")


def _assignments(args: argparse.Namespace, course_root: Path) -> str:
    """What --assignment says, or the one that follows from what is there."""
    if args.assignment:
        return args.assignment
    if args.regrade and not args.submissions:
        return chosen("", course_root)
    return chosen_for(args.submissions, "", course_root)


def _refuse_beside_sample(args: argparse.Namespace) -> None:
    """Raise CourseError for what says whose work is judged, or how, when the sample class was asked
    for, which has its own of it.
    """
    from autograder.common.errors import CourseError

    beside = {
        str(args.submissions): args.submissions,
        f"--assignment {args.assignment}": args.assignment not in ("", "01", SAMPLE_ASSIGNMENT),
        f"--dask {args.scheduler}": args.scheduler,
        "--regrade": args.regrade,
        f"--backend {args.backend}": args.backend,
        "--cold": args.cold,
        f"--time-limit {args.budget or 0:g}": args.budget is not None,
    }
    if said := [words for words, given in beside.items() if given]:
        raise CourseError(
            f"--sample makes a class of its own and grades that: leave out {' and '.join(said)}, or"
            " leave out --sample to grade your class"
        )


def _say(summary, details: bool) -> None:
    """Print what a run did; details: with each exercise whose result is another than before."""
    changed = [
        *(f"changed    {line}" for line in summary.changed),
        *(f"           {line}" for line in summary.details if details),
    ]
    print("\n".join([*changed, *summary.lines()]), flush=True)
