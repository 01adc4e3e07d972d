"""`course grade`: grade a folder of submissions in the sandbox."""
import argparse
import sys
from pathlib import Path

SUMMARY = "grade a folder of submissions in the sandbox and write the gradebook and feedback"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `course grade`."""
    parser.add_argument("submissions", nargs="?", type=Path, metavar="SUBMISSIONS",
                        help="a folder of STUDENT/ASSIGNMENT/NOTEBOOK.ipynb or of STUDENT.zip, or one zip of the class")
    parser.add_argument("--assignment", default="01", help="number or name (default: 01)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="submissions at the same time (default: 1)")
    parser.add_argument("--course-root", type=Path, default=None, metavar="DIR",
                        help="nbgrader's course root, made if it is not there (default: class; for --sample _build/course)")
    parser.add_argument("--report", type=Path, default=None, metavar="DIR",
                        help="where grades.csv and the class report go (default: DIR/report of the course root; for --sample _build/report)")
    parser.add_argument("--regrade", action="store_true", help="grade everything again and print what changed")
    parser.add_argument("--sample", action="store_true", help="make and grade the sample class")
    parser.add_argument("--backend", metavar="NAME", help="bubblewrap, container or process (default: the strongest)")
    parser.add_argument("--allow-unsafe", action="store_true",
                        help="with --backend process: run submissions without isolation, as yourself")
    parser.epilog = ("A second run grades only what changed. Isolation is required: `course doctor` says what this "
                     "machine has.")


def run(args: argparse.Namespace) -> int:
    """Exit code 0 when everything was graded, 1 when some submission needs a person."""
    # nbformat's validator would import it, and compile a grammar for IRIs for 1 s. No notebook is checked for IRIs.
    sys.modules.setdefault("rfc3987_syntax", None)
    from autograder.classroom.whole_class import grade_class, places
    from autograder.errors import CourseError
    from autograder.grading.schedule import show_progress
    from autograder.sandbox import choose_backend
    from course.sample_class.graded import grade_sample_class

    if args.jobs < 1:
        raise CourseError(f"--jobs {args.jobs}: give 1 or more")
    course_root, report = places(args.course_root, args.report, args.sample)
    if args.sample:
        summary = grade_sample_class(course_root, args.jobs, args.allow_unsafe, report, show_progress)
    elif args.submissions is None:
        raise CourseError("which submissions? Give their folder, or --sample for the sample class")
    else:
        backend = choose_backend(args.backend, allow_unsafe=args.allow_unsafe)
        summary = grade_class(args.submissions, args.assignment, course_root, report, args.jobs,
                              args.regrade, backend, show_progress)
    for line in summary.changed:
        print(f"changed    {line}")
    print("\n".join(summary.lines()))
    return 1 if summary.people and not args.sample else 0
