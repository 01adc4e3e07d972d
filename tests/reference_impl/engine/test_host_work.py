"""What the engine does beside the model, counted: calls for each sequence of a step, and memory at
any length.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def counted():
    """In a process of its own: here every call is looked at by the shape checker too."""
    done = subprocess.run(
        [sys.executable, "bench/engine_host.py", "--count"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(("way", "most"), [("greedy", 10), ("drawn", 10)])
def test_a_sequence_that_decodes_costs_a_handful_of_calls_a_step(way, most, counted):
    assert counted["calls"][way] <= most


def test_a_step_copies_no_text_however_long_it_is(counted):
    short, long = counted["bytes"]["18"], counted["bytes"]["4018"]
    # Longer are the rows of the block table: one number of four bytes a block of 16 tokens, a few
    # times over. A list of the ids of one text alone would be 32,000 bytes.
    assert long - short < 3 * 16 * 4000 // 16 * 4
