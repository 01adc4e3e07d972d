"""Texts in chunks: the same ids as in one piece, and memory that does not grow with the text."""

import itertools
import random
import tracemalloc

import pytest
import tiktoken

from reference_impl.tokenizers import pretokenizers as pre
from reference_impl.tokenizers import streaming
from reference_impl.tokenizers.added_tokens import AddedToken
from reference_impl.tokenizers.byte_level import from_characters, train_byte_level_bpe
from reference_impl.tokenizers.normalizers import bert_normalizer
from reference_impl.tokenizers.tokenizer import Tokenizer
from reference_impl.tokenizers.vocabulary import TokenizerError
from reference_impl.tokenizers.wordpiece_training import BERT_SPECIALS, train_wordpiece

PATTERNS = {
    "gpt2": pre.GPT2,
    "smollm2": pre.GPT2_SINGLE_DIGITS,
    "cl100k": pre.CL100K,
    "bert": pre.BERT,
    "whitespace": pre.WORDS_AND_SIGNS,
}
SIGNS = "aZ\u00e9\u65e51\u00b23 \t\n\r'sllS.,-_#\u00a0\u0301\u200b\U0001f389"


def chunks_of(text, rng):
    """The text in chunks of random lengths, empty ones among them."""
    places = sorted(rng.choices(range(len(text) + 1), k=rng.randint(0, 8)))
    return [text[start:end] for start, end in itertools.pairwise([0, *places, len(text)])]


@pytest.fixture(scope="module")
def gpt2(code):
    return Tokenizer(
        train_byte_level_bpe([code], 700, ["<s>", "<s><t>"]), None, pre.GPT2, ["<s>", "<s><t>"]
    )


@pytest.mark.parametrize("name", PATTERNS)
def test_words_are_those_of_the_whole_text_wherever_it_is_cut(name, awkward, code):
    rng = random.Random(0)
    noise = ["".join(rng.choices(SIGNS, k=rng.randint(0, 60))) for _ in range(600)]
    for text in [*awkward, *noise, code[:3000]]:
        whole = PATTERNS[name].findall(text)
        assert list(streaming.words_of(text, PATTERNS[name])) == whole, text  # a character a chunk
        assert list(streaming.words_of(chunks_of(text, rng), PATTERNS[name])) == whole, text


def test_cutting_each_chunk_by_itself_gives_other_words():
    chunks = ["one t", "wo \n", "\nthree"]
    assert list(streaming.words_of(chunks, pre.GPT2)) == ["one", " two", " \n", "\n", "three"]
    assert [word for chunk in chunks for word in pre.GPT2.findall(chunk)] != [
        "one",
        " two",
        " \n",
        "\n",
        "three",
    ]


def test_special_tokens_across_chunks_are_found_and_the_longer_is_meant(gpt2):
    rng = random.Random(1)
    for _ in range(300):
        text = "".join(
            rng.choices(["<s>", "<t>", "<s", "><", " a word", "\n\n", "<s><t>", "'", "ll"], k=12)
        )
        for specials_in_text in (True, False):
            whole = gpt2.encode(text, specials_in_text=specials_in_text).ids
            assert list(gpt2.encode_iterable(chunks_of(text, rng), specials_in_text)) == whole
            assert list(gpt2.encode_iterable(text, specials_in_text)) == whole


def test_a_file_is_encoded_line_by_line_as_tiktoken_encodes_it_whole(gpt2, code, tmp_path):
    (tmp_path / "code.py").write_text(code)
    ranks = {from_characters(token): id for token, id in gpt2.vocabulary.id_of.items() if id > 1}
    theirs = tiktoken.Encoding(
        "x", pat_str=pre.GPT2.pattern, mergeable_ranks=ranks, special_tokens={}
    )
    with open(tmp_path / "code.py") as lines:
        assert list(gpt2.model.encode_iterable(lines)) == theirs.encode(code)


def test_a_normaliser_of_characters_is_applied_on_the_way(awkward):
    words = {"lower": 4, "newest": 5, "caf\u00e9": 2}
    bert = Tokenizer(train_wordpiece(words, 60), bert_normalizer(), pre.BERT, BERT_SPECIALS)
    rng = random.Random(2)
    for text in awkward:
        assert list(bert.encode_iterable(chunks_of(text, rng))) == bert.encode(text).ids


def test_memory_does_not_grow_with_the_text(gpt2):
    def peak(number):
        lines = (f"line {i % 100} of a text, <s> and so on\n" for i in range(number))
        tracemalloc.start()
        try:
            count = sum(1 for _ in gpt2.encode_iterable(lines))
            return count, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(200)  # the words are known from here on
    (few, small), (many, large) = peak(200), peak(4_000)
    assert many == 20 * few
    assert large < 1.5 * small and large < 64_000  # bytes, for 160 kB of text


def test_what_is_held_is_an_unfinished_word(monkeypatch):
    held = []
    find = streaming._LAST_BOUNDARY.search

    class Counting:
        def search(self, text):
            held.append(len(text))
            return find(text)

    monkeypatch.setattr(streaming, "_LAST_BOUNDARY", Counting())
    words = list(streaming.words_of(("abcdefgh " for _ in range(1000)), pre.GPT2))
    assert (
        len(words) == 1001 and max(held) == 10
    )  # a chunk of nine, and the space of the one before


@pytest.mark.parametrize(
    "tokenizer, words",
    [
        (lambda model: Tokenizer(model, None, pre.regex.compile(r"\S+")), "needs the whole text"),
        (lambda model: Tokenizer(model, None, None), "finds its words otherwise"),
        (
            lambda model: Tokenizer(model, None, pre.GPT2, [AddedToken("<s>", lstrip=True)]),
            "added tokens have no flags",
        ),
    ],
)
def test_a_tokenizer_that_needs_the_whole_text_says_so_before_anything_is_read(
    gpt2, tokenizer, words
):
    with pytest.raises(TokenizerError, match=words):
        tokenizer(gpt2.model).encode_iterable(iter(()))
