"""Sums and rules: tasks whose right answers a program knows, held against arithmetic written
another way.
"""

import itertools
import random

import pytest

from reference_impl.corpora import rules, sums


@pytest.mark.parametrize("digits", ["381904", "000000", "999999", "000007"])
def test_a_right_chain_ends_with_the_last_digit_of_the_sum_and_every_step_follows(digits):
    chain = sums.chain(digits) + sums.END
    assert len(chain) == sums.LONGEST and sums.decode(sums.encode(chain)) == chain
    assert sums.answer_of(chain) == sums.answer(digits) == str(eval("+".join(digits)))[-1]
    assert sums.reward(digits, chain) == 1 and sums.steps_that_follow(digits, chain) == [True] * 5


def test_the_chain_by_hand():
    assert sums.chain("381904") == "+8=1+1=2+9=1+0=1+4=5" and sums.answer("381904") == "5"


@pytest.mark.parametrize(
    "written, found",
    [
        ("5.", "5"),
        (".", None),
        ("", None),
        ("5", None),
        ("+.", None),
        ("+8=1.", "1"),
        ("5..", None),
    ],
)
def test_an_answer_is_the_digit_before_the_end(written, found):
    assert sums.answer_of(written) == found


def test_a_step_is_judged_by_the_chain_s_own_digit_before_it():
    assert sums.steps_that_follow("381904", "+8=2+1=3+9=2+0=2+4=6.") == [
        False,
        True,
        True,
        True,
        True,
    ]
    assert sums.steps_that_follow("381904", "+8=1+2=3") == [True, False, False, False, False]
    assert sums.reward("381904", "+8=2+1=3+9=2+0=2+4=5.") == 1  # the answer alone is looked at


def test_no_problem_is_both_learned_and_tested():
    learned, tests = sums.problems(0, 3000), sums.problems(0, 500, tests=True)
    assert not set(learned) & set(tests) and sums.problems(0, 5) == learned[:5] != sums.problems(
        1, 5
    )
    assert {digit for text in tests for digit in text[-1]} == set("0123456789")


def test_rules_by_hand():
    assert [rules.examples(rule, [0, 4, 9]) for rule in "=+-n"] == [
        "0>0,4>4,9>9,",
        "0>1,4>5,9>0,",
        "0>9,4>3,9>8,",
        "0>9,4>5,9>0,",
    ]
    assert (
        rules.prompt("+", [3, 7, 5]) == "_3>4,7>8,5>"
        and rules.prompt("n", [5], named=True) == "n5>"
    )
    assert (
        rules.belief([(4, 5)]) == {"=": 0, "+": 0.5, "-": 0, "n": 0.5}
        and rules.belief([(2, 3)])["+"] == 1
    )
    assert set(rules.belief([(1, 7)]).values()) == {0}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_best_share_is_that_of_bayes_over_all_prompts(count):
    right, total = 0.0, 0
    for rule in rules.RULES:
        for digits in itertools.product(range(10), repeat=count + 1):
            believed = rules.belief([(x, rules.RULES[rule](x)) for x in digits[:-1]])
            says = [
                sum(share for r, share in believed.items() if rules.RULES[r](digits[-1]) == y)
                for y in range(10)
            ]
            best = [y for y in range(10) if says[y] == max(says)]
            right += (rules.RULES[rule](digits[-1]) in best) / len(best)
            total += 1
    assert rules.best_share(count) == pytest.approx(right / total)


def test_half_of_the_texts_name_their_rule():
    texts = [rules.text(random.Random(seed), 3) for seed in range(400)]
    assert 150 < sum(text[0] == rules.UNNAMED for text in texts) < 250 and all(
        len(text) == 13 for text in texts
    )
