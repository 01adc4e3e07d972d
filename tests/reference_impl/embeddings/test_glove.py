"""GloVe: the weight and loss by hand, gradients by gradcheck, AdaGrad against torch's own."""

import math

import numpy as np
import pytest
import scipy.sparse
import torch
from torch.autograd import gradcheck

from reference_impl.embeddings.counts import window_counts
from reference_impl.embeddings.glove import (
    GloveTables,
    adagrad,
    glove_gradients,
    glove_loss,
    glove_weight,
    train_glove,
)
from reference_impl.embeddings.vocabulary import Vocabulary, encode


def doubles(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_the_weight_rises_with_the_power_three_quarters_and_stays_one_from_x_max_on():
    counts = torch.tensor([0.0, 6.25, 100.0, 5000.0])
    assert glove_weight(counts).tolist() == pytest.approx([0.0, 0.125, 1.0, 1.0])


def test_the_weight_takes_other_limits_and_powers():
    assert glove_weight(torch.tensor([4.0]), x_max=16.0, alpha=0.5).item() == pytest.approx(0.5)


def test_a_pair_that_is_fitted_exactly_costs_nothing():
    word, context = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 1.0]])
    bias = torch.tensor([0.5])
    assert glove_loss(
        word, context, bias, bias, torch.tensor([math.exp(6.0)])
    ).item() == pytest.approx(0, abs=1e-10)


def test_the_loss_of_one_pair_worked_by_hand():
    # Dot 2, biases 1 and -1, count 1 (log 0), so the miss is 2; weight (1 / 16)^.75 = 1/8.
    loss = glove_loss(
        torch.tensor([[2.0]]),
        torch.tensor([[1.0]]),
        torch.tensor([1.0]),
        torch.tensor([-1.0]),
        torch.tensor([1.0]),
        x_max=16.0,
    )
    assert loss.item() == pytest.approx(0.5)


def test_autograd_of_the_loss_passes_gradcheck():
    counts = torch.tensor([1.0, 40.0, 250.0], dtype=torch.float64)
    leaves = [doubles(3, 4), doubles(3, 4, seed=1), doubles(3, seed=2), doubles(3, seed=3)]
    assert gradcheck(
        lambda *inputs: glove_loss(*inputs, counts), [x.requires_grad_() for x in leaves]
    )


def test_the_gradients_by_hand_are_those_of_autograd():
    counts = torch.tensor([1.0, 40.0, 250.0], dtype=torch.float64)
    inputs = [doubles(3, 4), doubles(3, 4, seed=1), doubles(3, seed=2), doubles(3, seed=3)]
    loss, d_word, d_context, d_bias = glove_gradients(*inputs, counts)
    leaves = [x.clone().requires_grad_() for x in inputs]
    expected = glove_loss(*leaves, counts)
    expected.backward()
    assert loss.item() == pytest.approx(expected.item())
    for ours, leaf in zip((d_word, d_context, d_bias, d_bias), leaves, strict=True):
        assert torch.allclose(ours, leaf.grad)


@pytest.mark.parametrize("shape", [(6, 3), (6,)], ids=["vectors", "biases"])
def test_adagrad_steps_are_those_of_torch(shape):
    rows = torch.tensor([4, 0, 2])
    table, squares = doubles(*shape), torch.ones(shape, dtype=torch.float64)
    theirs = table.clone().requires_grad_()
    optimiser = torch.optim.Adagrad([theirs], lr=0.3, initial_accumulator_value=1.0, eps=0.0)
    for seed in range(4):
        gradient = doubles(3, *shape[1:], seed=10 + seed)
        adagrad(table, squares, rows, gradient, 0.3)
        theirs.grad = torch.zeros(shape, dtype=torch.float64).index_copy(0, rows, gradient)
        optimiser.step()
    assert torch.allclose(table, theirs.detach())


@pytest.fixture(scope="module")
def two_topics():
    rng = np.random.default_rng(0)
    topics = (["river", "shore", "water", "mud", "the"], ["loan", "money", "credit", "cash", "the"])
    sentences = [list(rng.permutation(topics[rng.integers(2)])) for _ in range(400)]
    vocabulary = Vocabulary.from_sentences(sentences)
    return window_counts(encode(sentences, vocabulary), len(vocabulary), 4, "harmonic"), vocabulary


def test_training_lowers_the_loss_in_every_epoch(two_topics):
    losses = []
    train_glove(
        *two_topics, dim=4, epochs=20, batch=16, observe=lambda step: losses.append(step.loss)
    )
    assert len(losses) == 20
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.1 * losses[0]


def test_log_counts_of_rank_one_are_fitted_by_biases_and_vectors():
    # count = exp(u + v): the best fit has no loss at all.
    u = torch.tensor([0.5, 1.0, 2.0, 3.0])
    counts = scipy.sparse.csr_matrix(torch.exp(u[:, None] + u[None, :]).numpy())
    losses = []
    train_glove(
        counts,
        Vocabulary(list("abcd"), [1] * 4),
        dim=2,
        epochs=1500,
        batch=16,
        learning_rate=0.3,
        observe=lambda step: losses.append(step.loss),
    )
    assert losses[-1] < 1e-4


def test_the_result_is_the_sum_of_word_and_context_vectors(two_topics):
    tables = []
    vectors = train_glove(
        *two_topics, dim=4, epochs=1, observe=lambda step: tables.append(step.tables)
    )
    assert torch.equal(vectors.matrix, tables[0].word + tables[0].context)


def test_tables_start_small_and_different():
    tables = GloveTables.start(50, 10, torch.Generator().manual_seed(0))
    assert all(table.abs().max() <= 0.05 for table in tables)
    assert not torch.equal(tables.word, tables.context)
