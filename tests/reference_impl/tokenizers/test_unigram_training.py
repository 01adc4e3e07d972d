"""Training a unigram model: each step against a plain form, the whole against `tokenizers`."""

import json
import math
from collections import Counter

import numpy as np
import pytest
import tokenizers

from reference_impl.tokenizers import unigram_training as training  # noqa: E402
from reference_impl.tokenizers.pretokenizers import WORDS_AND_SIGNS, split  # noqa: E402
from reference_impl.tokenizers.unigram import Unigram, log_sum_exp  # noqa: E402
from reference_impl.tokenizers.vocabulary import TokenizerError  # noqa: E402


@pytest.fixture(scope="module")
def words(code):
    return Counter(split(WORDS_AND_SIGNS, code))


@pytest.fixture(scope="module")
def weighed(words):
    """Pieces after one E and M step, with the lattice, for the tests of single steps."""
    pieces = training.seed_pieces(training.Substrings(words, 16), 1_000_000)
    lattice = training.Lattice(training.Substrings(words, 16), pieces)
    kept = training.m_step(dict(zip(pieces, lattice.expected_counts(list(pieces.values())))))
    lattice.keep_only([i for i, piece in enumerate(pieces) if piece in kept])
    return kept, lattice


def plain_model(pieces):
    # The unknown token takes the lowest score, so that it does not lower that of unknown
    # characters.
    return Unigram([("<unk>", min(pieces.values())), *pieces.items()])


def library_pieces(text, vocab_size):
    library = tokenizers.Tokenizer(tokenizers.models.Unigram())
    library.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    library.train_from_iterator(
        [text],
        tokenizers.trainers.UnigramTrainer(
            vocab_size=vocab_size, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
        ),
    )
    return dict(json.loads(library.to_str())["model"]["vocab"])


def test_seeds_go_on_in_two_ways_and_weigh_count_times_length():
    pieces = training.seed_pieces(training.Substrings({"abab": 1, "abc": 2}, 16), 100)
    weights = {piece: round(math.exp(score) * 16) for piece, score in pieces.items()}
    # "ab" stands three times in different words, before "a", before "c" and at the end; "ba" goes
    # on in one way only.
    assert weights == {"b": 4, "a": 4, "c": 2, "ab": 6}
    assert list(pieces)[:3] == ["b", "a", "c"]


def test_expected_counts_of_the_arrays_are_those_of_the_words_one_by_one(words, weighed):
    pieces, lattice = weighed
    model, expected = plain_model(pieces), Counter()
    for word, count in words.items():
        for id, value in model.expected_counts(word)[0].items():
            expected[model.vocabulary.token(id)] += value * count
    ours = lattice.expected_counts(list(pieces.values()))
    assert ours == pytest.approx([expected[piece] for piece in pieces], rel=1e-9, abs=1e-9)


def test_best_counts_of_the_arrays_are_those_of_the_words_one_by_one(words, weighed):
    pieces, lattice = weighed
    model, expected = plain_model(pieces), Counter()
    for word, count in words.items():
        for edge in model.best(word):
            expected[model.vocabulary.token(edge.id)] += count
    ours = dict(zip([*pieces, "<unk>"], lattice.best_counts(list(pieces.values()))))
    different = {piece for piece in ours if ours[piece] != expected[piece]}
    assert different == set()


def test_of_equally_good_cuts_the_arrays_take_the_one_of_the_words_one_by_one():
    pieces = {"a": -1.0, "aa": -2.0, "aaa": -3.5}
    assert plain_model(pieces).split("aaa") == ["a", "aa"]
    lattice = training.Lattice(training.Substrings({"aaa": 5}, 16), pieces)
    assert lattice.best_counts(list(pieces.values())).tolist() == [5, 5, 0, 0]


def test_em_never_lowers_the_likelihood_without_its_prior(words):
    pieces = training.seed_pieces(training.Substrings(words, 16), 1_000_000)
    likelihoods = []
    for _ in range(3):
        lattice = training.Lattice(training.Substrings(words, 16), pieces)
        model = plain_model(pieces)
        likelihoods.append(
            sum(model.expected_counts(word)[1] * count for word, count in words.items())
        )
        expected = lattice.expected_counts(list(pieces.values()))
        total = math.log(expected.sum())
        pieces = {
            piece: math.log(max(count, 1e-300)) - total for piece, count in zip(pieces, expected)
        }
    assert likelihoods == sorted(likelihoods)


def test_the_m_step_drops_pieces_expected_less_than_half_a_time_and_loves_frequent_ones():
    scores = training.m_step({"a": 100.0, "b": 1.0, "c": 0.49})
    assert list(scores) == ["a", "b"]
    assert log_sum_exp(list(scores.values())) < 0  # the prior takes some of the probability away
    assert scores["a"] - scores["b"] > math.log(100)


def test_pruning_drops_what_costs_the_least(words, weighed):
    pieces, lattice = weighed
    model, used = plain_model(pieces), Counter()
    for word, count in words.items():
        for edge in model.best(word):
            used[model.vocabulary.token(edge.id)] += count
    total, loss = sum(used.values()), {}
    for piece in pieces:
        if len(piece) > 1 and used[piece]:
            cut = next(cut for cut, _ in model.n_best(piece, 3) if len(cut) > 1)
            cut = [part if part in pieces else "<unk>" for part in cut]
            log_total = math.log(total + used[piece] * (len(cut) - 1))
            after = sum(math.log(used[part] + used[piece]) - log_total for part in cut)
            loss[piece] = used[piece] * (math.log(used[piece] / total) - after)
    ours = training.removal_losses(lattice, pieces)
    assert ours.keys() == loss.keys()
    assert ours == pytest.approx(loss, rel=1e-9)
    characters = [piece for piece in pieces if len(piece) == 1]
    size = len(characters) + len(loss) // 2
    expected = sorted(loss, key=loss.get, reverse=True)[: size - len(characters)]
    assert set(training.prune(lattice, pieces, size)) == {*characters, *expected}


def test_without_pruning_the_pieces_and_scores_are_those_of_tokenizers(code):
    text = code[:30_000]
    ours = training.train_unigram(Counter(split(WORDS_AND_SIGNS, text)), 100_000)
    theirs = library_pieces(text, 100_000)
    mine = dict(zip(ours.vocabulary.tokens, ours.scores))
    assert set(mine) == set(theirs)
    # Characters that EM dropped come back a little above the lowest score; the library puts them in
    # any order.
    learned = [piece for piece in mine if mine[piece] > min(mine.values()) + 0.01]
    assert len(learned) > 300
    assert np.allclose(
        [mine[piece] for piece in learned], [theirs[piece] for piece in learned], atol=1e-8
    )


@pytest.mark.parametrize("vocab_size", [300, 500])
def test_after_pruning_a_model_is_as_good_as_that_of_tokenizers(code, words, vocab_size):
    ours = training.train_unigram(words, vocab_size)
    theirs = library_pieces(code, vocab_size)
    assert len(ours.vocabulary) == len(theirs) == vocab_size
    assert len(set(ours.vocabulary) & set(theirs)) >= 0.95 * vocab_size

    def log_likelihood(model):
        return sum(
            sum(edge.score for edge in model.best(word)) * count for word, count in words.items()
        )

    # Both are negative: ours may be at most half a percent worse.
    assert log_likelihood(ours) >= 1.005 * log_likelihood(Unigram(theirs.items()))


def test_specials_come_first_then_unknown_then_pieces_by_score(words):
    model = training.train_unigram(words, 300, ["<pad>", "</s>"])
    assert model.vocabulary.tokens[:3] == ["<pad>", "</s>", "<unk>"] and model.unknown_id == 2
    assert model.scores[3:] == sorted(model.scores[3:], reverse=True)
    assert len(model.vocabulary) == 300


def test_every_character_of_the_text_has_a_piece(words):
    model = training.train_unigram(words, 200)
    assert all(model.unknown_id not in [edge.id for edge in model.best(word)] for word in words)


def test_a_vocabulary_too_small_for_the_characters_is_refused():
    with pytest.raises(
        TokenizerError, match="vocab_size is 3, but 1 special tokens, '<unk>' among them, .* need 4"
    ):
        training.train_unigram({"abc": 1}, 3)


def test_no_words_are_refused():
    with pytest.raises(TokenizerError, match="no words to train on"):
        training.train_unigram({"": 3}, 10)


def test_pieces_that_no_best_cut_uses_leave_only_characters():
    words = {"ab": 100, "cabd": 1, "eabf": 1}
    pieces = {"a": -1.0, "b": -1.0, "c": -3.0, "d": -3.0, "e": -3.0, "f": -3.0, "ab": -9.0}
    assert set(
        training.prune(training.Lattice(training.Substrings(words, 16), pieces), pieces, 6)
    ) == set("abcdef")


def test_an_unknown_token_among_the_specials_is_not_added_again():
    model = training.train_unigram({"abc": 2}, 10, ["<unk>", "<s>"])
    assert model.vocabulary.tokens[:2] == ["<unk>", "<s>"]
