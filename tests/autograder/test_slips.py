"""A right answer with one slip of type, dtype, an axis of length 1 or a key too many earns four
fifths, in every exercise.
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
NAMED_KEYS = [
    "01.predict_sizes",
    "02.fill_pair",
    "03.both_targets",
    "03.judge",
    "03.lstm_step",
    "04.predict_block",
    "05.predict_parameters",
    "06.entity_f1",
    "07.albert_sizes",
    "08.gpt_sizes",
    "09.predict_reading",
    "10.predict_lora",
    "11.count_pairs",
    "12.predict_cache",
    "12.predict_llama",
    "13.predict_traffic",
    "14.predict_pool",
    "15.predict_steps",
    "16.counterexamples",
    "16.step_bytes",
    "16.weigh_models",
    "17.export_config",
    "17.plan",
    "17.predict_loss",
    "17.training_mix",
]
TRIED_EACH_TIME = ("03.lstm_step", "12.predict_cache", "16.weigh_models", "17.plan")


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


@pytest.mark.parametrize(
    "id",
    [
        pytest.param(id, marks=() if id in TRIED_EACH_TIME else pytest.mark.long)
        for id in NAMED_KEYS
    ],
)
def test_a_key_too_many_costs_a_fifth(id):
    exercise = CHECKED[id]
    names = reference(id[:2])
    right = names[exercise.function]
    more = lambda *args, **options: {**right(*args, **options), "a word of mine": 1}
    namespace = OurNamespace({**names, exercise.function: more})
    result = run_exercise(exercise, LocalStudent(namespace), mistakes=[])
    assert result.earned == pytest.approx(exercise.points * 4 / 5)


@pytest.mark.parametrize("id", ["17.sum_reward"])
def test_a_bool_for_a_float_costs_a_fifth(id):
    exercise, right = CHECKED[id], reference(id[:2])[CHECKED[id].function]
    namespace = OurNamespace({exercise.function: lambda *args: bool(right(*args))})
    result = run_exercise(exercise, LocalStudent(namespace), mistakes=[])
    assert result.earned == pytest.approx(exercise.points * 4 / 5)


def test_a_torch_dtype_in_a_configuration_is_named_with_its_key():
    exercise, right = CHECKED["17.export_config"], reference("17")["export_config"]

    def answer(sizes):
        found = right(sizes)
        found["config"]["torch_dtype"] = torch.float32
        return found

    result = run_exercise(exercise, LocalStudent({"export_config": answer}), mistakes=[])
    assert result.stages[0].cause == (
        "`export_config` returned under the key 'torch_dtype' a torch.dtype, which JSON does not"
        " have; return its name, a text."
    )
