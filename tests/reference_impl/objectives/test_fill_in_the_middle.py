"""Fill in the middle: nothing is lost, both sides are read first, and the rate is kept."""

import pytest
import torch

from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.fill_in_the_middle import FillInTheMiddle

PRE, SUF, MID, END = 90, 91, 92, 93
TEXT = list(range(10))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def parts(sequence, suffix_first):
    """Prefix with middle, and suffix, as they stand behind the sentinels."""
    if suffix_first:
        at = sequence.index(MID)
        return sequence[at + 1 : -1], sequence[2:at]
    after, at = sequence.index(SUF), sequence.index(MID)
    return sequence[1:after] + sequence[at + 1 : -1], sequence[after + 1 : at]


@pytest.mark.parametrize("suffix_first", [False, True])
def test_the_text_comes_back_from_its_parts(suffix_first):
    fim = FillInTheMiddle(PRE, SUF, MID, END, rate=1.0, suffix_first=suffix_first)
    lengths = set()
    for seed in range(1000):
        sequence = fim(TEXT, generator(seed))
        before, suffix = parts(sequence, suffix_first)
        assert before + suffix == TEXT
        assert sequence[-1] == END and len(sequence) == len(TEXT) + 4
        lengths.add(len(suffix))
    assert lengths == set(range(len(TEXT) + 1))


def test_prefix_suffix_and_middle_stand_behind_their_sentinels():
    fim = FillInTheMiddle(PRE, SUF, MID, END)
    assert fim.prompt([1, 2], [5]) == [PRE, 1, 2, SUF, 5, MID]
    spm = FillInTheMiddle(PRE, SUF, MID, END, suffix_first=True)
    assert spm.prompt([1, 2], [5]) == [PRE, SUF, 5, MID, 1, 2]


def test_the_rate_is_the_fraction_that_is_rearranged():
    fim = FillInTheMiddle(PRE, SUF, MID, END, rate=0.25)
    kinds = [fim(TEXT, generator(seed))[0] == PRE for seed in range(2000)]
    assert 0.22 < sum(kinds) / len(kinds) < 0.28
    assert FillInTheMiddle(PRE, SUF, MID, END, rate=0.0)(TEXT, generator()) == [*TEXT, END]


@pytest.mark.parametrize("wrong", [{"rate": 1.5}, {"rate": -0.1}, {"middle_id": SUF}])
def test_what_makes_no_sense_is_named(wrong):
    with pytest.raises(ObjectiveError):
        FillInTheMiddle(
            **{
                **dict(
                    zip(("prefix_id", "suffix_id", "middle_id", "end_id"), (PRE, SUF, MID, END))
                ),
                **wrong,
            }
        )


def test_a_text_with_a_special_id_is_refused():
    with pytest.raises(ObjectiveError, match="special ids"):
        FillInTheMiddle(PRE, SUF, MID, END)([1, MID], generator())
