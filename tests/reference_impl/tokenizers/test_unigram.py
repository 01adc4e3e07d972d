"""The unigram lattice against a count of all cuts, and against `tokenizers` and `sentencepiece`."""

import itertools
import math
import random
from collections import Counter

import pytest
import tokenizers
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st

from reference_impl.tokenizers.unigram import Unigram, log_sum_exp  # noqa: E402
from reference_impl.tokenizers.vocabulary import TokenizerError  # noqa: E402

PIECES = [
    ("<unk>", 0.0),
    ("a", -2.1),
    ("b", -2.3),
    ("ab", -3.7),
    ("ba", -3.9),
    ("aba", -5.6),
    ("abab", -6.2),
    ("c", -3.3),
]
scored_pieces = st.dictionaries(
    st.text("abc", min_size=1, max_size=4), st.floats(-9, -0.5), max_size=12
)


def all_cuts(word, pieces):
    """Every way to cut the word into pieces, with its log probability."""
    scores = dict(pieces)
    for places in itertools.product([False, True], repeat=max(0, len(word) - 1)):
        ends = [i + 1 for i, cut in enumerate(places) if cut] + [len(word)]
        cut = [word[start:end] for start, end in zip([0, *ends], ends)]
        if all(piece in scores for piece in cut):
            yield tuple(cut), sum(scores[piece] for piece in cut)


def test_the_best_cut_is_the_best_of_all_cuts():
    model = Unigram(PIECES)
    for n in range(1, 9):
        for word in (
            map("".join, itertools.product("abc", repeat=n))
            if n < 6
            else ["ab" * (n // 2), "aba" * (n // 3)]
        ):
            best = max(score for _, score in all_cuts(word, PIECES[1:]))
            assert math.isclose(sum(edge.score for edge in model.best(word)), best, abs_tol=1e-12)


def test_the_n_best_cuts_are_the_best_of_all_cuts_in_order():
    model = Unigram(PIECES)
    for word in ["abababa", "abcab", "a", "ccc"]:
        ranked = sorted((score for _, score in all_cuts(word, PIECES[1:])), reverse=True)
        found = model.n_best(word, 10)
        assert [score for _, score in found] == pytest.approx(ranked[:10], abs=1e-12)
        assert len({tuple(cut) for cut, _ in found}) == len(found)
        for cut, score in found:
            assert dict(all_cuts(word, PIECES[1:]))[tuple(cut)] == pytest.approx(score, abs=1e-12)


def test_expected_counts_are_the_average_over_all_cuts():
    model = Unigram(PIECES)
    cuts = list(all_cuts("ababcaba", PIECES[1:]))
    total = log_sum_exp([score for _, score in cuts])
    expected = Counter()
    for cut, score in cuts:
        for piece in cut:
            expected[model.vocabulary.id(piece)] += math.exp(score - total)
    counts, log_p = model.expected_counts("ababcaba")
    assert log_p == pytest.approx(total, abs=1e-12)
    assert counts == pytest.approx(dict(expected), abs=1e-12)


@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0, 3.0])
def test_samples_are_drawn_with_the_probability_of_their_cut(theta):
    import scipy.stats as scipy_stats

    cuts = {cut: theta * score for cut, score in all_cuts("ababab", PIECES[1:])}
    total = log_sum_exp(list(cuts.values()))
    model, rng = Unigram(PIECES), random.Random(20261121)
    drawn = Counter(tuple(model.sample("ababab", theta, rng)) for _ in range(4000))
    assert set(drawn) <= set(cuts)
    # Cuts that are rarer than 5 in 4000 are taken together, as the chi-square test asks for.
    common = [cut for cut in cuts if 4000 * math.exp(cuts[cut] - total) >= 5]
    expected = [4000 * math.exp(cuts[cut] - total) for cut in common]
    observed = [drawn[cut] for cut in common]
    if sum(observed) < 4000:
        expected, observed = [*expected, 4000 - sum(expected)], [*observed, 4000 - sum(observed)]
    assert scipy_stats.chisquare(observed, expected, sum_check=False).pvalue > 1e-3


@settings(deadline=None, max_examples=400, derandomize=True)
@given(pieces=scored_pieces, word=st.text("abcd", min_size=1, max_size=30))
def test_cutting_agrees_with_tokenizers_unknown_characters_included(pieces, word):
    vocabulary = [("<unk>", 0.0), *pieces.items()]
    library = tokenizers.models.Unigram(vocabulary, unk_id=0, byte_fallback=False)
    ours = Unigram(vocabulary).tokenize(word)
    theirs = library.tokenize(word)
    score = {0: min(score for _, score in vocabulary) - 10} | {
        i: vocabulary[i][1] for i in range(1, len(vocabulary))
    }

    def total(tokens):
        return sum(
            score[token.id] * ((token.end - token.start) if token.id == 0 else 1)
            for token in tokens
        )

    as_pieces = [type(ours[0])(token.id, *token.offsets) for token in theirs]
    assert ours == as_pieces or total(ours) == pytest.approx(total(as_pieces), abs=1e-9)


def test_equal_cuts_are_told_apart_as_in_tokenizers():
    vocabulary = [("<unk>", 0.0), ("a", -1.0), ("aa", -2.0), ("aaa", -3.0)]
    library = tokenizers.models.Unigram(vocabulary, unk_id=0, byte_fallback=False)
    assert Unigram(vocabulary).split("aaaaa") == [
        token.value for token in library.tokenize("aaaaa")
    ]


def test_a_run_of_unknown_characters_is_one_token():
    assert [tuple(piece) for piece in Unigram(PIECES).tokenize("axyzb")] == [
        (1, 0, 1),
        (0, 1, 4),
        (2, 4, 5),
    ]


def test_the_unknown_and_control_tokens_never_match_text():
    model = Unigram(
        [("<unk>", 0.0), ("<", -9.0), ("s", -9.0), (">", -9.0), ("<s>", 0.0)], never_in_text=["<s>"]
    )
    assert model.split("<s>") == ["<", "s", ">"]


def test_without_an_unknown_token_a_word_that_cannot_be_cut_is_an_error():
    model = Unigram(PIECES[1:], unknown=None)
    for cut in (model.best, lambda word: model.sample(word, 1.0, random.Random(0))):
        with pytest.raises(TokenizerError, match="'axb' can't be cut into the 7 pieces"):
            cut("axb")


def test_the_empty_word_has_no_tokens():
    model = Unigram(PIECES)
    assert model.tokenize("") == [] and model.n_best("", 3) == [([], 0.0)]
    assert model.sample("", 1.0, random.Random(0)) == []
