"""Words, against `tokenizers` on every assigned character and on awkward texts."""

import unicodedata

import pytest
import tokenizers
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st

from reference_impl.tokenizers import pretokenizers as pre  # noqa: E402

LIBRARY = tokenizers.pre_tokenizers
BYTE_LEVEL = LIBRARY.ByteLevel(add_prefix_space=False)
PAIRS = {
    "bert": (pre.BERT, LIBRARY.BertPreTokenizer()),
    "gpt2": (pre.GPT2, BYTE_LEVEL),
    "smollm2": (
        pre.GPT2_SINGLE_DIGITS,
        LIBRARY.Sequence([LIBRARY.Digits(individual_digits=True), BYTE_LEVEL]),
    ),
    "whitespace": (pre.WORDS_AND_SIGNS, LIBRARY.Whitespace()),
    "cl100k": (pre.CL100K, LIBRARY.Split(tokenizers.Regex(pre.CL100K.pattern), "isolated")),
}


def their_spans(pretokenizer, text):
    return [span for _, span in pretokenizer.pre_tokenize_str(text)]


def known_to_unicode_8(character):
    # Python's only older table is that of 3.2; the library's is 8.0. What is in 3.2 is in both.
    return unicodedata.ucd_3_2_0.category(character) not in ("Cn", "Cs")


@pytest.mark.parametrize("name", PAIRS)
def test_awkward_texts_are_cut_alike(name, awkward):
    pattern, theirs = PAIRS[name]
    assert [pre.spans(pattern, text) for text in awkward] == [
        their_spans(theirs, text) for text in awkward
    ]


@pytest.mark.parametrize("name", ["bert", "gpt2", "smollm2"])
def test_every_character_is_classed_alike(name):
    pattern, theirs = PAIRS[name]
    blocks = {
        *range(0x3400, 0xA000),
        *range(0xAC00, 0xD800),
        *range(0xE000, 0xF900),
    }  # all alike: every 50th will do
    points = [c for c in range(0x20000) if c not in blocks or c % 50 == 0]
    characters = [c for c in map(chr, points) if known_to_unicode_8(c)]
    texts = [f"a1{c}a 1{c}!\n" for c in characters if c != "\u166d"]  # a sign that became one since
    assert pre.spans(pattern, "".join(texts)) == their_spans(theirs, "".join(texts))


@pytest.mark.parametrize("name", PAIRS)
@settings(deadline=None, max_examples=200, derandomize=True)
@given(
    text=st.text(
        st.sampled_from("aZé日1²3 \t\n\r'sS.,-_#\u00a0\u0301\u200b\U0001f389"), max_size=30
    )
)
def test_mixed_texts_are_cut_alike(name, text):
    pattern, theirs = PAIRS[name]
    assert pre.spans(pattern, text) == their_spans(theirs, text)


@pytest.mark.parametrize("name", ["gpt2", "smollm2", "cl100k"])
@settings(deadline=None, max_examples=200, derandomize=True)
@given(text=st.text())
def test_words_with_their_spaces_are_the_text_again(name, text):
    assert "".join(pre.split(PAIRS[name][0], text)) == text


def test_the_words_of_the_docstring():
    assert pre.split(pre.GPT2, "It's  5 o'clock") == ["It", "'s", " ", " 5", " o", "'", "clock"]
    assert pre.split(pre.BERT, "It's  5 o'clock") == ["It", "'", "s", "5", "o", "'", "clock"]


def test_a_long_run_of_spaces_takes_linear_time():
    # A thousand times the square would not end within a test.
    assert len(pre.split(pre.CL100K, " " * 1_000_000)) == 1
    assert len(pre.split(pre.GPT2, " " * 1_000_000 + "x")) == 2
