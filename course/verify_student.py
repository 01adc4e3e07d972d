"""`course regrade --student`: one notebook graded again and compared, or its results removed."""

import argparse
import json

from course.folders import course_root_there
from course.options.assignment import chosen
from course.options.budget import budget_of


def run(args: argparse.Namespace) -> int:
    """Exit code 0 when every behaviour came out as in the record."""
    from autograder.classroom.grade_class import places
    from autograder.classroom.verify import replay
    from autograder.sandbox import choose_backend

    budget = budget_of(args)
    root, _ = places(args.course_root, None, args.sample)
    name = chosen(args.assignment, course_root_there(root), "")
    found = replay(
        root, name, args.student, choose_backend(args.backend, args.allow_unsafe, args.cold), budget
    )
    print(
        json.dumps(
            {
                "path": str(found.path),
                "differences": found.differences,
                "record": found.record.to_json(),
                "again": found.again.to_json(),
                "newer": found.newer,
            },
            indent=1,
        )
        if args.json
        else "\n".join(found.lines())
    )
    return 1 if found.differences else 0


def forget(args: argparse.Namespace) -> int:
    """Remove a student's results of one assignment; the notebooks stay where they are."""
    from autograder import course_layout
    from autograder.authoring.catalogue import assignment
    from autograder.classroom.grade_class import places
    from autograder.common.errors import CourseError
    from autograder.grading.results_store import remove_student

    if args.student is None or args.apply:
        raise CourseError("--forget removes the results of one student: give --student STUDENT")
    root = course_root_there(places(args.course_root, None, args.sample)[0])
    name = assignment(chosen(args.assignment, root, "")).name
    if not (count := remove_student(root, name, args.student)):
        raise CourseError(
            f"{course_layout.results(root)}: no result of {args.student!r} for {name}; give the key"
            " as in grades.csv"
        )
    print(
        f"forgotten  {count} results of {args.student} for {name}; the notebooks are in"
        f" submitted/{args.student} and hand-ins/, and the points in the gradebook"
    )
    return 0
