"""Current vocabularies against `tiktoken`: the hashes of its files, its expressions and
its ids; Llama 3's and Qwen 3's expressions against `transformers`.
"""

import base64
import hashlib
import inspect
import random
import re
import unicodedata

import pytest
import tiktoken
from tiktoken_ext import openai_public
from transformers.convert_slow_tokenizer import TikTokenConverter
from transformers.models.qwen2 import tokenization_qwen2

from reference_impl import corpora
from reference_impl.tokenizers.ranked_files import load_ranked, read_ranked
from reference_impl.tokenizers.vocabulary import TokenizerError

SIZES = {"cl100k": 100_277, "o200k": 200_019, "llama3": 128_256, "qwen3": 151_669}
PUBLISHED = {"cl100k": openai_public.cl100k_base, "o200k": openai_public.o200k_base}


def ranks(name):
    return dict(read_ranked(corpora.path(f"{name}_tokenizer") / f"{name}.vocab"))


def library(name, monkeypatch):
    """tiktoken's own encoder, on our list of tokens."""
    if name in PUBLISHED:
        monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: ranks(name))
        return tiktoken.Encoding(**PUBLISHED[name]())
    pattern = {
        "llama3": inspect.signature(TikTokenConverter).parameters["pattern"].default,
        "qwen3": tokenization_qwen2.PRETOKENIZE_REGEX,
    }[name]
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks(name), special_tokens={})


@pytest.fixture(scope="module")
def texts(awkward, code):
    draw = random.Random(20261129)
    alphabet = "aBé'sTLl \n\r\t/1234٣,.नमस्ते銀🏦\u0301"
    noise = ["".join(draw.choices(alphabet, k=draw.randint(1, 30))) for _ in range(300)]
    return [*awkward, code[:3000], *noise, "HTMLParser isn't 12345 DON'T\r\n\r\n  x"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_tokens_are_the_file_whose_hash_tiktoken_pins(name):
    pinned = re.search(r'expected_hash="(\w+)"', inspect.getsource(PUBLISHED[name]))[1]
    lines = [b"%s %d\n" % (base64.b64encode(token), id) for token, id in ranks(name).items()]
    assert hashlib.sha256(b"".join(lines)).hexdigest() == pinned


@pytest.mark.parametrize("name", SIZES)
def test_a_text_has_the_ids_that_tiktoken_gives_it(name, texts, monkeypatch):
    ours, theirs = corpora.load(f"{name}_tokenizer"), library(name, monkeypatch)
    assert len(ours.vocabulary) == SIZES[name]
    for text in texts:
        meant = unicodedata.normalize("NFC", text) if name == "qwen3" else text
        ids = ours.encode(text, specials_in_text=False).ids
        assert ids == theirs.encode(meant, disallowed_special=()), text
        assert ours.decode(ids) == meant


def test_digits_are_cut_as_each_vocabulary_says():
    cuts = {name: corpora.load(f"{name}_tokenizer").encode("1234567").tokens for name in SIZES}
    assert cuts["qwen3"] == list("1234567")
    assert all(cuts[name] == ["123", "456", "7"] for name in ("cl100k", "o200k", "llama3"))


def test_a_file_that_is_cut_short_and_an_unknown_name_are_refused(tmp_path):
    (tmp_path / "x.vocab").write_bytes(b"\2\0\0\0\1\0a\0\0\0\0")
    with pytest.raises(TokenizerError, match="announces 2 tokens and holds 1"):
        read_ranked(tmp_path / "x.vocab")
    with pytest.raises(TokenizerError, match="'p50k' is not among cl100k"):
        load_ranked("p50k", tmp_path / "x.vocab", tmp_path / "x.special")
