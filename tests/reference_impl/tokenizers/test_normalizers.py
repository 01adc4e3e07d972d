"""BERT's normaliser against the `tokenizers` library, character by character and in texts."""

import unicodedata

import pytest
import tokenizers
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st

from reference_impl.tokenizers import normalizers as norm  # noqa: E402

# Code points whose class the library's tables, of Unicode 8, don't know yet.
NEW_FORMAT = {0x890, 0x891, 0x8E2, 0x110CD, *range(0x13430, 0x13440)}
CHANGED_MARKS = {
    0x1734,
    0x1885,
    0x1886,
}  # a vowel sign and two Mongolian letters changed category since
MISTYPED_BLOCK = range(
    0x2B820, 0x2B920
)  # the library's extension E begins at 0x2B920, BERT's at 0x2B820


BETWEEN = "\u2603"  # no step changes a snowman


def assigned():
    """Every assigned character but most of the private ones, which all fare alike."""
    return [
        c
        for c in map(chr, [*range(0xF0100), *range(0x10FF00, 0x110000)])
        if unicodedata.category(c) not in ("Cn", "Cs")
    ]


def library(**flags):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return tokenizers.normalizers.BertNormalizer(**(off | flags)).normalize_str


def differing(step, theirs):
    characters = [c for c in assigned() if c != BETWEEN]
    expected = theirs(BETWEEN.join(characters)).split(BETWEEN)
    return {
        ord(c)
        for c, expectation in zip(characters, expected, strict=True)
        if step(c) != expectation
    }


def test_cleaning_agrees_on_every_assigned_character():
    assert differing(norm.clean, library(clean_text=True)) <= NEW_FORMAT


def test_chinese_characters_are_spaced_as_in_bert():
    assert differing(norm.space_cjk, library(handle_chinese_chars=True)) == set(MISTYPED_BLOCK)


def test_small_letters_agree_on_every_assigned_character():
    assert differing(norm.lowercase, library(lowercase=True)) <= {
        c for c in range(0x110000) if unicodedata.category(chr(c).lower()[0]) == "Cn"
    }


def test_accents_agree_on_every_character_of_old_unicode():
    different = differing(norm.strip_accents, library(strip_accents=True)) - CHANGED_MARKS
    old_marks = {c for c in different if unicodedata.ucd_3_2_0.category(chr(c)) != "Cn"}
    assert old_marks == set()


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("accents", [None, True, False])
@pytest.mark.parametrize("cjk", [True, False])
@pytest.mark.parametrize("clean", [True, False])
def test_every_setting_agrees_on_awkward_texts(awkward, lower, accents, cjk, clean):
    theirs = tokenizers.normalizers.BertNormalizer(clean, cjk, accents, lower)
    ours = norm.bert_normalizer(lower, accents, cjk, clean)
    assert [ours(text) for text in awkward] == [theirs.normalize_str(text) for text in awkward]


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.text())
def test_aligned_gives_the_text_with_one_origin_a_character(text):
    ours = norm.bert_normalizer()
    normalized, origins = ours.aligned(text)
    assert normalized == ours(text)
    assert len(origins) == len(normalized)
    assert origins == sorted(origins)
    rebuilt = dict.fromkeys(range(len(text)), "")
    for character, origin in zip(normalized, origins):
        rebuilt[origin] += character
    assert [rebuilt[i] for i in range(len(text))] == [ours(c) for c in text]


def test_without_steps_nothing_changes(awkward):
    assert [norm.Normalizer()(text) for text in awkward] == awkward
    text, origins = norm.Normalizer().aligned("ab")
    assert (text, list(origins)) == ("ab", [0, 1])


def test_a_final_sigma_is_an_ordinary_one():
    assert norm.bert_normalizer()("ΣΟΦΟΣ") == "σοφοσ"
