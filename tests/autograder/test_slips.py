"""A right answer with one slip of type, dtype or an axis of length 1 earns four fifths, in every
exercise.
"""

import inspect

import pytest
import torch

from autograder.authoring.asked import asked
from autograder.authoring.catalogue import assignments
from autograder.authoring.implementations import reference
from autograder.checks.protocol import LocalStudent, run_exercise
from autograder.checks.student.local import OurNamespace
from tests.autograder.slip_cases import CHANGES, changed, slipping

CHECKED = {
    one.id: one
    for assignment in assignments()
    for one in assignment.exercises.values()
    if one.stages and one.kind != "write-test"
}
DETACHED = (
    "a number for a tensor",
    "a list for a tensor",
    "an array for a tensor",
)  # no gradient passes through these
SAMPLE = [
    ("08.next_token_loss", "an axis too many in front"),
    ("05.mlm_loss", "an axis too many at the end"),
    ("10.sequence_logprobs", "an axis too many at the end"),
    ("09.repair_padding", "integers for bools"),
    ("08.task_rows", "floats for integers"),
    ("10.predict_lora", "a float for an int"),
    ("10.LoRALinear", "float64 for float32"),
    ("01.ppmi", "a list for a tensor"),
    ("02.train_bpe", "a tuple for a list"),
    ("04.masks", "integers for bools"),
    ("06.mean_pool", "axes of length 1 dropped"),
    ("16.step_bytes", "a tensor for an int"),
]


def earned(exercise, name: str, change) -> tuple[float, list]:
    """What the reference earns with a change in the answers of one function, and the answers that
    came out otherwise.
    """
    names, made = reference(exercise.id[:2]), []
    functions = OurNamespace({**names, name: slipping(names[name], change, made)})
    return run_exercise(exercise, LocalStudent(functions), mistakes=[]).earned, made


def promised(exercise, name: str, title: str) -> float:
    """Four fifths; where no gradient can pass through the answer, what that earns without the slip,
    minus a fifth.
    """
    detach = lambda value: value.detach() if isinstance(value, torch.Tensor) else value
    whole = earned(exercise, name, detach)[0] if title in DETACHED else exercise.points
    return whole - exercise.points / 5


def applicable(exercise, name: str) -> list[str]:
    """The changes that show in an answer of a function; all, for a class."""
    answers = [call.value for call in asked(exercise) if call.name == name]
    found = []
    for title, change in CHANGES.items():
        made: list = []
        for value in answers:
            changed(value, change, made)
        found += [title] if made or inspect.isclass(reference(exercise.id[:2])[name]) else []
    return found


def functions_of(exercise) -> list[str]:
    return [
        name
        for name in (exercise.function, *exercise.also)
        if callable(reference(exercise.id[:2]).get(name))
    ]


@pytest.mark.parametrize(("id", "title"), SAMPLE)
def test_a_slip_costs_a_fifth(id, title):
    exercise = CHECKED[id]
    name = functions_of(exercise)[0]
    came, made = earned(exercise, name, CHANGES[title])
    assert made and came == pytest.approx(promised(exercise, name, title))


@pytest.mark.long
@pytest.mark.parametrize("exercise", CHECKED.values(), ids=CHECKED)
def test_each_slip_costs_a_fifth(exercise):
    wrong = {}
    for name in functions_of(exercise):
        for title in applicable(exercise, name):
            came, made = earned(exercise, name, CHANGES[title])
            if made and came != pytest.approx(promised(exercise, name, title)):
                wrong[name, title] = came
    assert not wrong
