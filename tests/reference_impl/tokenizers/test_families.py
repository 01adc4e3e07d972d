"""The tokenizers of published models, each with its real chain of components, against
`tokenizers`.
"""

import random

import pytest

from reference_impl.tokenizers import tokenizer_json
from reference_impl.tokenizers.surrogates import without_surrogates
from tests.reference_impl.tokenizers.families import FAMILIES, SPECIALS
from tests.reference_impl.tokenizers.many_texts import texts_of_all_kinds

FIELDS = {
    "ids": "ids",
    "tokens": "tokens",
    "offsets": "offsets",
    "word_ids": "word_ids",
    "sequence_ids": "sequence_ids",
    "type_ids": "type_ids",
    "special_mask": "special_tokens_mask",
    "attention_mask": "attention_mask",
}


def check_against(library, texts, path):
    """Encode every text, some with another beside it, decode its ids, both ways of treating special
    tokens.
    """
    library.save(str(path))
    ours, rng = tokenizer_json.load(path), random.Random(0)
    for text in texts:
        pair = rng.choice([None, None, "a pair <s> of it"])
        clean = without_surrogates(text)  # the library takes no halves of surrogates
        mine, theirs = ours.encode(clean, pair), library.encode(clean, pair)
        for name, their_name in FIELDS.items():
            assert getattr(mine, name) == getattr(theirs, their_name), (name, ascii(text))
        assert ours.encode(text, pair).ids == mine.ids
        bare = ours.encode(clean, pair, add_specials=False)
        their_bare = library.encode(clean, pair, add_special_tokens=False)
        assert (bare.ids, bare.type_ids) == (their_bare.ids, their_bare.type_ids), ascii(text)
        for skip in (True, False):
            assert ours.decode(theirs.ids, skip) == library.decode(theirs.ids, skip), ascii(text)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_familys_chain_gives_every_list_and_text_of_the_library(family, tmp_path):
    check_against(
        FAMILIES[family](), texts_of_all_kinds(200, SPECIALS, seed=7), tmp_path / "tokenizer.json"
    )


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_a_familys_chain_gives_every_list_and_text_of_the_library_five_thousand_times(
    family, tmp_path
):
    check_against(
        FAMILIES[family](), texts_of_all_kinds(5_000, SPECIALS), tmp_path / "tokenizer.json"
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_special_tokens_of_strangers_are_read_as_text(family, tmp_path):
    library = FAMILIES[family]()
    library.save(str(tmp_path / "t.json"))
    ours = tokenizer_json.load(tmp_path / "t.json")
    library.encode_special_tokens = True
    for text in (" ".join(SPECIALS), "a <mask>  b[MASK]c", "<|endoftext|>x</s>"):
        assert ours.encode(text, specials_in_text=False).ids == library.encode(text).ids
