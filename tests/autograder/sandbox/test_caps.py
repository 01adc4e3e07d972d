"""A cap on one call's memory: the way that needs more does not fit, whatever the student's side
says or prepares.
"""

import pytest
import torch

from autograder.authoring.catalogue import assignment
from autograder.authoring.solution_sources import standing_in
from autograder.checks.mistakes.registry import mistakes_of
from autograder.checks.stages import rng_for, run_one
from autograder.checks.student.local import LocalStudent
from autograder.checks.student.requests import StudentError
from autograder.sandbox import Cell, Limits, open_student

pytestmark = pytest.mark.sandbox
MIB = 1 << 20
NOTEBOOK = """
import torch
def tiled(x, step=64):                       # sums of squares of all differences, a strip at a time
    return sum(((x[i:i + step, None] - x[None]) ** 2).sum() for i in range(0, len(x), step))
def whole(x): return ((x[:, None] - x[None]) ** 2).sum()
def uses(f, x): return f(x)
"""
HOSTILE = """
import ctypes, os, resource, subprocess, sys, threading, time, torch
def raises_the_limit(x):
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    return whole(x)
def whole(x): return ((x[:, None] - x[None]) ** 2).sum()
def forks(x):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, str(float(whole(x))).encode()); os._exit(0)
    return torch.tensor(float(os.read(read, 100)))
def crashes(x): ctypes.string_at(0)
def leaves(x): os._exit(0)
def waits_for_a_helper(x):
    os.write(ask[1], b"x")
    return torch.tensor(float(os.read(reply[0], 100)))
ask, reply = os.pipe(), os.pipe()
if os.fork() == 0:
    os.read(ask[0], 1)
    x = torch.arange(4096.0)
    os.write(reply[1], str(float(whole(x))).encode())
    os._exit(0)
def counts(x): return x.sum()
"""
HOARDER = "import torch\nhoard = torch.ones(100 << 20)\ndef whole(x): return hoard.sum()\n"
REFUSES = """
import sys
worker = sys.modules["autograder.sandbox.inside.worker"]
worker.set_cap = lambda memory: None
def f(x): return ((x[:, None] - x[None]) ** 2).sum()
"""
X = torch.arange(4096.0)  # the whole table of differences has 64 MiB


@pytest.fixture(params=["notebook", "sandbox"])
def student(request):
    if request.param == "notebook":
        namespace = {}
        exec(NOTEBOOK, namespace)
        yield LocalStudent(namespace)
        return
    with open_student([Cell("setup", NOTEBOOK)], limits=Limits(call_seconds=60)) as student:
        yield student


def test_what_goes_strip_by_strip_fits_and_the_whole_table_does_not(student):
    expected = 2 * (len(X) * (X**2).sum() - X.sum() ** 2)
    assert torch.isclose(student.whole(X), expected, rtol=1e-3)
    with student.capped(48 * MIB):
        assert torch.isclose(student.tiled(X), expected, rtol=1e-3)
        assert student.uses(torch.sum, X) == X.sum()
        with pytest.raises(StudentError) as caught:
            student.whole(X)
    assert caught.value.kind == "memory" and "48 MiB are there for this call" in caught.value.text
    assert torch.isclose(student.whole(X), expected, rtol=1e-3)


def test_what_earlier_calls_gave_back_is_not_there_for_a_capped_one():
    """Left to itself, glibc keeps up to 64 MiB that were freed in its heap, where a limit on
    addresses does not see them used.
    """
    notebook = (
        "import torch\ndef held(sizes): return torch.tensor(float(sum(one[-1] for one in"
        " [torch.ones(size << 18) for size in sizes])))\n"
    )
    with open_student([Cell("setup", notebook)], limits=Limits(call_seconds=60)) as student:
        assert [float(student.held(sizes)) for sizes in ([30], [28], [40])] == [1, 1, 1]  # MiB
        with student.capped(24 * MIB):
            assert float(student.held([20])) == 1
            with pytest.raises(StudentError) as caught:
                student.held([20, 20])
        assert caught.value.kind == "memory"


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("raises_the_limit", {"error", "memory"}),
        ("forks", {"error", "memory"}),
        ("waits_for_a_helper", {"time"}),
        ("crashes", {"killed"}),
        ("leaves", {"time"}),
    ],
)
def test_a_cap_cannot_be_lifted_forked_away_or_handed_to_a_helper(name, kinds):
    seconds = 3 if kinds == {"time"} else 8  # what waits to the end need not wait for long
    with open_student([Cell("setup", HOSTILE)], limits=Limits(call_seconds=seconds)) as student:
        with student.capped(48 * MIB), pytest.raises(StudentError) as caught:
            student.call(name, X)
        assert caught.value.kind in kinds, caught.value.text
        student.new_stage()
        assert student.counts(X) == X.sum()


def test_memory_taken_before_the_call_counts_for_it():
    with open_student([Cell("setup", HOARDER)], limits=Limits(call_seconds=30)) as student:
        assert student.cell_errors == []
        with (
            student.capped(48 * MIB),
            pytest.raises(StudentError, match="before the call") as caught,
        ):
            student.whole(X)
        assert caught.value.kind == "memory"


def test_a_worker_that_does_not_take_the_cap_is_not_told_to_go():
    with (
        open_student([Cell("setup", REFUSES)], limits=Limits(call_seconds=30)) as student,
        student.capped(48 * MIB),
        pytest.raises(StudentError, match="did not take the cap"),
    ):
        student.f(X)


EAVESDROPS = (
    NOTEBOOK
    + """
import gc, os, threading
heard = []
def listen():
    worker = next(o for o in gc.get_objects() if type(o).__name__ == "Worker")
    while True:
        heard.append(len(worker.receive()))
if os.fork() == 0:
    listen()
"""
)


def test_a_helper_that_listens_to_the_pipe_costs_the_student_the_call_and_gains_nothing():
    with (
        open_student([Cell("setup", EAVESDROPS)], limits=Limits(call_seconds=4)) as student,
        student.capped(48 * MIB),
        pytest.raises(StudentError),
    ):
        student.whole(X)


@pytest.mark.parametrize("name", ["all-keys-in-one-tile", "all-queries-in-one-tile"])
def test_attention_without_one_of_its_two_walks_fits_at_home_and_here_no_more(name):
    exercise = assignment("13").exercises["13.flash_forward"]
    memory = next(stage for stage in exercise.stages if stage.name == "memory")
    mistake = next(one for one in mistakes_of(exercise.id) if one.name == name)
    cell = Cell("flash_forward", standing_in(mistake.function, exercise.function))
    with open_student([cell], limits=Limits(call_seconds=60)) as student:
        found = run_one(exercise, memory, student, rng_for(exercise.id, memory.name)).result
    assert found.status == "wrong" and "takes more memory than it is given" in found.cause
