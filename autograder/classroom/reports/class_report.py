"""The class at a glance, from the verdict records: spread, item analysis, misconceptions, doubtful
checks, cost, what needs a person.

Item analysis follows classical test theory: difficulty is the share that earned a behaviour,
discrimination the correlation between the behaviour and the points for everything else (the item
itself left out, so that it does not correlate with itself). Submissions that could not be read are
left out of both.
"""

import os
from collections import Counter
from math import sqrt
from pathlib import Path
from statistics import correlation, median
from urllib.parse import quote

from autograder.checks.results import EARNING
from autograder.checks.rubric import WORDS
from autograder.classroom.gradebook.grades import (
    HandGrades,
    exercise_points,
    extra_credit,
    reasons,
    total_points,
    troubles,
    waiting_answers,
)
from autograder.classroom.reports.examples_column import examples_column
from autograder.classroom.reports.exercise_statistics import exercise_statistics
from autograder.classroom.reports.feedback import feedback_path
from autograder.classroom.reports.html_pages import assignment_title, render
from autograder.classroom.reports.item_analysis import cost, doubts
from autograder.classroom.reports.run_summary import by_reason
from autograder.common.atomic_files import OWNER_ONLY, write_whole
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.grading.intake.discovery import MARKED_LATE
from autograder.grading.intake.lms_layouts import OF_OTHERS

BARS = 10
STATUS_WORDS = WORDS | {"wrong": "wrong"}  # "not yet" is for students
Rows = list[tuple[Verdict, HandGrades]]


def write_report(
    path: Path,
    rows: Rows,
    assignment: Assignment,
    course_root: Path,
    left_out: dict[str, str] | None = None,
    progress: str = "",
    anew: str = "",
) -> Path:
    """Write the page and return its path; see `report_page`."""
    page = report_page(path, rows, assignment, course_root, left_out, progress, anew)
    write_whole(path, page, OWNER_ONLY)
    return path


def report_page(
    path: Path,
    rows: Rows,
    assignment: Assignment,
    course_root: Path,
    left_out: dict[str, str] | None = None,
    progress: str = "",
    anew: str = "",
    desk: dict | None = None,
) -> str:
    """Return the page at `path`. Links lead to the feedback pages, relative to the page.

    desk: what the served page has beyond the file, see decisions/server.py. left_out: entries of
    what was handed over that are nobody's submission, with the reason. progress: the name of the
    page over all assignments, next to this one, if there is one. anew: what was lost with the
    gradebook, see absent.py.
    """
    rows = sorted(rows, key=lambda row: row[0].student)
    tables = [_student(verdict, graded, assignment, path, course_root) for verdict, graded in rows]
    read = [verdict for verdict, _ in rows if verdict.readable]
    checked = sum(one.points for one in assignment.exercises.values() if one.kind != "manual")
    earned = [sum(result["earned"] for result in verdict.results) for verdict in read]
    items = item_analysis(read)
    links = {verdict.student: table["link"] for table, (verdict, _) in zip(tables, rows)}
    return render(
        "report.html.j2",
        desk=desk,
        title=assignment_title(assignment),
        rows=tables,
        examples=examples_column(course_root, assignment.name),
        progress=progress,
        anew=anew,
        tiers=sorted({verdict.tier for verdict in read}),
        checked=checked,
        possible=sum(one.points for one in assignment.exercises.values()),
        median=median([table["total"] for table in tables if table["total"] is not None] or [0]),
        complete=sum(points == checked for points in earned),
        spread=spread(earned, checked),
        spread_text=_spread_text(earned, checked),
        people=[table for table in tables if table["reasons"]],
        why=_together([table for table in tables if table["reasons"]]),
        manual=sum(graded.needs_manual_grading for _, graded in rows),
        written=sum(table["written"] for table in tables),
        items=items,
        exercises=exercise_statistics(read) if len(read) > 1 else [],
        error=1 / sqrt(max(1, len(read) - 1)),
        links=links,
        doubts=doubts(read, items),
        cost=cost([verdict for verdict, _ in rows]),
        misconceptions=misconceptions(read),
        exercise_ids=list(assignment.exercises),
        left_out=[
            (", ".join(entries), reason)
            for reason, entries in by_reason(left_out or {})
            if reason != OF_OTHERS
        ],
        missing=sorted(entry for entry, reason in (left_out or {}).items() if reason == OF_OTHERS),
        several=[verdict for verdict, _ in rows if verdict.hand_ins],
        ignored=[
            (verdict, some)
            for verdict, _ in rows
            if (some := [one for one in verdict.ignored if one != MARKED_LATE])
        ],
        borrowed=[
            (table, verdict.borrowed)
            for table, (verdict, _) in zip(tables, rows)
            if verdict.borrowed
        ],
    )


def figures(rows: Rows, assignment: Assignment, left_out: dict[str, str] | None = None) -> dict:
    """What the page says, as plain dictionaries and lists for other programs; students by their
    key.
    """
    read = [verdict for verdict, _ in rows if verdict.readable]
    decided = {
        verdict.student: exercise_points(verdict, graded, assignment) for verdict, graded in rows
    }
    items, spent = item_analysis(read), cost([verdict for verdict, _ in rows])
    return {
        "assignment": assignment.name,
        "possible": sum(one.points for one in assignment.exercises.values()),
        "students": [
            {
                "student": verdict.student,
                "points": decided[verdict.student],
                "extra_credit": extra_credit(decided[verdict.student], graded),
                "total": total_points(decided[verdict.student], graded),
                "taken_off": graded.penalty,
                "seconds_late": graded.seconds_late,
                "hand_ins": verdict.hand_ins,
                "ignored": verdict.ignored,
                "seconds": verdict.seconds,
                "memory": verdict.memory,
                "needs_manual_grading": graded.needs_manual_grading,
                "waits": reasons(verdict, decided[verdict.student], graded),
            }
            for verdict, graded in rows
        ],
        "behaviours": [
            {key: item[key] for key in ("exercise", "name", "points", "share", "discrimination")}
            for item in items
        ],
        "exercises": exercise_statistics(read),
        "misconceptions": misconceptions(read),
        "doubts": [
            {
                "exercise": one.exercise,
                "name": one.stage,
                "failed": one.failed,
                "reasons": one.reasons,
                "students": [verdict.student for verdict in one.students],
            }
            for one in doubts(read, items)
        ],
        "seconds": {key: spent[key] for key in ("median", "most", "sum")},
        "memory": spent["memory"],
        "limits_met": spent["stopped"],
        "left_out": left_out or {},
    }


def item_analysis(verdicts: list[Verdict]) -> list[dict]:
    """One row a behaviour, in order: exercise, name, points, share that earned it, discrimination,
    other statuses.

    rows: how many behaviours the exercise has, in its first row; 0 in the others.
    """
    totals = [sum(result["earned"] for result in verdict.results) for verdict in verdicts]
    columns: dict[tuple[str, str], list[dict]] = {}
    for verdict in verdicts:
        for result in verdict.results:
            for stage in result["stages"]:
                columns.setdefault((result["exercise"], stage["name"]), []).append(stage)
    stages_of = Counter(exercise for exercise, _ in columns)
    rows = []
    for (exercise, name), stages in columns.items():
        first = not rows or rows[-1]["exercise"] != exercise
        counts = Counter(
            STATUS_WORDS[stage["status"]] for stage in stages if stage["status"] not in EARNING
        )
        rows.append(
            {
                "exercise": exercise,
                "name": name,
                "points": stages[0]["points"],
                "rows": stages_of[exercise] if first else 0,
                "share": sum(stage["status"] in EARNING for stage in stages) / len(stages),
                "discrimination": discrimination([stage["earned"] for stage in stages], totals),
                "otherwise": ", ".join(f"{count} {word}" for word, count in counts.most_common()),
            }
        )
    return rows


def discrimination(earned: list[float], totals: list[float]) -> float | None:
    """Correlation of one item with the rest of the points; None where one of the two does
    not vary.
    """
    rest = [total - mine for total, mine in zip(totals, earned, strict=True)]
    if len(set(earned)) < 2 or len(set(rest)) < 2:
        return None
    return correlation(earned, rest)


def misconceptions(verdicts: list[Verdict]) -> list[dict]:
    """Recognised misconceptions, the most frequent first; one student counts once for each
    sentence.
    """
    seen = Counter()
    for verdict in verdicts:
        seen.update(
            {
                (result["exercise"], stage["misconception"])
                for result in verdict.results
                for stage in result["stages"]
                if stage["misconception"]
            }
        )
    return [
        {"exercise": exercise, "sentence": sentence, "count": count}
        for (exercise, sentence), count in sorted(
            seen.items(), key=lambda item: (-item[1], item[0])
        )
    ]


def spread(earned: list[float], most: float) -> list[dict]:
    """Bars of a histogram of BARS equal classes up to `most` points, in the units of a 640 by 200
    drawing.
    """
    counts = [0] * BARS
    for points in earned:
        counts[min(BARS - 1, int(BARS * points / most)) if most else 0] += 1
    tallest, width = max(counts, default=0) or 1, 640 / BARS
    return [
        {
            "x": round(index * width + 4, 1),
            "width": round(width - 8, 1),
            "count": count,
            "height": round(140 * count / tallest, 1),
            "y": round(170 - 140 * count / tallest, 1),
            "from": index * width,
            "least": f"{most * index / BARS:g}",
            "label": f"{most * index / BARS:g}\u2013{most * (index + 1) / BARS:g}",
        }
        for index, count in enumerate(counts)
    ]


def _spread_text(earned: list[float], most: float) -> str:
    bars = [
        f"{bar['label']} points: {bar['count']}" for bar in spread(earned, most) if bar["count"]
    ]
    return (
        "Number of students by points. " + ("; ".join(bars) or "No submission could be read") + "."
    )


def _together(tables: list[dict]) -> list[list[dict]]:
    """Students with the same reasons, in the order of the first of them: what is said of all is
    said once.
    """
    found: dict[tuple, list[dict]] = {}
    for table in tables:
        found.setdefault(tuple(table["reasons"]), []).append(table)
    return list(found.values())


def _student(
    verdict: Verdict, graded: HandGrades, assignment: Assignment, page: Path, course_root: Path
) -> dict:
    points = exercise_points(verdict, graded, assignment)
    waiting = troubles(verdict, points, graded)
    target = os.path.relpath(
        feedback_path(course_root, assignment.name, verdict.student), page.parent
    )
    return {
        "key": verdict.student,
        "student": verdict.label,
        "link": quote(target),
        "points": list(points.items()),
        "reasons": waiting,
        "extra": extra_credit(points, graded),
        "total": total_points(points, graded),
        "written": waiting_answers(verdict, points, assignment),
    }
