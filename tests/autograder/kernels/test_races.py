"""The race detector on kernels that were labelled before it was written, and on our own."""

import re

import pytest
import torch

from autograder.authoring.catalogue import assignment
from autograder.checks.kernels.interpreter import interpret
from autograder.checks.kernels.races import ATOMIC, LOAD, STORE, Race, Races
from autograder.checks.messages import first_failure
from autograder.checks.protocol import LocalStudent, run_exercise
from autograder.checks.student.failed import Failed
from reference_impl.kernels.backend import tl, triton
from tests.autograder.kernels.clean_kernels import CLEAN
from tests.autograder.kernels.racy_kernels import RACY

pytest.importorskip("triton", reason="Triton has wheels for Linux only")
SEEDS = (1, 2)
DOES = r"(loads|stores|atomically changes)"
SAID = re.compile(
    r"Data race on `(?P<argument>\w+)`: (?:two program instances store the same element"
    rf"|one program instance {DOES} an element, another {DOES} it), in no order\."
)
SEEN = re.compile(
    r"Element (?P<element>\d+): instance (?P<one>\d+|\([\d,]+\)) "
    rf"{DOES} it and instance (?P<other>\d+|\([\d,]+\)) {DOES} it\."
)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", RACY)
def test_a_racy_kernel_is_refused_with_the_element_and_two_instances(name, seed):
    case = RACY[name]
    with pytest.raises(Failed) as refused:
        interpret(case.launch, (), {}, [], seed)
    first, second = refused.value.text.split("\n")
    said, seen = SAID.fullmatch(first), SEEN.fullmatch(second)
    assert said and seen, refused.value.text
    assert said["argument"] in case.arguments and int(seen["element"]) in case.elements
    assert seen["one"] != seen["other"] and len(first.split()) <= 25


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_kernel_is_run(name, seed):
    _, counted = interpret(CLEAN[name], (), {}, [], seed)
    assert counted["programs"] > 0


@pytest.mark.parametrize("later", (LOAD, STORE, ATOMIC))
@pytest.mark.parametrize("earlier", (LOAD, STORE, ATOMIC))
def test_two_accesses_race_unless_both_load_or_both_are_atomic(earlier, later):
    memory = torch.zeros(4)
    address = torch.tensor([memory.data_ptr() + 8]).numpy()
    races = Races([memory])
    assert races.access(earlier, 1, address, 4) == []
    assert races.access(later, 1, address, 4) == [], "one instance does not race with itself"
    races = Races([memory])
    races.access(earlier, 1, address, 4)
    found = races.access(later, 2, address, 4)
    harmless = earlier == later and earlier != STORE
    assert found == ([] if harmless else [Race(int(address[0]), (1, 2), (earlier, later))])


@triton.jit
def overlapping_kernel(x, y, out, length, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, 2 * BLOCK)
    inside = at < length
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def overlapping_add(x, y, out, block):
    overlapping_kernel[(triton.cdiv(len(x), block),)](x, y, out, len(x), BLOCK=block)


def test_right_sums_by_racing_instances_fail_the_first_stage_with_several():
    exercise = assignment("13").exercises["13.add"]
    result = run_exercise(exercise, LocalStudent({"add": overlapping_add}))
    failed = first_failure(result.stages)
    assert (failed.name, failed.earned) == ("several blocks", 0)
    assert SAID.fullmatch(failed.cause) and SEEN.fullmatch(failed.detail.split("\n")[-1]), failed
