"""The recorder on functions and classes whose runs were worked out by hand."""

import ast

import pytest
import torch

from autograder.viva.ask import FILES, INSIDE

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
QUEUE = """class Queue:
    def __init__(self, size):
        self.waiting = []
        self.size = size + 1

    def add(self, item):
        self.waiting = [*self.waiting, item]
        if len(self.waiting) > self.size:
            self.waiting = self.waiting[1:]
        return len(self.waiting)
"""


def blocks(names):
    names["block_means"](torch.arange(15.0).reshape(5, 3), 2)


def queue(names):
    one = names["Queue"](1)
    for item in (4, 6, 9):
        one.add(item)


def seen(record, target):
    return [
        record["seen"][number] for number, one in record["assigned"].items() if one[1] == target
    ]


def test_lines_and_variables_are_those_of_the_run(recorded):
    record = recorded(BLOCKS, "block_means", blocks)
    assert record["order"] == [3, 5, 6, 8, 5, 6, 8, 5, 6, 7, 8, 9]
    first, second = seen(record, "block")
    assert [one["shape"] for one in first] == [[2, 3], [2, 3], [1, 3]]
    assert [one["shape"] for one in second] == [[1, 3]]
    assert "x=a tensor of shape (5, 3), float32, size=2" in record["call"]


def test_methods_are_watched_and_attributes_are_read(recorded):
    record = recorded(QUEUE, "Queue", queue)
    assert record["call"] == "one = Queue(1); one.add(4); one.add(6); one.add(9)"
    assert record["order"] == [3, 4, 7, 8, 10, 7, 8, 10, 7, 8, 9, 10]
    texts = [[one["text"] for one in visits] for visits in seen(record, "self.waiting")]
    assert texts == [["[]"], ["[4]", "[4, 6]", "[4, 6, 9]"], ["[6, 9]"]]


def test_a_class_is_as_it_was_after_watching(watched):
    names = watched(QUEUE)
    before = names["Queue"].add
    names["w2s_begin"]("Queue")
    assert names["Queue"].add is not before
    names["w2s_end"]()
    assert names["Queue"].add is before


def test_lines_that_were_handed_out_are_not_watched(recorded):
    record = recorded(BLOCKS, "block_means", blocks, given=("    found = []",))
    assert 3 not in record["lines"] and 3 not in record["order"]


def test_outcomes_of_changes_are_those_worked_out_by_hand(recorded, changed):
    record = recorded(BLOCKS, "block_means", blocks)
    found = changed(record["names"], BLOCKS, "block_means")["changes"]
    outcome = {(line, label): end for line, label, end, _ in found}
    assert outcome[7, "an arithmetic operator is exchanged"] == "values"
    assert outcome[7, "the line is removed"] == "values"
    assert outcome[8, "a whole number is raised by 1"] == "error"  # lengths 2, 2 and 1
    assert outcome[6, "a comparison is exchanged"] == "values"
    text = next(text for line, label, _, text in found if line == 7 and "removed" in label)
    assert text == "a result of the same size, of which 3 of 9 entries differ"


def test_no_label_of_a_change_quotes_the_code(recorded, changed):
    record = recorded(BLOCKS, "block_means", blocks)
    for _, label, *_ in changed(record["names"], BLOCKS, "block_means")["changes"]:
        assert not any(word in label for word in ("block", "mean", "stack", "len", "+", "*"))


def test_a_change_that_makes_a_loop_endless_is_left_out(recorded, changed):
    source = "def below(x):\n    while x > 0:\n        x = x - 2\n    return x\n"
    record = recorded(source, "below", lambda names: names["below"](6))
    found = changed(record["names"], source, "below")["changes"]
    labels = {label for line, label, *_ in found if line == 3}
    assert "a whole number is raised by 1" in labels
    assert "an arithmetic operator is exchanged" not in labels  # x + 2 never ends


def test_a_function_that_differs_from_run_to_run_has_no_changes(recorded, changed):
    source = "import random\ndef odd(x):\n    return torch.full((2,), x + random.random())\n"
    record = recorded(source, "odd", lambda names: names["odd"](1))
    assert changed(record["names"], source, "odd")["changes"] == []


def test_what_only_one_way_of_watching_sees_is_dropped(watched):
    source = "def odd(x):\n    y = x + next(COUNT)\n    z = 7 * x\n    return z\n"
    names = watched(source, COUNT=iter(range(100)))
    names["w2s_begin"]("odd")
    names["odd"](1)
    names["w2s_end"]()
    record = names["w2s_record"](source, "odd", [])
    assert seen(record, "y") == [] and [one["text"] for one in seen(record, "z")[0]] == ["7"]


def test_arguments_are_not_changed_by_watching(recorded):
    source = "def clear(x):\n    y = x + 1\n    x.zero_()\n    return y\n"
    x = torch.ones(2)
    record = recorded(source, "clear", lambda names: names["clear"](x.clone()))
    assert "tensor([1.0, 1.0])" in record["call"]


def test_a_function_among_the_arguments_answers_as_it_did(recorded):
    source = "def twice(f, x):\n    y = f(x)\n    return f(y)\n"
    asked = []

    def double(x):
        asked.append(x)
        return 2 * x

    record = recorded(source, "twice", lambda names: names["twice"](double, 3))
    assert [one["text"] for one in seen(record, "y")[0]] == ["6"]
    assert asked == [3, 6], "only the checks asked it"


def test_an_endless_loop_ends(watched):
    source = "def loop(x):\n    while x:\n        x = x + 1\n"
    names = watched(source)
    names["w2s_begin"]("loop")
    names["loop"](0)
    names["w2s_end"]()
    changed = source.replace("while x:", "while True:")
    with pytest.raises(ValueError, match="too long"):
        names["w2s_record"](changed, "loop", [])


def test_no_two_files_of_the_cell_define_the_same_name():
    names = []
    for file in FILES:
        for node in ast.parse((INSIDE / f"{file}.py").read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.append(node.name)
            elif isinstance(node, ast.Assign):
                names += [one.id for one in node.targets]
    assert len(names) == len(set(names))


def test_the_cell_hides_its_names_from_the_student(watched):
    names = watched("def describe(x):\n    return 'mine'\n")
    assert names["describe"](1) == "mine"
