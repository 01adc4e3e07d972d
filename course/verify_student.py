"""`course regrade --student`: one notebook graded again, beside its record; nothing is written."""

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
