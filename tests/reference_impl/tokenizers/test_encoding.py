"""Pairs, truncation, overflow, padding and offsets: list for list what `tokenizers` gives."""

import itertools
from collections import Counter

import pytest
import tokenizers
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st

from reference_impl.tokenizers import encoding as enc  # noqa: E402
from reference_impl.tokenizers.byte_level import train_byte_level_bpe  # noqa: E402
from reference_impl.tokenizers.encoding import Encoding, Template  # noqa: E402
from reference_impl.tokenizers.files import BERT_TEMPLATE  # noqa: E402
from reference_impl.tokenizers.normalizers import bert_normalizer  # noqa: E402
from reference_impl.tokenizers.pretokenizers import BERT, GPT2, split  # noqa: E402
from reference_impl.tokenizers.surrogates import without_surrogates  # noqa: E402
from reference_impl.tokenizers.tokenizer import Tokenizer  # noqa: E402
from reference_impl.tokenizers.vocabulary import TokenizerError  # noqa: E402
from reference_impl.tokenizers.wordpiece_training import BERT_SPECIALS, train_wordpiece  # noqa: E402

FIELDS = (
    ("ids", "ids"),
    ("tokens", "tokens"),
    ("offsets", "offsets"),
    ("word_ids", "word_ids"),
    ("sequence_ids", "sequence_ids"),
    ("type_ids", "type_ids"),
    ("special_mask", "special_tokens_mask"),
    ("attention_mask", "attention_mask"),
)


def check_same(ours, theirs):
    """Every list of an encoding, and of what overflowed."""
    for mine, name in FIELDS:
        assert getattr(ours, mine) == getattr(theirs, name), name
    assert len(ours.overflow) == len(theirs.overflowing)
    for mine, other in zip(ours.overflow, theirs.overflowing):
        check_same(mine, other)


@pytest.fixture(scope="module")
def bert(code):
    words = Counter(split(BERT, bert_normalizer()(code + " \u00e9\u65e5\u672c")))
    return Tokenizer(
        train_wordpiece(words, 700, min_count=5),
        bert_normalizer(),
        BERT,
        BERT_SPECIALS,
        BERT_TEMPLATE,
        "[PAD]",
    )


@pytest.fixture()
def their_bert(bert):
    library = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            bert.vocabulary.id_of, unk_token="[UNK]", max_input_chars_per_word=100
        )
    )
    library.normalizer = tokenizers.normalizers.BertNormalizer()
    library.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    library.add_special_tokens(list(BERT_SPECIALS))
    library.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return library


@pytest.fixture(scope="module")
def gpt2(code):
    model = train_byte_level_bpe([code], 700, ["<|endoftext|>"])
    return Tokenizer(model, None, GPT2, ["<|endoftext|>"])


@pytest.fixture(scope="module")
def their_gpt2(gpt2):
    library = tokenizers.Tokenizer(tokenizers.models.BPE(gpt2.vocabulary.id_of, gpt2.model.merges))
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = tokenizers.decoders.ByteLevel()
    library.add_special_tokens(["<|endoftext|>"])
    return library


def test_awkward_texts_and_pairs_agree_in_every_list(bert, their_bert, gpt2, their_gpt2, awkward):
    for text, pair in itertools.product(awkward, [None, "a pair \u65e5\u672c"]):
        check_same(bert.encode(text, pair), their_bert.encode(text, pair))
        check_same(gpt2.encode(text, pair), their_gpt2.encode(text, pair))


@settings(deadline=None, max_examples=200, derandomize=True)
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cn"], max_codepoint=0x1FFF)))
def test_any_text_has_the_places_of_tokenizers(gpt2, their_gpt2, text):
    check_same(gpt2.encode(text), their_gpt2.encode(text))


@settings(deadline=None, max_examples=200, derandomize=True)
@given(
    text=st.text(
        st.sampled_from("a\u00e9\u0301\u65e5\u0130\ufb01 .-\x00\u00ad\ud55c[MASK]"), max_size=20
    )
)
def test_normalised_texts_have_the_places_of_tokenizers(bert, text):
    library = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(bert.vocabulary.id_of, unk_token="[UNK]")
    )
    library.normalizer = tokenizers.normalizers.BertNormalizer()
    library.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    check_same(bert.encode(text, add_specials=False, specials_in_text=False), library.encode(text))


def test_a_place_in_the_text_holds_the_letters_of_its_token(gpt2, awkward):
    for text in awkward:
        encoding = gpt2.encode(text, specials_in_text=False)
        whole = {}
        for (start, end), id in zip(encoding.offsets, encoding.ids):
            whole.setdefault((start, end), []).append(id)
        for (start, end), ids in whole.items():
            assert gpt2.decode(ids) in (
                "\ufffd" * len(ids),
                text[start:end],
            ) or "\ufffd" in gpt2.decode(ids)


@pytest.mark.parametrize("strategy", enc.STRATEGIES)
@pytest.mark.parametrize("lengths", [(7, 0), (5, 5), (3, 8), (8, 3), (1, 1)])
@pytest.mark.parametrize("stride", [0, 1])
@pytest.mark.parametrize("side", ["right", "left"])
def test_truncation_agrees_at_every_length(bert, their_bert, strategy, lengths, stride, side):
    text, pair = (" ".join("self"[i % 4] for i in range(n)) for n in lengths)
    pair = pair or None
    if strategy == "only_second" and pair is None:
        pair = ""
    # From a room of two tokens for each text on, so that a stride of one always fits.
    for max_length in range(4 if pair is None else 7, sum(lengths) + 6):
        their_bert.enable_truncation(max_length, stride=stride, strategy=strategy, direction=side)
        options = dict(max_length=max_length, truncation=strategy, stride=stride, side=side)
        try:
            ours = bert.encode(text, pair, **options)
        except TokenizerError as error:
            if "windows would not move on" in str(error):
                continue  # the library ends the whole program there
            with pytest.raises(Exception, match="too short"):
                their_bert.encode(text, pair)
            continue
        theirs = their_bert.encode(text, pair)
        if len(ours.overflow) != len(theirs.overflowing):
            assert (
                strategy == "longest_first" and ours.overflow == []
            )  # both texts of a pair were cut
            for mine, name in FIELDS:
                assert getattr(ours, mine) == getattr(theirs, name), name
        else:
            check_same(ours, theirs)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("length, multiple_of", [(None, 1), (None, 8), (12, 1), (9, 8), (2, 1)])
def test_padding_agrees(bert, their_bert, side, length, multiple_of):
    texts = ["self", "a much longer text than that", ("x", "y z"), ""]
    their_bert.enable_padding(
        direction=side,
        pad_id=0,
        pad_token="[PAD]",
        length=length,
        pad_to_multiple_of=multiple_of if multiple_of > 1 else None,
    )
    theirs = their_bert.encode_batch(texts)
    ours = bert.encode_batch(texts, length, multiple_of, side)
    for mine, other in zip(ours, theirs, strict=True):
        check_same(mine, other)


def test_windows_of_a_long_text_cover_it_with_their_overlap():
    assert enc.windows(10, 4, 1) == [(0, 4), (3, 7), (6, 10)]
    assert enc.windows(10, 4, 1, "left") == [(6, 10), (3, 7), (0, 4)]
    assert enc.windows(3, 4, 1) == [(0, 3)]


def test_decoding_agrees_and_leaves_out_special_tokens(gpt2, their_gpt2, awkward):
    for text in awkward:
        ids = gpt2.encode(text).ids
        for skip in (True, False):
            assert gpt2.decode(ids, skip) == their_gpt2.decode(ids, skip_special_tokens=skip)


def test_special_tokens_in_a_text_can_be_read_as_text(bert, gpt2):
    assert bert.encode("a [SEP] b").ids.count(3) == 2
    assert bert.encode("a [SEP] b", specials_in_text=False).ids.count(3) == 1
    assert gpt2.decode(gpt2.encode("<|endoftext|>", specials_in_text=False).ids) == "<|endoftext|>"
    assert gpt2.encode("<|endoftext|>").ids == [0]


def test_of_two_special_tokens_the_longer_is_meant(gpt2):
    model = train_byte_level_bpe(["x"], 300, ["<a>", "<a><b>"])
    assert Tokenizer(model, None, GPT2, ["<a>", "<a><b>"]).encode("<a><b><a>").ids == [1, 0]


def test_an_empty_special_token_is_refused():
    with pytest.raises(TokenizerError, match="can't be empty"):
        Tokenizer(train_byte_level_bpe(["x"], 300, [""]), None, GPT2, [""])


@pytest.mark.parametrize(
    "text", ["a\ud83d\ude00b", "\ude00\ud83d", "x\ud83d", "\ud83d\ude00\ud83d\ude00 end"]
)
def test_surrogates_are_read_alike_by_every_entry(gpt2, bert, text):
    clean = without_surrogates(text)
    assert gpt2.encode(text).ids == gpt2.encode(clean).ids
    assert (
        gpt2.model.encode(text)
        == gpt2.model.encode(clean)
        == list(gpt2.model.encode_iterable(text))
    )
    assert bert.encode(text).ids == bert.encode(clean).ids
    assert list(gpt2.encode_iterable(text)) == gpt2.encode(clean).ids


def test_places_count_both_halves_of_a_pair(gpt2):
    assert gpt2.encode("a\ud83d\ude00b").offsets[-2:] == [(1, 3), (3, 4)]
    assert gpt2.encode("a\ud83db").offsets[-2:] == [(1, 2), (2, 3)]


def test_a_word_is_cut_only_once(bert):
    class Counting:
        vocabulary, calls, decode = bert.vocabulary, 0, bert.model.decode

        def tokenize(self, word):
            self.calls += 1
            return bert.model.tokenize(word)

    model = Counting()
    tokenizer = Tokenizer(model, bert.normalizer, bert.pattern)
    tokenizer.encode("self self SELF")
    tokenizer.encode("self")
    assert model.calls == 1


@pytest.mark.parametrize(
    "options, words",
    [
        (dict(max_length=2), "max_length is 2, but the template alone adds 3"),
        (
            dict(max_length=9, truncation="only_first"),
            "20 tokens must go .* the first text.* has 3: nothing would be left",
        ),
        (
            dict(max_length=9, truncation="shortest"),
            "truncation is 'shortest'; it must be one of longest_first",
        ),
        (dict(max_length=9, stride=3), "stride is 3, but only 3 tokens"),
    ],
)
def test_what_cannot_be_done_is_said(bert, options, words):
    with pytest.raises(TokenizerError, match=words):
        bert.encode("a b c", "x " * 23, **options)


def test_a_second_text_that_is_missing_is_said(bert):
    with pytest.raises(TokenizerError, match="there is no second text"):
        bert.encode("a b c d", max_length=3, truncation="only_second")


def test_a_batch_without_padding_token_is_refused(gpt2):
    with pytest.raises(TokenizerError, match="no padding token"):
        gpt2.encode_batch(["a", "b"])


def test_a_padding_side_that_is_none_is_refused():
    with pytest.raises(TokenizerError, match="side is 'middle'; it must be one of left, right"):
        enc.pad([Encoding()], "[PAD]", 0, side="middle")


def test_a_template_with_an_unknown_token_says_which(bert):
    with pytest.raises(TokenizerError, match="adds '<s>', which is not among the 5 tokens"):
        Template("<s>:0 A:0").fill(Encoding(), None, bert.specials)
