"""Two processes under torchrun train as one: the same losses, norms and weights, with dropout and
ragged counts.
"""

import json

import pytest
import torch
from safetensors.torch import load_file

from reference_impl.training.loop import TrainingConfig, train


@pytest.fixture(scope="module")
def shared(run_program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    run_program(
        "shared_training.py",
        folder,
        launcher=("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
    )
    return folder


@pytest.fixture(scope="module")
def alone(tiny):
    model = tiny.make_model()
    return model, train(
        model,
        tiny.objective,
        tiny.batches,
        tiny.make_config(accumulation=4),
        tiny.evaluate,
        progress=False,
    )


@pytest.mark.parametrize("way", ["ddp", "fsdp"])
def test_two_processes_give_the_losses_norms_evaluations_and_weights_of_one(shared, alone, way):
    model, result = alone
    history = json.loads((shared / f"{way}.json").read_text())["history"]
    assert len(history) == 6
    for row, expected in zip(history, result.history, strict=True):
        assert row == pytest.approx(expected, rel=1e-10)
    torch.testing.assert_close(
        load_file(shared / f"{way}.safetensors"),
        dict(model.named_parameters()),
        rtol=1e-10,
        atol=1e-10,
    )


def test_with_fsdp_each_process_holds_half_of_the_weights_and_with_ddp_all(shared, alone):
    sizes = {name: parameter.numel() for name, parameter in alone[0].named_parameters()}
    replicas, shards = (
        json.loads((shared / f"{way}.json").read_text())["shares"] for way in ("ddp", "fsdp")
    )
    assert replicas == sizes
    assert all(
        abs(shards[name] - size / 2) <= size / 13 for name, size in sizes.items()
    )  # 13 rows are 7 and 6


def test_each_row_of_the_log_is_written_by_one_process_once(shared):
    steps = [
        line.split(",")[0] for line in (shared / "ddp" / "training.csv").read_text().splitlines()
    ]
    assert steps == ["step", "1", "2", "3", "4", "5", "6"]


def test_micro_batches_that_can_not_be_shared_evenly_are_refused_in_every_process(shared):
    says = (
        "accumulation 3 is not a multiple of 2 processes: a step's micro-batches are shared out "
        "evenly"
    )
    assert [(shared / f"refused-{rank}").read_text() for rank in (0, 1)] == [says, says]


def test_a_way_that_is_not_there_is_refused(tiny):
    with pytest.raises(ValueError, match="parallel 'dp' is none of ddp, fsdp"):
        train(
            tiny.make_model(),
            tiny.objective,
            tiny.batches,
            TrainingConfig(num_steps=1, learning_rate=0.1, parallel="dp"),
            progress=False,
        )
