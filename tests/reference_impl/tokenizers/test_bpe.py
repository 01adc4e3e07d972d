"""BPE: the published example, the plain form against the quick one, and both against
`tokenizers`.
"""

import json
from collections import Counter

import pytest
import tokenizers
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st

from reference_impl.tokenizers import bpe  # noqa: E402
from reference_impl.tokenizers.bpe_training import train_bpe  # noqa: E402
from reference_impl.tokenizers.pretokenizers import WORDS_AND_SIGNS, split  # noqa: E402
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary  # noqa: E402

SENNRICH = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
few_words = st.dictionaries(
    st.text("abc", min_size=1, max_size=8), st.integers(1, 5), min_size=1, max_size=8
)


def library_bpe(text, vocab_size, **trainer):
    library = tokenizers.Tokenizer(tokenizers.models.BPE())
    library.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    settings_ = dict(vocab_size=vocab_size, show_progress=False) | trainer
    library.train_from_iterator([text], tokenizers.trainers.BpeTrainer(**settings_))
    return library


def merges_of(library):
    return [tuple(merge) for merge in json.loads(library.to_str())["model"]["merges"]]


def test_the_published_example():
    model = bpe.train_bpe_plain(SENNRICH, 4)
    assert model.merges == [("e", "s"), ("es", "t"), ("l", "o"), ("lo", "w")]
    assert model.split("lowest") == ["low", "est"]


def test_a_repeated_character_counts_as_often_as_it_has_neighbours():
    assert bpe.count_pairs({("a", "a", "a"): 2}) == {("a", "a"): 4}


def test_merging_starts_at_the_left_and_does_not_overlap():
    assert bpe.merge_pair(("a", "a", "a"), ("a", "a")) == ("aa", "a")
    assert bpe.merge_pair(("a", "b", "a", "b"), ("a", "b")) == ("ab", "ab")
    assert bpe.merge_pair(("a",), ("a", "a")) == ("a",)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(word_counts=few_words, num_merges=st.integers(0, 12))
def test_quick_training_learns_what_plain_training_learns(word_counts, num_merges):
    plain = bpe.train_bpe_plain(word_counts, num_merges)
    quick = train_bpe(word_counts, len(plain.vocabulary))
    assert quick.vocabulary.tokens == plain.vocabulary.tokens
    assert quick.merges == plain.merges[: len(quick.merges)]


@pytest.mark.parametrize("vocab_size", [150, 1000, 3000])
def test_training_learns_the_merges_of_tokenizers_ties_included(code, vocab_size):
    model = train_bpe(Counter(split(WORDS_AND_SIGNS, code)), vocab_size)
    library = library_bpe(code, vocab_size)
    assert model.merges == merges_of(library)
    assert model.vocabulary.id_of == library.get_vocab()


def test_special_tokens_alphabet_and_smallest_count_agree_with_tokenizers(code):
    model = train_bpe(
        Counter(split(WORDS_AND_SIGNS, code)), 2000, ["<s>", "a"], ["\u00e9", "\U0001f389"], 20
    )
    library = library_bpe(
        code,
        2000,
        special_tokens=["<s>", "a"],
        initial_alphabet=["\u00e9", "\U0001f389"],
        min_frequency=20,
    )
    assert model.vocabulary.id_of == library.get_vocab()
    assert 100 < len(model.vocabulary) < 2000


@settings(deadline=None, max_examples=300, derandomize=True)
@given(word_counts=few_words, word=st.text("abc", max_size=200))
def test_the_heap_and_the_table_merge_as_the_plain_loop_does(word_counts, word):
    model = train_bpe(word_counts, 40, alphabet="abc")
    plain = bpe.merge_by_rank(word, model.rank)
    assert bpe.merge_by_rank_heap(word, model.rank) == plain
    assert bpe.merge_by_table(word, {pair: rank for rank, pair in enumerate(model.merges)}) == plain


@settings(deadline=None, max_examples=300, derandomize=True)
@given(
    merges=st.lists(
        st.tuples(st.text("ab", min_size=1, max_size=3), st.text("ab", min_size=1, max_size=3)),
        max_size=8,
        unique=True,
    ),
    word=st.text("ab", max_size=90),
)
def test_merges_in_any_order_are_made_as_tokenizers_makes_them(merges, word):
    tokens = list(
        dict.fromkeys(
            ["a", "b", *(t for left, right in merges for t in (left, right, left + right))]
        )
    )
    model = bpe.BPE(Vocabulary(tokens), merges)
    library = tokenizers.models.BPE(model.vocabulary.id_of, merges)
    assert model.split(word) == [token.value for token in library.tokenize(word)]


def test_tokens_come_with_their_places():
    model = bpe.train_bpe_plain(SENNRICH, 4)
    assert [
        (model.vocabulary.token(id), start, end) for id, start, end in model.tokenize("newest")
    ] == [("n", 0, 1), ("e", 1, 2), ("w", 2, 3), ("est", 3, 6)]


def test_an_unknown_character_is_the_unknown_token_or_an_error_that_names_it():
    with_unknown = train_bpe(SENNRICH, 20, ["<unk>"], unknown="<unk>")
    assert [piece.id for piece in with_unknown.tokenize("lox")][-1] == 0
    with pytest.raises(TokenizerError, match="'x' in 'lox' has no token.*vocabulary of 14"):
        bpe.train_bpe_plain(SENNRICH, 4).tokenize("lox")


def test_a_word_of_twenty_thousand_equal_characters_is_cut_as_a_short_one():
    model = bpe.BPE(Vocabulary(["a", "aa", "aaaa"]), [("a", "a"), ("aa", "aa")])
    assert model.split("a" * 20_001) == ["aaaa"] * 5_000 + ["a"]


def test_without_merges_the_lowest_id_is_joined_first():
    model = bpe.BPE(Vocabulary(["a", "b", "c", "bc", "ab"]), None)
    assert model.split("abc") == ["a", "bc"]


def test_a_vocabulary_too_small_for_the_characters_is_refused():
    with pytest.raises(
        TokenizerError, match="vocab_size is 5, but 1 special tokens and 10 characters need 11"
    ):
        train_bpe(SENNRICH, 5, ["<s>"])


def test_a_merge_of_tokens_that_are_missing_is_refused():
    with pytest.raises(
        TokenizerError, match="'a' \\+ 'b' needs 'ab', which is not among the 2 tokens"
    ):
        bpe.BPE(Vocabulary(["a", "b"]), [("a", "b")])


def test_an_empty_text_trains_to_nothing():
    assert train_bpe({}, 10).merges == [] and bpe.train_bpe_plain({}, 5).merges == []
