"""Skip-gram: losses by hand and by autograd, gradients by hand against gradcheck, draws against
chi-square.
"""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from torch.autograd import gradcheck

from reference_impl.embeddings.skipgram import (
    Tables,
    add_rows,
    batch_gradients,
    keep_probability,
    noise_distribution,
    sample_noise,
    sgns_gradients,
    sgns_loss,
    train_skipgram,
)
from reference_impl.embeddings.vocabulary import Vocabulary, encode


def doubles(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_noise_is_the_count_to_three_quarters_over_the_sum():
    assert torch.allclose(
        noise_distribution(torch.tensor([16, 1, 81])).float(), torch.tensor([8.0, 1.0, 27.0]) / 36
    )


def test_noise_of_power_zero_is_uniform_and_of_power_one_the_text():
    counts = torch.tensor([6, 3, 1])
    assert torch.allclose(
        noise_distribution(counts, 0.0), torch.full((3,), 1 / 3, dtype=torch.float64)
    )
    assert torch.allclose(
        noise_distribution(counts, 1.0), torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)
    )


def test_draws_follow_the_noise_distribution():
    noise = noise_distribution(torch.tensor([1000, 200, 50, 10, 3]))
    drawn = sample_noise(noise.cumsum(0), (100, 200), torch.Generator().manual_seed(7))
    assert drawn.shape == (100, 200)
    seen = torch.bincount(drawn.flatten(), minlength=5)
    assert scipy.stats.chisquare(seen.numpy(), (noise * 20_000).numpy()).pvalue > 0.01


def test_the_first_and_the_last_word_can_be_drawn_and_a_word_without_weight_can_not():
    drawn = sample_noise(
        torch.tensor([0.5, 0.5, 1.0], dtype=torch.float64),
        (1000,),
        torch.Generator().manual_seed(0),
    )
    assert set(drawn.tolist()) == {0, 2}


def test_a_word_at_the_threshold_is_kept_and_one_a_hundred_times_more_frequent_in_one_of_ten():
    counts = torch.tensor([1, 100, 899])
    keep = keep_probability(counts, threshold=1e-3)
    assert keep[0] == 1 and keep[1] == pytest.approx(0.1)


def test_the_released_program_keeps_a_little_more():
    counts = torch.tensor([1, 100, 899])
    assert keep_probability(counts, 1e-3, released=True)[1] == pytest.approx(0.1 + 0.01)


def test_the_kept_shares_are_those_of_gensim():
    pytest.importorskip("gensim")
    from gensim.models import Word2Vec

    sentences = [["the"] * 50 + ["bank"] * 9 + ["of"] * 20 + ["river"] * 3]
    model = Word2Vec(min_count=1, sample=1e-2)
    model.build_vocab(sentences)
    vocabulary = Vocabulary.from_sentences(sentences)
    ours = keep_probability(torch.from_numpy(vocabulary.counts), 1e-2, released=True)
    theirs = [model.wv.get_vecattr(word, "sample_int") / (2**32 - 1) for word in vocabulary.words]
    assert ours.tolist() == pytest.approx(theirs, abs=1e-6)


def test_vectors_of_zeros_lose_log_two_for_the_context_and_for_each_negative():
    zeros = torch.zeros(3, 4)
    assert sgns_loss(zeros, zeros, torch.zeros(3, 5, 4)).item() == pytest.approx(6 * math.log(2))


def test_the_loss_of_one_pair_worked_by_hand():
    center, context, negatives = (
        torch.tensor([[1.0, 2.0]]),
        torch.tensor([[0.5, 0.25]]),
        torch.tensor([[[1.0, -1.0]]]),
    )
    # center . context = 1, center . negative = -1: -log s(1) - log s(1).
    expected = -2 * math.log(1 / (1 + math.exp(-1)))
    assert sgns_loss(center, context, negatives).item() == pytest.approx(expected)


def test_the_loss_stays_finite_for_scores_far_from_zero():
    far = torch.full((1, 1), 200.0)
    assert torch.isfinite(sgns_loss(far, -far, far[None]))


def test_autograd_of_the_loss_passes_gradcheck():
    inputs = [doubles(3, 4, seed=1), doubles(3, 4, seed=2), doubles(3, 2, 4, seed=3)]
    assert gradcheck(sgns_loss, [x.requires_grad_() for x in inputs])


def test_the_gradients_by_hand_are_those_of_autograd():
    inputs = [doubles(6, 5, seed=1), doubles(6, 5, seed=2), doubles(6, 3, 5, seed=3)]
    loss, *by_hand = sgns_gradients(*inputs)
    leaves = [x.clone().requires_grad_() for x in inputs]
    expected = sgns_loss(*leaves)
    expected.backward()
    assert loss.item() == pytest.approx(expected.item())
    for ours, leaf in zip(by_hand, leaves, strict=True):
        assert torch.allclose(ours, leaf.grad)


def test_a_block_gives_the_sum_of_the_gradients_of_its_pairs():
    rows, places, noise_words, dim, negatives = 2, 5, 3, 4, 3
    center, context, noise = (
        doubles(rows, places, dim),
        doubles(rows, places, dim, seed=1),
        doubles(noise_words, dim, seed=2),
    )
    mask = torch.rand(rows, places, places, generator=torch.Generator().manual_seed(3)) < 0.4
    leaves = [x.clone().requires_grad_() for x in (center, context, noise)]
    r, i, j = mask.nonzero(as_tuple=True)
    # negatives == noise_words: each shared noise word then counts once for each pair.
    pairs = sgns_loss(leaves[0][r, i], leaves[1][r, j], leaves[2].expand(len(r), -1, -1)) * len(r)
    pairs.backward()
    for ours, leaf in zip(
        batch_gradients(center, context, mask, noise, negatives), leaves, strict=True
    ):
        assert torch.allclose(ours, leaf.grad)


def test_shared_noise_weighs_as_much_as_negatives_of_ones_own():
    center, context, noise = doubles(1, 4, 3), doubles(1, 4, 3, seed=1), doubles(6, 3, seed=2)
    mask = ~torch.eye(4, dtype=torch.bool)[None]
    once, twice = (batch_gradients(center, context, mask, noise, k)[2] for k in (5, 10))
    assert torch.allclose(twice, 2 * once)


def test_rows_named_twice_receive_both_values():
    table = torch.zeros(3, 2)
    add_rows(table, torch.tensor([1, 1, 2]), torch.tensor([[1.0, 2.0], [10.0, 20.0], [5.0, 5.0]]))
    assert table.tolist() == [[0, 0], [11, 22], [5, 5]]


@pytest.fixture(scope="module")
def two_topics():
    """Sentences about one of two topics of four words each; words of one topic meet, of two topics
    never.
    """
    rng = np.random.default_rng(0)
    topics = (["river", "shore", "water", "mud"], ["loan", "money", "credit", "cash"])
    sentences = [list(rng.permutation(topics[rng.integers(2)])) for _ in range(1500)]
    vocabulary = Vocabulary.from_sentences(sentences)
    return encode(sentences, vocabulary), vocabulary


SMALL = {
    "dim": 8,
    "window": 3,
    "epochs": 4,
    "threshold": 1.0,
    "learning_rate": 0.05,
    "rows": 2,
    "row_length": 8,
    "shared_noise": 8,
}


def test_training_puts_words_of_one_topic_together(two_topics):
    vectors = train_skipgram(*two_topics, **SMALL)
    assert {word for word, _ in vectors.neighbours("river", 3)} == {"shore", "water", "mud"}
    assert {word for word, _ in vectors.neighbours("loan", 3)} == {"money", "credit", "cash"}


def test_the_same_seed_gives_the_same_vectors_and_another_seed_others(two_topics):
    first, again, other = (
        train_skipgram(*two_topics, **SMALL | {"epochs": 1, "seed": seed}) for seed in (3, 3, 4)
    )
    assert torch.equal(first.matrix, again.matrix)
    assert not torch.allclose(first.matrix, other.matrix)


def test_observe_sees_every_block_and_the_share_of_the_work_rising(two_topics):
    steps = []
    train_skipgram(
        *two_topics,
        **SMALL | {"epochs": 1},
        observe=lambda s: steps.append((s.done, int(s.batch.mask.sum()))),
    )
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert steps[0][0] == 0 and sum(pairs for _, pairs in steps) > 1500 * 4


def test_training_starts_from_small_input_vectors_and_zero_output_vectors():
    tables = Tables.start(100, 20, torch.Generator().manual_seed(0))
    assert tables.input.abs().max() <= 0.5 / 20 and tables.input.std() > 0
    assert not tables.output.any()


def test_steps_that_are_too_large_are_named_instead_of_returning_nan(two_topics):
    with pytest.raises(ValueError, match="diverged.*learning_rate 50"):
        train_skipgram(*two_topics, **SMALL | {"epochs": 1, "learning_rate": 50.0})
