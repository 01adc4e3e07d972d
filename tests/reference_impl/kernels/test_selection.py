"""The committed GPU record, and nothing else, decides which kernels layers run by default."""

import copy

import pytest
import torch

from bench import gpu_verdict
from reference_impl.kernels.selection import OPERATIONS, PROVEN, runs_ours, use_kernels


def test_the_default_is_what_the_committed_record_proves():
    assert gpu_verdict.committed() == PROVEN
    assert set(gpu_verdict.RACES) == set(gpu_verdict.CHECKS) == set(OPERATIONS)


@pytest.mark.parametrize("choice", ["proven", "torch", "triton"])
def test_on_a_cpu_layers_run_what_torch_has(choice):
    with use_kernels(choice):
        assert not any(runs_ours(operation, torch.ones(1)) for operation in OPERATIONS)


WINNING = {
    "checks": {"flash 64": 0.004, "packed 64": 0.005, "rms_norm": 0.003, "swiglu": 0.002},
    "errors": [],
    "rows": [
        {"name": name, "rival": rival, "min": 1.2}
        for races in gpu_verdict.RACES.values()
        for name, rival in races
    ],
}


def test_a_record_in_which_all_is_right_and_won_proves_all():
    assert gpu_verdict.proven(WINNING) == set(OPERATIONS)
    assert gpu_verdict.proven({}) == frozenset()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: record["checks"].update(swiglu=0.5),
        lambda record: record["checks"].update(swiglu=float("nan")),
        lambda record: record["checks"].pop("swiglu"),
        lambda record: record["errors"].append(
            {"part": "checks", "name": "swiglu", "error": "RuntimeError()"}
        ),
        lambda record: record["rows"].pop(),
        lambda record: record["rows"][-1].update(min=0.98),
    ],
    ids=["wrong", "nan", "not checked", "crashed", "not raced", "lost"],
)
def test_one_fault_leaves_that_operation_to_torch_and_the_others_proven(spoil):
    record = copy.deepcopy(WINNING)
    spoil(record)
    assert gpu_verdict.proven(record) == {"attention", "packed_attention", "rms_norm"}
