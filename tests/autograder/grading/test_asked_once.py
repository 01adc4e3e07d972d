"""An exercise whose stages draw nothing has no hidden inputs: what is right with the visible seed
is not asked again.
"""

from dataclasses import replace

import pytest

from autograder.checks import protocol
from autograder.grading.grade import grade_submission
from autograder.grading.intake.discovery import Submission

RIGHT, HALF = "def double(x):\n    return x + x", "def double(x):\n    return x + abs(x)"


@pytest.fixture
def runs(monkeypatch):
    """The exercises that were run, in order."""
    seen, really = [], protocol.run_exercise

    def watched(one, *args, **kwargs):
        seen.append(one.id)
        return really(one, *args, **kwargs)

    monkeypatch.setattr(protocol, "run_exercise", watched)
    return seen


def judged(folder, stand_in, notebook: bytes):
    path = folder / "90-stand-in.ipynb"
    path.write_bytes(notebook)
    return grade_submission(Submission("ada", path), stand_in, b"a secret").results[0]


@pytest.mark.sandbox
def test_a_right_answer_is_asked_once_where_nothing_is_drawn(tmp_path, stand_in, notebook_of, runs):
    assert judged(tmp_path, stand_in, notebook_of(RIGHT))["earned"] == 3
    assert runs == ["90.double"]


@pytest.mark.sandbox
def test_a_wrong_answer_is_asked_again_so_that_its_mistake_is_named(
    tmp_path, stand_in, notebook_of, runs
):
    assert judged(tmp_path, stand_in, notebook_of(HALF))["earned"] == 1
    assert runs == ["90.double"] * 2


@pytest.mark.sandbox
def test_a_right_answer_is_asked_again_with_hidden_inputs_where_a_stage_draws(
    tmp_path, stand_in, notebook_of, runs, monkeypatch
):
    one = stand_in.exercises["90.double"]
    asked = one.stages[0].function

    def draws(student, rng):
        asked(student)

    monkeypatch.setattr(one, "stages", [replace(one.stages[0], function=draws), *one.stages[1:]])
    assert judged(tmp_path, stand_in, notebook_of(RIGHT))["earned"] == 3
    assert runs == ["90.double"] * 2
