"""`course` as it is, in this process, and beside it how long the main process was at what: wall,
processor, memory.

    python bench/measured_course.py OUT.json FOLDER|- grade ...
        FOLDER: of bench/six_questions.py; "-": the course's own

Parts are whole functions of ours, timed from outside; what is inside another part counts for both.
"""

import functools
import json
import pkgutil
import resource
import sys
import time
from pathlib import Path

from autograder.common import iri

iri.postpone()  # before anything imports nbformat, as in the command

import six_questions  # noqa: E402

PARTS = {
    "getting the course root ready": "autograder.classroom.grade_class.prepare_course_root",
    "finding what was handed in": "autograder.classroom.grade_class.find_submissions",
    "judging, and storing meanwhile": "autograder.classroom.grade_class.grade_all",
    "starting workers and what imports torch for them": (
        "autograder.grading.executors.local.Here.begin"
    ),
    "keeping copies": "autograder.classroom.grade_class.keep_copy",
    "storing verdicts in the gradebook": (
        "autograder.classroom.gradebook.batch_writer.ClassBook.store"
    ),
    "feedback pages": "autograder.classroom.grade_class.write_feedback",
    "feedback, tables and report": "autograder.classroom.grade_class._write",
}


def timed(name: str, spent: dict[str, list[float]]) -> None:
    """Have a function add its seconds, by the clock and of this process's processor time, and its
    calls.
    """
    owner, _, attribute = PARTS[name].rpartition(".")
    owner = pkgutil.resolve_name(owner)
    function = getattr(owner, attribute)

    @functools.wraps(function)
    def measured(*args, **kwargs):
        clock, processor = time.perf_counter(), time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            row = spent.setdefault(name, [0.0, 0.0, 0])
            row[0] += time.perf_counter() - clock
            row[1] += time.process_time() - processor
            row[2] += 1

    setattr(owner, attribute, measured)


def main() -> int:
    """Run, then write OUT.json: parts, and of the whole process its processor seconds, its
    children's, and its peak memory.
    """
    out, folder, *arguments = sys.argv[1:]
    started = time.perf_counter()
    from course.cli import main as course

    if folder != "-":
        six_questions.enter(Path(folder))
    spent: dict[str, list[float]] = {}
    for name in PARTS:
        timed(name, spent)
    imported = time.perf_counter() - started
    code = course(arguments)
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    Path(out).write_text(
        json.dumps(
            {
                "seconds": time.perf_counter() - started,
                "imports": imported,
                "parts": spent,
                "own_cpu": own.ru_utime + own.ru_stime,
                "children_cpu": children.ru_utime + children.ru_stime,
                "peak_mib": own.ru_maxrss / 1024,
            }
        )
    )
    return code


if __name__ == "__main__":
    sys.exit(main())
