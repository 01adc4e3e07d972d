"""What bench/guesses.py, bench/batching.py and bench/formed.py measure, on cases that are known by
hand.
"""

import importlib
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]
P, Q = torch.tensor([0.5, 0.25, 0.25]), torch.tensor([0.25, 0.5, 0.25])
LONG_RUN = {
    "right": ([0.5, 0.25, 0.25], 0.75),
    "p_after_refusal": ([0.375, 0.3125, 0.3125], 0.75),
    "likeliest_guess": ([0.5, 0.5, 0.0], 0.5),
    "equal_to_a_draw": ([0.5, 0.25, 0.25], 0.3125),
}


@pytest.fixture
def bench(monkeypatch):
    """`bench("guesses")` is the module bench/guesses.py."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "trained"))
    return importlib.import_module


@pytest.mark.parametrize("rule", LONG_RUN)
def test_each_rule_says_what_it_says_by_hand_and_the_test_tells_right_from_wrong(bench, rule):
    guesses, generator, counts, kept = (
        bench("guesses"),
        torch.Generator().manual_seed(5),
        torch.zeros(3),
        0,
    )
    for _ in range(3000):
        token, was_kept = getattr(guesses, rule)(P, Q, generator)
        counts[token] += 1
        kept += was_kept
    shares, share = LONG_RUN[rule]
    assert (counts / 3000).tolist() == pytest.approx(shares, abs=0.04)
    assert kept / 3000 == pytest.approx(share, abs=0.04)
    assert (guesses.p_value(counts, P) > 1e-3) == (shares == P.tolist())


def test_rare_tokens_are_put_together_before_chi_square(bench):
    p = torch.tensor([0.9, 0.0999, 0.0001])
    assert bench("guesses").p_value(torch.tensor([900.0, 100.0, 0.0]), p) > 0.9
    assert bench("guesses").p_value(torch.tensor([800.0, 100.0, 100.0]), p) < 1e-20


def test_orders_are_those_that_they_are_called_and_only_luck_is_left(bench):
    batching = bench("batching")
    found = batching.orders([n % 13 + 1 for n in range(160)])
    rows = found["orders"]
    assert (
        rows["shortest first"]["static"]
        == rows["longest first"]["static"]
        <= rows["as they came"]["static"]
        <= rows["a long one in each batch"]["static"]
    )
    assert all(row["continuous"] <= row["static"] for row in rows.values())
    assert (
        found["shuffled_ratio"]["low"]
        <= found["shuffled_ratio"]["median"]
        <= found["shuffled_ratio"]["high"]
    )


@pytest.mark.parametrize(
    "text, whole, within",
    [
        ('{"bank":"river","sure":true}', True, True),
        ('Sure: {"bank":"money","sure":false}!', False, True),
        ('{"bank":"lake","sure":true}', False, False),
        ('{"bank":"river"', False, False),
        ("no brace", False, False),
    ],
)
def test_a_form_is_judged_whole_and_within_braces(bench, text, whole, within):
    formed = bench("formed")
    assert (formed.has_form(text), formed.has_form(formed.within_braces(text))) == (whole, within)
