"""CBOW: the loss by hand, its gradient by gradcheck, a batch against the loss of its
predictions.
"""

import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from reference_impl.embeddings.cbow import batch_gradients, cbow_loss, train_cbow
from reference_impl.embeddings.vocabulary import Vocabulary, encode


def doubles(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_the_loss_of_one_prediction_worked_by_hand():
    contexts = torch.tensor([[[2.0, 0.0], [0.0, 4.0], [9.0, 9.0]]])
    present = torch.tensor([[True, True, False]])
    # The mean of the two contexts that exist is (1, 2); with (1, 0) it scores 1, with (0, -1) it
    # scores -2.
    loss = cbow_loss(contexts, present, torch.tensor([[1.0, 0.0]]), torch.tensor([[[0.0, -1.0]]]))
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-1)) + math.log(1 + math.exp(-2)))


def test_autograd_of_the_loss_passes_gradcheck():
    present = torch.tensor([[True, False, True], [True, True, True]])
    leaves = [
        doubles(2, 3, 4).requires_grad_(),
        doubles(2, 4, seed=1).requires_grad_(),
        doubles(2, 2, 4, seed=2).requires_grad_(),
    ]
    assert gradcheck(
        lambda contexts, center, negatives: cbow_loss(contexts, present, center, negatives), leaves
    )


def test_a_block_gives_the_sum_of_the_gradients_of_its_predictions():
    context, center, noise = doubles(2, 5, 4), doubles(2, 5, 4, seed=1), doubles(3, 4, seed=2)
    mask = torch.rand(2, 5, 5, generator=torch.Generator().manual_seed(3)) < 0.4
    mask[0, 2] = False  # a place that sees nobody predicts nothing
    leaves = [x.clone().requires_grad_() for x in (context, center, noise)]
    r, i = mask.any(2).nonzero(as_tuple=True)
    cbow_loss(leaves[0][r], mask[r, i], leaves[1][r, i], leaves[2].expand(len(r), -1, -1)).mul(
        len(r)
    ).backward()
    for ours, leaf in zip(batch_gradients(context, center, mask, noise, 3), leaves, strict=True):
        assert torch.allclose(ours, leaf.grad)


def test_a_block_without_any_window_has_no_gradient():
    gradients = batch_gradients(
        doubles(1, 3, 2), doubles(1, 3, 2), torch.zeros(1, 3, 3, dtype=torch.bool), doubles(2, 2), 5
    )
    assert all(not gradient.any() for gradient in gradients)


def test_training_puts_words_of_one_topic_together():
    # Sentences of four of the ten words of a topic: a word must meet others than those it is to be
    # near.
    rng = np.random.default_rng(0)
    topics = [[f"{topic}{i}" for i in range(10)] for topic in ("river", "loan")]
    sentences = [
        rng.choice(topics[rng.integers(2)], 4, replace=False).tolist() for _ in range(1500)
    ]
    vocabulary = Vocabulary.from_sentences(sentences)
    vectors = train_cbow(
        encode(sentences, vocabulary),
        vocabulary,
        dim=8,
        window=3,
        epochs=4,
        threshold=1.0,
        rows=2,
        row_length=8,
        shared_noise=8,
    )
    cosines = vectors.unit @ vectors.unit.T
    river = torch.tensor([word.startswith("river") for word in vectors.words])
    same = river[:, None] == river[None, :]
    assert cosines[same].mean() > cosines[~same].mean() + 0.5
