"""Laws recovered from points on them, the best split against a search, operations against torch's
counter.
"""

import random

import pytest
import torch

from reference_impl.measure.flops import count_flops, count_parameters
from reference_impl.measure.scaling_law import (
    CHINCHILLA,
    Run,
    ScalingLaw,
    ScalingLawError,
    fit_scaling_law,
    largest_error,
    training_flops,
)
from reference_impl.models.llama import Llama, LlamaConfig

SIZES, TOKENS = (1e6, 4e6, 2e7, 1e8, 1e9), (1e8, 1e9, 5e9, 3e10)


def points(law, noise=0.0):
    draw = random.Random(0)
    return [Run(n, d, law.loss(n, d) * (1 + draw.gauss(0, noise))) for n in SIZES for d in TOKENS]


def test_a_training_step_takes_six_operations_a_weight_and_token():
    model = Llama(LlamaConfig(64, 128, 344, num_layers=2, num_heads=2, tie_word_embeddings=True))
    ids = torch.randint(64, (4, 8))
    counted = count_flops(lambda: model(ids).sum().backward())
    assert counted == pytest.approx(training_flops(count_parameters(model), ids.numel()), rel=0.03)


def test_the_published_law_gives_the_losses_worked_by_hand():
    assert CHINCHILLA.loss(1e10, 1e12) == pytest.approx(
        1.69 + 406.4 / 2511.886 + 410.7 / 2290.868, rel=1e-6
    )
    assert CHINCHILLA.loss(1e30, 1e40) == pytest.approx(1.69)
    assert CHINCHILLA.loss(70e9, 1.4e12) < CHINCHILLA.loss(280e9, 300e9)  # Chinchilla, Gopher


@pytest.mark.parametrize("law", [CHINCHILLA, ScalingLaw(2.0, 50.0, 900.0, 0.25, 0.4)])
def test_no_split_of_a_budget_is_better_than_the_best(law):
    flops = 5.76e23  # Gopher's, Hoffmann et al. 2022, figure 1
    size, tokens = law.optimal(flops)
    assert training_flops(size, tokens) == pytest.approx(flops)
    losses = [
        law.loss(size * factor, tokens / factor) for factor in (0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 2.0)
    ]
    assert losses.index(min(losses)) == 3


def test_four_times_the_budget_is_shared_between_both_almost_evenly():
    (size, tokens), (larger, more) = CHINCHILLA.optimal(1e20), CHINCHILLA.optimal(4e20)
    assert larger / size == pytest.approx(4 ** (0.28 / 0.62)) and more / tokens == pytest.approx(
        4 ** (0.34 / 0.62)
    )


@pytest.mark.parametrize("law", [CHINCHILLA, ScalingLaw(1.2, 40.0, 2000.0, 0.25, 0.4)])
def test_a_law_is_recovered_from_points_on_it(law):
    found = fit_scaling_law(points(law))
    assert (found.floor, found.alpha, found.beta) == pytest.approx(
        (law.floor, law.alpha, law.beta), rel=0.02
    )
    assert largest_error(found, points(law)) < 1e-3


def test_one_failed_run_among_noisy_ones_moves_the_law_little():
    runs = points(CHINCHILLA, noise=1e-3)
    runs[7] = runs[7]._replace(loss=2 * runs[7].loss)
    found = fit_scaling_law(runs)
    assert largest_error(found, [run for i, run in enumerate(points(CHINCHILLA)) if i != 7]) < 0.01
    assert largest_error(found, runs) == pytest.approx(0.693, abs=0.02)


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (points(CHINCHILLA)[:5], "5 runs with 2 sizes and 4 numbers"),
        ([Run(1e6, 1e8 * i, 3.0) for i in range(1, 9)], "8 runs with 1 sizes"),
        ([*points(CHINCHILLA), Run(1e6, 1e9, 0.0)], "not above 0"),
    ],
)
def test_runs_that_fix_no_law_are_refused(runs, words):
    with pytest.raises(ScalingLawError, match=words):
        fit_scaling_law(runs)


def test_without_inference_the_cheapest_model_of_a_loss_is_the_best_of_its_budget():
    for flops in (1e20, 6e23):
        best = CHINCHILLA.optimal(flops)
        assert CHINCHILLA.cheapest(CHINCHILLA.loss(*best), 0) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("inference_tokens", [1e11, 2e12, 1e14])
def test_with_inference_no_neighbouring_size_of_equal_loss_is_cheaper(inference_tokens):
    best = CHINCHILLA.optimal(6e22)
    loss = CHINCHILLA.loss(*best)
    size, tokens = CHINCHILLA.cheapest(loss, inference_tokens)
    assert size < best[0] and tokens > best[1]
    assert CHINCHILLA.loss(size, tokens) == pytest.approx(loss)
    for other in (0.9 * size, 1.1 * size):
        left = loss - CHINCHILLA.floor - CHINCHILLA.a / other**CHINCHILLA.alpha
        needed = (CHINCHILLA.b / left) ** (1 / CHINCHILLA.beta)
        total = other * (6 * needed + 2 * inference_tokens)
        assert total > size * (6 * tokens + 2 * inference_tokens)
