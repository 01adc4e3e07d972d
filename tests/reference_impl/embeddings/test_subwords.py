"""Subwords: the runs, the hash and the mean against gensim's FastText, the training against
gensim's quality.
"""

import numpy as np
import pytest
import torch

from reference_impl.embeddings.subwords import SubwordVectors, bucket, ngrams, train_subwords
from reference_impl.embeddings.vectors import Vectors
from reference_impl.embeddings.vocabulary import Vocabulary, encode

WORDS = ["where", "her", "a", "of", "bank", "riverbanks", "naïve", "straße", "東京タワー"]


def test_the_runs_of_where_are_those_of_the_paper():
    assert ngrams("where", 3, 3) == ["<wh", "whe", "her", "ere", "re>"]


def test_seven_marks_give_fourteen_runs_of_three_to_six():
    assert len(ngrams("where")) == 5 + 4 + 3 + 2


@pytest.mark.parametrize("word", WORDS)
def test_runs_and_hashes_are_gensims(word):
    pytest.importorskip("gensim")
    from gensim.models.fasttext_inner import compute_ngrams, compute_ngrams_bytes, ft_hash_bytes

    assert sorted(ngrams(word)) == sorted(compute_ngrams(word, 3, 6))
    theirs = sorted(ft_hash_bytes(run) % 1000 for run in compute_ngrams_bytes(word, 3, 6))
    assert sorted(bucket(run, 1000) for run in ngrams(word)) == theirs


def test_a_words_vector_is_gensims_mean_for_words_seen_and_unseen():
    pytest.importorskip("gensim")
    from gensim.models import FastText

    model = FastText(
        [["bank", "river", "where", "of"]] * 20,
        vector_size=8,
        min_count=1,
        bucket=500,
        epochs=1,
        workers=1,
    )
    words = model.wv.index_to_key
    ours = SubwordVectors(
        words, torch.from_numpy(np.concatenate([model.wv.vectors_vocab, model.wv.vectors_ngrams]))
    )
    for word in [*words, "riverbank", "banks"]:
        assert np.allclose(ours[word].numpy(), model.wv[word], atol=1e-6)
    assert torch.allclose(ours.vectors()["river"], ours["river"])


def test_a_word_too_short_for_any_run_and_never_seen_has_no_vector():
    ours = SubwordVectors(["bank"], torch.zeros(11, 2), shortest=4)
    with pytest.raises(KeyError, match="no run of 4 letters"):
        ours["a"]


def test_a_table_is_read_as_it_was_written(tmp_path):
    first = SubwordVectors(["bank", "river"], torch.arange(24.0).view(12, 2), 2, 4)
    first.save(tmp_path / "subwords.safetensors")
    again = SubwordVectors.load(tmp_path / "subwords.safetensors")
    assert (
        again.words == first.words
        and torch.equal(again.table, first.table)
        and torch.equal(again["banks"], first["banks"])
    )


def test_a_file_of_plain_vectors_is_refused(tmp_path):
    Vectors(["bank"], torch.zeros(1, 2)).save(tmp_path / "plain.safetensors")
    with pytest.raises(ValueError, match="holds no subwords"):
        SubwordVectors.load(tmp_path / "plain.safetensors")


def test_without_runs_the_training_is_that_of_skip_gram():
    """Pieces longer than any word leave each word its own row alone: the same draws, the same
    numbers.
    """
    from reference_impl.embeddings.skipgram import train_skipgram

    draw = np.random.default_rng(0)
    words = ["bank", "river", "money", "loan", "of", "shore"]
    lines = [draw.choice(words, 7).tolist() for _ in range(80)]
    vocabulary = Vocabulary.from_sentences(lines)
    settings = {"dim": 6, "epochs": 2, "seed": 4}
    plain = train_skipgram(encode(lines, vocabulary), vocabulary, **settings)
    ours = train_subwords(
        encode(lines, vocabulary), vocabulary, shortest=50, longest=60, buckets=0, **settings
    )
    assert torch.allclose(ours.vectors().matrix, plain.matrix, atol=1e-5)


def test_each_piece_receives_the_whole_gradient_of_its_word():
    """As in the released program.

    Two batches: the first moves the outputs only, which start at zero.
    """
    seen = []
    lines = [["bank", "banks", "river"]]
    vocabulary = Vocabulary.from_sentences(lines)
    train_subwords(
        encode(lines, vocabulary),
        vocabulary,
        dim=4,
        window=1,
        epochs=2,
        threshold=1e9,
        buckets=40,
        seed=2,
        shared_noise=3,
        learning_rate=0.5,
        observe=lambda step: seen.append((step, *(t.clone() for t in step.tables))),
    )
    (_, pieces, output), (step, moved_pieces, moved_output) = seen
    model = SubwordVectors(vocabulary.words, pieces)
    means = torch.stack([model[word] for word in vocabulary.words]).requires_grad_()
    output.requires_grad_()
    row, i, j = step.batch.mask.nonzero(as_tuple=True)
    centre, context = step.batch.words[row, i], step.batch.words[row, j]
    softplus = torch.nn.functional.softplus
    loss = (
        softplus(-(means[centre] * output[context]).sum(1)).sum()
        + softplus(means[centre] @ output[step.negatives].T).sum() * 5 / 3
    )
    loss.backward()
    rate = 0.25  # half of the work is done
    wanted = pieces.clone()
    for word, gradient in zip(vocabulary.words, means.grad):
        for r in model.rows(word):
            wanted[r] -= rate * gradient
    assert means.grad.abs().max() > 0.01
    assert torch.allclose(moved_pieces, wanted, atol=1e-6)
    assert torch.allclose(moved_output, output - rate * output.grad, atol=1e-6)


def test_a_form_that_was_never_seen_lies_near_its_stem():
    draw = np.random.default_rng(0)
    stems = {"bank": ["loan", "money", "debt", "fund"], "tiger": ["claw", "wild", "hunt", "prey"]}
    lines = [
        [*draw.choice(around, 2), stem + draw.choice(["", "s", "ed"]), *draw.choice(around, 2)]
        for _ in range(50)
        for stem, around in stems.items()
    ]
    vocabulary = Vocabulary.from_sentences(lines)
    ours = train_subwords(
        encode(lines, vocabulary),
        vocabulary,
        dim=8,
        epochs=20,
        learning_rate=0.05,
        threshold=1.0,
        rows=1,
        row_length=10,
        buckets=2000,
    )
    cosine = torch.nn.functional.cosine_similarity
    assert "banking" not in ours.index
    assert (
        cosine(ours["banking"], ours["bank"], dim=0)
        > 0.8
        > 0.5
        > cosine(ours["banking"], ours["tiger"], dim=0)
    )
