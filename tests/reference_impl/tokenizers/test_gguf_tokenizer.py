"""A tokenizer from the table of a GGUF file."""

import pytest
import tokenizers

from reference_impl.tokenizers.byte_level import train_byte_level_bpe  # noqa: E402
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata  # noqa: E402
from reference_impl.tokenizers.vocabulary import TokenizerError  # noqa: E402


@pytest.fixture(scope="module")
def model(code):
    """With tokens of several digits, which a tokenizer that cuts digits must not use."""
    model = train_byte_level_bpe([code, "12 345 " * 1000], 500, ["<|endoftext|>", "<|im_start|>"])
    assert {"Ġ12", "Ġ345"} <= set(model.vocabulary)
    return model


@pytest.fixture()
def metadata(model):
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": list(model.vocabulary),
        "tokenizer.ggml.token_type": [3, 3] + [1] * 498,
        "tokenizer.ggml.padding_token_id": 1,
        "tokenizer.ggml.merges": [" ".join(merge) for merge in model.merges],
    }


def test_digits_are_cut_and_control_tokens_are_special(metadata, model, awkward):
    library = tokenizers.Tokenizer(tokenizers.models.BPE(model.vocabulary.id_of, model.merges))
    library.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    library.add_special_tokens(["<|endoftext|>", "<|im_start|>"])
    ours = tokenizer_from_metadata(metadata)
    for text in [*awkward, "<|im_start|>12 345"]:
        assert ours.encode(text).ids == library.encode(text).ids
        assert ours.encode(text).offsets == library.encode(text).offsets
    assert ours.pad_token == "<|im_start|>"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"tokenizer.ggml.model": "llama"}, "model is 'llama'; only 'gpt2'"),
        ({"tokenizer.ggml.pre": "qwen2"}, "pre is 'qwen2'; known are gpt-2, smollm"),
        ({"tokenizer.ggml.token_type": [1]}, "has 500 entries, but tokenizer.ggml.token_type 1"),
        ({"tokenizer.ggml.token_type": [6] * 500}, "token_type holds 6"),
        ({"tokenizer.ggml.merges": ["a b c"]}, "'a b c', which is not two tokens"),
        ({"tokenizer.ggml.padding_token_id": 500}, "id 500 is outside"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(metadata, change, words):
    with pytest.raises(TokenizerError, match=words):
        tokenizer_from_metadata(metadata | change)


def test_a_table_without_a_tokenizer_says_what_is_missing():
    with pytest.raises(TokenizerError, match="no tokenizer.ggml.model"):
        tokenizer_from_metadata({"general.architecture": "llama"})
