"""What is asked of the gradebook for a whole class: nbgrader's own sums, and as few questions as
there can be.
"""

import random

import pytest
from sqlalchemy import event

from autograder.classroom.gradebook.course import begin_course_root, open_gradebook
from autograder.classroom.gradebook.grades import HandGrades, hand_grades, looked_up
from autograder.classroom.reports.course_overview import progress

CELLS = (("first", "code"), ("second", "code"), ("essay", "markdown"))


def gradebook_of(books, root, students, assignments):
    """A course root whose gradebook has points of every kind; who draws below a tenth has handed in
    nothing.
    """
    books.new(root)
    config, draw = begin_course_root(root), random.Random(students * assignments)
    with open_gradebook(config) as gradebook:
        gradebook.add_assignment("never-handed-in")
        for student in range(students):
            gradebook.add_student(
                f"student-{student:03}",
                first_name="Ada" if student % 2 else None,
                last_name="Lovelace" if student % 3 else None,
            )
        for number in range(assignments):
            name = f"assignment-{number}"
            gradebook.add_assignment(name)
            gradebook.add_notebook("work", name)
            for cell, kind in CELLS:
                gradebook.add_grade_cell(cell, "work", name, max_score=5, cell_type=kind)
            gradebook.add_task_cell("task", "work", name, max_score=3, cell_type="markdown")
            for student in [f"student-{one:03}" for one in range(students) if draw.random() > 0.1]:
                notebook = gradebook.add_submission(name, student).notebooks[0]
                notebook.late_submission_penalty = draw.choice((None, 0.0, 2.5, 40.0))
                for grade in notebook.grades:
                    grade.auto_score, grade.manual_score = (
                        draw.choice((None, 0.0, 2.0, 5.0)),
                        draw.choice((None, None, 1.5)),
                    )
                    grade.extra_credit, grade.needs_manual_grade = (
                        draw.choice((None, None, 0.5)),
                        draw.random() < 0.2,
                    )
        gradebook.db.commit()
    return config


def test_points_sums_and_what_is_undecided_are_those_of_nbgraders_own_tables(books, tmp_path):
    config = gradebook_of(books, tmp_path / "course", 12, 3)
    found = progress(config)
    with open_gradebook(config) as gradebook:
        rows = {
            (name, row["student"]): row
            for name in ("assignment-0", "assignment-1", "assignment-2")
            for row in gradebook.submission_dicts(name)
        }
        penalty = {key: gradebook.find_submission(*key).late_submission_penalty for key in rows}
        most = {one.name: one.max_score for one in gradebook.assignments if one.num_submissions}
    assert {
        (name, one.student): points for one in found.students for name, points in one.points.items()
    } == pytest.approx({key: max(0.0, row["score"] - penalty[key]) for key, row in rows.items()})
    assert {(name, one.student) for one in found.students for name in one.undecided} == {
        key for key, row in rows.items() if row["needs_manual_grade"]
    }
    assert found.most == most == {"assignment-0": 18, "assignment-1": 18, "assignment-2": 18}
    assert {one.name for one in found.students} >= {
        "Ada Lovelace",
        "Ada",
        "Lovelace",
        "student-000",
    }


def test_twice_the_assignments_are_twice_the_work(on_sqlite, tmp_path):
    """nbgrader's own tables cost the whole gradebook for each assignment: with sixteen of 300
    students a minute, after every one of them.
    """
    steps = []
    for assignments in (4, 8):
        config, counted = (
            gradebook_of(on_sqlite, tmp_path / f"course-{assignments}", 30, assignments),
            [0],
        )

        def count(counted=counted):
            counted[0] += 1

        def watch(connection, record, count=count):
            connection.set_progress_handler(count, 100)

        with open_gradebook(config) as gradebook:
            kind = type(gradebook.engine.pool)
        event.listen(kind, "connect", watch)
        try:
            progress(config)
        finally:
            event.remove(kind, "connect", watch)
        steps.append(counted[0])
    assert 0 < steps[1] < 2.5 * steps[0]


def test_what_people_gave_a_whole_class_takes_one_question_a_student(books, tmp_path):
    config = gradebook_of(books, tmp_path / "course", 20, 2)
    students, asked, found = [f"student-{one:03}" for one in range(20)], [], []
    for at_once in (False, True):
        with open_gradebook(config) as gradebook:
            event.listen(
                gradebook.engine, "before_cursor_execute", lambda *said: asked.append(said[2])
            )
            kept = looked_up(gradebook, "assignment-1") if at_once else []
            found.append(
                {student: hand_grades(gradebook, "assignment-1", student) for student in students}
            )
            assert len(kept) in (0, sum(one != HandGrades() for one in found[-1].values()))
        found.append(len(asked))
        asked.clear()
    alone, questions, together, fewer = found
    assert together == alone and any(
        one.points and one.extra and one.penalty for one in alone.values()
    )
    assert fewer <= len(students) + 15 < questions / 3
