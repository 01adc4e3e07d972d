"""Grade a whole class: find, judge in sandboxes, save in nbgrader's gradebook, write feedback,
grades.csv and report.

The journal of verdicts is the truth. Everything else (nbgrader's notebooks and gradebook, feedback,
grades.csv, report) is compared with it in every run and made again where it differs, so a run that
was killed anywhere is mended by the next one, and a second run costs seconds. `course grade`,
`course make` and the tests call `grade_class`; nothing here prints.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from traitlets.config import Config

from autograder import course_layout
from autograder.authoring.catalogue import ROOT, assignments
from autograder.classroom.gradebook import deadlines as late
from autograder.classroom.gradebook.batch_writer import open_class_book
from autograder.classroom.gradebook.course import (
    begin_course_root,
    check_machine,
    course_config,
    keep_copy,
    open_gradebook,
    prepare_course_root,
)
from autograder.classroom.gradebook.database import shown
from autograder.classroom.gradebook.grades import (
    HandGrades,
    exercise_points,
    hand_grades,
    looked_up,
    too_many,
    total_points,
    troubles,
    waiting_answers,
    write_all,
    write_csv,
)
from autograder.classroom.gradebook.missing import absent, made_anew, refuse_if_lost
from autograder.classroom.records import everybody, from_copy, is_gone, is_lost, journal, set_aside
from autograder.classroom.reports.changed_points import (
    Changed,
    changes,
    changes_told,
    note_change,
    said,
)
from autograder.classroom.reports.class_report import figures, write_report
from autograder.classroom.reports.course_overview import progress, write_progress
from autograder.classroom.reports.feedback import feedback_path, write_feedback
from autograder.classroom.reports.run_summary import Summary
from autograder.classroom.submissions import attempts as hand_ins
from autograder.classroom.submissions.collect import collected
from autograder.classroom.submissions.identities import of_notes, of_records, shared
from autograder.classroom.submissions.metadata import (
    OF_GRADING,
    leave_out,
    left_out,
    never_judged,
    write_notes,
)
from autograder.classroom.submissions.roster import (
    Enrolled,
    keep_roster,
    kept_roster,
    missing,
    with_times,
)
from autograder.classroom.submissions.ungraded import unjudged
from autograder.common.atomic_files import lies_below, tells_case_apart, writing
from autograder.common.error_boundary import Guard
from autograder.common.errors import CourseError
from autograder.course_layout import SECRET_FILE
from autograder.grading.assignment import (
    Assignment,
    course_secret,
    drawn_with,
    load_assignment,
    renew_secret,
    secret_is_lost,
)
from autograder.grading.executors.local import Batch, Crew, grade_all
from autograder.grading.grade import Verdict
from autograder.grading.intake.discovery import MARKED_LATE, Submission, find_submissions
from autograder.grading.result_diff import difference
from autograder.grading.results_store import graded_assignments

COURSE_ROOT = ROOT / "_build" / "course"
REPORT = ROOT / "_build" / "report"


def places(course_root: Path | None, report: Path | None, sample: bool) -> tuple[Path, Path]:
    """Where a class lives and its report goes: as asked, else `class/` and `class/report/` of the
    working folder.

    The sample class has a place of its own below `_build`, which may be thrown away; a real class
    must not be there.
    """
    root = course_root or (COURSE_ROOT if sample else Path("class"))
    return root, report or (
        REPORT if sample and course_root is None else course_layout.report(root)
    )


def grade_class(
    where: Path | None,
    assignment: str = "01",
    course_root: Path = COURSE_ROOT,
    report: Path = REPORT,
    jobs: int = 1,
    regrade: bool = False,
    backend: object = None,
    progress: Callable[[int, int, Verdict], None] | None = None,
    crew: Crew | None = None,
    roster: list[Enrolled] | None = None,
) -> Summary:
    """Grade every submission under `where`: a folder or one zip; None takes what `course collect`
    has brought, and, with `regrade`, the copies of earlier runs.

    regrade: judge again what is under `where`, and every other verdict that is by older checks or
    of another secret; a secret that is lost is drawn anew. backend: None takes the strongest
    isolation here. roster: who is enrolled; None takes what was given last. crew: who judges in the
    place of processes here, see schedule.Crew. Raises CourseError for what the instructor must
    mend; never for what is in a submission.
    """
    from autograder.sandbox import choose_backend

    isolation = (crew or backend or choose_backend()).name
    loaded = load_assignment(assignment)
    loaded.check_points()
    course_root = course_root.resolve()
    if where is None and regrade and loaded.name not in graded_assignments(course_root):
        raise CourseError(
            f"{course_root}: nothing of {loaded.name} was graded here; give the folder of the"
            " submissions"
        )
    if secret_is_lost(course_root) and not regrade:
        course_secret(course_root)  # says so
    gone = absent(course_root, loaded, begin_course_root(course_root))
    if renewed := secret_is_lost(course_root):
        with writing(course_root / SECRET_FILE):
            renew_secret(course_root)
    config = prepare_course_root(course_root, loaded)
    anew = made_anew(*gone, config)
    guard, secret = Guard(course_root), course_secret(course_root)
    if roster is not None:
        keep_roster(course_root, loaded, roster)
    everyone = everybody(course_root, loaded)
    before, broken = (
        {student: one for student, one in everyone.items() if is_lost(one) == which}
        for which in (False, True)
    )
    submissions, given = _to_judge(where, regrade, loaded, course_root, before, broken, guard)

    def judge(
        several: list[Submission],
        where: Path,
        settle: Callable[[int, int, Verdict], None] | None = None,
    ) -> Batch:
        return grade_all(several, loaded, where, jobs, regrade, backend, settle, guard, crew)

    compared: list[Batch] = []  # of hand-ins that are judged before it is known which one counts

    def judge_to_compare(several: list[Submission], where: Path) -> None:
        compared.append(judge(several, where, progress))

    submissions = hand_ins.counted(submissions, loaded, course_root, config, judge_to_compare)
    if where is not None:
        write_notes(
            course_root,
            loaded,
            [
                one
                for one in submissions
                if one.student in given
                and not lies_below(one.path, course_layout.submitted(course_root))
            ],
        )
    for one in submissions:
        if one.student in broken:
            set_aside(course_root, loaded, one.student)
    sums = (
        _sums(class_rows(course_root, loaded, config, guard), loaded)
        if before and submissions
        else {}
    )
    judged, kept, seconds, verdicts = _judged_into_gradebook(
        submissions, given, judge, loaded, course_root, config, guard, progress, before, sums
    )
    stale = [verdict.label for verdict in verdicts.values() if verdict.checks != loaded.checks_hash]
    foreign = [
        verdict.label
        for verdict in verdicts.values()
        if not drawn_with(secret, verdict.student, verdict.seed_ids)
    ]
    failed = [verdict.label for verdict in verdicts.values() if verdict.fault]
    changed = changes(
        course_root,
        loaded,
        [
            Changed(student, sums.get(student), difference(before[student], verdicts[student]))
            for student in before.keys() & judged
        ],
    )
    beside = _beside(submissions, verdicts)
    del verdicts  # the tables read them again: those of a class of thousands are in memory once
    tables = _write(course_root, report, loaded, config, guard, anew)
    changes_told(course_root, loaded)
    new = {
        student
        for batch in compared
        for student, verdict in batch.verdicts.items()
        if batch.before.get(student) != verdict
    }
    return Summary(
        loaded.name,
        len(submissions),
        max(0, kept - len(new)),
        tables.people,
        isolation,
        seconds + sum(batch.seconds for batch in compared),
        shown(config.CourseDirectory.db_url),
        feedback_path(course_root, loaded.name, "").parents[1],
        tables.grades,
        tables.page,
        tables.written,
        beside,
        [said(one.student, one.before, tables.sums.get(one.student), one.lines) for one in changed],
        left_out(course_root, loaded),
        stale,
        [verdict.label for student, verdict in broken.items() if student not in tables.lost],
        {verdict.label: verdict.waits("") for verdict in tables.lost.values()},
        anew,
        foreign,
        renewed,
        [line for one in changed for line in one.lines],
        tables.manual,
        failed,
        [one.name for one in tables.missing],
    )


def _to_judge(
    where: Path | None,
    regrade: bool,
    assignment: Assignment,
    course_root: Path,
    before: dict[str, Verdict],
    broken: dict[str, Verdict],
    guard: Guard,
) -> tuple[list[Submission], set[str]]:
    """Every submission to judge, and the students whose work was handed in now; the others are
    copies of earlier runs. Who has several hand-ins has them kept.
    """
    submissions = _handed_in(where, regrade, assignment, course_root, before, guard)
    given = {one.student for one in submissions}
    outdated = _outdated(before, assignment, course_secret(course_root)) if regrade else []
    older = [
        *outdated,
        *(one for one in broken.values() if where is None or not is_gone(course_root, one)),
    ]
    submissions += [
        copy
        for verdict in older
        if verdict.student not in given and (copy := from_copy(course_root, verdict, assignment))
    ]
    for one in submissions:
        earlier = before.get(one.student)
        guard.run(
            one.student,
            "keeping what was handed in before",
            lambda: hand_ins.remember(
                course_root,
                assignment,
                one,
                (
                    from_copy(course_root, earlier, assignment)  # noqa: B023
                    if earlier and earlier.source != one.identity()
                    else None
                ),
            ),
        )  # noqa: B023
    return submissions, given


def _outdated(verdicts: dict[str, Verdict], assignment: Assignment, secret: bytes) -> list[Verdict]:
    """Those by other checks than there are now, or with inputs that another secret drew."""
    return [
        one
        for one in verdicts.values()
        if one.checks != assignment.checks_hash or not drawn_with(secret, one.student, one.seed_ids)
    ]


def _handed_in(
    where: Path | None,
    regrade: bool,
    assignment: Assignment,
    course_root: Path,
    before: dict[str, Verdict],
    guard: Guard,
) -> list[Submission]:
    """What `grade_class` was given to judge; entries that are nobody's submission are kept for the
    report, with the reason.
    """
    if where is None and regrade:
        return []
    known = of_notes(course_root, assignment) | of_records(before.values())
    if where is None:
        found = collected(assignment, course_root, known, guard)
        leave_out(
            course_root, assignment, str(course_layout.submitted(course_root)), found.left_out
        )
    else:
        found = find_submissions(
            where,
            assignment.name,
            known=known,
            guard=guard,
            others=tuple(one.name for one in assignments() if one.name != assignment.name),
            case_matters=tells_case_apart(course_root),
        )
        leave_out(
            course_root,
            assignment,
            OF_GRADING,
            found.left_out,
            [one.entry for one in found.submissions],
        )
    return with_times(found.submissions, kept_roster(course_root, assignment))


def _judged_into_gradebook(
    submissions: list[Submission],
    given: set[str],
    judge: Callable[..., Batch],
    assignment: Assignment,
    course_root: Path,
    config: Config,
    guard: Guard,
    progress: Callable[[int, int, Verdict], None] | None,
    before: dict[str, Verdict],
    sums: dict[str, float | None],
) -> tuple[set[str], int, float, dict[str, Verdict]]:
    """Judge, and store every record that the gradebook does not hold; who was judged, how many
    verdicts were kept, seconds, all verdicts.

    given: the students whose work was handed in now, and is no copy of an earlier run. before,
    sums: the records and the sums that there were.
    """
    by_student, settled = {submission.student: submission for submission in submissions}, set()

    def settle(done: int, total: int, verdict: Verdict) -> None:
        """Save one verdict in the gradebook while the workers go on."""
        keep(verdict)
        guard.run(verdict.student, "storing the verdict", lambda: book.store(verdict))
        settled.add(verdict.student)
        if verdict.student in before:
            note_change(
                course_root,
                assignment,
                Changed(
                    verdict.student,
                    sums.get(verdict.student),
                    difference(before[verdict.student], verdict),
                ),
            )
        if progress:
            progress(done, total, verdict)

    def keep(verdict: Verdict) -> None:
        """Keep a copy for nbgrader and for a regrade, or say that another notebook lies there."""
        submission = by_student[verdict.student]
        if (
            guard.run(
                submission.student,
                "copying what was handed in",
                lambda: keep_copy(course_root, submission, assignment, verdict.submission),
            )
            is False
        ):
            guard.troubles[submission.student] = (
                f"submitted/{submission.student}/{assignment.name} holds another notebook than "
                "the one that was graded; it was left as it is: keep the one that counts."
            )

    with open_class_book(config, course_root, assignment) as book:
        batch = judge(submissions, course_root, settle)
        for student in (given & set(batch.verdicts)) - settled:
            keep(batch.verdicts[student])
        judged, kept, seconds = set(batch.verdicts), batch.kept, batch.seconds
        del batch
        hand_ins.settle(course_root, assignment, config)
        verdicts, held = journal(course_root, assignment), book.held()
        for student, verdict in verdicts.items():
            if not guard.run(
                student, "looking into the gradebook", lambda: book.is_stored(verdict, held)
            ):  # noqa: B023
                guard.troubles.pop(student, None)
                guard.run(student, "storing the verdict", lambda: book.store(verdict))  # noqa: B023
    return judged, kept, seconds, verdicts


def _beside(submissions: list[Submission], verdicts: dict[str, Verdict]) -> dict[str, list[str]]:
    """By student, in sentences, what was handed in beside the notebook."""
    found = {
        verdicts[one.student].label: [said for said in one.notes if said != MARKED_LATE]
        for one in submissions
        if one.student in verdicts
    }
    return {student: some for student, some in found.items() if some}


@dataclass
class Tables:
    """What was written of an assignment, and what stands in it.

    people: submissions that need a look for another reason than unread answers; manual: those that
    need manual grading, for whatever reason; written: written answers that wait. lost: by student,
    whose record is lost. sums: points by student. missing: who is on the roster and has no result.
    """

    grades: Path
    page: Path
    people: int
    manual: int
    written: int
    lost: dict[str, Verdict]
    sums: dict[str, float | None]
    missing: list[Enrolled]


def _write(
    course_root: Path,
    report: Path,
    assignment: Assignment,
    config: Config,
    guard: Guard,
    anew: str = "",
) -> Tables:
    """Feedback, the assignment's csv, grades.csv and report from the journal and the gradebook.

    anew: see Summary.
    """
    with open_gradebook(config) as gradebook:
        late.settle(gradebook, config, assignment.name, course_root)
    rows = class_rows(course_root, assignment, config, guard)
    write_feedback(
        course_root, assignment, [row for row in rows if not is_lost(row[0])], guard
    )  # the page that is there says more
    for verdict, graded in rows:  # what the pages met is said in the tables
        if (
            verdict.student in guard.troubles
            and guard.troubles[verdict.student] not in graded.notes
        ):
            graded.notes.append(guard.troubles[verdict.student])
    page = write_report(
        report / f"{assignment.name}.html",
        rows,
        assignment,
        course_root,
        left_out(course_root, assignment),
        course_layout.INDEX_PAGE,
        anew,
    )
    write_progress(report / course_layout.INDEX_PAGE, config)
    roster = kept_roster(course_root, assignment)
    absentees = missing(roster, [verdict for verdict, _ in rows])
    write_csv(report / f"{assignment.name}.csv", rows, assignment, absentees)
    return Tables(
        _write_grades(course_root, report, config, assignment.name),
        page,
        people=sum(bool(_troubles(verdict, graded, assignment)) for verdict, graded in rows),
        manual=sum(graded.needs_manual_grading for _, graded in rows),
        written=sum(
            waiting_answers(verdict, exercise_points(verdict, graded, assignment), assignment)
            for verdict, graded in rows
        ),
        lost={verdict.student: verdict for verdict, _ in rows if is_lost(verdict)},
        sums=_sums(rows, assignment),
        missing=absentees,
    )


def _write_grades(course_root: Path, report: Path, config: Config, written: str) -> Path:
    """grades.csv, of every assignment that was graded here: what stands in the csv of each, which
    is written where there is none.

    written: the assignment whose csv is written already, even where none of its submissions has a
    record.
    """
    names = sorted({*with_records(course_root), written})
    for name in names:
        if not (report / f"{name}.csv").is_file():  # the report of another run lies elsewhere
            other = load_assignment(name)
            write_csv(
                report / f"{name}.csv",
                class_rows(course_root, other, config, Guard(course_root)),
                other,
            )
    return write_all(report / course_layout.GRADES_FILE, [report / f"{name}.csv" for name in names])


def _sums(
    rows: list[tuple[Verdict, HandGrades]], assignment: Assignment
) -> dict[str, float | None]:
    """Points by student, as grades.csv has them."""
    return {
        verdict.student: total_points(exercise_points(verdict, graded, assignment), graded)
        for verdict, graded in rows
    }


def class_rows(
    course_root: Path, assignment: Assignment, config: Config, guard: Guard
) -> list[tuple[Verdict, HandGrades]]:
    """Every record of the course root with what was given by hand and what else a person must know,
    by student.

    Who has a record that cannot be read is among them, with nothing decided; see journal.py.
    """
    rows, everyone = [], everybody(course_root, assignment)
    twice = shared(everyone.values())
    with open_gradebook(config) as gradebook:
        kept = looked_up(gradebook, assignment.name)
        for student, verdict in everyone.items():
            graded = (
                guard.run(
                    student,
                    "reading the gradebook",
                    lambda: hand_grades(gradebook, assignment.name, student),
                )
                or HandGrades()
            )  # noqa: B023
            if is_lost(verdict):  # named even if all of its points were given by hand
                graded.notes.append(verdict.waits(""))
            elif verdict.checks != assignment.checks_hash:
                graded.notes.append(
                    "Judged by checks that have changed since; `course grade --regrade` judges it"
                    " again."
                )
            if student in twice:
                graded.notes.append(twice[student])
            graded.unjudged = unjudged(course_root, assignment, verdict)
            graded.notes += too_many(exercise_points(verdict, graded, assignment), assignment)
            rows.append((verdict, graded))
        del kept
    return rows


def rewrite(course_root: Path, report: Path, assignment: str) -> tuple[Path, Path]:
    """Feedback, grades.csv and the report again from the records and the gradebook, after grading
    by hand.
    """
    loaded, course_root, config = _graded_before(course_root, assignment)
    check_machine(config, course_root)
    guard = Guard(course_root)
    changed = hand_ins.settle(course_root, loaded, config)  # dates may have changed since
    with open_class_book(config, course_root, loaded) as book:
        for verdict in changed:
            guard.run(verdict.student, "storing the verdict", lambda: book.store(verdict))  # noqa: B023
    tables = _write(course_root, report, loaded, config, guard)
    return tables.grades, tables.page


def graded_here(course_root: Path) -> list[str]:
    """The names of the assignments that were graded in a course root.

    Raises CourseError if there is none.
    """
    found = with_records(course_root)
    if not found:
        raise CourseError(f"{course_root}: nothing was graded here; run `course grade` first")
    return found


def with_records(course_root: Path) -> list[str]:
    """The names of the assignments of which a course root has records, in order."""
    graded = graded_assignments(course_root.resolve())
    return [one.name for one in assignments() if one.name in graded]


def class_figures(course_root: Path, assignment: str) -> dict:
    """What the report on one assignment and the page over all of them say, as plain dictionaries
    and lists.
    """
    loaded, course_root, config = _graded_before(course_root, assignment)
    rows = class_rows(course_root, loaded, config, Guard(course_root))
    return figures(rows, loaded, left_out(course_root, loaded)) | {
        "progress": progress(config).to_json()
    }


def behind(course_root: Path, assignment: str) -> list[str]:
    """Who has work in a course root that was collected and is not judged: what the report says of
    them is older, or nothing.
    """
    loaded, course_root = load_assignment(assignment), course_root.resolve()
    newer = [
        verdict.label
        for verdict in everybody(course_root, loaded).values()
        if unjudged(course_root, loaded, verdict)
    ]
    return sorted([*newer, *never_judged(course_root, loaded)])


def records(
    course_root: Path, assignment: str
) -> tuple[Assignment, list[tuple[Verdict, HandGrades]]]:
    """An assignment that was graded here and its rows, as `class_rows` gives them.

    Raises CourseError if it was not.
    """
    loaded, course_root, config = _graded_before(course_root, assignment)
    return loaded, class_rows(course_root, loaded, config, Guard(course_root))


def _graded_before(course_root: Path, assignment: str) -> tuple[Assignment, Path, Config]:
    loaded, course_root = load_assignment(assignment), course_root.resolve()
    if loaded.name not in graded_assignments(course_root):
        raise CourseError(
            f"{course_root}: nothing of {loaded.name} was graded here; run `course grade` first"
        )
    config = course_config(course_root)
    refuse_if_lost(course_root, loaded, config)
    return loaded, course_root, config


def _troubles(verdict: Verdict, graded: HandGrades, assignment: Assignment) -> list[str]:
    return troubles(verdict, exercise_points(verdict, graded, assignment), graded)
