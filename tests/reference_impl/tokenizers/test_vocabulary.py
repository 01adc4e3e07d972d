"""Tokens and ids, and what is refused."""

import pytest

from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary  # noqa: E402


def test_a_mapping_and_a_list_give_the_same_vocabulary():
    assert Vocabulary({"b": 1, "a": 0}).tokens == Vocabulary(["a", "b"]).tokens == ["a", "b"]


def test_ids_and_tokens_go_both_ways():
    vocabulary = Vocabulary(["a", "b"])
    assert [vocabulary.id(token) for token in vocabulary] == [0, 1]
    assert (
        vocabulary.token(1) == "b"
        and "b" in vocabulary
        and "c" not in vocabulary
        and len(vocabulary) == 2
    )


@pytest.mark.parametrize(
    "tokens, words",
    [
        (["a", "b", "a"], ["'a'", "twice", "id 0", "id 2"]),
        ({"a": 0, "b": 2}, ["'b'", "2", "hole"]),
        ({"a": 0, "b": 0}, ["id 0", "'a'", "'b'"]),
        ({"a": -1}, ["'a'", "-1"]),
    ],
)
def test_a_vocabulary_that_is_none_is_refused(tokens, words):
    with pytest.raises(TokenizerError) as error:
        Vocabulary(tokens)
    assert all(word in str(error.value) for word in words)


def test_unknown_tokens_and_ids_are_errors_that_name_both_sides():
    vocabulary = Vocabulary(["a", "b"])
    with pytest.raises(TokenizerError, match="'c' is not among the 2 tokens"):
        vocabulary.id("c")
    for id in (2, -1):
        with pytest.raises(
            TokenizerError, match=f"id {id} is outside the vocabulary, whose ids are 0 to 1"
        ):
            vocabulary.token(id)
