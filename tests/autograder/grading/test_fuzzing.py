"""A fixed few of the cases that `bench/fuzzing.py` draws by the hundred thousand; and the proof
that it finds what is wrong.
"""

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"
READERS = ("intake", "transplant", "frames", "archives")


@pytest.fixture(scope="module")
def fuzzing():
    sys.path.insert(0, str(BENCH))
    try:
        import fuzzing
    finally:
        sys.path.remove(str(BENCH))
    return fuzzing


@pytest.mark.parametrize("reader", READERS)
def test_each_reader_gives_a_value_or_its_own_refusal(reader, fuzzing):
    fuzzing.fuzz(reader, 150, derandomize=True)
    ended = {one: count for one, count in fuzzing.SEEN.items() if one.startswith(reader)}
    assert (
        sum(ended.values()) >= 150 and len(ended) == 2
    )  # some are read, some are refused or noted


@pytest.mark.parametrize(
    "reader, broken",
    [
        ("intake", lambda data: data.decode()),
        ("transplant", lambda cells: cells[0]),
        ("archives", lambda data: data[:9].index(b"Q")),
    ],
    ids=["intake", "transplant", "archives"],
)
def test_a_reader_that_raises_something_else_is_found(reader, broken, fuzzing, monkeypatch):
    strategy, _ = fuzzing.READERS[reader]
    monkeypatch.setitem(fuzzing.READERS, reader, (strategy, broken))
    with pytest.raises((UnicodeDecodeError, IndexError, ValueError)):
        fuzzing.fuzz(reader, 150, derandomize=True)
