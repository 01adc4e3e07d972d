"""Files of published tokenizers: what is written is read again, by us and by the libraries; what is
broken is named.
"""

import base64
import json
import random

import pytest
import tiktoken
import tokenizers

from reference_impl.tokenizers import files, tokenizer_json  # noqa: E402
from reference_impl.tokenizers.bpe_training import train_bpe  # noqa: E402
from reference_impl.tokenizers.byte_level import from_characters, train_byte_level_bpe  # noqa: E402
from reference_impl.tokenizers.encoding import Template  # noqa: E402
from reference_impl.tokenizers.normalizers import (
    Normalizer,
    bert_normalizer,
    lowercase,
    strip_accents,
)  # noqa: E402
from reference_impl.tokenizers.pretokenizers import (
    BERT,
    CL100K,
    GPT2,
    GPT2_SINGLE_DIGITS,
    WORDS_AND_SIGNS,
)  # noqa: E402
from reference_impl.tokenizers.tokenizer import Tokenizer  # noqa: E402
from reference_impl.tokenizers.unigram_training import train_unigram  # noqa: E402
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary  # noqa: E402
from reference_impl.tokenizers.wordpiece_training import BERT_SPECIALS, train_wordpiece  # noqa: E402

WORDS = {"lower": 4, "newest": 5, "widest": 3, "caf\u00e9": 2, "\u65e5": 1, "7": 3, "a": 2}


def check_same(ours, theirs, texts):
    for text in texts:
        for pair in (None, "newest 77"):
            mine, other = ours.encode(text, pair), theirs.encode(text, pair)
            assert (mine.ids, mine.offsets, mine.type_ids) == (
                other.ids,
                other.offsets,
                other.type_ids,
            ), text


@pytest.fixture(scope="module")
def byte_bpe(code):
    # With tokens of several digits, which a tokenizer that cuts digits must not use.
    return train_byte_level_bpe([code, "12 345 3.14 2026 12,345.67 " * 100], 600, ["<|endoftext|>"])


@pytest.fixture(
    scope="module", params=["wordpiece", "gpt2", "smollm2", "trimmed", "unigram", "bpe"]
)
def tokenizer(request, byte_bpe):
    if request.param == "wordpiece":
        model = train_wordpiece(WORDS, 60)
        return Tokenizer(
            model, bert_normalizer(), BERT, BERT_SPECIALS, files.BERT_TEMPLATE, "[PAD]"
        )
    if request.param == "unigram":
        return Tokenizer(train_unigram(WORDS, 40), Normalizer(lowercase), WORDS_AND_SIGNS)
    if request.param == "bpe":
        return Tokenizer(
            train_bpe(WORDS, 60, ["<unk>"], unknown="<unk>"), None, WORDS_AND_SIGNS, ["<unk>"]
        )
    pattern = GPT2_SINGLE_DIGITS if request.param == "smollm2" else GPT2
    return Tokenizer(
        byte_bpe, None, pattern, ["<|endoftext|>"], trim_offsets=request.param == "trimmed"
    )


def test_tokenizer_json_is_read_by_tokenizers_and_by_us(tokenizer, awkward, tmp_path):
    path = tmp_path / "tokenizer.json"
    tokenizer_json.save(tokenizer, path)
    check_same(tokenizer, tokenizers.Tokenizer.from_file(str(path)), awkward)
    check_same(tokenizer, tokenizer_json.load(path), awkward)


def test_tokenizer_json_written_by_tokenizers_is_read(byte_bpe, awkward, tmp_path):
    library = tokenizers.Tokenizer(
        tokenizers.models.BPE(byte_bpe.vocabulary.id_of, byte_bpe.merges)
    )
    library.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"\p{L}+|\d"), "isolated"),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    library.add_special_tokens(["<|endoftext|>", "<|new|>"])
    library.post_processor = tokenizers.processors.BertProcessing(
        ("<|new|>", 600), ("<|endoftext|>", 0)
    )
    library.save(str(tmp_path / "t.json"))
    ours = tokenizer_json.load(tmp_path / "t.json")
    check_same(ours, library, [*awkward, "a<|new|>b"])


def test_merges_as_strings_are_read_too(byte_bpe, tmp_path):
    tokenizer = Tokenizer(byte_bpe, None, GPT2, ["<|endoftext|>"])
    tokenizer_json.save(tokenizer, tmp_path / "t.json")
    data = json.loads((tmp_path / "t.json").read_text())
    data["model"]["merges"] = [" ".join(merge) for merge in data["model"]["merges"]]
    (tmp_path / "t.json").write_text(json.dumps(data))
    assert tokenizer_json.load(tmp_path / "t.json").model.merges == byte_bpe.merges


@pytest.mark.parametrize(
    "part, value, words",
    [
        (
            "normalizer",
            {"type": "NFX"},
            'the normalizer is {"type": "NFX"}, and its type is not known',
        ),
        (
            "normalizer",
            {"type": "NFC", "strength": 2},
            "normalizer NFC has the field 'strength', which is not known",
        ),
        (
            "pre_tokenizer",
            {"type": "UnicodeScripts"},
            "pre_tokenizer is .*UnicodeScripts.* not known",
        ),
        (
            "post_processor",
            {"type": "RobertaProcessing"},
            "RobertaProcessing lacks the field 'trim_offsets'",
        ),
        (
            "decoder",
            {"type": "Strip", "content": "ab", "start": 0, "stop": 1},
            "'content' .* is \"ab\"; one character",
        ),
        (
            "decoder",
            {"type": "ByteLevel", "add_prefix_space": 1},
            "'add_prefix_space' .* is 1; true or false is expected",
        ),
        ("model", {"type": "Other", "vocab": {}}, "model is .*, and its type is not known"),
        ("model", None, "'model' of tokenizer.json is null; an object is expected"),
        (
            "added_tokens",
            [{"id": 9999, "content": "x"}],
            "added token \"x\" lacks the field 'special'",
        ),
        (
            "added_tokens",
            [
                {
                    "id": 9999,
                    "content": "<new>",
                    "special": True,
                    "normalized": False,
                    "single_word": False,
                    "lstrip": False,
                    "rstrip": False,
                }
            ],
            "added tokens have the ids .9999.*must begin at 600",
        ),
        ("extra", 1, "tokenizer.json has the field 'extra'"),
        ("version", "2.0", '\'version\' of tokenizer.json is "2.0"; known here: "1.0"'),
    ],
)
def test_a_part_without_a_counterpart_is_named(byte_bpe, tmp_path, part, value, words):
    path = tmp_path / "t.json"
    tokenizer_json.save(Tokenizer(byte_bpe, None, GPT2, ["<|endoftext|>"]), path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {part: value}))
    with pytest.raises(TokenizerError, match=words) as error:
        tokenizer_json.load(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "option, value, words",
    [
        ("dropout", 0.1, "'dropout' of the model BPE is 0.1; known here: null"),
        (
            "fuse_unk",
            "yes",
            "'fuse_unk' of the model BPE is \"yes\"; true or false or null is expected",
        ),
        ("alpha", 0.5, "the model BPE has the field 'alpha', which is not known here"),
        ("merges", [["a"]], "'merges' holds .*; two tokens are expected"),
    ],
)
def test_an_option_of_the_model_that_is_not_known_is_refused(
    byte_bpe, tmp_path, option, value, words
):
    path = tmp_path / "t.json"
    tokenizer_json.save(Tokenizer(byte_bpe, None, GPT2, ["<|endoftext|>"]), path)
    data = json.loads(path.read_text())
    data["model"][option] = value
    path.write_text(json.dumps(data))
    with pytest.raises(TokenizerError, match=words):
        tokenizer_json.load(path)


def test_a_damaged_tokenizer_json_is_an_error_of_ours(tmp_path):
    tokenizer = Tokenizer(
        train_wordpiece(WORDS, 60), bert_normalizer(), BERT, BERT_SPECIALS, files.BERT_TEMPLATE
    )
    path, rng = tmp_path / "t.json", random.Random(0)
    tokenizer_json.save(tokenizer, path)
    good, outcomes = path.read_bytes(), []
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            bad[rng.randrange(len(bad))] = rng.choice(b'{}[]",:0a\xff')
        path.write_bytes(bytes(bad[: rng.randrange(len(bad))] if rng.random() < 0.2 else bad))
        try:
            tokenizer_json.load(path)
            outcomes.append("read")
        except TokenizerError as error:
            assert str(path) in str(error)
            outcomes.append("refused")
    assert outcomes.count("refused") > 100


@pytest.mark.parametrize(
    "text, words",
    [
        ("[" * 100_000, "can't be read"),
        ("[]", "an object is expected"),
        ("", "can't be read"),
        ("{}", "lacks the field 'model'"),
    ],
)
def test_json_that_is_no_tokenizer_is_refused(tmp_path, text, words):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(TokenizerError, match=words):
        tokenizer_json.load(tmp_path / "t.json")


@pytest.mark.parametrize(
    "tokenizer_, words",
    [
        (lambda model: Tokenizer(model, None, CL100K), "has no name in tokenizer.json"),
        (
            lambda model: Tokenizer(model, Normalizer(lowercase, strip_accents), GPT2),
            "only BERT's four steps",
        ),
    ],
)
def test_what_the_format_cannot_say_is_not_written(byte_bpe, tmp_path, tokenizer_, words):
    with pytest.raises(TokenizerError, match=words):
        tokenizer_json.save(tokenizer_(byte_bpe), tmp_path / "t.json")
    assert not (tmp_path / "t.json").exists()


def test_vocab_txt_is_read_as_written_and_as_transformers_reads_it(tmp_path):
    import transformers

    vocabulary = Vocabulary([*BERT_SPECIALS, "lower", "##est", "\u2028", " ", "caf\u00e9"])
    files.save_vocab_txt(vocabulary, tmp_path / "vocab.txt")
    assert files.load_vocab_txt(tmp_path / "vocab.txt").tokens == vocabulary.tokens
    theirs = transformers.BertTokenizer(str(tmp_path / "vocab.txt"))
    ours = files.load_bert(tmp_path / "vocab.txt")
    assert ours.encode("lowerest LOWER x").ids == theirs("lowerest LOWER x").input_ids


def test_vocab_txt_with_windows_line_ends_is_read(tmp_path):
    (tmp_path / "vocab.txt").write_bytes(b"[UNK]\r\na\r\n##b")
    assert files.load_vocab_txt(tmp_path / "vocab.txt").tokens == ["[UNK]", "a", "##b"]


def test_gpt2_files_are_read_by_tokenizers_and_by_us(byte_bpe, awkward, tmp_path):
    files.save_vocab_json(byte_bpe.vocabulary, tmp_path / "vocab.json")
    files.save_merges_txt(byte_bpe.merges, tmp_path / "merges.txt")
    ours = files.load_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    theirs = tokenizers.ByteLevelBPETokenizer(
        str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    )
    for text in awkward:
        ids = ours.encode(text, specials_in_text=False).ids
        assert ids == theirs.encode(text).ids == byte_bpe.encode(text)


def test_a_tiktoken_file_gives_tiktokens_ids(byte_bpe, awkward, tmp_path):
    ranks = {from_characters(token): id for token, id in byte_bpe.vocabulary.id_of.items() if id}
    lines = [base64.b64encode(token).decode() + f" {id}" for token, id in ranks.items()]
    (tmp_path / "x.tiktoken").write_text("\n".join(lines) + "\n")
    vocabulary = files.load_tiktoken(tmp_path / "x.tiktoken", {"<|end|>": 605})
    assert vocabulary.tokens[0] == "<unused 0>" and vocabulary.tokens[604:] == [
        "<unused 604>",
        "<|end|>",
    ]
    ours = type(byte_bpe)(vocabulary, None, CL100K)
    theirs = tiktoken.Encoding(
        "x", pat_str=CL100K.pattern, mergeable_ranks=ranks, special_tokens={"<|end|>": 605}
    )
    for text in awkward:
        assert ours.encode(text) == theirs.encode(text, disallowed_special=())


@pytest.mark.parametrize(
    "load, content, words",
    [
        (files.load_vocab_txt, b"a\nb\na\n", "'a' stands twice"),
        (files.load_vocab_txt, b"a\n\xff\n", "not UTF-8: byte 2 is 0xff"),
        (files.load_vocab_json, b"{", "is not JSON"),
        (files.load_vocab_json, b"[1]", "an object from token to whole number"),
        (files.load_vocab_json, b'{"a": true}', "an object from token to whole number"),
        (files.load_vocab_json, b'{"a": 0, "b": 2}', "hole"),
        (
            files.load_merges_txt,
            b"#version: 0.2\na b\na b c\n",
            "line 3: 'a b c' is not two tokens",
        ),
        (files.load_merges_txt, b"a \n", "line 1"),
        (
            lambda path: files.load_tiktoken(path, {}),
            b"YQ== 0\n!!! 1\n",
            "line 2: '!!! 1' is not a token in base 64",
        ),
        (lambda path: files.load_tiktoken(path, {}), b"YQ==\n", "line 1"),
    ],
)
def test_a_broken_file_is_refused_with_its_name_and_place(tmp_path, load, content, words):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=words) as error:
        load(path)
    assert str(path) in str(error.value)


def test_a_token_with_a_line_end_is_not_written(tmp_path):
    with pytest.raises(TokenizerError, match="holds a line end"):
        files.save_vocab_txt(Vocabulary(["a\nb"]), tmp_path / "vocab.txt")


def test_a_template_is_written_with_its_special_tokens(tmp_path):
    tokenizer = Tokenizer(
        train_wordpiece(WORDS, 60), None, BERT, BERT_SPECIALS, Template("A:0 [SEP]:1", "A:1 B:0")
    )
    tokenizer_json.save(tokenizer, tmp_path / "t.json")
    again = tokenizer_json.load(tmp_path / "t.json").template
    assert [again.items(paired) for paired in (False, True)] == [
        tokenizer.template.items(paired) for paired in (False, True)
    ]
