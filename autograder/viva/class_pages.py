"""A page to print for each student of a class, and one key for the instructor."""

from pathlib import Path

from autograder.classroom.reports.html_pages import render
from autograder.common.atomic_files import OWNER_ONLY, write_whole
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.grading.notebook.student_cells import student_cells
from autograder.viva.ask import Asked, ask_all, draws, functions_of, handed_out_of, recorder_cell
from autograder.viva.class_answers import sheet_of

FUNCTIONS = 5  # that one student is asked about: a quarter of an hour


def asked_of(assignment: Assignment, verdict: Verdict, pool: object, secret: bytes) -> list[Asked]:
    """The questions on the functions of a graded submission that earned full points.

    Of more than FUNCTIONS the ones are taken that the secret draws for this student.
    """
    full = {one["exercise"] for one in verdict.results if one["earned"] >= one["points"]}
    exercises = [one for one in functions_of(assignment) if one.id in full]
    draw_for = draws(exercises, verdict.student, secret)
    chosen = sorted(exercises, key=lambda one: draw_for[one.id].random())[:FUNCTIONS]
    chosen = [one for one in exercises if one in chosen]
    sources = {one.id: verdict.own.get(one.id.split(".", 1)[1], "") for one in chosen}
    with pool.open_student([*student_cells(assignment, verdict), recorder_cell()]) as student:
        return ask_all(chosen, student, sources, draw_for, handed_out_of(assignment))


def write_pages(
    folder: Path, name: str, title: str, made: list[tuple[Verdict, list[Asked]]]
) -> list[Path]:
    """Write a page for each student and `key.html`; the students' pages."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for verdict, asked in made:
        page = folder / f"{name}-{verdict.student}.html"
        text = render(
            "viva.html.j2", title=title, people=[(verdict.label, sheet_of(asked), asked)], key=False
        )
        write_whole(page, text, OWNER_ONLY)
        pages.append(page)
    people = [(verdict.label, sheet_of(asked), asked) for verdict, asked in made]
    text = render("viva.html.j2", title=title, people=people, key=True)
    write_whole(folder / "key.html", text, OWNER_ONLY)
    return pages
