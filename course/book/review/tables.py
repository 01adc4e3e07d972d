"""Comparison tables in which every cell has a proof: book/16-review/tables.yml, read, computed and
checked.

    tables()                            all of them; ProofError for a cell without a proof, or with
                                        one that fails
    shown("norms")                      one as HTML: each cell links its proof
    for_figure(CLASSIC)                 the data of the figure proof-table
    kinds(RECENT)                       how many cells are counted, measured, judged and cited

A proof is an expression over the models of reference_impl that is computed here, a value of a
record, a claim of the ledger, or a paper with the place in it. The text of a cell takes the value;
no number of ours is typed into a table.
"""

import re
import statistics
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape
from typing import Any

import torch
import yaml
from IPython.display import HTML

from course.book.pages.configurations import MODELS
from course.book.pages.records import ROOT, beside, record
from course.book.review.coverage import address
from course.book.review.ledger import by_number
from reference_impl.layers.masks import causal_mask
from reference_impl.measure.flops import count_parameters
from reference_impl.models.bert import Bert, BertConfig
from reference_impl.models.gpt import GPT, GPT1, GPT2_SMALL
from reference_impl.models.modernbert import ModernBert, ModernBertConfig
from reference_impl.models.t5 import T5Config
from reference_impl.weights.small_floats import E2M1

CLASSIC = (
    "bert-and-gpt",
    "bert-and-modernbert",
    "static-and-contextual",
    "tokenizers",
    "positions",
    "norms",
    "heads-of-keys",
    "ways-to-compute",
    "batching",
)
RECENT = ("open-models", "what-is-cached", "number-formats", "post-training", "draft-tokens")
ONE_OF = ("count", "record", "claim", "paper")
LETTER = {"counted": "C", "measured": "M", "judged": "V", "cited": "P"}


class ProofError(ValueError):
    """A cell that nothing stands behind. The message names table, row, column and the remedy."""


@dataclass(frozen=True)
class Cell:
    """One cell: what it says, by what kind of proof, the proof in words, and where to look."""

    text: str
    kind: str  # counted, measured, judged or cited
    proof: str
    href: str


@dataclass(frozen=True)
class Table:
    """One comparison: `rows` are pairs of what is compared and a cell for each column."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@cache
def numbers(model: type, config: Any) -> int:
    """The parameters of a model, built without memory."""
    with torch.device("meta"):
        return count_parameters(model(config))


def change(norm: Any) -> float:
    """By how much a norm's answer to (1, 7, 1, 7) moves at most when 10 is added to each number."""
    x = torch.tensor([1.0, 7.0, 1.0, 7.0])
    return (norm(x + 10, (4,)) - norm(x, (4,))).abs().max().item()


NAMES = {
    "numbers": numbers,
    "change": change,
    "causal_mask": causal_mask,
    "torch": torch,
    "Bert": Bert,
    "BertConfig": BertConfig,
    "GPT": GPT,
    "GPT1": GPT1,
    "GPT2_SMALL": GPT2_SMALL,
    "ModernBert": ModernBert,
    "ModernBertConfig": ModernBertConfig,
    "T5Config": T5Config,
    "MODELS": MODELS,
    "E2M1": E2M1,
    "mean": statistics.fmean,
    "median": statistics.median,
    "by": lambda rows, key, value: next(row for row in rows if row[key] == value),
}


@lru_cache
def tables() -> tuple[Table, ...]:
    """All tables, every cell computed."""
    listed = yaml.load(
        beside("16-review/tables.yml").read_text(encoding="utf-8"),
        Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
    )
    return tuple(_table(one) for one in listed)


def _table(one):
    rows = []
    for row in one["rows"]:
        if len(row["cells"]) != len(one["columns"]):
            raise ProofError(
                f"{one['id']}, {row['what']}: {len(row['cells'])} cells for {len(one['columns'])}"
                " columns"
            )
        rows.append(
            (
                row["what"],
                tuple(
                    cell(given, f"{one['id']}, {row['what']}, {name}")
                    for given, name in zip(row["cells"], one["columns"])
                ),
            )
        )
    return Table(one["id"], one["title"], tuple(one["columns"]), tuple(rows))


def _computed(given: dict[str, Any], where: str, verdict: str | None) -> Cell:
    """A cell whose value is computed, alone or from a record. Raises ProofError."""
    if not (ROOT / "book" / f"{given.get('page')}.md").is_file():
        raise ProofError(
            f"{where}: name the page that derives or reports it; there is no {given.get('page')!r}"
        )
    try:
        value = eval(
            given["count"] if "count" in given else given["value"],
            {**NAMES, **({"r": record(given["record"])} if "record" in given else {})},
        )
    except Exception as error:
        failed = f"{type(error).__name__}: {error}"
        raise ProofError(f"{where}: the proof fails with {failed}") from error
    if "count" in given:
        kind, proof = "counted", f"computed: {given['count']}"
    else:
        kind, proof = "measured", f"bench/results/{given['record']}.json: {given['value']}"
    text = given["text"].format(value, verdict=verdict)
    return Cell(text, kind, proof, address(given["page"], ""))


def cell(given: dict[str, Any], where: str) -> Cell:
    """A cell from its entry.

    ProofError if it says nothing, has no proof, or the proof gives no value.
    """
    if not given.get("text"):
        raise ProofError(f"{where}: the cell has no text")
    if not any(key in given for key in ONE_OF):
        raise ProofError(
            f"{where}: nothing stands behind {given['text']!r}; give it one of {', '.join(ONE_OF)}"
        )
    verdict = _verdict(given["claim"], where) if "claim" in given else None
    if "paper" in given:
        if not given.get("where") or f"{{{given['paper']}," not in _references():
            raise ProofError(f"{where}: cite a key of references.bib, and say where in it")
        return Cell(
            given["text"], "cited", f"{given['paper']}, {given['where']}", "../bibliography.html"
        )
    if "count" in given or "record" in given:
        return _computed(given, where, verdict)
    box = by_number()[given["claim"]][-1]
    return Cell(
        given["text"].format(verdict, verdict=verdict),
        "judged",
        f"claim {given['claim']}, {box.told}: {verdict}",
        box.address,
    )


def _verdict(number, where):
    if number not in by_number():
        raise ProofError(f"{where}: no page has judged claim {number}")
    return by_number()[number][-1].verdict


@lru_cache
def _references():
    return (ROOT / "book" / "references.bib").read_text(encoding="utf-8")


def kinds(names: Collection[str]) -> Counter:
    """How many cells of these tables there are of each kind of proof."""
    chosen = [table for table in tables() if table.id in names]
    return Counter(one.kind for table in chosen for _, cells in table.rows for one in cells)


def shown(name: str) -> HTML:
    """One table; behind each cell the letter of its proof, which links it and says it."""
    table = next(one for one in tables() if one.id == name)
    head = "<td></td>" + "".join(
        f'<th scope="col">{escape(column)}</th>' for column in table.columns
    )
    body = "".join(
        f'<tr><th scope="row">{escape(what)}</th>'
        + "".join(
            f'<td>{escape(one.text)} <a href="{escape(one.href)}"'
            f' title="{escape(one.proof, quote=True)}">{LETTER[one.kind]}</a></td>'
            for one in cells
        )
        + "</tr>"
        for what, cells in table.rows
    )
    return HTML(f'<table class="words"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')


def for_figure(names: Collection[str]) -> list[dict[str, Any]]:
    """The tables with these ids as data: id, title, columns, rows of cells with text, kind, proof,
    address and the numbers in the text.
    """
    return [
        {
            "id": table.id,
            "title": table.title,
            "columns": list(table.columns),
            "rows": [
                {
                    "what": what,
                    "cells": [
                        {
                            "text": one.text,
                            "kind": one.kind,
                            "proof": one.proof,
                            "href": one.href,
                            "number": _number(one.text),
                        }
                        for one in cells
                    ],
                }
                for what, cells in table.rows
            ],
        }
        for table in tables()
        if table.id in names
    ]


def _number(text):
    """The first number of a cell's text, or None: what a reader may fill in."""
    found = re.match(r"[+-]?\d[\d,]*(?:\.\d+)?", text)
    return float(found[0].replace(",", "")) if found else None
