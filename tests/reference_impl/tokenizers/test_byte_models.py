"""ByT5's and CANINE's ids against `transformers`."""

import pytest
import torch
import transformers
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st
from transformers import CanineConfig
from transformers.models.canine.modeling_canine import CanineEmbeddings

from reference_impl.tokenizers import byte_models as bm  # noqa: E402
from reference_impl.tokenizers.vocabulary import TokenizerError  # noqa: E402

# Tokens of the libraries themselves are cut out of a text before it is read; the functions here
# read plain text.
plain = st.text(st.characters(exclude_categories=["Cs", "Co"], exclude_characters="<"), max_size=40)


@pytest.fixture(scope="module")
def byt5():
    return transformers.ByT5Tokenizer()


@pytest.fixture(scope="module")
def canine():
    return transformers.CanineTokenizer()


@settings(deadline=None, max_examples=100, derandomize=True)
@given(text=plain, pair=plain)
def test_byt5_reads_texts_and_pairs_as_transformers_does(byt5, text, pair):
    assert bm.byt5_encode(text) == byt5(text).input_ids
    assert bm.byt5_encode(text, pair) == byt5(text, pair).input_ids
    assert bm.byt5_decode(bm.byt5_encode(text)) == text


def test_byt5_sentinels_come_after_the_bytes(byt5):
    assert [bm.byt5_sentinel(i) for i in (0, 124)] == byt5("<extra_id_0><extra_id_124>").input_ids[
        :2
    ]
    with pytest.raises(TokenizerError, match="no sentinel 125; ByT5 has 0 to 124"):
        bm.byt5_sentinel(125)


def test_byt5_leaves_out_what_is_no_byte_and_no_text():
    assert bm.byt5_decode([0, 1, 2, ord("a") + 3, 0xE9 + 3, 259]) == "a"
    with pytest.raises(
        TokenizerError, match="id 384 is outside ByT5's vocabulary, whose ids are 0 to 383"
    ):
        bm.byt5_decode([384])


@settings(deadline=None, max_examples=50, derandomize=True)
@given(text=plain, pair=plain)
def test_canine_reads_texts_and_pairs_as_transformers_does(canine, text, pair):
    # Its "[PAD]" is code point 0, which transformers takes for padding in a text too.
    text, pair = text.replace("\x00", ""), pair.replace("\x00", "")
    assert bm.canine_encode(text).ids == canine(text).input_ids
    assert bm.canine_encode(text, pair).ids == canine(text, pair).input_ids
    assert bm.canine_decode(bm.canine_encode(text).ids) == text


def test_canine_marks_segments_places_and_special_tokens():
    encoding = bm.canine_encode("ab", "c")
    assert encoding.type_ids == [0, 0, 0, 0, 1, 1]
    assert encoding.offsets == [(0, 0), (0, 1), (1, 2), (0, 0), (0, 1), (0, 0)]
    assert encoding.special_mask == [1, 0, 0, 1, 0, 1]
    assert encoding.tokens == ["[CLS]", "a", "b", "[SEP]", "c", "[SEP]"]


def test_canine_cuts_the_longer_text():
    assert bm.canine_encode("abcdef", "xy", max_length=8).tokens == [
        "[CLS]",
        "a",
        "b",
        "c",
        "[SEP]",
        "x",
        "y",
        "[SEP]",
    ]
    with pytest.raises(TokenizerError, match="max_length is 2, but special tokens alone need 3"):
        bm.canine_encode("a", "b", max_length=2)


def test_canine_buckets_are_those_of_the_model():
    # By hand: (65 + 1) x 31 = 2,046 and (0x1F389 + 1) x 43 = 5,498,926 = 335 x 16,384 + 10,286.
    assert bm.canine_buckets(ord("A"))[0] == 2046
    assert bm.canine_buckets(0x1F389)[1] == 10_286
    everywhere = {tuple(bm.canine_buckets(code)) for code in range(0, 0x3000)}
    assert len(everywhere) == 0x3000


def test_canine_takes_characters_16_384_apart_for_the_same_as_the_published_model_does():
    config = CanineConfig(hidden_size=16, num_hash_functions=8, num_hash_buckets=16_384)
    embeddings = CanineEmbeddings(config).eval()
    codes = torch.tensor([[ord("b"), ord("b") + 16_384, ord("c"), 0x1F3E6]])
    theirs = embeddings._hash_bucket_tensors(
        codes, num_hashes=8, num_buckets=16_384
    )  # eight of (1, 4)
    assert torch.stack(theirs, -1)[0].tolist() == [
        bm.canine_buckets(code) for code in codes[0].tolist()
    ]
    vectors = embeddings._embed_hash_buckets(codes, 16, 8, 16_384)[0]
    assert torch.equal(vectors[0], vectors[1]) and not torch.equal(vectors[0], vectors[2])
    assert (
        sum(
            bm.canine_buckets(code) == bm.canine_buckets(ord("b"))
            for code in range(ord("b"), 0x110000, 16_384)
        )
        == 68
    )


def test_an_id_that_is_no_code_point_is_an_error():
    with pytest.raises(TokenizerError, match="id 1114112 is no code point"):
        bm.canine_decode([0x110000])
