"""An exercise's function in a cell where it does not count: the machine gives no zero for it, and a person is told where it may be."""

import pytest

from autograder.grading.intake import SubmittedCell
from autograder.grading.misplaced import BESIDE, REPLACED, UNSEEN, begun, definitions, unfenced
from autograder.grading.transplant import GONE, MAX_ADDED_CELLS, transplant
from tests.autograder.grading.test_transplant import PRISTINE, added, as_submitted, running

F, G = "def f(x):\n    return x + 1", "def g(x):\n    return 2 * x"
STUB = {cell.id: cell.source for cell in PRISTINE.cells}


def test_a_function_in_another_exercises_cell_above_its_own_which_is_as_given_waits_for_a_person():
    work = transplant(PRISTINE, as_submitted(("f", f"{F}\n\n{G}")))
    assert work.waiting == {"g": REPLACED.format("g")} and work.untouched == ["g", "essay"]


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ((("f", f"{F}\n\n{STUB['f']}"),), "f"),
        ((("f", f"{STUB['f']}\n\n{F}"),), None),
        ((("f", f"{G}\n\n{STUB['f']}"), ("g", f"{STUB['g']}\nx = 1")), "g"),
        ((("f", f"{G}\n\n{STUB['f']}"), ("g", F)), None),
    ],
)
def test_what_was_given_counts_as_given_in_a_cell_that_was_changed_too(changes, lost):
    assert transplant(PRISTINE, as_submitted(*changes)).waiting == (
        {lost: REPLACED.format(lost)} if lost else {}
    )


def test_a_function_in_another_exercises_cell_below_its_own_counts_and_nobody_is_asked():
    work = transplant(PRISTINE, as_submitted(("g", f"{G}\n\n{F}")))
    assert work.waiting == {} and running(work)[-1] == ("g", f"{G}\n\n{F}")


@pytest.mark.parametrize(
    "source",
    [
        "f = lambda x: x + 1",
        "try:\n    f\nexcept NameError:\n    def f(x): return x",
        "import math\nif True:\n    f = math.sqrt",
        "from math import sqrt\nf = h = sqrt",
    ],
)
def test_a_function_that_is_made_in_another_way_is_seen_too(source):
    for work in (
        transplant(PRISTINE, [added(source), *as_submitted()]),
        transplant(
            PRISTINE,
            as_submitted(("setup", "import math"))[:2] + [added(source)] + as_submitted()[2:],
        ),
    ):
        assert work.waiting == {"f": REPLACED.format("f")}


@pytest.mark.parametrize("place", ["setup", "f-check", "g-check", "demo", "intro"])
def test_a_function_in_a_locked_cell_waits_for_a_person_who_is_told_the_cell(place):
    work = transplant(PRISTINE, as_submitted((place, f"{STUB[place]}\n{F}")))
    assert (
        work.waiting["f"] == UNSEEN.format("f", 1 + list(STUB).index(place))
        and "g" not in work.waiting
    )
    assert (
        transplant(
            PRISTINE, as_submitted((place, f"{STUB[place]}\n{F}"), ("f", F), ("essay", "Mine."))
        ).waiting
        == {}
    )


@pytest.mark.parametrize(
    "cell",
    [
        SubmittedCell("markdown", None, f"```python\n{F}\n```"),
        SubmittedCell("raw", None, F),
        SubmittedCell("markdown", None, "My answer:\n\n    def f(x):\n        return x + 1"),
    ],
)
def test_a_function_in_a_text_waits_for_a_person(cell):
    work = transplant(PRISTINE, [*as_submitted(("essay", "Mine.")), cell])
    assert work.waiting == {"f": UNSEEN.format("f", 9)}


def test_a_function_in_an_added_cell_that_is_left_out_waits_and_one_that_runs_does_not():
    many = [added(f"x = {number}") for number in range(MAX_ADDED_CELLS)]
    assert transplant(PRISTINE, [*as_submitted(), *many, added(F)]).waiting == {
        "f": UNSEEN.format("f", 9 + MAX_ADDED_CELLS)
    }
    assert transplant(PRISTINE, [*as_submitted(), *many[1:], added(F)]).waiting == {}


def test_code_between_fences_in_an_exercises_own_cell_is_taken_as_code_without_them():
    cells = [
        SubmittedCell("markdown", "f", f"Here it is.\n```python\n{F}\n```\n")
        if cell.grade_id == "f"
        else cell
        for cell in as_submitted()
    ]
    work = transplant(PRISTINE, cells)
    assert work.own == {"f": F} and work.waiting == {}


def test_what_a_cell_as_given_defines_and_what_a_helper_is_called_ask_for_nobody():
    assert transplant(PRISTINE, as_submitted()).waiting == {}
    assert (
        transplant(
            PRISTINE,
            as_submitted(
                ("f", "def helper(x): return x\ndef f(x): return helper(x)"),
                ("setup", "import math\ndef helper(): pass"),
            ),
        ).waiting
        == {}
    )


def test_cells_that_lost_their_names_and_are_as_given_are_untouched_and_ask_for_nobody():
    bare = [SubmittedCell(cell.kind, None, cell.source) for cell in as_submitted()]
    work = transplant(PRISTINE, bare)
    assert work.waiting == {} and work.untouched == ["f", "g", "essay"]
    assert transplant(PRISTINE, bare[:-1]).waiting == {"essay": GONE}


def test_a_function_with_comments_is_no_place_of_a_written_answer():
    bare = [
        SubmittedCell(
            cell.kind,
            None,
            "The one row is pulled both ways."
            if cell.grade_id == "essay"
            else f"{F}\n# it adds one to every number"
            if cell.grade_id == "f"
            else cell.source,
        )
        for cell in as_submitted()
    ]
    [said] = transplant(PRISTINE, bare).waiting.values()
    assert "(cell number in the file: 8)" in said


def test_names_are_found_in_python_and_in_what_is_none():
    assert set(
        definitions(
            "a = b = len\nd: object = len\ne: int\nx.y = 1\nwith open(p) as f:\n    z = lambda: 1\nclass K:\n    inner = len\nrates = [1, 2]"
        )
    ) == {"a", "b", "d", "z", "K"}
    assert definitions("def broken(") == {} and begun(
        "def broken(\n  a,\n  async def two():\n    1\nclass Three: pass\nno def four()\nfive = lambda: 1\nsix = 1\n# def seven():\n#     8"
    ) == {"broken", "two", "five", "seven"}
    assert begun(
        "def quoted(x: int) -> int:\n\nwhat is that?\n```\ndef quoted(x):\n```\ndef one_line(x): return x"
    ) == {"one_line"}
    assert (
        unfenced("~~~\na\n~~~\ntext\n```py\nb\n```") == "a\nb"
        and unfenced("no fence ```") == "no fence ```"
    )


def test_a_variable_or_a_quoted_line_of_an_exercises_name_asks_for_nobody():
    for cell in (
        added("f = [0.1, 0.2]\nprint(f)"),
        SubmittedCell(
            "markdown", None, "I do not know yet what `def f(x):` is for.\n\ndef f(x):\n\nask"
        ),
    ):
        work = transplant(PRISTINE, [cell, *as_submitted(("essay", "Mine."))])
        assert work.waiting == {} and work.beside == {}


LISTED = {
    "a list": "- def f(x):\n      return x + 1",
    "a numbered list": "1. def f(x):\n       return x + 1",
    "line numbers": "1 def f(x):\n2     return x + 1",
    "a doctest": ">>> def f(x):\n...     return x + 1\n>>> f(1)\n2",
    "a diff": "+def f(x):\n+    return x + 1",
    "a fold": "<details><summary>mine</summary><pre><code>def f(x):\n    return x + 1\n</code></pre>",
    "one line in a sentence": "My answer: `def f(x): return x + 1`",
    "behind a word": "Answer of 3: def f(x):\n    return x + 1",
    "a quotation": "> def f(x):\n>     return x + 1",
    "a blank line": "def f(x):\n\n    return x + 1",
    "spaces that do not break": "def f(x):\n\xa0\xa0\xa0\xa0return x + 1",
    "a prompt before the first line": "In [12]: def f(x):\n    return x + 1",
    "a prompt": "In [5]: def f(x):\n            return x + 1",
    "a table": "| def f(x):\n|     return x + 1",
}


@pytest.mark.parametrize("form", LISTED)
def test_a_function_in_a_text_is_found_whatever_stands_before_its_lines(form):
    cell = SubmittedCell("markdown", None, LISTED[form])
    assert transplant(PRISTINE, [*as_submitted(("essay", "Mine.")), cell]).waiting == {
        "f": UNSEEN.format("f", 9)
    }
    assert transplant(
        PRISTINE, [*as_submitted(("f", "def f(x):\n    return None"), ("essay", "Mine.")), cell]
    ).beside == {"f": BESIDE.format("f", "3 and 9")}


@pytest.mark.parametrize(
    "text",
    [
        "# " + STUB["f"].replace("\n", "\n# "),
        f"What is meant by this?\n\n{STUB['f']}",
        f"```python\n{STUB['f']}\n```\nI did not understand.",
        "# def f(x): not now",
        "Later: def f(x): too hard for me",
        "- `def f(x):` is open",
    ],
)
def test_the_given_cell_in_a_comment_or_a_text_and_what_is_put_off_ask_for_nobody(text):
    for cell in (
        SubmittedCell("markdown", None, text),
        *([added(text)] if text.startswith("#") else []),
    ):
        for changes in ((), (("f", "def f(x):\n    return 0"),)):
            work = transplant(PRISTINE, [*as_submitted(("essay", "Mine."), *changes), cell])
            assert work.waiting == {} and work.beside == {}


@pytest.mark.parametrize(
    "text",
    [
        "# " + STUB["f"].replace("\n", "\n# "),
        "> " + STUB["intro"].replace("\n", "\n> "),
        f"- {STUB['intro']}",
    ],
)
def test_what_was_given_is_no_written_answer_in_a_comment_or_a_quotation_either(text):
    cell = added(text) if text.startswith("#") else SubmittedCell("markdown", None, text)
    assert transplant(PRISTINE, [*as_submitted(), cell]).waiting == {}


def test_an_emptied_cell_does_not_replace_the_function_that_was_moved_elsewhere():
    work = transplant(PRISTINE, as_submitted(("f", f"{F}\n\n{G}"), ("g", "  \n")))
    assert running(work)[-1] == ("f", f"{F}\n\n{G}") and work.waiting == {}


def test_a_copy_of_the_cell_as_given_below_the_answer_does_not_replace_it():
    work = transplant(PRISTINE, [*as_submitted(("f", F)), added(STUB["f"])])
    assert (
        [source for _, source in running(work)][-2:] == [F, STUB["g"]]
        and work.waiting == {}
        and work.added == []
    )
    assert transplant(
        PRISTINE, [*as_submitted(("f", F)), added(f"{STUB['f']}\nx = 1")]
    ).waiting == {"f": REPLACED.format("f")}


@pytest.mark.parametrize(
    ("changes", "more", "places"),
    [
        ((("f", "def f(): pass"), ("g", f"{G}\n{F}")), [], "3 and 5"),
        ((("f", f"{STUB['f']}\n# def f(x):\n#     return x + 1"),), [], "3"),
        ((), [f"class Mine:\n    {F}".replace("\n    return", "\n        return")], "9"),
        ((), [f"if False:\n    {F}".replace("\n    return", "\n        return")], "9"),
        ((), [f"'''\n{F}\n'''"], "9"),
        ((), [f"%%writefile f.py\n{F}"], "9"),
        ((("f", F),), ["def f(x):\n    return None"], "3 and 9"),
        ((("essay", f"Mine:\n{F}"),), [], "8"),
    ],
)
def test_a_function_that_is_written_elsewhere_too_is_looked_at_if_the_exercise_earns_nothing(
    changes, more, places
):
    work = transplant(PRISTINE, [*as_submitted(*changes), *map(added, more)])
    assert work.beside.get("f") == BESIDE.format("f", places) or work.waiting.get("f")
    assert "g" not in work.waiting


def test_a_function_that_is_written_once_where_it_counts_is_looked_at_by_nobody():
    for cells in (
        as_submitted(),
        as_submitted(("f", F)),
        as_submitted(("f", f"def helper(x):\n    return x\n\n{F}")),
        [*as_submitted(), added(F)],
    ):
        work = transplant(PRISTINE, cells)
        assert work.beside == {} and work.waiting == {}
