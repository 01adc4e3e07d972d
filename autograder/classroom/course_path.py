"""Where a course root may lie: nbgrader reads paths in ways of its own, and not every path comes
through them.
"""

import glob
import os
from fnmatch import fnmatchcase
from pathlib import Path

from autograder.common.errors import CourseError


def usable(course_root: Path) -> None:
    """Raise CourseError for a path that nbgrader would take for another one."""
    path = os.path.abspath(course_root)
    read = os.path.expandvars(path)
    if read != path:
        raise CourseError(
            f"{course_root}: nbgrader would look in {read}, since the path names a variable of the"
            " environment; give --course-root a path without $"
        )
    if not fnmatchcase(path, path) or any(other != path for other in glob.glob(path)):
        raise CourseError(
            f"{course_root}: nbgrader takes the path for a pattern that means other folders; give"
            " --course-root a path without *, ? and [ ]"
        )
