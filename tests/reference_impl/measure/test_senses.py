"""Senses of a word that two words were made into: which lines are taken, and how few labels sort
the rest.
"""

import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier

from reference_impl.measure.metrics import MetricError
from reference_impl.measure.senses import by_centroids, respelled

LINES = [
    line.split()
    for line in (
        "nile a river in africa",
        "thames a river in england",
        "isis a river in england",
        "coin money of metal",
        "toll money for the river",
        "teller who counts money in a bank",
        "loan money lent as money",
        "the sea",
    )
]
SENSES = (("river",), ("money", "loan"))


def test_lines_of_one_sense_are_respelled_and_synonyms_count_once():
    uses = respelled(LINES, SENSES, "bank")
    by_label = {
        label: {
            " ".join(line)
            for line, other in zip(uses.lines, uses.labels.tolist(), strict=True)
            if other == label
        }
        for label in (0, 1)
    }
    assert by_label == {
        0: {"nile a bank in africa", "thames a bank in england"},
        1: {"coin bank of metal", "bank bank lent as bank"},
    }
    assert all(
        line[place] == "bank" and "bank" not in line[:place]
        for line, place in zip(uses.lines, uses.places, strict=True)
    )


def test_each_sense_has_as_many_lines_as_the_rarest_and_the_seed_says_which():
    many = [f"x{i} a river number{i}".split() for i in range(20)] + [
        ["y", "money"],
        ["z", "money", "too"],
    ]
    uses = respelled(many, SENSES, "bank")
    assert uses.labels.tolist() == [0, 0, 1, 1]
    assert uses.lines == respelled(many, SENSES, "bank").lines
    assert len({tuple(respelled(many, SENSES, "bank", seed).lines[0]) for seed in range(6)}) > 1
    with pytest.raises(MetricError, match="no line holds one of debt"):
        respelled(many, (("river",), ("debt",)), "bank")


def test_centroids_by_hand():
    # The first sense lies along (1, 0), the second along (0, 1), whatever the lengths; one use of
    # the first lies across.
    vectors = torch.tensor([[1.0, 0], [2, 0], [9, 1], [0, 1], [0, 3], [1, 9], [1, 8]])
    labels = torch.tensor([0, 0, 0, 1, 1, 1, 0])
    assert by_centroids(vectors[:6], labels[:6], num_labels=2, draws=20).tolist() == [1.0] * 20
    # With three labels each only one use is left to sort: the one across, wrongly, or one of the
    # three others, rightly.
    assert set(
        by_centroids(
            vectors[[0, 1, 2, 6, 3, 4, 5, 3]],
            labels[[0, 1, 2, 6, 3, 4, 5, 3]],
            num_labels=3,
            draws=40,
        ).tolist()
    ) == {0.5, 1.0}


def test_a_draw_sorts_as_scikit_learns_nearest_neighbour_does_with_the_two_means():
    generator = torch.Generator().manual_seed(3)
    labels = torch.arange(60) % 2
    vectors = torch.randn(60, 5, generator=generator, dtype=torch.float64) + labels[:, None] * 0.7
    unit = torch.nn.functional.normalize(vectors, dim=1)
    draw, expected = torch.Generator().manual_seed(11), []
    for _ in range(8):
        chosen = torch.cat(
            [(labels == s).nonzero()[:, 0][torch.randperm(30, generator=draw)[:4]] for s in (0, 1)]
        )
        rest = torch.tensor([i for i in range(60) if i not in chosen.tolist()])
        means = torch.stack(
            [unit[[i for i in chosen.tolist() if labels[i] == s]].mean(0) for s in (0, 1)]
        )
        theirs = KNeighborsClassifier(1).fit(
            torch.nn.functional.normalize(means, dim=1).numpy(), [0, 1]
        )
        expected.append(
            float(
                (torch.tensor(theirs.predict(unit[rest].numpy())) == labels[rest]).double().mean()
            )
        )
    found = by_centroids(vectors, labels, num_labels=4, draws=8, seed=11)
    assert found.tolist() == pytest.approx(expected)
    assert 0.5 < float(found.mean()) < 1


def test_vectors_that_know_nothing_are_at_chance_and_the_draws_are_the_same_for_all():
    labels = torch.arange(200) % 2
    noise = torch.randn(200, 8, generator=torch.Generator().manual_seed(0))
    assert abs(float(by_centroids(noise, labels).mean()) - 0.5) < 0.03
    assert torch.equal(by_centroids(noise, labels), by_centroids(3 * noise, labels))
    assert (
        by_centroids(torch.ones(200, 8), labels).tolist() == [0.5] * 40
    )  # one vector for all: everything is the first


@pytest.mark.usefixtures("as_students_run_it")
def test_what_cannot_be_sorted_is_named():
    with pytest.raises(MetricError, match="3 vectors but 2 labels"):
        by_centroids(torch.ones(3, 2), torch.tensor([0, 1]))
    with pytest.raises(MetricError, match="sense 1 has 1 uses: 4 labels leave none"):
        by_centroids(torch.ones(6, 2), torch.tensor([0, 0, 0, 0, 0, 1]))
