"""Every component of the installed `tokenizers`, with each of its settings: the same as there, or
refused by name.
"""

import json

import pytest
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, processors
from tokenizers import normalizers as norm
from tokenizers import pre_tokenizers as pre

from reference_impl.tokenizers import json_steps, tokenizer_json
from reference_impl.tokenizers.vocabulary import TokenizerError
from tests.reference_impl.tokenizers.families import bert, bpe, nmt_nfkc, unigram
from tests.reference_impl.tokenizers.many_texts import texts_of_all_kinds
from tests.reference_impl.tokenizers.test_families import check_against

BEHAVIOURS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
NORMALIZERS = [
    norm.NFC(),
    norm.NFD(),
    norm.NFKC(),
    norm.NFKD(),
    norm.Lowercase(),
    norm.StripAccents(),
    norm.Nmt(),
    norm.ByteLevel(),
    norm.Precompiled(nmt_nfkc()),
    norm.Prepend("\u2581"),
    norm.Prepend("ab"),
    norm.Replace("a", "xyz"),
    norm.Replace(Regex(r"\s+"), " "),
    norm.Replace(Regex("[aeiou]$|^T"), "|"),
    norm.Replace("e", ""),
    norm.Strip(),
    norm.Strip(left=False),
    norm.Strip(right=False),
    norm.BertNormalizer(strip_accents=False),
    norm.Sequence(
        [norm.NFD(), norm.StripAccents(), norm.Replace("o", "oo"), norm.NFC(), norm.Strip()]
    ),
]
PRE_TOKENIZERS = [
    pre.BertPreTokenizer(),
    pre.Whitespace(),
    pre.WhitespaceSplit(),
    pre.CharDelimiterSplit("e"),
    pre.Digits(),
    pre.Digits(individual_digits=True),
    pre.FixedLength(3),
    pre.ByteLevel(),
    pre.ByteLevel(add_prefix_space=False),
    pre.ByteLevel(use_regex=False),
    *[
        pre.Metaspace(prepend_scheme=scheme, split=cut)
        for scheme in ("always", "first", "never")
        for cut in (True, False)
    ],
    pre.Metaspace(replacement="_"),
    *[pre.Punctuation(behaviour) for behaviour in BEHAVIOURS],
    *[
        pre.Split(pattern, behaviour, invert)
        for behaviour in BEHAVIOURS
        for invert in (False, True)
        for pattern in (
            " ",
            Regex(r"\p{L}+|(\d)\1"),
            Regex(r"(?=[A-Z\p{P}])"),
            Regex(r"\p{N}{1,2}+|e$"),
        )
    ],
    pre.Sequence([pre.WhitespaceSplit(), pre.Punctuation(), pre.Metaspace(prepend_scheme="first")]),
    pre.Sequence(
        [pre.ByteLevel(add_prefix_space=True), pre.Split("\u0120", "merged_with_previous")]
    ),
]
DECODERS = [
    decoders.BPEDecoder("e"),
    decoders.ByteFallback(),
    decoders.ByteLevel(),
    decoders.Fuse(),
    decoders.WordPiece(),
    decoders.CTC(pad_token="e", word_delimiter_token="a"),
    decoders.CTC(cleanup=False),
    decoders.Metaspace(),
    decoders.Metaspace(prepend_scheme="never"),
    decoders.Replace("e", "--"),
    decoders.Replace(Regex("[a-f]+"), "."),
    decoders.Strip("e", 0, 1),
    decoders.Strip("\u2581", 2, 0),
    decoders.WordPiece(prefix="\u2581", cleanup=False),
    decoders.Sequence([decoders.Metaspace(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]),
]


def name_of(component):
    return type(component).__name__


def plain():
    """A tokenizer that cuts any text, to put components into.

    `tokenizers` shows unknown characters as they are.
    """
    return unigram(["<unk>", "<s>"])


@pytest.mark.parametrize("component", NORMALIZERS, ids=name_of)
def test_a_normaliser_gives_the_text_and_the_places_of_the_library(component, tmp_path):
    tokenizer = plain()
    tokenizer.normalizer = component
    tokenizer.pre_tokenizer = pre.Split("", "isolated")
    check_against(tokenizer, texts_of_all_kinds(40, ("<s>",), seed=3), tmp_path / "t.json")


@pytest.mark.parametrize("component", PRE_TOKENIZERS, ids=name_of)
def test_a_pre_tokenizer_cuts_as_the_library_does(component, tmp_path):
    tokenizer = plain()
    tokenizer.pre_tokenizer = component
    check_against(tokenizer, texts_of_all_kinds(25, ("<s>",), seed=4), tmp_path / "t.json")


@pytest.mark.parametrize("component", DECODERS, ids=name_of)
def test_a_decoder_gives_the_text_of_the_library(component, tmp_path):
    tokenizer = bpe(
        "metaspace", ["<s>", *[f"<0x{byte:02X}>" for byte in range(256)]], byte_fallback=True
    )
    tokenizer.pre_tokenizer, tokenizer.decoder = pre.Metaspace(), component
    check_against(tokenizer, texts_of_all_kinds(25, ("<s>",), seed=5), tmp_path / "t.json")


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"lstrip": True},
        {"rstrip": True},
        {"single_word": True},
        {"lstrip": True, "rstrip": True, "single_word": True},
    ],
)
def test_added_tokens_are_found_where_their_flags_say(flags, normalized, tmp_path):
    tokenizer = bert()
    options = dict(flags, normalized=normalized)
    tokenizer.add_special_tokens([AddedToken("<X>", **options), AddedToken("<X><Y>", **options)])
    tokenizer.add_tokens([AddedToken("Bank", **options), AddedToken("Bank lends", **options)])
    texts = [
        "a <X>  b",
        "<X><Y><X>",
        "Bank Bankers theBank bank lends Bank  lends",
        " <X> ",
        "x<X>\n\n<X><Y> _Bank_",
        *texts_of_all_kinds(30, ("<X>", "<X><Y>", "Bank", "Bank lends"), seed=6),
    ]
    check_against(tokenizer, texts, tmp_path / "t.json")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unk_token": "<unk>"},
        {"unk_token": "<unk>", "fuse_unk": True},
        {"unk_token": "<unk>", "byte_fallback": True},
        {"unk_token": "<unk>", "ignore_merges": True},
        {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True},
    ],
)
def test_the_options_of_bpe_are_honoured(options, tmp_path):
    few_bytes = [
        f"<0x{byte:02X}>" for byte in range(0x80, 0xE8)
    ]  # so that some characters stay unknown
    tokenizer = bpe("metaspace", ["<unk>", *few_bytes], **options)
    tokenizer.pre_tokenizer = pre.Metaspace()
    texts = texts_of_all_kinds(40, seed=8)
    if "unk_token" in options:
        check_against(tokenizer, texts, tmp_path / "t.json")
        return
    tokenizer.save(str(tmp_path / "t.json"))
    with pytest.raises(TokenizerError, match="has no token, and this vocabulary of"):
        for text in texts:
            tokenizer_json.load(tmp_path / "t.json").encode(text.encode("utf-8", "ignore").decode())


def test_marks_inside_and_at_the_end_of_words_are_honoured(tmp_path):
    tokens = [
        "<unk>",
        "a",
        "##a",
        "b",
        "##b",
        "a##",
        "a</w>",
        "##b</w>",
        "ab</w>",
        "ab",
        "##ba",
        "##ba</w>",
    ]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(
        models.BPE(
            vocabulary,
            [("a", "##b</w>"), ("a", "##b")],
            unk_token="<unk>",
            continuing_subword_prefix="##",
            end_of_word_suffix="</w>",
        )
    )
    tokenizer.pre_tokenizer, tokenizer.decoder = pre.Whitespace(), decoders.BPEDecoder()
    check_against(tokenizer, ["ab", "aba a b ab", "abab", "xaby", ""], tmp_path / "t.json")


def test_a_table_of_words_is_read(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"the": 0, "bank": 1, "[U]": 2}, "[U]"))
    tokenizer.pre_tokenizer = pre.Whitespace()
    check_against(tokenizer, ["the bank, the river", "", "  "], tmp_path / "t.json")


def test_bytes_of_unigram_are_honoured(tmp_path):
    pieces = [
        ("<unk>", 0.0),
        *((f"<0x{byte:02X}>", 0.0) for byte in range(256)),
        ("a", -1.0),
        ("ab", -1.5),
    ]
    for byte_fallback in (True, False):
        tokenizer = Tokenizer(models.Unigram(pieces, 0, byte_fallback))
        check_against(tokenizer, ["abba", "\u65e5\u672ca", "<0x41>", "<unk>a"], tmp_path / "t.json")


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("flags", [{}, {"lstrip": True}, {"lstrip": True, "rstrip": True}])
def test_an_added_token_of_white_space_that_another_has_taken_is_left_out(
    flags, normalized, tmp_path
):
    tokenizer = unigram(["<unk>", "<s>"])
    tokenizer.add_tokens([AddedToken("\n", normalized=normalized, **flags)])
    check_against(
        tokenizer, ["\n", "a\n \nb", "\n\n\n", "x\n\t\n y", " \n ", "a \n\n"], tmp_path / "t.json"
    )


@pytest.mark.parametrize("padding", [{}, {"length": 4}, {"pad_to_multiple_of": 5}])
def test_what_is_cut_off_is_padded_as_the_text_is(padding, tmp_path):
    library = bert()
    library.enable_truncation(7, stride=1)
    library.enable_padding(**padding)
    library.save(str(tmp_path / "t.json"))
    ours, text = (
        tokenizer_json.load(tmp_path / "t.json"),
        "the bank lends to the river and the bank of it",
    )
    pairs = zip(
        [ours.encode(text), *ours.encode_batch([text, "a"])],
        [library.encode(text), *library.encode_batch([text, "a"])],
        strict=True,
    )
    for mine, theirs in pairs:
        assert [mine.ids, *(piece.ids for piece in mine.overflow)] == [
            theirs.ids,
            *(piece.ids for piece in theirs.overflowing),
        ]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("strategy", ["longest_first", "only_first", "only_second"])
def test_truncation_and_padding_of_the_file_hold_unless_told_otherwise(side, strategy, tmp_path):
    library = bert()
    library.enable_truncation(9, strategy=strategy, direction=side)
    library.enable_padding(
        direction=side, pad_id=0, pad_token="[PAD]", length=12, pad_to_multiple_of=8
    )
    library.save(str(tmp_path / "t.json"))
    ours, free = (
        tokenizer_json.load(tmp_path / "t.json"),
        tokenizer_json.load(tmp_path / "t.json", limits=False),
    )
    long, short = "the bank lends " * 3, "a"
    pairs = [
        (strategy == "only_second" and short or long, strategy == "only_first" and short or long),
        ("a", "b c"),
    ]
    for first, second in pairs:
        mine, theirs = ours.encode(first, second), library.encode(first, second)
        assert (mine.ids, mine.attention_mask) == (theirs.ids, theirs.attention_mask)
    assert [e.ids for e in ours.encode_batch(pairs)] == [e.ids for e in library.encode_batch(pairs)]
    library.no_truncation()
    library.no_padding()
    assert free.encode(*pairs[0]).ids == library.encode(*pairs[0]).ids


def types_in(module, base):
    """The names under which the components of a module stand in a file."""
    found = set()
    for name in dir(module):
        kind = getattr(module, name)
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base:
            found.add("BPEDecoder" if name == "BPEDecoder" else name)
    return found


def test_no_component_of_the_library_is_without_a_reader_or_a_refusal():
    refused = {"UnicodeScripts"}
    assert types_in(norm, norm.Normalizer) == json_steps.NORMALIZERS.keys()
    assert types_in(pre, pre.PreTokenizer) - refused == json_steps.PRE_TOKENIZERS.keys()
    assert types_in(decoders, decoders.Decoder) == json_steps.DECODERS.keys()
    assert types_in(processors, processors.PostProcessor) == set(tokenizer_json.PROCESSORS)
    assert types_in(models, models.Model) == {"BPE", "Unigram", "WordLevel", "WordPiece"}


def parts_of(data):
    """Every object with a type, at any depth, and the objects that the format names without one."""
    if isinstance(data, dict):
        if "type" in data:
            yield data
        for value in data.values():
            yield from parts_of(value)
    elif isinstance(data, list):
        for value in data:
            yield from parts_of(value)


def examples():
    """Files that together hold every component."""
    for slot, components in (
        ("normalizer", NORMALIZERS),
        ("pre_tokenizer", PRE_TOKENIZERS),
        ("decoder", DECODERS),
    ):
        for component in {name_of(one): one for one in components}.values():
            tokenizer = plain()
            setattr(tokenizer, slot, component)
            yield tokenizer
    for post_processor in (
        processors.BertProcessing(("<s>", 1), ("<unk>", 0)),
        processors.ByteLevel(),
        processors.RobertaProcessing(("<s>", 1), ("<unk>", 0)),
        processors.TemplateProcessing("<s> $A", "$A $B", [("<s>", 1)]),
    ):
        tokenizer = plain()
        tokenizer.post_processor = processors.Sequence([post_processor])
        yield tokenizer
    for model in (
        models.BPE({"a": 0}, []),
        models.WordPiece({"a": 0}, unk_token="a"),
        models.WordLevel({"a": 0}, "a"),
        models.Unigram([("a", 0.0)], 0, False),
    ):
        tokenizer = Tokenizer(model)
        tokenizer.enable_truncation(5)
        tokenizer.enable_padding(pad_id=0, pad_token="a")
        yield tokenizer


def test_a_field_that_nobody_reads_is_refused_in_every_component(tmp_path):
    seen = set()
    for tokenizer in examples():
        data = json.loads(tokenizer.to_str())
        named = [(part["type"], part) for part in parts_of(data)]
        named += [(key, data[key]) for key in ("truncation", "padding") if data[key]]
        named += [("added token", token) for token in data["added_tokens"]]
        named += [("file", data)]
        for name, part in named:
            part["strength"] = 1
            (tmp_path / "t.json").write_text(json.dumps(data))
            del part["strength"]
            with pytest.raises(
                TokenizerError, match="has the field 'strength', which is not known here"
            ):
                tokenizer_json.load(tmp_path / "t.json")
            seen.add(name)
        (tmp_path / "t.json").write_text(json.dumps(data))
        tokenizer_json.load(tmp_path / "t.json")
    everything = (
        json_steps.NORMALIZERS.keys()
        | json_steps.PRE_TOKENIZERS.keys()
        | json_steps.DECODERS.keys()
        | {
            *tokenizer_json.PROCESSORS,
            "BPE",
            "Unigram",
            "WordLevel",
            "WordPiece",
            "truncation",
            "padding",
            "added token",
            "file",
        }
    )
    assert seen == everything


def test_every_field_that_is_taken_away_or_of_another_kind_is_read_the_same_way_or_refused(
    tmp_path,
):
    """Whatever is done to a field: an error in words, or what the library makes of it."""
    path, texts = tmp_path / "t.json", ["the Bank  lends 12 <s>", "a\u0301 b"]
    for tokenizer in examples():
        data = json.loads(tokenizer.to_str())
        for part in [
            *parts_of(data),
            *(data[key] for key in ("truncation", "padding") if data[key]),
        ]:
            for field in [field for field in part if field not in ("type", "vocab", "merges")]:
                for change in ("missing", None, 7, "x", True):
                    before = part[field]
                    part[field] = change
                    if change == "missing":
                        del part[field]
                    path.write_text(json.dumps(data))
                    part[field] = before
                    check_same_or_refused(path, texts)


def check_same_or_refused(path, texts):
    try:
        ours = tokenizer_json.load(path)
        mine = [ours.encode(text).ids for text in texts]
    except TokenizerError:
        return
    try:
        library = tokenizers.Tokenizer.from_file(str(path))
        theirs = [library.encode(text).ids for text in texts]
    except Exception:  # what the library does not read can't be compared
        return
    assert mine == theirs, path.read_text()[-600:]
