"""Killed and resumed is as never killed; what is damaged or of another training is not taken."""

import shutil

import pytest
import torch
from safetensors.torch import load_file

from reference_impl.training.checkpoint import CheckpointError, model_tensors
from reference_impl.training.loop import TrainingError, train


def run(tiny, folder, model=None, batches=None, **changes):
    model = tiny.make_model() if model is None else model
    result = train(
        model,
        tiny.objective,
        batches or tiny.batches,
        tiny.make_config(**changes),
        tiny.evaluate,
        folder,
        progress=False,
    )
    return model, result


@pytest.fixture(scope="module")
def finished(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    model, result = run(tiny, folder)
    return folder, model, result


@pytest.fixture
def copy(finished, tmp_path):
    """The finished training's folder, to be damaged."""
    shutil.copytree(finished[0], tmp_path / "copy")
    return tmp_path / "copy"


def same_weights(one, other):
    return all(
        torch.equal(tensor, model_tensors(other)[name])
        for name, tensor in model_tensors(one).items()
    )


def test_killed_at_a_batch_or_in_a_write_and_resumed_the_weights_are_those_of_never_killed(
    run_program, tmp_path
):
    lines = run_program("killed_training.py", tmp_path).stdout.splitlines()
    assert len(lines) == 15
    assert [line for line in lines if not line.endswith("same")] == []
    left = dict(line.split(", ")[:2] for line in lines)
    counts = [left[f"batch {n}"] for n in (0, 3, 4, 5, 7, 8, 11)]
    assert counts == ["0 left", "0 left", "1 left", "1 left", "1 left", "2 left", "2 left"]
    counts = [left[place] for place in ("weights 1", "sync 1", "sync 4", "rename 1", "rename 2")]
    assert counts == [
        "0 left",
        "0 left",
        "0 left",
        "0 left",
        "1 left",
    ]  # it has its name when all of it is on the disk


def test_a_training_that_is_over_is_not_trained_further_and_gives_its_weights_and_history(
    tiny, finished, copy
):
    def batches(number):
        raise AssertionError(f"asked for batch {number}")

    model, result = run(tiny, copy, batches=batches)
    assert same_weights(model, finished[1])
    assert result.history == finished[2].history


def test_only_the_last_two_checkpoints_are_kept_and_tied_weights_are_written_once(finished):
    kept = sorted(path.name for path in (finished[0] / "checkpoints").iterdir())
    assert kept == ["step-00000004", "step-00000006"]
    tensors = load_file(finished[0] / "checkpoints" / kept[-1] / "model.safetensors")
    assert "embedding.weight" in tensors and "output.weight" not in tensors


def cut(path):
    path.write_bytes(path.read_bytes()[:-9])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "training.json"])
@pytest.mark.parametrize(
    "damage",
    [cut, flip, lambda path: path.unlink(), lambda path: path.write_text("{}")],
    ids=["cut", "flipped", "gone", "other"],
)
def test_a_damaged_newest_checkpoint_is_skipped_with_a_warning_and_the_one_before_gives_the_same_end(  # noqa: E501
    tiny, finished, copy, name, damage
):
    damage(copy / "checkpoints" / "step-00000006" / name)
    with pytest.warns(UserWarning, match=f"checkpoint skipped: .*step-00000006.*{name}"):
        model, result = run(tiny, copy)
    assert same_weights(model, finished[1])
    assert result.history == finished[2].history
    again, _ = run(
        tiny,
        copy,
        batches=lambda number: pytest.fail("the damaged checkpoint was not written anew"),
    )
    assert same_weights(again, finished[1])


@pytest.mark.parametrize(
    "make, says",
    [
        (
            lambda tiny: tiny.make_model(hidden_size=4),
            "is of GPT with .*hidden_size=8.*, this model is .*hidden_size=4",
        ),
        (
            lambda tiny: tiny.make_model().float(),
            "embedding.weight is float64 .* there and float32 .* in this model",
        ),
        (lambda tiny: torch.nn.Linear(2, 2), "is of GPT with .* this model is Linear with None"),
    ],
)
def test_a_checkpoint_of_another_model_is_refused_with_both_named(tiny, copy, make, says):
    with pytest.raises(CheckpointError, match=says):
        run(tiny, copy, model=make(tiny))


def test_a_checkpoint_that_trained_what_is_frozen_now_is_refused(tiny, finished, copy):
    model = tiny.make_model()
    model.blocks[0].requires_grad_(False)
    with pytest.raises(CheckpointError, match=r"trained 'blocks\.0\..*', which is frozen now"):
        train(model, tiny.objective, tiny.batches, tiny.make_config(), folder=copy, progress=False)


def test_a_checkpoint_of_other_settings_is_refused_with_both_values_and_harmless_ones_may_change(
    tiny, finished, copy
):
    with pytest.raises(
        CheckpointError, match=r"learning_rate was 0\.01 and is 0\.02; seed was 0 and is 5"
    ):
        run(tiny, copy, learning_rate=0.02, seed=5)
    model, _ = run(tiny, copy, eval_every=1, checkpoint_every=1)
    assert same_weights(model, finished[1])


def test_a_loss_that_is_no_number_stops_with_the_step_and_keeps_the_last_checkpoint(tiny, tmp_path):
    model = tiny.make_model()

    def batches(number):
        if number == 7:  # the second micro-batch of step 4
            with torch.no_grad():
                model.norm.weight[0] = torch.nan
        return tiny.batches(number)

    with pytest.raises(
        TrainingError, match="step 4: loss nan.*the last checkpoint is .*step-00000002"
    ):
        run(tiny, tmp_path, model=model, batches=batches)
    kept = load_file(tmp_path / "checkpoints" / "step-00000002" / "model.safetensors")
    assert all(tensor.isfinite().all() for tensor in kept.values())
    resumed, _ = run(tiny, tmp_path)
    assert all(tensor.isfinite().all() for tensor in model_tensors(resumed).values())


def test_with_a_constant_rate_a_finished_training_goes_on_to_a_later_end(tiny, tmp_path):
    run(tiny, tmp_path / "longer", schedule="constant")
    longer, result = run(tiny, tmp_path / "longer", schedule="constant", num_steps=9)
    at_once, _ = run(tiny, tmp_path / "at once", schedule="constant", num_steps=9)
    assert same_weights(longer, at_once) and [row["step"] for row in result.history] == list(
        range(1, 10)
    )
    with pytest.raises(CheckpointError, match="is 9 steps on, past the 6 that are asked for"):
        run(tiny, tmp_path / "longer", schedule="constant")


def test_with_another_schedule_a_later_end_changes_the_rates_before_it_and_is_refused(tiny, copy):
    with pytest.raises(CheckpointError, match="num_steps was 6 and is 9"):
        run(tiny, copy, num_steps=9)
