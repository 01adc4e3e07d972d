"""nbgrader's exchange, for classes that work on one machine or one JupyterHub: what goes out and
what comes in.

Both directions are nbgrader's own, with the configuration of the course root; its folder is
c.Exchange.root there.
"""

from pathlib import Path

from autograder import course_layout
from autograder.authoring.notebooks import interpreter_on_path
from autograder.classroom.gradebook.course import course_config, prepare_course_root
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment


def release_through_exchange(course_root: Path, assignment: Assignment) -> Path:
    """Put the student notebook where `nbgrader fetch_assignment` finds it; returns that folder.

    CourseError if it cannot.
    """
    config = prepare_course_root(course_root, assignment)
    api = _api(config)
    with interpreter_on_path():
        _must(api.release_assignment(assignment.name), "release_assignment", assignment.name)
    return _root(api) / config.CourseDirectory.course_id / "outbound" / assignment.name


def collect_from_exchange(course_root: Path, assignment: Assignment) -> Path:
    """Copy what students submitted into submitted/, a newer hand-in in the place of an older one;
    returns submitted/.

    CourseError if nbgrader cannot. What lies in the exchange is not changed.
    """
    prepare_course_root(course_root, assignment)
    api = _api(course_config(course_root.resolve()))
    with interpreter_on_path():
        _must(api.collect(assignment.name, update=True), "collect", assignment.name)
    return course_layout.submitted(course_root.resolve())


def _api(config):
    from nbgrader.apps import NbGraderAPI  # takes 1 s

    return NbGraderAPI(config=config)


def _root(api) -> Path:
    return Path(
        api.exchange.Collect(
            coursedir=api.coursedir, authenticator=api.authenticator, parent=api
        ).root
    )


def _must(result: dict, step: str, assignment: str) -> None:
    """Raise with nbgrader's own words where a step failed."""
    if not result["success"]:
        said = " ".join(
            line for line in result.get("log", "").splitlines() if line
        ).strip() or result.get("error", "")
        raise CourseError(
            f"nbgrader {step} {assignment} failed: {said[-600:]}. The exchange's folder is"
            " c.Exchange.root in nbgrader_config.py of the course root"
        )
