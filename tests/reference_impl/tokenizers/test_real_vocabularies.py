"""The vocabularies of published models, as set-up fetched them, against the libraries that the
models use.
"""

import json
import random
import unicodedata

import pytest
import sentencepiece as spm
import tiktoken
import tokenizers

from reference_impl import corpora  # noqa: E402
from reference_impl.tokenizers import tokenizer_json  # noqa: E402
from reference_impl.tokenizers.byte_level import from_characters  # noqa: E402
from reference_impl.tokenizers.pretokenizers import GPT2  # noqa: E402

CHANGED = (
    "\u166d\u1734\u1885\u1886"  # their class is another one since the libraries' tables were made
)


@pytest.fixture(scope="module")
def texts(awkward, code):
    """Awkward texts, code, verses, and noise from all characters that are old enough for every
    library's tables.
    """
    rng = random.Random(20261121)
    characters = [
        c
        for c in map(chr, range(0x30000))
        if unicodedata.ucd_3_2_0.category(c) not in ("Cn", "Cs") and c not in CHANGED
    ]
    ranges = [characters[:0x80], characters[:0x1000], characters]
    noise = ["".join(rng.choice(rng.choice(ranges)) for _ in range(40)) for _ in range(200)]
    return [*awkward, *code.splitlines()[:400], *corpora.load("kjv").splitlines()[:2000:10], *noise]


@pytest.fixture(scope="module")
def gpt2():
    return corpora.load("gpt2_tokenizer")


def test_gpt2s_hello_world(gpt2):
    assert gpt2.encode("Hello world").ids == [15496, 995]
    assert gpt2.encode("Hello world").tokens == ["Hello", "\u0120world"]


def test_gpt2_has_the_ids_of_tiktoken_and_the_places_of_tokenizers(gpt2, texts):
    id_of = {token: id for token, id in gpt2.vocabulary.id_of.items() if token != "<|endoftext|>"}
    ranks = {from_characters(token): id for token, id in id_of.items()}
    theirs = tiktoken.Encoding(
        "gpt2", pat_str=GPT2.pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256}
    )
    library = tokenizers.Tokenizer(tokenizers.models.BPE(gpt2.vocabulary.id_of, gpt2.model.merges))
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.add_special_tokens(["<|endoftext|>"])
    for text in texts:
        assert gpt2.model.encode(text) == theirs.encode(text, disallowed_special=())
        assert gpt2.decode(gpt2.encode(text).ids, skip_specials=False) == text
        ours, other = gpt2.encode(text), library.encode(text)
        assert (ours.ids, ours.offsets, ours.word_ids) == (
            other.ids,
            other.offsets,
            other.word_ids,
        ), text


def test_bert_has_the_ids_and_places_of_its_own_tokenizer_json(texts):
    folder = corpora.path("bert_tokenizer")
    ours, from_json = (
        corpora.load("bert_tokenizer"),
        tokenizer_json.load(folder / "tokenizer.json", limits=False),
    )
    library = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    library.no_truncation()
    library.no_padding()
    for text in texts:
        other = library.encode(text, "and a pair")
        for mine in (ours.encode(text, "and a pair"), from_json.encode(text, "and a pair")):
            assert (mine.ids, mine.offsets, mine.type_ids) == (
                other.ids,
                other.offsets,
                other.type_ids,
            ), text
        assert ours.decode(other.ids) == from_json.decode(other.ids) == library.decode(other.ids)


def test_a_sentencepiece_of_32000_pieces_has_the_ids_of_its_library(texts):
    ours = corpora.load("mistral_tokenizer")
    theirs = spm.SentencePieceProcessor(
        model_file=str(corpora.path("mistral_tokenizer") / "tokenizer.model.v1")
    )
    assert len(ours.vocabulary) == 32_000
    for text in texts:
        ids = theirs.encode(text)
        assert ours.encode(text) == ids
        assert ours.decode(ids) == theirs.decode(ids)


def test_gpt2s_files_are_written_as_they_were(gpt2, tmp_path):
    from reference_impl.tokenizers import files

    files.save_merges_txt(gpt2.model.merges, tmp_path / "merges.txt")
    original = (corpora.path("gpt2_tokenizer") / "vocab.bpe").read_bytes()
    assert (tmp_path / "merges.txt").read_bytes() == original
    files.save_vocab_json(gpt2.vocabulary, tmp_path / "vocab.json")
    assert json.loads((tmp_path / "vocab.json").read_text()) == gpt2.vocabulary.id_of
