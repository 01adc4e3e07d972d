"""Grade a whole class: find, judge in sandboxes, save in nbgrader's gradebook, write feedback, grades.csv and report.

Every step keeps what is already right, so a second run costs seconds. `course grade`, `course make` and the tests call
`grade_class`; nothing here prints.
"""
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from autograder.authoring.catalogue import ROOT
from autograder.classroom.feedback import feedback_path, write_feedback
from autograder.classroom.gradebook import autograde, collect, open_gradebook, prepare_course_root
from autograder.classroom.grades import WRITTEN, HandGrades, exercise_points, hand_grades, reasons, write_csv
from autograder.classroom.report import write_report
from autograder.errors import CourseError
from autograder.grading.schedule import difference, grade_all
from autograder.grading.submissions import find_submissions
from autograder.grading.verdict import Assignment, Verdict, load_assignment, load_verdict

COURSE_ROOT = ROOT / "_build" / "course"
REPORT = ROOT / "_build" / "report"


def places(course_root: Path | None, report: Path | None, sample: bool) -> tuple[Path, Path]:
    """Where a class lives and its report goes: as asked, else `class/` and `class/report/` of the working folder.

    The sample class has a place of its own below `_build`, which may be thrown away; a real class must not be there.
    """
    root = course_root or (COURSE_ROOT if sample else Path("class"))
    return root, report or (REPORT if sample and course_root is None else root / "report")


@dataclass
class Summary:
    """What a run gave, and where it lies. people: submissions that need a person; changed: lines of a regrade."""

    assignment: str
    submissions: int
    kept: int
    people: int
    isolation: str
    seconds: float
    gradebook: str
    feedback: Path
    grades: Path
    report: Path
    changed: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """One line for each result with its path, for a terminal."""
        return [f"graded     {self.submissions} submissions of {self.assignment} in {self.seconds:.0f} s, isolation "
                f"{self.isolation}" + (f" ({self.kept} unchanged)" if self.kept else ""),
                f"gradebook  {self.gradebook}", f"feedback   {self.feedback}", f"grades     {self.grades}",
                f"report     {self.report}"] + (
            [f"people     {self.people} submissions need a person; the report says why"] if self.people else [])


def grade_class(where: Path, assignment: str = "01", course_root: Path = COURSE_ROOT, report: Path = REPORT,
                jobs: int = 1, regrade: bool = False, backend: object = None,
                progress: Callable[[int, int, Verdict], None] | None = None) -> Summary:
    """Grade every submission under `where` (a folder or one zip). backend: None takes the strongest isolation here.

    Raises CourseError for what the instructor must mend; never for what is in a submission.
    """
    from autograder.sandbox import choose_backend

    backend = backend or choose_backend()
    loaded = load_assignment(assignment)
    course_root = course_root.resolve()
    submissions = find_submissions(where, loaded.name)
    config = prepare_course_root(course_root, loaded)
    by_student = {submission.student: submission for submission in submissions}

    def settle(done: int, total: int, verdict: Verdict) -> None:
        """Save one verdict in the gradebook while the workers go on."""
        collect(course_root, by_student[verdict.student], loaded)
        shutil.rmtree(course_root / "autograded" / verdict.student / loaded.name, ignore_errors=True)
        with suppress(CourseError):     # tried again below, when every verdict is there
            autograde(config, loaded.name, verdict.student, force=False)
        if progress:
            progress(done, total, verdict)

    batch = grade_all(submissions, loaded, course_root, jobs, regrade, backend, settle)
    for submission in submissions:
        collect(course_root, submission, loaded)
    if any(not (course_root / "autograded" / student / loaded.name).exists() for student in by_student):
        autograde(config, loaded.name, force=False)
    rows = class_rows(course_root, loaded, config)
    write_feedback(course_root, loaded, rows)
    people = sum(bool(_troubles(verdict, graded, loaded)) for verdict, graded in rows)
    changed = [line for student, before in sorted(batch.before.items()) if regrade
               for line in difference(before, batch.verdicts[student])]
    return Summary(loaded.name, len(submissions), batch.kept, people, backend.name, batch.seconds,
                   config.CourseDirectory.db_url.removeprefix("sqlite:///"), feedback_path(course_root, loaded.name, "")
                   .parents[1], write_csv(report / "grades.csv", rows, loaded),
                   write_report(report / "index.html", rows, loaded, course_root), changed)


def class_rows(course_root: Path, assignment: Assignment, config: object) -> list[tuple[Verdict, HandGrades]]:
    """Every record of the course root with what was given by hand, sorted by student."""
    students = sorted(path.stem for path in (course_root / "verdicts" / assignment.name).glob("*.json"))
    with open_gradebook(config) as gradebook:
        return [(verdict, hand_grades(gradebook, assignment.name, student)) for student in students
                if (verdict := load_verdict(course_root, assignment.name, student))]


def rewrite(course_root: Path, report: Path, assignment: str) -> tuple[Path, Path]:
    """Feedback, grades.csv and the report again from the records and the gradebook, after grading by hand."""
    from autograder.classroom.gradebook import course_config

    loaded = load_assignment(assignment)
    if not (course_root / "verdicts" / loaded.name).is_dir():
        raise CourseError(f"{course_root}: nothing of {loaded.name} was graded here; run `course grade` first")
    rows = class_rows(course_root.resolve(), loaded, course_config(course_root.resolve()))
    write_feedback(course_root.resolve(), loaded, rows)
    return (write_csv(report / "grades.csv", rows, loaded),
            write_report(report / "index.html", rows, loaded, course_root.resolve()))


def _troubles(verdict: Verdict, graded: HandGrades, assignment: Assignment) -> list[str]:
    return [reason for reason in reasons(verdict, exercise_points(verdict, graded, assignment))
            if not reason.endswith(WRITTEN)]
