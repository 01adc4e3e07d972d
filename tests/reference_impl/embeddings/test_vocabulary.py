import numpy as np
import pytest

from reference_impl.embeddings.vocabulary import Vocabulary, encode, flatten, tokenize


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("The bank's 2 doors.", ["the", "bank's", "doors"]),
        ("fire-resistant, mid-1920s", ["fire", "resistant", "mid", "s"]),
        ("'quoted' o'clock'", ["quoted", "o'clock"]),
        ("", []),
        ("12 ½ -", []),
    ],
)
def test_a_word_is_a_run_of_letters_in_lower_case_with_at_most_one_apostrophe(line, words):
    assert tokenize(line) == words


def test_words_are_ordered_by_count_then_by_spelling():
    vocabulary = Vocabulary.from_sentences([["b", "a", "c"], ["c", "d"]])
    assert vocabulary.words == ["c", "a", "b", "d"]
    assert vocabulary.counts.tolist() == [2, 1, 1, 1]


def test_ids_do_not_depend_on_the_order_of_the_sentences():
    one, two = [["b", "a"], ["a", "d", "b"]], [["a", "d", "b"], ["b", "a"]]
    assert Vocabulary.from_sentences(one).words == Vocabulary.from_sentences(two).words


def test_a_word_seen_exactly_min_count_times_is_kept():
    assert Vocabulary.from_sentences([["a", "a", "b"]], min_count=2).words == ["a"]


def test_index_is_the_inverse_of_words():
    vocabulary = Vocabulary.from_sentences([["x", "y", "z", "y"]])
    assert [vocabulary.index[word] for word in vocabulary.words] == [0, 1, 2]
    assert "y" in vocabulary and "q" not in vocabulary and len(vocabulary) == 3


def test_unknown_words_are_dropped_and_their_neighbours_close_up():
    vocabulary = Vocabulary(["a", "b"], [2, 1])
    assert [ids.tolist() for ids in encode([["a", "?", "b"], ["?"]], vocabulary)] == [[0, 1], []]


def test_flatten_says_which_sentence_each_word_came_from():
    ids, sentence_of = flatten([np.array([4, 5]), np.array([], dtype=np.int64), np.array([6])])
    assert ids.tolist() == [4, 5, 6] and sentence_of.tolist() == [0, 0, 2]


def test_words_and_counts_of_different_length_are_refused():
    with pytest.raises(ValueError, match="2 words but 1 counts"):
        Vocabulary(["a", "b"], [1])


def test_a_word_twice_in_the_vocabulary_is_refused():
    with pytest.raises(ValueError, match="occurs twice"):
        Vocabulary(["a", "a"], [1, 1])
