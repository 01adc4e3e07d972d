"""BPE-dropout against `tokenizers`, SuperBPE against plain BPE at both ends of its range."""

import random
from collections import Counter
from itertools import pairwise

import pytest
import tokenizers

from reference_impl.tokenizers.bpe import train_bpe_plain
from reference_impl.tokenizers.bpe_variants import merge_with_dropout, train_superbpe
from reference_impl.tokenizers.pretokenizers import GPT2

TEXTS = ["by the way", "by the way we sat", "the way by the bank", "on the bank by the way"] * 3
TOY = train_bpe_plain({"bank": 3, "tank": 2, "bay": 4, "banks": 5}, 6)


def segmentations(p, n, seed=0):
    draw = random.Random(seed)
    return Counter("|".join(merge_with_dropout("banks", TOY.rank, p, draw)) for _ in range(n))


def test_without_dropout_it_is_bpe_and_with_all_merges_dropped_characters():
    assert set(segmentations(0.0, 20)) == {"|".join(TOY.split("banks"))}
    assert set(segmentations(1.0, 20)) == {"b|a|n|k|s"}


def probabilities(symbols, p):
    """The probability of each segmentation, with all outcomes of all drops enumerated."""
    found, paths = Counter(), [(tuple(symbols), 1.0)]
    while paths:
        split, left = paths.pop()
        ranked = ((TOY.rank(*pair), i) for i, pair in enumerate(pairwise(split)))
        for _, i in sorted(one for one in ranked if one[0] is not None):
            merged = (*split[:i], split[i] + split[i + 1], *split[i + 2 :])
            paths.append((merged, left * (1 - p)))
            left *= p
        found["|".join(split)] += left
    return found


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_segmentations_are_as_frequent_as_by_enumeration(p):
    n = 20_000
    ours, exact = segmentations(p, n), probabilities("banks", p)
    assert ours.keys() <= exact.keys()
    for cut, probability in exact.items():
        deviation = (n * probability * (1 - probability)) ** 0.5
        assert abs(ours[cut] - n * probability) < 5 * deviation, cut


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_segmentations_are_those_of_the_library_and_about_as_frequent(p):
    """The library draws again for a merge that waits twice in its queue: a whole word is a sixth
    more frequent there than in the paper's algorithm, a total variation of about 0.02.
    """
    model = tokenizers.models.BPE(TOY.vocabulary.id_of, TOY.merges, dropout=p)
    library = tokenizers.Tokenizer(model)
    n = 20_000
    theirs = Counter("|".join(library.encode("banks").tokens) for _ in range(n))
    exact = probabilities("banks", p)
    assert theirs.keys() == exact.keys()
    assert sum(abs(theirs[cut] / n - exact[cut]) for cut in exact) / 2 < 0.04


def test_a_merge_that_is_dropped_once_may_be_made_later():
    assert "ban|k|s" in segmentations(0.5, 2000) or "ba|nk|s" in segmentations(0.5, 2000)
    assert segmentations(0.5, 2000)["|".join(TOY.split("banks"))] > 0


def test_a_transition_at_the_end_is_bpe_and_at_the_beginning_bpe_without_words():
    words = Counter(word for text in TEXTS for word in GPT2.findall(text))
    characters = len(set("".join(TEXTS)))
    size = characters + 12
    assert train_superbpe(TEXTS, size, size).merges == train_bpe_plain(words, 12).merges
    assert train_superbpe(TEXTS, size, 0).merges == train_bpe_plain(Counter(TEXTS), 12).merges


def test_merges_cross_spaces_only_after_the_transition():
    size = len(set("".join(TEXTS))) + 25
    model = train_superbpe(TEXTS, size, size - 10)
    crosses = [" " in (left + right).lstrip(" ") for left, right in model.merges]
    assert True in crosses
    first = crosses.index(True)
    assert first >= len(model.merges) - 10
    assert (
        len(model.split("by the way"))
        < len(train_superbpe(TEXTS, size - 10, size - 10).split("by the way")) + 1
    )
