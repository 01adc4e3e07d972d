"""A tokenizer's file that the library refuses is refused here, with the file's name and in
words.
"""

import copy
import json

import pytest

from reference_impl.tokenizers import TokenizerError, tokenizer_json
from reference_impl.tokenizers.sentencepiece import SentencePieceTokenizer

BASE = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": None,
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"a": 0, "A": 1}, "unk_token": "a"},
}
PADDING = {
    "strategy": "BatchLongest",
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "a",
}
HALF = {
    "id": 2,
    "content": "\ud800",
    "special": True,
    "normalized": False,
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "A", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": {"A": {"id": "A", "ids": [1], "tokens": ["A"]}},
}


@pytest.mark.parametrize(
    "changed, words",
    [
        *(
            ({part: {"type": ["NFC"]}}, "its type is not known")
            for part in ("normalizer", "pre_tokenizer", "decoder", "post_processor")
        ),
        ({"model": {**BASE["model"], "type": ["WordLevel"]}}, "its type is not known"),
        (
            {"padding": {**PADDING, "strategy": {"Fixed": -3}}},
            "'Fixed' .* is -3; a whole number from 0",
        ),
        ({"padding": {**PADDING, "pad_to_multiple_of": -8}}, "is -8; a whole number from 0"),
        (
            {"pre_tokenizer": {"type": "FixedLength", "length": 10**400}},
            "'length' .* a whole number from 0",
        ),
        ({"added_tokens": [HALF]}, "half of a surrogate pair"),
        (
            {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["a", float("nan")]]}},
            "NaN where a number",
        ),
        ({"post_processor": TEMPLATE}, "give the special token another name"),
        ({"normalizer": {"type": "Prepend", "prepend": ""}}, "Prepend puts nothing before a text"),
        (
            {
                "normalizer": {"type": "Lowercase"},
                "added_tokens": [
                    {**HALF, "content": "New", "normalized": True},
                    {**HALF, "content": "nEW", "normalized": True, "id": 3},
                ],
            },
            "'New' and 'nEW' are the same once normalised",
        ),
    ],
)
def test_a_value_that_the_library_refuses_is_refused_in_words(tmp_path, changed, words):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**copy.deepcopy(BASE), **changed}))
    with pytest.raises(TokenizerError, match=f"(?s){path}.*{words}"):
        tokenizer_json.load(path)


@pytest.mark.parametrize("expression", ["^", "x*", r"\b"])
def test_text_before_the_first_character_is_refused_where_the_library_has_no_place_for_it(
    tmp_path, expression
):
    path = tmp_path / "tokenizer.json"
    path.write_text(
        json.dumps(
            {
                **BASE,
                "normalizer": {"type": "Replace", "pattern": {"Regex": expression}, "content": "_"},
            }
        )
    )
    with pytest.raises(TokenizerError, match="before the first character .* use Prepend"):
        tokenizer_json.load(path).encode("a")


@pytest.mark.parametrize("load", [tokenizer_json.load, SentencePieceTokenizer.load])
@pytest.mark.parametrize("name", ["missing", "."])
def test_a_path_without_a_file_is_refused_in_words(tmp_path, load, name):
    with pytest.raises(TokenizerError, match="can't be read"):
        load(tmp_path / name)
