"""Rows of bench/results/ that miss what the course promises itself."""

import json
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
REASONS = json.loads((BENCH / "shortfalls.json").read_text(encoding="utf-8"))
PROGRAMS = sorted(path.stem for path in (BENCH / "results").glob("*.json"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_row_below_its_must_says_why_and_no_other_row_does(program):
    rows = json.loads((BENCH / "results" / f"{program}.json").read_text(encoding="utf-8"))["rows"]
    missed = {
        f"{row['name']}, against {row['rival']}"
        for row in rows
        if isinstance(row["must"], (int, float)) and row["median"] < row["must"]
    }
    assert set(REASONS.get(program, {})) == missed


def test_reasons_are_given_for_programs_with_a_record():
    assert set(REASONS) <= set(PROGRAMS)
