"""Packed rows and masks give exactly the pairs that walking over each sentence gives."""

from collections import Counter

import numpy as np
import pytest
import torch

from reference_impl.embeddings.windows import (
    PADDING,
    pack,
    pairs_plain,
    subsample,
    walk,
    window_mask,
)


def sentences_of(*lengths, vocab_size=50, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, vocab_size, size=n) for n in lengths]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def pairs_of(words, mask):
    row, i, j = mask.nonzero(as_tuple=True)
    return Counter(zip(words[row, i].tolist(), words[row, j].tolist(), strict=True))


def test_pairs_of_a_sentence_by_hand():
    assert pairs_plain([7, 8, 9], [1, 1, 2]) == [(7, 8), (8, 7), (8, 9), (9, 7), (9, 8)]


def test_packing_keeps_every_word_in_order_and_sentences_whole():
    sentences = sentences_of(3, 4, 1, 6, 0, 2)
    words, owner = pack(sentences, 6)
    assert words.shape[1] == 6
    for number, sentence in enumerate(s for s in sentences if len(s)):
        where = owner == number
        assert words[where].tolist() == sentence.tolist()
        assert where.any(1).sum() == 1  # in one row


def test_empty_places_are_padding_in_both():
    words, owner = pack(sentences_of(4, 4), 6)
    assert (words == PADDING).sum() == 4
    assert torch.equal(words == PADDING, owner == PADDING)


def test_a_sentence_longer_than_a_row_is_cut():
    words, owner = pack([np.arange(10)], 4)
    assert words[words >= 0].tolist() == list(range(10))
    assert len(set(owner[owner >= 0].tolist())) == 3


def test_nothing_packs_into_no_rows():
    words, owner = pack([], 4)
    assert words.shape == (0, 4) and owner.shape == (0, 4)


def test_the_mask_holds_exactly_the_pairs_of_the_plain_walk():
    sentences = sentences_of(3, 8, 1, 5, 7, 2, 8, seed=3)
    words, owner = pack(sentences, 8)
    radius = torch.randint(1, 5, words.shape, generator=generator(4))
    expected = Counter()
    for number, sentence in enumerate(sentences):
        expected.update(pairs_plain(sentence, radius[owner == number].tolist()))
    assert pairs_of(words, window_mask(owner, radius)) == expected


def test_padding_sees_nobody_and_is_seen_by_nobody():
    words, owner = pack(sentences_of(3, 5), 8)
    words, owner = (
        torch.cat([words, torch.full((1, 8), PADDING)]),
        torch.cat([owner, torch.full((1, 8), PADDING)]),
    )
    mask = window_mask(owner, torch.full(owner.shape, 8))
    assert not mask[owner == PADDING].any()
    assert not mask.transpose(1, 2)[owner == PADDING].any()


def test_subsampling_keeps_each_word_about_as_often_as_asked():
    text = [np.array([0, 1, 2] * 100) for _ in range(100)]
    keep = torch.tensor([1.0, 0.5, 0.1], dtype=torch.float64)
    kept = np.bincount(np.concatenate(subsample(text, keep, generator(1))), minlength=3)
    assert kept[0] == 10_000
    # Binomial: four standard deviations are 200 and 120.
    assert abs(kept[1] - 5_000) < 200 and abs(kept[2] - 1_000) < 120


def test_subsampling_leaves_words_in_their_sentence_and_in_order():
    sentences = [np.arange(0, 40), np.array([], dtype=np.int64), np.arange(40, 60)]
    kept = subsample(sentences, torch.full((60,), 0.5, dtype=torch.float64), generator(2))
    assert len(kept) == 3 and len(kept[1]) == 0
    assert all(
        set(k.tolist()) <= set(s.tolist()) and (np.diff(k) > 0).all()
        for k, s in zip(kept, sentences, strict=True)
    )


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_walk_with_window_one_visits_every_neighbouring_pair_once_an_epoch(epochs):
    sentences = sentences_of(3, 8, 1, 5, 7, 2, 8, seed=6)
    expected = Counter()
    for sentence in sentences:
        expected.update(pairs_plain(sentence, [1] * len(sentence)) * epochs)
    found, dones = Counter(), []
    for done, batch in walk(
        sentences,
        torch.ones(50, dtype=torch.float64),
        window=1,
        epochs=epochs,
        row_length=8,
        rows=2,
        generator=generator(),
    ):
        found += pairs_of(batch.words, batch.mask)
        dones.append(done)
    assert found == expected
    assert dones[0] == 0 and dones == sorted(dones) and dones[-1] < 1


def test_radii_are_uniform_so_that_near_neighbours_are_seen_more_often():
    sentence = [np.arange(8)] * 2000
    distance = Counter()
    for _, batch in walk(
        sentence,
        torch.ones(8, dtype=torch.float64),
        window=3,
        epochs=1,
        row_length=8,
        rows=50,
        generator=generator(),
    ):
        _, i, j = batch.mask.nonzero(as_tuple=True)
        distance.update((j - i)[j > i].tolist())
    # A pair d apart is seen when the radius is d or more: 3/3, 2/3, 1/3 of 7, 6, 5 places.
    assert distance[1] == 2000 * 7
    assert distance[2] / (2000 * 6) == pytest.approx(2 / 3, abs=0.02)
    assert distance[3] / (2000 * 5) == pytest.approx(1 / 3, abs=0.02)
