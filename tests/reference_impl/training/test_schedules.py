"""Learning rates beside those that transformers' schedulers give an optimiser."""

import pytest
import torch
from transformers import (
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_cosine_with_min_lr_schedule_with_warmup,
    get_linear_schedule_with_warmup,
    get_wsd_schedule,
)

from reference_impl.training.schedules import learning_rate

PEAK, STEPS = 0.3, 17


def rates_of(make):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=PEAK)
    schedule = make(optimizer)
    rates = []
    for _ in range(STEPS):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates


@pytest.mark.parametrize("warmup", [0, 1, 5])
@pytest.mark.parametrize(
    "name, make, minimum",
    [
        ("cosine", lambda o, w: get_cosine_schedule_with_warmup(o, w, STEPS), 0.0),
        (
            "cosine",
            lambda o, w: get_cosine_with_min_lr_schedule_with_warmup(o, w, STEPS, min_lr=0.03),
            0.03,
        ),
        ("linear", lambda o, w: get_linear_schedule_with_warmup(o, w, STEPS), 0.0),
        ("constant", lambda o, w: get_constant_schedule_with_warmup(o, w), 0.0),
        (
            "wsd",
            lambda o, w: get_wsd_schedule(
                o,
                num_warmup_steps=w,
                num_decay_steps=3,  # a fifth of 17
                num_training_steps=STEPS,
                decay_type="linear",
            ),
            0.0,  # transformers warms up from the minimum, we from 0
        ),
    ],
)
def test_the_rate_of_every_step_is_that_of_transformers(name, make, minimum, warmup):
    ours = [learning_rate(step, STEPS, PEAK, warmup, name, minimum) for step in range(STEPS)]
    assert ours == pytest.approx(rates_of(lambda optimizer: make(optimizer, warmup)), abs=1e-15)


def test_a_linear_decay_ends_at_the_minimum_and_is_half_way_in_the_middle():
    assert learning_rate(6, 10, 1.0, 2, "linear", 0.2) == pytest.approx(0.6)
    assert learning_rate(10, 10, 1.0, 2, "linear", 0.2) == 0.2


def test_wsd_is_constant_until_the_last_fifth_and_ends_at_the_minimum():
    rates = [learning_rate(step, 10, 1.0, 2, "wsd", 0.2) for step in range(11)]
    assert rates == pytest.approx([0, 0.5, 1, 1, 1, 1, 1, 1, 1, 0.6, 0.2])


def test_a_schedule_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(ValueError, match="'step' is none of cosine, linear, constant, wsd"):
        learning_rate(0, 10, 1.0, 0, "step")
