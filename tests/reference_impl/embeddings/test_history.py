"""The film of a training: the right words, in order, projected by the same two directions
throughout.
"""

import json

import numpy as np
import pytest
import torch

from reference_impl.embeddings.history import Recorder, principal_axes
from reference_impl.embeddings.skipgram import train_skipgram
from reference_impl.embeddings.vocabulary import Vocabulary, encode

SENTENCES = [
    ["bank", "of", "the", "river"],
    ["money", "in", "the", "bank"],
    ["river", "water"],
] * 60


@pytest.fixture(scope="module")
def recorded():
    vocabulary = Vocabulary.from_sentences(SENTENCES)
    recorder = Recorder(
        vocabulary, words=("bank", "river", "unknown", "water"), snapshots=5, examples=3
    )
    vectors = train_skipgram(
        encode(SENTENCES, vocabulary),
        vocabulary,
        dim=6,
        window=2,
        epochs=2,
        threshold=1.0,
        rows=2,
        row_length=8,
        shared_noise=8,
        observe=recorder,
    )
    return recorder.film(), vectors


def test_a_film_is_plain_json_of_the_words_that_have_vectors(recorded):
    film, _ = recorded
    assert json.loads(json.dumps(film)) == film
    assert film["words"] == ["bank", "river", "water"]


def test_snapshots_are_spread_over_the_training_and_the_last_is_the_end(recorded):
    dones = [snapshot["done"] for snapshot in recorded[0]["snapshots"]]
    gaps = np.diff(dones)
    assert dones[-1] == 1 and len(dones) >= 4
    assert (
        gaps > 0
    ).all() and gaps.max() <= 0.5  # one that waits for a chosen word comes a little later


def test_the_last_positions_are_the_principal_components_of_the_trained_vectors(recorded):
    film, vectors = recorded
    rows = np.stack([vectors[word].numpy() for word in film["words"]])
    centred = rows - rows.mean(0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    assert np.allclose(
        np.abs(film["snapshots"][-1]["positions"]), np.abs(u[:, :2] * s[:2]), atol=1e-3
    )


def test_an_example_is_a_chosen_word_and_its_neighbours_in_the_text(recorded):
    together = {
        (a, b)
        for s in SENTENCES
        for i, a in enumerate(s)
        for j, b in enumerate(s)
        if 0 < abs(i - j) <= 2
    }
    found = [snapshot for snapshot in recorded[0]["snapshots"] if snapshot["center"]]
    assert len(found) >= 2
    for snapshot in found:
        assert snapshot["center"] in ("bank", "river", "water")
        assert {
            (snapshot["center"], near) for near in snapshot["contexts"]
        } <= together and snapshot["contexts"]
        assert len(snapshot["negatives"]) == 3


def test_the_noise_words_of_an_example_come_as_they_were_drawn():
    vocabulary = Vocabulary.from_sentences(SENTENCES)
    recorder, steps = Recorder(vocabulary, snapshots=3, examples=4), []
    train_skipgram(
        encode(SENTENCES, vocabulary),
        vocabulary,
        dim=3,
        epochs=1,
        threshold=1.0,
        rows=1,
        row_length=4,
        observe=lambda step: (steps.append(step.negatives[:4].tolist()), recorder(step)),
    )
    shown = [
        [vocabulary.index[word] for word in shot["negatives"]]
        for shot in recorder.film()["snapshots"]
    ]
    assert all(ids in steps for ids in shown)


def test_the_loss_starts_near_six_times_log_two_and_goes_down(recorded):
    """The recorder looks after a batch's step, which in a text of seven words has changed something
    already.
    """
    losses = [snapshot["loss"] for snapshot in recorded[0]["snapshots"]]
    assert 6 * np.log(2) - 0.6 < losses[0] <= 6 * np.log(2) and losses[-1] < losses[0] - 0.1


def test_principal_axes_are_orthonormal_and_find_the_widest_direction():
    points = torch.tensor([[0.0, 5.0, 0.0], [0.0, -5.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    middle, axes = principal_axes(points)
    assert middle.tolist() == [0, 0, 0]
    assert torch.allclose(axes, torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]), atol=1e-6)


def test_a_film_of_nothing_is_refused():
    with pytest.raises(ValueError, match="nothing was recorded"):
        Recorder(Vocabulary.from_sentences(SENTENCES)).film()
