"""Judging: ranks and rho against scipy, similarity and analogies against gensim on the same
vectors.
"""

import numpy as np
import pytest
import scipy.spatial.distance
import scipy.stats
import torch

from reference_impl.corpora import Analogy
from reference_impl.embeddings.evaluation import (
    analogy,
    analogy_accuracy,
    cosine_similarity,
    ranks,
    spearman,
    word_similarity,
)
from reference_impl.embeddings.vectors import Vectors


@pytest.fixture(scope="module")
def random_vectors():
    words = [f"w{i}" for i in range(60)]
    return Vectors(words, torch.randn(60, 10, generator=torch.Generator().manual_seed(0)))


@pytest.fixture(scope="module")
def in_gensim(random_vectors):
    pytest.importorskip("gensim")
    from gensim.models import KeyedVectors

    keyed = KeyedVectors(random_vectors.dim)
    keyed.add_vectors(random_vectors.words, random_vectors.matrix.numpy())
    return keyed


def test_cosine_is_one_minus_scipys_distance():
    a, b = torch.randn(2, 5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    expected = [
        1 - scipy.spatial.distance.cosine(x, y) for x, y in zip(a.numpy(), b.numpy(), strict=True)
    ]
    assert cosine_similarity(a, b).tolist() == pytest.approx(expected)


def test_cosine_with_a_zero_vector_is_zero():
    assert cosine_similarity(torch.zeros(3), torch.ones(3)).item() == 0


@pytest.mark.parametrize(
    "values", [[3.0, 1.0, 2.0], [1.0, 1.0, 1.0], [5.0, 2.0, 5.0, 2.0, 9.0, 5.0]]
)
def test_ranks_share_the_mean_place_as_in_scipy(values):
    assert ranks(torch.tensor(values)).tolist() == scipy.stats.rankdata(values).tolist()


def test_rho_is_scipys_with_and_without_ties():
    rng = np.random.default_rng(0)
    for x, y in (
        (rng.random(50), rng.random(50)),
        (rng.integers(0, 5, 50) * 1.0, rng.integers(0, 4, 50) * 1.0),
    ):
        assert spearman(torch.from_numpy(x), torch.from_numpy(y)) == pytest.approx(
            scipy.stats.spearmanr(x, y).statistic
        )


def test_rho_sees_only_the_order():
    x = torch.tensor([0.1, 0.5, 0.2, 0.9])
    assert spearman(x, x.exp()) == pytest.approx(1) and spearman(x, -x) == pytest.approx(-1)


def test_word_similarity_is_gensims_on_the_same_vectors(random_vectors, in_gensim, tmp_path):
    rng = np.random.default_rng(3)
    pairs = [
        (f"W{a}", f"w{b}", float(s))
        for a, b, s in zip(*rng.integers(0, 70, (2, 80)), rng.random(80), strict=True)
        if a != b
    ]
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\t{s}\n" for a, b, s in pairs))
    _, rho, unknown = in_gensim.evaluate_word_pairs(tmp_path / "pairs.tsv")
    ours = word_similarity(random_vectors, pairs)
    assert ours.rho == pytest.approx(rho.statistic)
    assert ours.out_of_vocabulary / ours.total * 100 == pytest.approx(unknown)
    assert (
        ours.used + ours.out_of_vocabulary == ours.total == len(pairs)
        and ours.out_of_vocabulary > 0
    )


def test_similarity_of_pairs_without_vectors_is_refused(random_vectors):
    with pytest.raises(ValueError, match="only 1 of 2 pairs"):
        word_similarity(random_vectors, [("w1", "w2", 1.0), ("x", "w1", 2.0)])


@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
def test_each_answer_is_gensims(random_vectors, in_gensim, method):
    search = in_gensim.most_similar if method == "3cosadd" else in_gensim.most_similar_cosmul
    questions = (
        np.random.default_rng(4).permuted(np.tile(np.arange(60), (40, 1)), axis=1)[:, :3].tolist()
    )
    for a, b, c in questions:
        expected = search(positive=[f"w{b}", f"w{c}"], negative=[f"w{a}"], topn=1)[0][0]
        assert f"w{analogy(random_vectors.matrix, a, b, c, method)}" == expected


def test_accuracy_and_unknown_words_are_gensims(tmp_path):
    # A grid: the vector of "rXcY" is (X, Y) plus a little noise, so that some answers are right and
    # some are not.
    rng = np.random.default_rng(6)
    words = [f"R{r}C{c}".lower() for r in range(4) for c in range(4)]
    grid = np.array(
        [[r, c, 1, *rng.normal(0, 0.3, 5)] for r in range(4) for c in range(4)], dtype=np.float32
    )
    lines, questions = [": grid"], []
    for r1, c1, r2, c2 in rng.integers(0, 5, (60, 4)):
        row = (f"R{r1}C{c1}", f"R{r1}C{c2}", f"R{r2}C{c1}", f"R{r2}C{c2}")
        if len(set(row)) == 4:
            lines.append(" ".join(row))
            questions.append(Analogy("grid", *row))
    (tmp_path / "questions.txt").write_text("\n".join(lines) + "\n")
    pytest.importorskip("gensim")
    from gensim.models import KeyedVectors

    keyed = KeyedVectors(8)
    keyed.add_vectors(words, grid)
    accuracy, sections = keyed.evaluate_word_analogies(tmp_path / "questions.txt")
    ours = analogy_accuracy(Vectors(words, torch.from_numpy(grid)), questions, batch=7)
    assert ours.accuracy == pytest.approx(accuracy) and 0 < accuracy < 1
    assert ours.used == len(sections[0]["correct"]) + len(sections[0]["incorrect"])
    assert (
        ours.used + ours.out_of_vocabulary == ours.total == len(questions)
        and ours.out_of_vocabulary > 0
    )


def test_the_three_words_of_a_question_are_never_the_answer():
    matrix = torch.tensor([[1.0, 0.0], [1.0, 0.01], [1.0, 0.02], [-1.0, 0.5]])
    assert analogy(matrix, 0, 1, 2) == 3


def test_an_analogy_worked_by_hand_does_not_mind_lengths():
    # king - man + woman, with lengths that would mislead dot products.
    man, woman, king, queen, other = [1, 0, 1], [1, 1, 0], [9, 0, 18], [0.1, 0.2, 0.1], [8, 0, 0]
    matrix = torch.tensor([man, woman, king, queen, other], dtype=torch.float32)
    assert analogy(matrix, 0, 2, 1) == 3


def test_an_unknown_method_names_the_two_there_are():
    with pytest.raises(ValueError, match='choose "3cosadd" or "3cosmul"'):
        analogy(torch.ones(4, 2), 0, 1, 2, method="cosine")
