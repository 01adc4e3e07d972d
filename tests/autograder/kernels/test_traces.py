"""The trace of a launch: the same verdicts as the detector's, strays marked and not carried out."""

import json

import pytest
import torch

from autograder.checks.kernels.traces import MOST, traced
from tests.autograder.kernels.clean_kernels import CLEAN, add_kernel, scale_kernel
from tests.autograder.kernels.racy_kernels import RACY

pytest.importorskip("triton", reason="Triton has wheels for Linux only")


@pytest.mark.parametrize("name", [*RACY, *CLEAN])
def test_a_trace_marks_races_where_there_are_any(name):
    launch = CLEAN[name] if name in CLEAN else RACY[name].launch
    trace = traced(launch)
    assert json.loads(json.dumps(trace)) == trace
    assert bool(trace["races"]) == (name in RACY)
    for race in trace["races"]:
        assert trace["tensors"][race["tensor"]]["name"] in RACY[name].arguments
        assert race["element"] in RACY[name].elements


def test_a_ragged_block_is_traced_to_the_byte():
    trace = traced(CLEAN["ragged_blocks"])
    assert (trace["kernel"], trace["grid"]) == ("add_kernel", [3])
    last = {"instance": 2, "op": "store", "tensor": 2, "ranges": [[8, 2]], "bytes": 8}
    assert trace["events"][-1] == last | {"masked": 2, "outside": []}
    assert trace["totals"] == {"read": 80, "written": 40, "flops": 0}


def test_what_leaves_a_tensor_is_marked_and_not_carried_out():
    memory = torch.zeros(14)
    x, out = torch.ones(12), memory[:10]
    trace = traced(lambda: add_kernel[(3,)](x, x, out, 12, BLOCK=4))
    assert trace["events"][-1]["outside"] == [[10, 2]] and trace["events"][-1]["bytes"] == 8
    assert memory.tolist() == [2.0] * 10 + [0.0] * 4


def test_products_are_counted_and_the_elements_of_a_transposed_view_are_numbered_by_its_rows():
    trace = traced(CLEAN["tiles_of_a_product"])
    dots = [event["flops"] for event in trace["events"] if event["op"] == "dot"]
    assert dots == [2 * 16**3] * 12 and trace["totals"]["flops"] == sum(dots)
    turned = torch.ones(2, 3).t()
    trace = traced(lambda: scale_kernel[(3,)](turned, 6, BLOCK=2))
    assert [event["ranges"] for event in trace["events"][::2]] == [
        [[0, 1], [2, 1]],
        [[1, 1], [4, 1]],
        [[3, 1], [5, 1]],
    ]


def test_a_long_launch_is_cut_and_counted_to_the_end():
    trace = traced(lambda: scale_kernel[(5000,)](torch.ones(5000), 5000, BLOCK=1))
    assert len(json.dumps(trace)) < 2 * MOST
    assert trace["left_out"] + len(trace["events"]) == 10_000
    assert trace["totals"] == {"read": 20_000, "written": 20_000, "flops": 0}
