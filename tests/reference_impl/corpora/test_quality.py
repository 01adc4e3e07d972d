"""Gopher's rules, each broken by one document; mixtures beside a formula and GPT-3's table."""

import pytest

from reference_impl.corpora.quality import epochs, mixture, quality_problems

GOOD = "\n".join(
    f"The bank number {n} lends money to the firms of the town, and that is all." for n in range(8)
)
BROKEN = {
    "number of words": "The bank lends money and that is all of it.",
    "mean word length": " ".join(["the", "of", *["a b c"] * 40]),
    "symbols": GOOD.replace(" lends", " # # lends"),
    "bullets": "\n".join("- " + line for line in GOOD.splitlines()),
    "ellipses": "\n".join(line + " ..." for line in GOOD.splitlines()),
    "alphabetic words": "\n".join(line + " 123 456 7890 9999" for line in GOOD.splitlines()),
    "stop words": "\n".join(
        f"Bank number {n} lends money across town every day." for n in range(9)
    ),
    "repeated lines": "\n".join([*GOOD.splitlines(), *GOOD.splitlines()[:1] * 5]),
}


def test_a_plain_document_is_kept():
    assert quality_problems(GOOD) == []


@pytest.mark.parametrize("rule", BROKEN)
def test_each_rule_rejects_a_document_that_breaks_it(rule):
    assert rule in quality_problems(BROKEN[rule])
    others = {"ellipses": {"symbols"}}.get(rule, set())
    assert set(quality_problems(BROKEN[rule])) <= {rule} | others


def test_an_empty_document_is_rejected():
    assert quality_problems(" \n") == ["number of words"]


def test_a_temperature_moves_the_mixture_towards_equal_parts():
    assert mixture({"a": 8, "b": 1}) == pytest.approx({"a": 8 / 9, "b": 1 / 9})
    assert mixture({"a": 8, "b": 1}, 3) == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert mixture({"a": 8, "b": 1}, 1e9) == pytest.approx({"a": 0.5, "b": 0.5}, abs=1e-6)


def test_epochs_are_those_of_gpt3s_table():
    tokens = {"Common Crawl": 410, "Books2": 55}  # billions, Brown et al. 2020, table 2.2
    found = epochs(tokens, {"Common Crawl": 0.60, "Books2": 0.08}, 300)
    assert found == pytest.approx({"Common Crawl": 0.44, "Books2": 0.43}, abs=0.01)
