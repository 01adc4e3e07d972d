"""The loop against a hand-written one, accumulation against one big batch, autocast, evaluation,
refusals.
"""

import re

import pytest
import torch

from reference_impl.objectives.causal_lm import causal_lm, ragged_batch
from reference_impl.objectives.terms import IGNORED
from reference_impl.training.loop import TrainingConfig, train


def weights(model):
    return dict(model.named_parameters())


def test_six_steps_are_those_of_a_loop_in_plain_torch(tiny):
    ours, theirs = tiny.make_model(dropout=0.0), tiny.make_model(dropout=0.0)
    config = tiny.make_config(accumulation=1, schedule="linear", clip_norm=0.5)
    result = train(ours, tiny.objective, tiny.batches, config, progress=False)
    matrices = [p for p in theirs.parameters() if p.ndim == 2]
    optimizer = torch.optim.AdamW(
        [
            {"params": matrices},
            {"params": [p for p in theirs.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=1e-2,
        weight_decay=0.01,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(step / 2, (6 - step) / 4)
    )
    for step, row in enumerate(result.history):
        ids, labels = tiny.batches(step)["ids"], tiny.batches(step)["labels"]
        loss = torch.nn.functional.cross_entropy(
            theirs(ids)[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED
        )
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        assert (row["loss"], row["gradient_norm"]) == pytest.approx(
            (loss.item(), norm.item()), rel=1e-10
        )
        assert row["learning_rate"] == pytest.approx(optimizer.param_groups[0]["lr"], abs=1e-15)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    torch.testing.assert_close(weights(ours), weights(theirs), rtol=1e-10, atol=1e-10)


def test_four_ragged_micro_batches_are_one_big_batch_to_the_last_digit(tiny):
    def big(number):
        return ragged_batch(
            [text for part in range(4 * number, 4 * number + 4) for text in tiny.texts(part)]
        )

    many, one = tiny.make_model(dropout=0.0), tiny.make_model(dropout=0.0)
    parts = train(
        many, tiny.objective, tiny.batches, tiny.make_config(accumulation=4), progress=False
    ).history
    wholes = train(
        one, tiny.objective, big, tiny.make_config(accumulation=1), progress=False
    ).history
    torch.testing.assert_close(weights(many), weights(one), rtol=0, atol=1e-12)
    for part, whole in zip(parts, wholes, strict=True):
        assert part["terms"] == whole["terms"]
        assert part["loss"] == pytest.approx(whole["loss"], rel=1e-12)
        assert part["gradient_norm"] == pytest.approx(whole["gradient_norm"], rel=1e-12)
    means = [
        causal_lm(tiny.make_model(dropout=0.0), tiny.batches(number)).mean.item()
        for number in range(4)
    ]
    assert (
        abs(sum(means) / 4 - parts[0]["loss"]) > 1e-4
    )  # the counts differ enough for a mean of means to show


def test_under_bf16_autocast_products_are_bf16_and_weights_gradients_and_averages_stay_float32(
    tiny,
):
    model, kinds = tiny.make_model(dropout=0.0).float(), []
    model.blocks[0].feed_forward.up.register_forward_hook(
        lambda module, inputs, output: kinds.append(output.dtype)
    )
    model.blocks[0].feed_forward.up.weight.register_hook(
        lambda gradient: kinds.append(gradient.dtype)
    )
    result = train(
        model,
        tiny.objective,
        tiny.batches,
        tiny.make_config(autocast=torch.bfloat16),
        progress=False,
    )
    assert set(kinds[::2]) == {torch.bfloat16}
    assert set(kinds[1::2]) == {torch.float32}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    plain = train(
        tiny.make_model(dropout=0.0).float(),
        tiny.objective,
        tiny.batches,
        tiny.make_config(),
        progress=False,
    )
    assert [row["loss"] for row in result.history] == pytest.approx(
        [row["loss"] for row in plain.history], rel=2e-2
    )


def test_a_training_with_dropout_is_the_same_twice_and_another_seed_is_another(tiny):
    def end(seed):
        model = tiny.make_model()
        torch.rand(seed + 1)  # what was drawn before does not matter
        train(model, tiny.objective, tiny.batches, tiny.make_config(seed=seed), progress=False)
        return model.embedding.weight

    assert torch.equal(end(0), end(0))
    assert not torch.allclose(end(0), end(1))


def test_gradients_that_an_earlier_training_left_behind_change_nothing(tiny):
    def end(left):
        model = tiny.make_model()
        if left:
            for parameter in model.parameters():
                parameter.grad = torch.full_like(parameter, float("nan"))
        train(model, tiny.objective, tiny.batches, tiny.make_config(), progress=False)
        return model.embedding.weight

    assert torch.equal(end(left=True), end(left=False))


def test_each_micro_batch_draws_a_dropout_of_its_own(tiny):
    still = tiny.make_config(learning_rate=0.0, accumulation=1)
    history = train(
        tiny.make_model(), tiny.objective, lambda number: tiny.batches(0), still, progress=False
    ).history
    assert len({row["loss"] for row in history}) == len(history)


def test_frozen_parameters_do_not_move_and_the_others_do(tiny):
    model, before = tiny.make_model(), weights(tiny.make_model())
    model.blocks[0].requires_grad_(False)
    train(model, tiny.objective, tiny.batches, tiny.make_config(), progress=False)
    moved = {
        name for name, weight in weights(model).items() if not torch.equal(weight, before[name])
    }
    assert moved == {name for name in before if not name.startswith("blocks.0.")}


def test_evaluation_is_without_dropout_and_gradients_when_due_and_at_the_end_and_training_goes_on_after_it(  # noqa: E501
    tiny,
):
    seen, model = [], tiny.make_model()

    def evaluate(looked_at):
        seen.append((looked_at is model, looked_at.training, torch.is_grad_enabled()))
        return {"score": float(-len(seen))}

    result = train(
        model,
        tiny.objective,
        tiny.batches,
        tiny.make_config(eval_every=4),
        evaluate,
        progress=False,
    )
    assert seen == [(True, False, False)] * 2
    assert [row["step"] for row in result.history if "score" in row] == [4, 6]
    assert model.training
    assert (result.best("score")["step"], result.best("score", highest=True)["step"]) == (6, 4)
    with pytest.raises(ValueError, match="no row has 'accuracy': rows have step, loss"):
        result.best("accuracy")


def test_a_step_without_anything_to_learn_changes_nothing_by_its_gradient(tiny):
    def batches(number):
        batch = tiny.batches(number)
        return batch | {"labels": torch.full_like(batch["labels"], IGNORED)}

    model = tiny.make_model()
    result = train(
        model, tiny.objective, batches, tiny.make_config(weight_decay=0.0), progress=False
    )
    torch.testing.assert_close(weights(model), weights(tiny.make_model()), rtol=0, atol=0)
    assert {(row["loss"], row["gradient_norm"], row["terms"]) for row in result.history} == {
        (0.0, 0.0, 0)
    }


@pytest.mark.parametrize("name", ["num_steps", "accumulation", "eval_every", "checkpoint_every"])
def test_settings_that_make_no_training_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} is 0: give int, 1 or more"):
        TrainingConfig(**{"num_steps": 5, "learning_rate": 0.1, name: 0})


@pytest.mark.parametrize(
    "name, value",
    [
        ("num_steps", 2.5),
        ("num_steps", True),
        ("learning_rate", -0.1),
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("learning_rate", "0.1"),
        ("warmup_steps", -1),
        ("warmup_steps", 6),
        ("schedule", "cosin"),
        ("min_learning_rate", -0.1),
        ("min_learning_rate", 0.2),
        ("weight_decay", -0.01),
        ("betas", (0.9,)),
        ("betas", (0.9, 1.0)),
        ("betas", 0.9),
        ("betas", (-0.1, 0.9)),
        ("clip_norm", -1),
        ("clip_norm", 0),
        ("clip_norm", float("nan")),
        ("accumulation", -2),
        ("autocast", torch.float16),
        ("autocast", torch.int8),
        ("eval_every", -1),
        ("checkpoint_every", 1.5),
        ("seed", -1),
        ("seed", None),
        ("parallel", "dp"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named_with_its_value(name, value, as_students_run_it):
    with pytest.raises(ValueError, match=f"{name} (is )?{re.escape(repr(value))}"):
        TrainingConfig(**{"num_steps": 5, "learning_rate": 0.1, name: value})
