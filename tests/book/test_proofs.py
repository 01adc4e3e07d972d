"""Comparison tables: a cell without a proof, or with one that fails, stops the build; what the
others say is computed.
"""

import pytest

from course.book.review import tables as proofs
from course.book.review.coverage import StudyUnit, weeks
from course.book.review.ledger import by_number
from course.book.review.tables import ProofError, cell, kinds, shown, tables

PAGE = "05-bert-pretraining/size"


@pytest.mark.parametrize(
    "given, said",
    [
        ({"text": "faster"}, "nothing stands behind 'faster'"),
        ({"text": "", "claim": 1}, "no text"),
        ({"text": "{}", "claim": 400}, "no page has judged claim 400"),
        ({"text": "82.1", "paper": "nobody1999", "where": "table 1"}, "references.bib"),
        ({"text": "82.1", "paper": "devlin2019"}, "say where"),
        ({"text": "{}", "count": "1 + 1"}, "name the page"),
        (
            {"text": "{}", "count": "1 + 1", "page": "05-bert-pretraining/nowhere"},
            "there is no '05-bert-pretraining/nowhere'",
        ),
        ({"text": "{}", "count": "1 / 0", "page": PAGE}, "ZeroDivisionError"),
        ({"text": "{}", "record": "norms", "value": "r['nothing']", "page": PAGE}, "KeyError"),
        (
            {"text": "{}", "record": "no_such_record", "value": "r", "page": PAGE},
            "FileNotFoundError",
        ),
    ],
)
def test_a_cell_that_nothing_stands_behind_is_refused(given, said):
    with pytest.raises(ProofError, match=said):
        cell(given, "a table, a row, a column")


def test_the_four_kinds():
    counted = cell({"text": "{:,}", "count": "numbers(Bert, BertConfig())", "page": PAGE}, "here")
    assert (counted.text, counted.kind, counted.href) == (
        "109,482,240",
        "counted",
        f"../{PAGE}.html",
    )
    judged = cell({"text": "told: {}", "claim": 24}, "here")
    assert judged.kind == "judged" and judged.text == f"told: {by_number()[24][-1].verdict}"
    assert (
        cell({"text": "84.6", "paper": "devlin2019", "where": "table 1"}, "here").proof
        == "devlin2019, table 1"
    )
    measured = cell(
        {
            "text": "{:.1f} ms, {verdict}",
            "record": "norms",
            "value": "r['rows'][0]['ours']",
            "claim": 30,
            "page": "12-llama/block",
        },
        "here",
    )
    assert measured.kind == "measured" and measured.text.endswith(by_number()[30][-1].verdict)


def test_a_row_needs_a_cell_for_each_column():
    with pytest.raises(ProofError, match="1 cells for 2 columns"):
        proofs._table(
            {
                "id": "x",
                "title": "X",
                "columns": ["a", "b"],
                "rows": [{"what": "w", "cells": [{"text": "t", "claim": 1}]}],
            }
        )


def test_all_tables_are_whole():
    assert {table.id for table in tables()} == {*proofs.CLASSIC, *proofs.RECENT}
    assert set(kinds(proofs.CLASSIC)) == {"counted", "measured", "judged", "cited"}
    assert set(kinds(proofs.RECENT)) == {"counted", "cited"}
    assert [one["id"] for one in proofs.for_figure(["norms"])] == ["norms"]
    for table in tables():
        page = shown(table.id).data
        assert (
            page.partition("<tbody>")[2].count("<td>")
            == sum(len(cells) for _, cells in table.rows)
            == len(table.rows) * len(table.columns)
        )
        assert not [
            one for _, cells in table.rows for one in cells if "{" in one.text or not one.proof
        ]


@pytest.mark.parametrize(
    "text, number",
    [
        ("109,482,240", 109_482_240),
        ("+0.26 nats", 0.26),
        ("95%: GloVe", 95),
        ("all at once", None),
        ("one, packed", None),
    ],
)
def test_the_number_that_a_reader_fills_in(text, number):
    assert proofs._number(text) == number


def test_weeks_keep_the_order_and_none_is_longer_than_it_must_be():
    given = [
        StudyUnit(1, str(n), minutes, True) for n, minutes in enumerate((30, 10, 20, 40, 10, 10))
    ]
    cut = weeks(given, 3)
    assert [part for week in cut for part in week] == given
    assert [sum(part.minutes for part in week) for week in cut] == [
        60,
        60,
    ]  # three weeks of 50 would need a fourth
    assert len(weeks(given, 6)) <= 6 and max(part.minutes for part in given) == max(
        sum(part.minutes for part in week) for week in weeks(given, 6)
    )
