"""The figure of a launch is made from its trace."""

import pytest

from course.book.pages.figure_data.glass_gpu import glass_gpu
from reference_impl.measure.roofline import A100, H100
from tests.autograder.kernels.clean_kernels import CLEAN

pytest.importorskip("triton", reason="Triton has wheels for Linux only")


def test_the_figure_holds_a_trace_for_each_launch_and_the_roofs_of_two_gpus():
    figure = glass_gpu({"one": CLEAN["whole_blocks"], "other": CLEAN["tiles_of_a_product"]})
    assert [run["label"] for run in figure.data["runs"]] == ["one", "other"]
    assert figure.data["runs"][0]["trace"]["totals"] == {"read": 96, "written": 48, "flops": 0}
    peaks = [(one["flops"], one["bandwidth"]) for one in figure.data["machines"]]
    assert peaks == [(gpu.flops, gpu.bandwidth) for gpu in (A100, H100)]
    assert "add_kernel" in figure.alt
