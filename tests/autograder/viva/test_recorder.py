"""The recorder on functions whose runs were worked out by hand."""

import pytest
import torch

from autograder.viva import recorder
from autograder.viva.recorder import describe, w2s_changed, w2s_record

BLOCKS = '''def block_means(x, size):
    """Means of blocks of rows."""
    found = []
    for start in range(0, len(x), size):
        block = x[start : start + size]
        if len(block) < size:
            block = block * 2
        found.append(block.mean(0))
    return torch.stack(found)
'''


@pytest.fixture(autouse=True)
def with_torch(monkeypatch):
    monkeypatch.setitem(recorder.__dict__, "torch", torch)


def seen(record, text):
    number = next(key for key, (_, one) in record["expressions"].items() if one == text)
    return record["seen"][number]


def test_lines_and_shapes_are_those_of_the_run():
    record = w2s_record(BLOCKS, "block_means", (torch.ones(5, 3), 2))
    assert record["lines"] == {3: 1, 5: 3, 6: 3, 7: 1, 8: 3, 9: 1}
    assert [one["shape"] for one in seen(record, "block.mean(0)")] == [[3], [3], [3]]
    assert [one["shape"] for one in seen(record, "x[start:start + size]")] == [
        [2, 3],
        [2, 3],
        [1, 3],
    ]
    assert [one["text"] for one in seen(record, "len(block)")] == ["2", "2", "1"]
    assert record["parameters"] == ["x", "size"]
    assert record["given"] == [{"kind": "tensor", "shape": [5, 3]}, {"kind": "int", "text": "2"}]


def test_what_changes_something_is_neither_asked_nor_run_again():
    record = w2s_record(BLOCKS, "block_means", (torch.ones(5, 3), 2))
    texts = {text for _, text in record["expressions"].values()}
    assert not any("append" in text for text in texts)


def test_outcomes_of_changes_are_those_worked_out_by_hand():
    changes = w2s_changed(BLOCKS, "block_means", (torch.ones(5, 3), 2))
    outcome = {(line, new): end for line, _, new, end in changes}
    assert outcome[5, "block = x[start:start - size]"] == "values"  # the mean of no row
    assert outcome[7, "block = block / 2"] == "values"
    assert outcome[8, "found.append(block.mean(1))"] == "error"  # lengths 2, 2 and 1
    assert outcome[8, "found"] == "error"


def test_a_change_without_effect_is_the_same():
    source = "def double(x):\n    y = x.abs()\n    return y * 2\n"
    changes = w2s_changed(source, "double", (torch.ones(3),))
    assert [2, "y = x.abs()", "y = x", "same"] in changes


def test_a_function_that_differs_from_run_to_run_gives_no_record():
    source = "RUNS = []\ndef odd(x, runs=RUNS):\n    if torch.rand(()) < 2:\n        return x\n"
    assert w2s_record(source, "odd", (1,))["lines"]
    source = (
        "def odd(x):\n    globals()['kept'] = globals().get('kept', 0) + 1\n"
        "    KEPT.append(1)\n    if len(KEPT) > 1:\n        x = x + 1\n    return x\n"
    )
    recorder.__dict__["KEPT"] = []
    with pytest.raises(ValueError, match="two ways of watching"):
        w2s_record(source, "odd", (1,))
    del recorder.__dict__["KEPT"]


def test_arguments_are_not_changed():
    source = "def clear(x):\n    x.zero_()\n    return x + 1\n"
    x = torch.ones(2)
    w2s_record(source, "clear", (x,))
    w2s_changed(source, "clear", (x,))
    assert x.tolist() == [1, 1]


def test_an_endless_loop_ends():
    source = "def loop(x):\n    while True:\n        x = x + 1\n"
    with pytest.raises(ValueError, match="too long"):
        w2s_record(source, "loop", (1,))


def test_a_change_that_makes_a_loop_endless_is_left_out():
    source = (
        "def below(x):\n    found = []\n    while x > 0:\n        found.append(x)\n"
        "        x = x - 2\n    return len(found)\n"
    )
    changes = w2s_changed(source, "below", (6,))
    assert [new for _, _, new, _ in changes if new == "x = x - 3"]
    assert not [new for _, _, new, _ in changes if new == "x = x + 2"]


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (torch.ones(2, 3), {"kind": "tensor", "shape": [2, 3]}),
        (True, {"kind": "bool", "text": "True"}),
        (7, {"kind": "int", "text": "7"}),
        (1 / 3, {"kind": "float", "text": "0.3333"}),
        ([1, 2], {"kind": "list", "length": 2}),
    ],
)
def test_values_are_described(value, described):
    assert describe(value) == described
