"""One page of feedback for one student and assignment: what was earned, what to look at first, how
to go on.

No script, no hidden input, no seed: of a failed behaviour the page says the likely cause and the
misconception; only an exception shows more, the student's own lines. Written answers and comments
are Markdown, with formulas and with the pictures that grading took (markdown.py); whatever else the
student wrote is text on the page. Lengths are capped.
"""

from pathlib import Path

from autograder import course_layout
from autograder.checks.messages import first_failure, following, sentences, told
from autograder.checks.results import EARNING, Status
from autograder.checks.rubric import page_in_words
from autograder.classroom.reports.html_pages import (
    SHOWN_CODE,
    assignment_title,
    exercise_title,
    render,
    warm_up,
)
from autograder.common.atomic_files import write_whole, writing
from autograder.common.error_boundary import Guard
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.grading.intake.limited_child import Limited


def feedback_page(assignment: Assignment, verdict: Verdict | None, graded) -> str:
    """The page as HTML.

    `graded`: gradebook.HandGrades, points and comments that were given by hand.
    """
    from autograder.classroom.gradebook.grades import exercise_points, extra_credit, total_points

    if verdict is None:
        verdict = Verdict(
            "unknown",
            assignment.name,
            "",
            "",
            human=[{"exercise": None, "reason": "This submission was not graded yet."}],
        )
    points = exercise_points(verdict, graded, assignment)
    extra = extra_credit(points, graded)
    exercises = [
        _exercise(assignment, verdict, graded, id, points[id]) | {"extra": extra.get(id)}
        for id in assignment.exercises
    ]
    first = next(
        (
            {"exercise": one, "stage": one["first"], "said": one["said"]}
            for one in exercises
            if one["first"]
        ),
        None,
    )
    return render(
        "feedback.html.j2",
        title=assignment_title(assignment),
        verdict=verdict,
        graded=graded,
        exercises=exercises,
        first=first,
        total=total_points(points, graded) or 0.0,
        possible=sum(one["points"] for one in exercises),
        waiting=sum(one["points"] for one in exercises if one["earned"] is None),
    )


def _exercise(
    assignment: Assignment, verdict: Verdict, graded, id: str, earned: float | None
) -> dict:
    from autograder.classroom.gradebook.grades import looks_again

    one, short = assignment.exercises[id], id.split(".", 1)[1]
    result = next((result for result in verdict.results if result["exercise"] == id), None)
    stages = result["stages"] if result else []
    first = first_failure(stages)
    own = verdict.own.get(short, "")
    broken = next(
        (
            error.removeprefix(f"{short}: ")
            for error in verdict.cell_errors
            if error.startswith(f"{short}: ")
        ),
        "",
    )
    stopped = bool(
        broken and first and first["status"] == Status.NOT_ATTEMPTED
    )  # its cell ended before the function was there
    return {
        "id": id,
        "short": short,
        "title": exercise_title(assignment, id),
        "points": one.points,
        "earned": earned,
        "stages": stages,
        "first": first,
        "said": sentences(first) if first else [],
        "also": [
            (stage["name"], sentences(stage))
            for stage in told(stages)
            if stage is not first and stage["status"] not in EARNING and sentences(stage)
        ],
        "following": following(stages),
        "manual": one.kind == "manual",
        "see": page_in_words(one.see) if one.see else "",
        "own": own[:SHOWN_CODE] if one.kind == "manual" else own,
        "found": verdict.found.get(short, ""),
        "untouched": short in verdict.untouched,
        "asked": verdict.readable and bool(verdict.waits(id)),
        "stopped": stopped,
        "own_error": (
            broken
            if stopped
            else first["detail"]
            if first and first["status"] == Status.ERROR
            else ""
        ),
        "waits": verdict.waits(id) if verdict.readable and earned is None else "",
        "again": looks_again(id, graded),
        "comment": "\n\n".join(
            filter(None, (graded.comments.get(short, ""), graded.comments.get(f"{short}-check")))
        ),
    }


def feedback_path(course_root: Path, assignment: str, student: str) -> Path:
    """Where nbgrader, too, puts the page, so that `nbgrader release_feedback` finds it."""
    return course_layout.feedback_page(course_root, student, assignment)


def write_feedback(
    course_root: Path, assignment: Assignment, rows: list[tuple[Verdict, object]], guard: Guard
) -> list[Path]:
    """Write the page of every (verdict, HandGrades); a page that would not change is not touched.

    Each page shows a student's source, so they are made in a child with limits.
    """
    written = []
    warm_up()
    with Limited(lambda row: feedback_page(assignment, *row)) as child:
        for row in rows:
            student = row[0].student
            path, text = (
                feedback_path(course_root, assignment.name, student),
                guard.run(student, "writing the feedback", lambda: child(row)),
            )  # noqa: B023
            if text is None:
                continue
            if not path.exists() or path.read_text(encoding="utf-8", errors="replace") != text:
                with writing(path):
                    path.unlink(missing_ok=True)
                write_whole(path, text)
            written.append(path)
    return written
