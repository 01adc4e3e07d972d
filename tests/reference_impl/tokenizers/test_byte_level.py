"""Byte-level BPE against `tokenizers` and `tiktoken`, and the way back from any bytes."""

import json

import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st

from reference_impl.tokenizers import byte_level  # noqa: E402
from reference_impl.tokenizers.pretokenizers import GPT2  # noqa: E402
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary  # noqa: E402


@pytest.fixture(scope="module")
def model(code):
    return byte_level.train_byte_level_bpe([code], 1200, ["<|endoftext|>"])


@pytest.fixture(scope="module")
def their_tiktoken(model):
    ranks = {
        byte_level.from_characters(token): id
        for token, id in model.vocabulary.id_of.items()
        if id > 0
    }
    return tiktoken.Encoding(
        "trained", pat_str=GPT2.pattern, mergeable_ranks=ranks, special_tokens={}
    )


@pytest.fixture(scope="module")
def their_tokenizers(model):
    library = tokenizers.Tokenizer(tokenizers.models.BPE(model.vocabulary.id_of, model.merges))
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return library


def test_the_table_is_that_of_tokenizers_and_has_256_different_characters():
    assert sorted(byte_level.byte_characters()) == sorted(
        tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    assert len(set(byte_level.byte_characters())) == 256


def test_a_space_is_a_capital_g_with_a_dot():
    assert byte_level.to_characters(b"a b\n") == "a\u0120b\u010a"


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.binary())
def test_any_bytes_come_back_from_their_characters(data):
    assert byte_level.from_characters(byte_level.to_characters(data)) == data


def test_training_learns_the_merges_of_tokenizers(code, model):
    library = tokenizers.Tokenizer(tokenizers.models.BPE())
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=1200,
        special_tokens=["<|endoftext|>"],
        show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    library.train_from_iterator(code.splitlines(keepends=True), trainer)
    ours = byte_level.train_byte_level_bpe(code.splitlines(keepends=True), 1200, ["<|endoftext|>"])
    assert ours.merges == [
        tuple(merge) for merge in json.loads(library.to_str())["model"]["merges"]
    ]
    assert ours.vocabulary.id_of == library.get_vocab()


def test_awkward_texts_have_the_ids_of_tiktoken(model, their_tiktoken, awkward, code):
    for text in [*awkward, code]:
        assert model.encode(text) == their_tiktoken.encode(text, disallowed_special=()), text


@settings(deadline=None, max_examples=300, derandomize=True)
@given(text=st.text(st.characters()))
def test_any_text_has_the_ids_of_tiktoken_and_tokenizers_and_comes_back(
    model, their_tiktoken, their_tokenizers, text
):
    ids = model.encode(text)
    assert ids == their_tiktoken.encode(text, disallowed_special=())
    assert model.decode(ids) == byte_level.without_surrogates(text)
    if not any("\ud800" <= c <= "\udfff" for c in text):
        assert ids == their_tokenizers.encode(text).ids


@settings(deadline=None, max_examples=300, derandomize=True)
@given(data=st.binary(max_size=60))
def test_any_bytes_come_back_through_ids(model, data):
    assert model.decode_bytes(model.encode_bytes(data)) == data


def test_bytes_that_are_text_are_encoded_as_that_text(model, awkward):
    assert [model.encode_bytes(text.encode()) for text in awkward] == [
        model.encode(text) for text in awkward
    ]


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d\ude00", "x\ude00\ud83d "])
def test_surrogates_are_read_as_tiktoken_reads_them(model, their_tiktoken, text):
    assert model.encode(text) == their_tiktoken.encode(text)


def test_decoding_half_a_character_shows_the_replacement_character(model):
    half = [model.vocabulary.id(byte_level.to_characters(b"\xe6"))]
    assert model.decode(half) == "\ufffd" and model.decode_bytes(half) == b"\xe6"


def test_the_same_ids_come_from_long_words_as_from_short_ones(model, their_tiktoken):
    for text in ["a" * 63, "a" * 64, "_" * 1000, "\u65e5" * 500]:
        assert model.encode(text) == their_tiktoken.encode(text)


def test_an_id_outside_the_vocabulary_is_an_error(model):
    with pytest.raises(
        TokenizerError, match="id 1200 is outside the vocabulary, whose ids are 0 to 1199"
    ):
        model.decode([1200])


def test_a_vocabulary_without_room_for_all_bytes_is_refused():
    with pytest.raises(TokenizerError, match="vocab_size is 200"):
        byte_level.train_byte_level_bpe(["abc"], 200)


def test_a_vocabulary_that_lacks_a_byte_says_so():
    model = byte_level.ByteLevelBPE(Vocabulary(["a"]), [])
    with pytest.raises(TokenizerError, match="'b' is not among the 1 tokens"):
        model.encode("ab")


def test_what_was_met_before_is_looked_up(model):
    class Counting(byte_level.ByteLevelBPE):
        splits = 0

        def split(self, word):
            Counting.splits += 1
            return super().split(word)

    counting = Counting(model.vocabulary, model.merges)
    assert counting.encode("one two one two one") == model.encode("one two one two one")
    assert Counting.splits == 3  # "one", " two" and " one", each once


def test_training_never_merges_inside_or_across_special_tokens():
    texts = ["one<|end|>two " * 50, "<|end|><|end|>" * 50]
    model = byte_level.train_byte_level_bpe(texts, 400, ["<|end|>"])
    plain = byte_level.train_byte_level_bpe(["one", *["two one"] * 49, "two "], 400, ["<|end|>"])
    assert set(model.vocabulary) == set(plain.vocabulary)
    without = byte_level.train_byte_level_bpe(texts, 400)
    assert any("|" in token and len(token) > 1 for token in without.vocabulary)


def test_of_two_special_tokens_in_a_training_text_the_longer_is_left_out():
    model = byte_level.train_byte_level_bpe(["<a><b>x" * 50], 300, ["<a>", "<a><b>"])
    assert model.merges == []
