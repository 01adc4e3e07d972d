"""Every answer carries the number of its request, so that a worker that says too much is found out
and replaced.
"""

import pytest

from autograder.checks.protocol import run_exercise
from autograder.checks.student.requests import StudentError
from autograder.sandbox import Cell, Limits, open_student

pytestmark = pytest.mark.sandbox
LIMITS = Limits(call_seconds=20, restarts=3)

TWICE = """
import os
from autograder.sandbox.inside.worker import Worker
once = Worker._write
def twice(self, frame):
    once(self, frame)
    if self.serving is False and self.number > 1 and {when}:
        once(self, frame)
Worker._write = twice
def echo(x):
    return x
"""


def speaker(when):
    """A student whose worker sends an answer a second time when the expression holds."""
    return open_student([Cell("echo", TWICE.format(when=when))], limits=LIMITS, warm=())


def test_a_second_answer_is_never_taken_for_the_answer_to_the_next_question():
    with speaker("self.number == 2") as student:
        first = student._process.pid
        student.new_stage()
        assert student.echo(1) == 1 and student._process.pid == first
        assert student.echo(2) == 2  # the second "1" came first
        assert student._process.pid != first
        assert [student.echo(n) for n in (3, 4)] == [3, 4]


def test_a_worker_that_goes_on_so_is_asked_once_more_and_then_waits_for_a_human():
    with speaker("True") as student:
        student.new_stage()
        said = []
        for number in range(10):
            try:
                assert student.echo(number) == number
            except StudentError as error:
                said.append((error.kind, error.text))
        assert (
            said and {kind for kind, _ in said} == {"fault"} and "another question" in said[-1][1]
        )


def test_a_forged_number_is_nobodys_zero_and_waits_for_a_human(fresh_exercise):
    source = (
        TWICE.format(when="False")
        + "\nWorker.number = property(lambda self: 7, lambda self, value: None)\n"
    )
    with open_student([Cell("echo", source)], limits=LIMITS, warm=()) as student:
        result = run_exercise(fresh_exercise, student, mistakes=[])
        assert result.earned == 0 and [error.kind for error in student.cell_errors] == ["fault"]


@pytest.fixture
def fresh_exercise():
    """`echo`, one stage."""
    from autograder.checks.protocol import EXERCISES, exercise, expect

    made = exercise("99.echo", function="echo", points=1)

    @made.stage("same", points=1)
    def test_same(student):
        expect(student.echo(5)).equals(5, cause="no")

    yield made
    del EXERCISES["99.echo"]
