"""Run the checks as ordinary pytest tests: `pytest autograder/checks --impl reference`.

--impl: reference (default), student, mistake:NAME, alternative:NAME, or the path of a notebook or
Python file. A mistake or alternative of one exercise skips the others. Everything runs in this
process, without isolation.
"""

import pytest

from autograder.authoring.implementations import namespace_of
from autograder.checks.protocol import LocalStudent, rng_for


def pytest_addoption(parser):
    """The one option of these checks."""
    parser.addoption(
        "--impl",
        default="reference",
        help="whose functions to check: reference, student, mistake:NAME, alternative:NAME or PATH",
    )


@pytest.fixture
def student(request):
    """The functions under check; a check cannot see where they come from."""
    impl, exercise = request.config.getoption("--impl"), request.function.exercise
    namespace = namespace_of(impl, exercise)
    if namespace is None:
        pytest.skip(f"{impl} is not of {exercise.id}")
    return LocalStudent(namespace)


@pytest.fixture
def rng(request):
    """The same generator that `check()` uses in the notebook."""
    function = request.function
    stage = next(stage for stage in function.exercise.stages if stage.function is function)
    return rng_for(function.exercise.id, stage.name)
