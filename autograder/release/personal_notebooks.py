"""One notebook for each student, with the faults that their id draws under the secret of
the class.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from autograder.common.atomic_files import write_whole
from autograder.common.errors import CourseError
from autograder.common.safe_names import safe_name
from autograder.grading.assignment import Assignment, course_secret


def hand_out(
    assignment: Assignment, students: Sequence[str], course_root: Path, folder: Path
) -> list[Path]:
    """Write FOLDER/STUDENT/NN-name/NN-name.ipynb for every student; the same id gets the same
    notebook each time.

    Raises CourseError for an assignment in which nothing is drawn, and for a roster with an empty
    or repeated id.
    """
    if all(one.faults is None for one in assignment.exercises.values()):
        raise CourseError(
            f"{assignment.name} has no exercise with a drawn fault: all students get the notebook"
            " in exercises/"
        )
    doubled = sorted({one for one in students if students.count(one) > 1})
    if not students or "" in students or doubled:
        raise CourseError(
            "the roster should have one id on each line, each once"
            + (f"; {', '.join(doubled)} stands there more than once" if doubled else "")
        )
    secret, written = course_secret(course_root), []
    for student in students:
        key = safe_name(student)
        path = folder / key / assignment.name / f"{assignment.name}.ipynb"
        write_whole(
            path,
            json.dumps(assignment.pristine_of(key, secret), indent=1, ensure_ascii=False) + "\n",
        )
        written.append(path)
    return written
