"""N-gram models against nltk's numbers, numbers worked by hand, and the laws of probability."""

import math

import numpy as np
import pytest

from reference_impl.models.ngram import (
    AbsoluteDiscount,
    AddK,
    JelinekMercer,
    KneserNey,
    NGram,
    NGramError,
)

TEXTS = [[0, 1, 0, 2, 0, 1, 3], [1, 0, 2, 2, 3, 0, 1], [4, 0, 1, 0, 2]]
EACH = pytest.mark.parametrize("kind", [NGram, AddK, JelinekMercer, AbsoluteDiscount, KneserNey])

# nltk 3.10: lm.MLE, Lidstone(0.3), AbsoluteDiscountingInterpolated and KneserNeyInterpolated
# (discount 0.6), fitted on TEXTS with "<s>" before each and the ids 0 to 6. nltk ends its recursion
# at tokens alone; for these numbers its `unigram_score` was made to discount as well and to go on
# to the uniform distribution.
NLTK = [
    (NGram, 2, {}, [0, 2], [1 / 3, 0, 1 / 3, 1 / 3, 0, 0, 0]),
    (NGram, 3, {}, [0, 1], [2 / 3, 0, 0, 1 / 3, 0, 0, 0]),
    (AddK, 3, {"k": 0.3}, [0, 2], [0.31707, 0.07317, 0.31707, 0.07317, 0.07317, 0.07317, 0.07317]),
    (AddK, 3, {"k": 0.3}, [3, 3], [1 / 7] * 7),
    (
        AbsoluteDiscount,
        3,
        {"discount": 0.6},
        [1, 0],
        [0.01232, 0.10586, 0.87548, 0.00330, 0.00150, 0.00077, 0.00077],
    ),
    (
        AbsoluteDiscount,
        3,
        {"discount": 0.6},
        [5, 0],
        [0.06161, 0.52928, 0.37740, 0.01650, 0.00748, 0.00387, 0.00387],
    ),
    (
        KneserNey,
        3,
        {"discount": 0.6},
        [1, 0],
        [0.01931, 0.14331, 0.82331, 0.00731, 0.00331, 0.00171, 0.00171],
    ),
    (
        KneserNey,
        3,
        {"discount": 0.6},
        [0, 2],
        [0.42486, 0.05486, 0.33486, 0.13486, 0.02486, 0.01286, 0.01286],
    ),
    (
        KneserNey,
        3,
        {"discount": 0.6},
        [5, 0],
        [0.09657, 0.71657, 0.11657, 0.03657, 0.01657, 0.00857, 0.00857],
    ),
]


@pytest.mark.parametrize("kind, order, settings, context, expected", NLTK)
def test_probabilities_are_nltks(kind, order, settings, context, expected):
    found = kind(TEXTS, 7, order, **settings).distribution(context)
    assert found == pytest.approx(expected, abs=6e-6)


@EACH
@pytest.mark.parametrize("order", [1, 2, 4])
def test_probabilities_sum_to_one_after_any_context_and_none_is_negative(kind, order):
    model = kind(TEXTS, 7, order)
    for context in ([], [0], [1, 0], [0, 1, 0], [6, 6, 6], [3, 6], [0, 1, 0, 2, 0, 1, 3]):
        shares = model.distribution(context)
        assert shares.sum() == pytest.approx(1, abs=1e-12)
        assert shares.min() >= 0


@EACH
def test_one_tokens_probability_is_its_entry_in_the_distribution(kind):
    model = kind(TEXTS, 7, 3)
    for context in ([], [1, 0], [6, 6], [2]):
        assert [model.probability(token, context) for token in range(7)] == pytest.approx(
            model.distribution(context).tolist(), abs=1e-15
        )


def test_kneser_ney_by_hand_counts_after_how_many_tokens_a_token_was_seen():
    # 0 was seen after the start and after 1, the others after 0 only: 2, 1, 1 of 4, each lowered by
    # 1/2; what is saved, 3 times 1/2 of 4, is spread over four tokens.
    model = KneserNey([[0, 1, 0, 2]], vocab_size=4, order=2, discount=0.5)
    alone = [1.5 / 4 + 1.5 / 16, 0.5 / 4 + 1.5 / 16, 0.5 / 4 + 1.5 / 16, 1.5 / 16]
    assert model.distribution([3]) == pytest.approx(alone, abs=1e-15)
    assert model.distribution([0]) == pytest.approx(
        [0.5 * alone[0], 0.25 + 0.5 * alone[1], 0.25 + 0.5 * alone[2], 0.5 * alone[3]], abs=1e-15
    )


def test_a_frequent_token_that_follows_one_token_only_is_unlikely_elsewhere_for_kneser_ney_alone():
    texts = [[0, 1], [0, 1], [0, 1], [0, 1], [2, 3], [4, 3]]  # 1 is Francisco
    seldom, often = (
        KneserNey(texts, 6, 2, discount=0.5),
        AbsoluteDiscount(texts, 6, 2, discount=0.5),
    )
    assert seldom.probability(1, [5]) < seldom.probability(3, [5])
    assert often.probability(1, [5]) > often.probability(3, [5])


def test_jelinek_mercer_by_hand():
    model = JelinekMercer([[0, 1, 0, 2]], vocab_size=4, order=2, weight=0.8)
    alone = [0.8 * share + 0.2 / 4 for share in (1 / 2, 1 / 4, 1 / 4, 0)]
    assert model.distribution([3]) == pytest.approx(alone, abs=1e-15)
    assert model.distribution([0]) == pytest.approx(
        [0.2 * alone[0], 0.4 + 0.2 * alone[1], 0.4 + 0.2 * alone[2], 0.2 * alone[3]], abs=1e-15
    )


def test_the_discount_is_neys_estimate_from_runs_seen_once_and_twice():
    # Tokens: 0 three times, 1 twice, 2 and 3 once, so 2 / (2 + 2 * 1). Pairs: (0, 1) twice, of six
    # others each once.
    model = AbsoluteDiscount([[0, 1, 2, 0, 1, 3, 0]], vocab_size=4, order=2)
    assert model.discounts == [2 / 4, 5 / 7]


def test_perplexity_and_bits_per_byte_by_hand():
    # After 0: 1 or 2, half each. The start gives 0, 1 gives 0: certain. So 2 bits in 4 tokens, here
    # in 8 bytes.
    model = NGram([[0, 1, 0, 2]], vocab_size=3, order=2)
    assert model.perplexity([[0, 1, 0, 2]]) == pytest.approx(2 ** (2 / 4))
    assert model.bits_per_byte([[0, 1, 0, 2]], 8) == pytest.approx(2 / 8)
    assert model.perplexity([[0, 1, 0, 2], [0, 1]]) == pytest.approx(2 ** (3 / 6))
    assert model.perplexity([[0, 0]]) == math.inf


def test_a_texts_beginning_is_a_context_of_its_own():
    assert NGram([[0, 1], [0, 2]], vocab_size=3, order=3).distribution().tolist() == [1, 0, 0]
    assert NGram([[0, 1], [0, 2]], vocab_size=3, order=3).probability(2, [0]) == 0.5


def test_samples_have_the_models_frequencies():
    model = KneserNey(TEXTS, 7, 3)
    generator = np.random.default_rng(0)
    draws = 4000
    counts = np.bincount([model.sample(1, generator, [1, 0])[0] for _ in range(draws)], minlength=7)
    expected = model.distribution([1, 0]) * draws
    assert (
        (counts - expected) ** 2 / expected
    ).sum() < 22.46  # chi-square with 6 degrees of freedom, p = 0.001


def test_a_sample_goes_on_from_what_was_drawn():
    model = NGram([[0, 1, 2, 3, 4, 5]], vocab_size=6, order=2)
    assert model.sample(6, np.random.default_rng(0)) == [0, 1, 2, 3, 4, 5]
    assert model.sample(2, np.random.default_rng(0), [2]) == [3, 4]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], 5, 2), "no text"),
        (([[1], []], 5, 2), "empty text"),
        (([[1, 5]], 5, 2), "id 5 but a vocabulary of 5"),
        (([[-1]], 5, 2), "id -1 but a vocabulary of 5"),
        (([[1]], 5, 0), "order is 0"),
    ],
)
def test_what_cannot_be_counted_is_refused(arguments, message):
    with pytest.raises(NGramError, match=message):
        NGram(*arguments)


def test_an_unknown_id_in_a_question_is_refused():
    model = KneserNey(TEXTS, 7, 2)
    for ask in (
        lambda: model.distribution([7]),
        lambda: model.probability(7),
        lambda: model.nats([1, 7]),
        lambda: model.nats([]),
    ):
        with pytest.raises(NGramError, match="id 7 but a vocabulary of 7|empty text"):
            ask()
    for kind, setting in (
        (AddK, {"k": 0.0}),
        (JelinekMercer, {"weight": 1.0}),
        (AbsoluteDiscount, {"discount": 1.5}),
    ):
        with pytest.raises(NGramError, match=f"{next(iter(setting))} is"):
            kind(TEXTS, 7, 2, **setting)
