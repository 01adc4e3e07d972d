"""WordPiece: cutting against `tokenizers`, training against a plain search and against
`tokenizers`' trainer.
"""

import random
from collections import Counter

import pytest
import tokenizers
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st

from reference_impl.tokenizers.bpe import count_pairs  # noqa: E402
from reference_impl.tokenizers.pretokenizers import BERT, split  # noqa: E402
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary  # noqa: E402
from reference_impl.tokenizers.wordpiece import WordPiece  # noqa: E402
from reference_impl.tokenizers.wordpiece_training import (  # noqa: E402
    BERT_SPECIALS,
    join,
    learn_by_likelihood,
    symbols_of,
    train_wordpiece,
)

few_words = st.dictionaries(
    st.text("abcd", min_size=1, max_size=7), st.integers(1, 6), min_size=1, max_size=8
)


def test_the_longest_piece_is_taken_first():
    model = WordPiece(Vocabulary(["[UNK]", "un", "##aff", "##able", "##a", "##ffable"]))
    assert model.split("unaffable") == ["un", "##aff", "##able"]
    assert [(piece.start, piece.end) for piece in model.tokenize("unaffable")] == [
        (0, 2),
        (2, 5),
        (5, 9),
    ]


def test_a_piece_that_was_taken_is_never_given_back():
    assert WordPiece(Vocabulary(["[UNK]", "ab", "a", "##bc"])).split("abc") == ["[UNK]"]


def test_one_unknown_character_makes_the_whole_word_unknown():
    model = WordPiece(Vocabulary(["[UNK]", "a", "##a"]))
    assert model.tokenize("aaxa") == [(0, 0, 4)]


@pytest.mark.parametrize("length, num_tokens", [(99, 99), (100, 100), (101, 1)])
def test_a_word_of_more_than_100_characters_is_unknown(length, num_tokens):
    assert len(WordPiece(Vocabulary(["[UNK]", "a", "##a"])).tokenize("a" * length)) == num_tokens


@settings(deadline=None, max_examples=300, derandomize=True)
@given(
    pieces=st.lists(st.text("ab#", min_size=1, max_size=5), max_size=20, unique=True),
    word=st.text("abc#", max_size=120),
)
def test_cutting_agrees_with_tokenizers(pieces, word):
    vocabulary = Vocabulary(["[UNK]", *pieces])
    library = tokenizers.models.WordPiece(
        vocabulary.id_of, unk_token="[UNK]", max_input_chars_per_word=100
    )
    theirs = [(token.id, *token.offsets) for token in library.tokenize(word)] if word else []
    assert WordPiece(vocabulary).tokenize(word) == theirs


@pytest.mark.parametrize(
    "tokens",
    [
        ["i", "do", "not", "know", "."],
        ["don", "'", "t"],
        ["do", "n't", "'s"],
        ["##a", "b"],
        ["a", "##", "##b", ",", "!", "?x"],
        [],
    ],
)
@pytest.mark.parametrize("clean_up", [True, False])
def test_decoding_writes_what_tokenizers_writes(tokens, clean_up):
    model = WordPiece(Vocabulary(list(dict.fromkeys(["[UNK]", *tokens]))))
    ids = [model.vocabulary.id(token) for token in tokens]
    assert model.decode(ids, clean_up) == tokenizers.decoders.WordPiece(cleanup=clean_up).decode(
        tokens
    )


def test_a_vocabulary_without_the_unknown_token_is_refused():
    with pytest.raises(TokenizerError, match="'\\[UNK\\]' is not among the 1 tokens"):
        WordPiece(Vocabulary(["a"]))


def search(word_counts, num_merges, min_count):
    """The definition, looked up anew for every merge."""
    words = {symbols_of(word): count for word, count in word_counts.items()}
    tokens = sorted(
        {symbol for word in words for symbol in word}, key=lambda s: (s.startswith("##"), s)
    )
    merges = []
    while len(merges) < num_merges:
        symbols = Counter()
        for word, count in words.items():
            for symbol in word:
                symbols[symbol] += count
        pairs = {pair: n for pair, n in count_pairs(words).items() if n >= min_count}
        if not pairs:
            break
        a, b = min(
            pairs,
            key=lambda p: (
                -pairs[p] / (symbols[p[0]] * symbols[p[1]]),
                tokens.index(p[0]),
                tokens.index(p[1]),
            ),
        )
        merges.append((a, b))
        if join(a, b) not in tokens:
            tokens.append(join(a, b))
        words = {merged(word, a, b): count for word, count in words.items()}
    return merges, tokens


def merged(word, a, b):
    result, rest = [], list(word)
    while rest:
        if rest[:2] == [a, b]:
            result.append(join(a, b))
            rest = rest[2:]
        else:
            result.append(rest.pop(0))
    return tuple(result)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(word_counts=few_words, num_merges=st.integers(1, 10), min_count=st.integers(1, 4))
def test_training_by_likelihood_finds_the_best_score_every_time(word_counts, num_merges, min_count):
    expected, tokens = search(word_counts, num_merges, min_count)
    words = {symbols_of(word): count for word, count in word_counts.items()}
    start = sorted(
        {symbol for word in words for symbol in word}, key=lambda s: (s.startswith("##"), s)
    )
    learned = learn_by_likelihood(words, ours := list(start), len(tokens), min_count)
    assert learned == expected[: len(learned)]
    assert ours == tokens


def test_likelihood_prefers_a_pair_that_belongs_together_and_frequency_the_frequent_one():
    words = {"qu": 3, "the": 50, "tho": 30, "toe": 40, "he": 40}
    first = {
        score: train_wordpiece(words, 16, score=score).vocabulary.tokens[-1]
        for score in ("likelihood", "frequency")
    }
    # count(qu) / (count(q) count(##u)) = 3 / 9; of t and ##h: 80 / (120 x 80). The most frequent
    # pair is t, ##h.
    assert first == {"likelihood": "qu", "frequency": "th"}


def library_trained_on(texts, **limits):
    library = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    library.normalizer = tokenizers.normalizers.Lowercase()
    library.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    library.train_from_iterator(
        texts,
        tokenizers.trainers.WordPieceTrainer(
            special_tokens=list(BERT_SPECIALS), show_progress=False, **limits
        ),
    )
    return library


def test_training_by_frequency_learns_exactly_the_pieces_of_tokenizers_where_no_two_pairs_tie():
    draw, words = random.Random(0), Counter()
    while (
        len(words) < 1000
    ):  # few letters: each pair is counted in many words, so that hardly two counts are equal
        words["".join(draw.choices("abcdefgh", k=draw.randint(2, 6)))] = draw.randint(1, 60)
    ours = train_wordpiece(words, 180, score="frequency", min_count=1)
    library = library_trained_on(
        (" ".join([word] * count) for word, count in words.items()), vocab_size=180
    )
    assert set(ours.vocabulary) == set(library.get_vocab())


def test_training_by_frequency_learns_the_pieces_of_tokenizers(code):
    words = Counter(split(BERT, code.lower()))
    ours = train_wordpiece(words, 5000, score="frequency", min_count=25)
    library = library_trained_on([code], vocab_size=5000, min_frequency=25)
    # Neighbouring pairs inside a rare word tie: (b, ##a) and (##a, ##n) of "ban". The library
    # breaks ties by the ids of "##" characters, whose order changes from run to run: it differs
    # from itself by a few pieces too. A smallest count in place of a vocabulary size keeps ties
    # from deciding what is cut off.
    assert len(set(ours.vocabulary) ^ set(library.get_vocab())) <= 0.02 * len(ours.vocabulary)
    assert 300 < len(ours.vocabulary) < 5000
    assert ours.vocabulary.tokens[:5] == list(BERT_SPECIALS)


def test_every_word_that_was_trained_on_can_be_cut(code):
    words = Counter(word for word in split(BERT, code) if len(word) <= 100)
    model = train_wordpiece(words, 800, min_count=10)
    assert all(
        model.unknown_id not in [piece.id for piece in model.tokenize(word)] for word in words
    )


def test_a_vocabulary_too_small_for_the_characters_is_refused():
    with pytest.raises(
        TokenizerError, match="vocab_size is 6, but 5 special tokens, 2 characters and 1 .* need 8"
    ):
        train_wordpiece({"ab": 1}, 6)
