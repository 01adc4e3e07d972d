"""What other inputs give, worked out by hand."""

CLAMPED = """def clamped(x, most):
    y = 2 * x
    if y > most:
        y = most
    return y
"""
PAIRS = """def pairs(words):
    found = []
    for one in words:
        first = one
        for other in words:
            second = other
            found.append(first + second)
    return len(found)
"""


def calls_of_clamped(names):
    for x, most in ((1, 9), (2, 9), (3, 9), (7, 9), (5, 11)):
        names["clamped"](x, most)


def test_the_line_in_a_branch_matters_only_to_calls_that_take_it(runs):
    """Doubled, 7 alone is over its limit, and the calls that do not run line 4 do without it."""
    found = runs(CLAMPED, "clamped", calls_of_clamped)["inputs"]
    matters = {
        one["call"]: differs
        for one in found
        for line, label, differs in one["matters"]
        if (line, label) == (4, "the line is removed")
    }
    assert matters == {
        "clamped(x=1, most=9)": False,
        "clamped(x=2, most=9)": False,
        "clamped(x=3, most=9)": False,
        "clamped(x=7, most=9)": True,
        "clamped(x=5, most=11)": False,
    }


def test_calls_whose_values_are_not_all_shown_are_no_options(runs):
    source = "def total(x, most):\n    y = x.sum()\n    return y.clamp(max=most)\n"

    def calls(names):
        import torch

        for size in (3, 40):
            names["total"](torch.arange(float(size)), 5.0)

    found = runs(source, "total", calls)["inputs"]
    assert [one["call"] for one in found] == ["total(x=tensor([0.0, 1.0, 2.0]), most=5.0)"]


def test_lines_of_nested_loops_grow_with_the_square(runs):
    found = runs(PAIRS, "pairs", lambda names: names["pairs"](["a", "b", "c"]))["grown"]
    assert found["longer"] == "`words`"
    assert found["counts"] == {2: [1, 1], 4: [3, 6], 6: [9, 36], 7: [9, 36], 8: [1, 1]}


def test_a_function_that_refuses_longer_inputs_has_no_growth(runs):
    source = "def two(x):\n    a, b = x\n    return [b, a]\n"
    assert runs(source, "two", lambda names: names["two"]([3, 4]))["grown"] == {}
