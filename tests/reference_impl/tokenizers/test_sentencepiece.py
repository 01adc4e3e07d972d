"""SentencePiece models against the `sentencepiece` library, which also trains the models and reads what we write."""
import io
import random
import struct

import pytest
import sentencepiece as spm
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st

from reference_impl.tokenizers import sentencepiece_file as spf  # noqa: E402
from reference_impl.tokenizers.charsmap import CharsMap  # noqa: E402
from reference_impl.tokenizers.sentencepiece import SentencePieceTokenizer  # noqa: E402
from reference_impl.tokenizers.vocabulary import TokenizerError  # noqa: E402

SETTINGS = {
    "t5": dict(model_type="unigram"),
    "llama": dict(model_type="bpe", normalization_rule_name="identity", remove_extra_whitespaces=False,
                  byte_fallback=True),
    "bpe": dict(model_type="bpe", add_dummy_prefix=False),
    "unigram-bytes": dict(model_type="unigram", normalization_rule_name="nfkc_cf", byte_fallback=True),
    "across-words": dict(model_type="unigram", split_by_whitespace=False),
}


@pytest.fixture(scope="module", params=SETTINGS)
def pair(request, code, tmp_path_factory):
    """A model as the library reads it and as we do."""
    path = tmp_path_factory.mktemp("spm") / "m.model"
    lines = [line for line in code.splitlines() if line.strip()][:1200]
    model = io.BytesIO()
    lines = [*lines, "Cr\u00e8me \ufb01n \u65e5\u672c"] * 2
    spm.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model,
                                   vocab_size=500, minloglevel=2, hard_vocab_limit=False, num_threads=1,
                                   **SETTINGS[request.param])
    path.write_bytes(model.getvalue())
    return spm.SentencePieceProcessor(model_file=str(path)), SentencePieceTokenizer.load(path)


def test_awkward_texts_have_the_ids_and_the_decoding_of_the_library(pair, awkward, code):
    theirs, ours = pair
    for text in [*awkward, *code.splitlines()[:300]]:
        ids = theirs.encode(text)
        assert ours.encode(text) == ids, text
        assert ours.decode(ids) == theirs.decode(ids), text


@settings(deadline=None, max_examples=150, derandomize=True)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_has_the_ids_of_the_library(pair, text):
    theirs, ours = pair
    assert ours.encode(text) == theirs.encode(text)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(ids=st.lists(st.integers(0, 499), max_size=12))
def test_any_ids_are_decoded_as_by_the_library(pair, ids):
    theirs, ours = pair
    ids = [id % len(ours.vocabulary) for id in ids]
    assert ours.decode(ids) == theirs.decode(ids)


def test_places_are_those_of_the_library_where_it_gives_them(pair, awkward):
    theirs, ours = pair
    for text in awkward:
        pieces = theirs.encode(text, return_type="proto").pieces
        expected = [(piece.begin, piece.end) for piece in pieces]
        found = [(piece.start, piece.end) for piece in ours.tokenize(text)]
        assert len(found) == len(expected)
        if text.isascii() and text and not text[0].isspace():
            # The library gives all bytes of one character but the last the place before it; and so its places of
            # spaces and of characters that were taken apart differ from ours, which name the whole character.
            inside = [(f, e) for f, e in zip(found, expected) if e[0] != e[1]]
            assert all(f == e for f, e in inside), text


def test_what_we_write_the_library_reads(pair, awkward, tmp_path):
    theirs, ours = pair
    spf.save(ours.file, tmp_path / "m.model")
    again = spm.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    assert [again.encode(text) for text in awkward] == [theirs.encode(text) for text in awkward]
    assert spf.load(tmp_path / "m.model") == ours.file


def test_a_damaged_file_is_an_error_of_ours_or_still_a_model(tmp_path):
    path, rng = tmp_path / "m.model", random.Random(0)
    pieces = [("<unk>", 0.0, spf.UNKNOWN), *((f"p{i}", -float(i), spf.NORMAL) for i in range(30))]
    spf.save(spf.SentencePieceFile(pieces, charsmap=struct.pack("<II", 4, 0) + b"x\0"), path)
    good, refused = path.read_bytes(), 0
    for _ in range(300):
        bad = bytearray(good[:rng.randrange(len(good))] if rng.random() < 0.3 else good)
        for _ in range(rng.randint(0, 3)):
            if bad:
                bad[rng.randrange(len(bad))] = rng.randrange(256)
        path.write_bytes(bad)
        try:
            SentencePieceTokenizer.load(path).encode("p1 \ufb01ne \u00e9")
        except TokenizerError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("data, words", [
    (b"", "holds no pieces"), (b"\x0a\xff\xff\xff\xff\x0f", "announces 4294967295 bytes, but only 0 follow"),
    (b"\x0a", "ends in the middle of a number"), (b"\x0f", "unknown kind 7"), (b"\x80" * 20, "more than 64 bits"),
])
def test_a_file_that_is_no_model_is_refused_without_allocating_what_it_announces(tmp_path, data, words):
    (tmp_path / "m.model").write_bytes(data)
    with pytest.raises(TokenizerError, match=words) as error:
        spf.load(tmp_path / "m.model")
    assert str(tmp_path / "m.model") in str(error.value)


@pytest.mark.parametrize("pieces, model_type, words", [
    ([("<unk>", 0.0, spf.UNKNOWN)], 3, "type 3; types 1"),
    ([("a", 0.0, spf.NORMAL)], spf.BPE, "one unknown piece; this one has 0"),
    ([("<unk>", 0.0, spf.UNKNOWN), ("x", 0.0, spf.USER_DEFINED)], spf.BPE, "user-defined pieces, such as 'x'"),
])
def test_a_model_that_cannot_be_used_says_why(pieces, model_type, words):
    with pytest.raises(TokenizerError, match=words):
        SentencePieceTokenizer(spf.SentencePieceFile(pieces, model_type))


def test_byte_fallback_without_the_byte_pieces_is_an_error_not_silence():
    file = spf.SentencePieceFile([("<unk>", 0.0, spf.UNKNOWN), ("a", 0.0, spf.NORMAL)], spf.BPE, byte_fallback=True)
    with pytest.raises(TokenizerError, match="<0x"):
        SentencePieceTokenizer(file).encode("b")


@pytest.mark.parametrize("blob", [b"\x00", b"\x08\x00\x00\x00abcd", b"\x03\x00\x00\x00abcdef"])
def test_a_damaged_table_of_characters_is_refused(blob):
    with pytest.raises(TokenizerError, match="table is damaged"):
        CharsMap(blob)


def test_a_rule_behind_a_shifted_offset_is_found():
    units = [0] * 512
    units[0] = 1 << 10 | 0x200  # the root's offset is 1 << 8, because its shift bit is set
    units[256 ^ ord("a")] = 1 << 10 | 0x100 | ord("a")  # a key ends here; its value is one place off
    blob = struct.pack("<I512I", 512 * 4, *units) + b"letter a\0"
    assert CharsMap(blob).replacements("ab") == [("letter a", 1), ("b", 1)]


def test_a_trie_that_points_outside_itself_is_refused():
    with pytest.raises(TokenizerError, match="points outside its 1 units"):
        CharsMap(struct.pack("<II", 4, 0xFFFFF << 10)).replacements("a")
