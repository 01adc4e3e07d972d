"""Trained vectors: made once, kept under a key, made anew when what they depend on changes."""

import numpy as np
import pytest
import torch

from reference_impl import corpora
from reference_impl.embeddings import trained as module
from reference_impl.embeddings.evaluation import word_similarity
from reference_impl.embeddings.trained import trained, trained_history, trained_path
from reference_impl.embeddings.vocabulary import Vocabulary, encode


@pytest.fixture
def small(tmp_path, monkeypatch):
    """An empty cache, and six hundred short sentences in place of the dictionary."""
    monkeypatch.setenv("W2S_CACHE", str(tmp_path))
    rng = np.random.default_rng(0)
    words = [
        "bank",
        "river",
        "water",
        "money",
        "loan",
        "the",
        "of",
        "a",
        "shore",
        "cash",
        "dog",
        "cat",
    ]
    sentences = [rng.choice(words, 6).tolist() for _ in range(600)]
    vocabulary = Vocabulary.from_sentences(sentences)
    monkeypatch.setattr(module, "corpus_words", lambda: (encode(sentences, vocabulary), vocabulary))
    monkeypatch.setattr(
        module,
        "SETTINGS",
        {method: settings | {"dim": 4} for method, settings in module.SETTINGS.items()},
    )
    return tmp_path


@pytest.mark.parametrize("method", ["svd", "skipgram", "cbow", "glove", "subwords"])
def test_a_method_is_trained_once_and_then_read(small, method, capsys):
    first = trained(method)
    written = trained_path(method).stat().st_mtime_ns
    again = trained(method)
    assert first.matrix.shape == (12, 4) and first.matrix.dtype == torch.float32
    assert torch.equal(first.matrix, again.matrix) and first.words == again.words
    assert trained_path(method).stat().st_mtime_ns == written
    # One line at the start and one at the end where there is no terminal, and nothing the second
    # time.
    assert capsys.readouterr().err.count(f"training {method} on oewn_glosses") == 2


def test_training_again_in_an_empty_cache_gives_the_same_numbers(small):
    first = trained("skipgram")
    trained_path("skipgram").unlink()
    assert torch.equal(trained("skipgram").matrix, first.matrix)


def test_other_settings_are_kept_apart(small, monkeypatch):
    before = trained_path("cbow")
    monkeypatch.setitem(module.SETTINGS, "cbow", module.SETTINGS["cbow"] | {"epochs": 3})
    assert trained_path("cbow") != before


def test_rewording_a_comment_keeps_the_vectors_and_changing_the_code_does_not():
    one = 'def f(x):\n    """What."""\n    return x + 1  # why\n'
    assert module._code(one) == module._code(
        'def f(x):\n    """What else."""\n\n    return x + 1\n'
    )
    assert module._code(one) == module._code(
        "import math\n" + one.replace("f(x)", "f(x: int) -> float")
    )
    assert module._code(one) != module._code(one.replace("+ 1", "+ 2"))


def test_an_unknown_method_lists_those_there_are():
    with pytest.raises(ValueError, match="there are: svd, skipgram, cbow, glove, subwords"):
        trained("elmo")


def test_the_history_is_recorded_with_the_training(small):
    film = trained_history("skipgram")
    assert "bank" in film["words"] and len(film["snapshots"]) > 10
    assert trained_history("skipgram") == film


def test_a_lost_history_is_made_again(small):
    film = trained_history("skipgram")
    trained_path("skipgram").with_suffix(".history.json").unlink()
    assert trained_history("skipgram") == film


@pytest.mark.slow
@pytest.mark.parametrize("method", ["svd", "skipgram"])
def test_vectors_trained_on_the_glosses_reach_a_wordsim_of_one_half(method):
    score = word_similarity(trained(method), corpora.load("wordsim353"))
    assert score.rho > 0.50 and score.used > 330


def test_the_words_of_the_corpus_are_cut_once_and_then_read_as_they_were(tmp_path, monkeypatch):
    monkeypatch.setenv("W2S_CACHE", str(tmp_path))
    lines = ["The river bank's river", "", "the bank lends; the river bank rises", "the end"]
    monkeypatch.setattr(module.corpora, "load", lambda name: lines)
    module.corpus_words()
    monkeypatch.setattr(module.corpora, "load", None)  # a second cut would call it
    sentences, vocabulary = module.corpus_words()
    assert (vocabulary.words, vocabulary.counts.tolist()) == (["the", "river", "bank"], [4, 3, 2])
    assert [[vocabulary.words[i] for i in sentence] for sentence in sentences] == [
        ["the", "river", "river"],
        [],
        ["the", "bank", "the", "river", "bank"],
        ["the"],
    ]
