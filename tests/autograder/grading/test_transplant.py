"""The student's cells in the pristine notebook: what is taken, in which order, and what is said
about the rest.
"""

import copy
import dataclasses
import json

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.utils import compute_checksum

from autograder.authoring.catalogue import assignments
from autograder.grading.assignment import load_assignment
from autograder.grading.notebook.magics import without_magics
from autograder.grading.notebook.merge import (
    MAX_ADDED_CELLS,
    marks,
    transplant,
)
from autograder.grading.notebook.parse import MAX_CELL_CHARACTERS, SubmittedCell, cells_of
from autograder.grading.notebook.pictures import BROKEN, LEFT_OUT, NOT_THERE, ON_THE_WEB
from autograder.grading.notebook.relocated_answers import MAX_COPIED
from autograder.grading.notebook.review_kinds import ReviewItem, ReviewKind


def ours(kind, grade_id, source, **mark):
    mark = {"grade_id": grade_id, "solution": False, "grade": False, "locked": True} | mark
    make = new_code_cell if kind == "code" else new_markdown_cell
    return make(source, id=grade_id, metadata={"nbgrader": mark})


PRISTINE = new_notebook(
    cells=[
        ours("markdown", "intro", "# Title"),
        ours("code", "setup", "import math"),
        ours("code", "f", "def f(): raise NotImplementedError", solution=True, locked=False),
        ours("code", "f-check", "check(f)", grade=True, points=2),
        ours("code", "g", "def g(): raise NotImplementedError", solution=True, locked=False),
        ours("code", "g-check", "check(g)", grade=True, points=3),
        ours("code", "demo", "plot(f)"),
        ours(
            "markdown", "essay", "*Write here.*", grade=True, solution=True, locked=False, points=5
        ),
    ]
)


def as_submitted(*changes):
    """The pristine notebook as a student would hand it in, with some sources changed: ("f",
    "source").
    """
    changed = dict(changes)
    return [
        SubmittedCell(cell.cell_type, cell.id, changed.get(cell.id, cell.source))
        for cell in PRISTINE.cells
    ]


def older_release():
    """The same notebook of an older release, in which every sentence and stub was worded
    otherwise; with nbgrader's checksums.
    """
    older = copy.deepcopy(PRISTINE)
    for cell in older.cells:
        cell.source = f"# Once it said: {cell.source}"
        cell.metadata.nbgrader["checksum"] = compute_checksum(cell)
    return older


@pytest.mark.parametrize("raw_id", ["essay", "f", "f-check", "intro"])
def test_a_cell_is_as_released_if_nbgraders_checksum_is_of_its_text(raw_id):
    cell = next(one for one in older_release().cells if one.id == raw_id)
    [given, changed] = cells_of({"cells": [cell, cell | {"source": cell.source + "!"}]})
    assert given.as_released and not changed.as_released


def test_an_answer_in_a_new_cell_of_an_older_release_is_all_that_is_found():
    answer = "Both sentences get the same vector, because a word has only one."
    older = older_release()
    older.cells.insert(2, new_markdown_cell(answer))
    work = transplant(PRISTINE, cells_of(json.loads(json.dumps(older))))
    assert work.found["essay"].startswith("**Found in another cell: cell 3 of the notebook.**")
    assert work.found["essay"].endswith(answer) and "Once it said" not in work.found["essay"]
    assert work.untouched == ["f", "g", "essay"] and work.ignored == []


def added(source):
    return SubmittedCell("code", None, source)


def running(work):
    return [(piece.grade_id, piece.source) for piece in work.pieces]


def test_an_untouched_notebook_gives_the_stubs_and_no_remark():
    work = transplant(PRISTINE, as_submitted())
    assert running(work) == [
        ("setup", "import math"),
        ("f", PRISTINE.cells[2].source),
        ("g", PRISTINE.cells[4].source),
    ]
    assert work.ignored == [] and work.own == {}
    assert [cell.source for cell in work.notebook.cells] == [cell.source for cell in PRISTINE.cells]


def test_solutions_are_taken_and_the_pristine_notebook_stays_as_it_was():
    before = PRISTINE.copy()
    work = transplant(PRISTINE, as_submitted(("f", "def f(): return 1"), ("essay", "My answer")))
    assert work.own == {"f": "def f(): return 1", "essay": "My answer"}
    assert work.notebook.cells[2].source == "def f(): return 1" and before == PRISTINE


def test_locked_cells_demos_and_checks_do_not_run_and_are_the_original_ones():
    work = transplant(
        PRISTINE, as_submitted(("f-check", "50.0"), ("demo", "import os"), ("setup", "evil()"))
    )
    assert [
        source
        for _, source in running(work)
        if "evil" in source or "50" in source or "os" in source
    ] == []
    assert work.notebook.cells[3].source == "check(f)"
    assert work.ignored == [
        "Locked cells were changed (`setup`, `f-check`, `demo`); the original ones were used."
    ]


def test_added_cells_run_where_the_student_put_them():
    cells = as_submitted(("f", "F"), ("g", "G"))
    cells[2:2] = [added("before_f")]
    cells[5:5] = [added("after_f_check")]
    work = transplant(PRISTINE, [added("first"), *cells, added("last")])
    assert [source for _, source in running(work)] == [
        "import math",
        "first",
        "before_f",
        "F",
        "after_f_check",
        "G",
        "last",
    ]
    assert [cell.source for cell in work.notebook.cells if "nbgrader" not in cell.metadata] == [
        "first",
        "before_f",
        "after_f_check",
        "last",
    ]


def test_every_part_of_a_split_cell_runs_and_untouched_copies_do_not():
    stub = PRISTINE.cells[2].source
    cells = [
        SubmittedCell("code", "f", source)
        for source in ("import torch", stub, "def f(): return torch")
    ]
    work = transplant(PRISTINE, cells)
    assert [source for grade_id, source in running(work) if grade_id == "f"] == [
        "import torch",
        "def f(): return torch",
    ]
    assert any("occurs 3 times" in sentence for sentence in work.ignored)


@pytest.mark.parametrize(
    ("cells", "runs", "said"),
    [
        (
            [("code", "A"), ("code", "STUB")],
            ["A"],
            "Cell 1 counts; the rest is as it was given, or the same.",
        ),
        ([("code", "STUB"), ("code", "A")], ["A"], "Cell 2 counts"),
        ([("code", "A"), ("code", "A")], ["A"], "Cell 1 counts"),
        ([("code", "STUB"), ("code", "STUB")], ["STUB"], "None of them was changed."),
        (
            [("code", "A"), ("code", "B")],
            ["A", "B"],
            (
                "Cells 1 and 2 ran in this order: where they define the same name, the last one"
                " counts, cell 2."
            ),
        ),
        (
            [("code", "A"), ("code", "B"), ("code", "A")],
            ["A", "B", "A"],
            "the last one counts, cell 3.",
        ),
        (
            [("code", "A"), ("markdown", "B"), ("raw", "C")],
            ["A"],
            "What is no code does not count (2 and 3). Cell 1 counts",
        ),
    ],
)
def test_of_a_cell_that_occurs_twice_it_is_said_which_counted_and_that_one_does(cells, runs, said):
    """As "run all" would have it; a copy that was turned into text does not run there either."""
    stub = PRISTINE.cells[2].source
    work = transplant(
        PRISTINE,
        [SubmittedCell(kind, "f", stub if source == "STUB" else source) for kind, source in cells],
    )
    assert [source for grade_id, source in running(work) if grade_id == "f"] == [
        stub if source == "STUB" else source for source in runs
    ]
    (sentence,) = [one for one in work.ignored if "occurs" in one]
    assert (
        sentence.startswith(
            f"The cell of `f` occurs {len(cells)} times in the notebook, as cells 1"
        )
        and said in sentence
    )


def test_of_a_written_answer_that_occurs_twice_both_are_read_and_said():
    work = transplant(
        PRISTINE,
        [*as_submitted(("essay", "First.")), SubmittedCell("markdown", "essay", "Second.")],
    )
    assert work.own["essay"] == "First.\n\nSecond."
    assert work.ignored == [
        "The cell of `essay` occurs 2 times in the notebook, as cells 8 and 9. What is written in"
        " cells 8 and 9 is read together, in this order."
    ]


def test_the_stub_of_a_cell_that_is_missing_runs_before_the_students_own_definition():
    work = transplant(PRISTINE, [added("def f(): return 1")])
    assert [source for _, source in running(work)][-1] == "def f(): return 1"
    assert "Cells are missing" in work.ignored[0]


def test_a_solution_cell_over_the_cap_is_left_out_and_named_for_a_human():
    work = transplant(PRISTINE, as_submitted(("f", "#" * (MAX_CELL_CHARACTERS + 1))))
    assert (
        work.review == {"f": ReviewItem(ReviewKind.TOO_LONG)}
        and work.notebook.cells[2].source == PRISTINE.cells[2].source
    )


def test_added_cells_beyond_the_caps_are_left_out_and_said():
    work = transplant(
        PRISTINE,
        as_submitted()
        + [added("#" * (MAX_CELL_CHARACTERS + 1))]
        + [added(f"x = {i}") for i in range(MAX_ADDED_CELLS + 5)],
    )
    assert len(work.added) == MAX_ADDED_CELLS and len(work.ignored) == 2


def test_a_sentence_about_many_cells_stays_short():
    work = transplant(PRISTINE, [SubmittedCell("code", "f-check", "check(f)")] * 10_000)
    assert sum(map(len, work.ignored)) < 1_000


def test_points_and_kinds_come_from_the_pristine_notebook():
    work = transplant(
        PRISTINE,
        [SubmittedCell("code", "essay", "print(1)"), SubmittedCell("markdown", "f", "# text")],
    )
    kinds = {cell.id: cell.cell_type for cell in work.notebook.cells}
    assert kinds["essay"] == "markdown" and kinds["f"] == "code"
    assert work.notebook.cells[3].metadata.nbgrader.points == 2


@pytest.mark.parametrize(
    ("source", "left", "dropped"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1", 1),
        ("if x:\n    %time f()\ny", "if x:\n    pass\ny", 1),
        ("files = !ls\ny = 2", "pass\ny = 2", 1),
        ("a, b = %time f()", "pass", 1),
        ("torch.sum?\n?torch", "pass\npass", 2),
        ("!echo a \\\n  b\nx = 1", "pass\n\nx = 1", 1),
        ("%%time\n%%capture out\nx = 1", "x = 1", 2),
        ("%%bash\nrm -rf /", "", 1),
        (
            "%pip install it's\nx = '''\n!not a command\n'''",
            "pass\nx = '''\n!not a command\n'''",
            1,
        ),
        ("x = (7\n  % 3)\n!ls", "x = (7\n  % 3)\npass", 1),
    ],
)
def test_magics_are_dropped_and_python_is_kept(source, left, dropped):
    plain, names = without_magics(source)
    assert (plain, len(names)) == (left, dropped)


@pytest.mark.parametrize(
    "source", ["x = 1  # why?", "'''\n%time\n!ls\n'''", "f'{x!r}'", "a = b % c", "", "x ="]
)
def test_python_without_magics_is_not_touched(source):
    assert without_magics(source) == (source, [])


def test_dropping_magics_takes_time_in_proportion_to_the_cell():
    hostile = "\n".join(["!" + "'" * 50, '"""' * 3, "%x " + "\\" * 20] * 3_000)
    assert len(without_magics(hostile)[0]) < len(hostile)


def test_cells_that_cannot_be_read_are_named_by_their_place_and_their_exercises_wait():
    cells = as_submitted(("g", "def g(): return 2"))
    for place in (2, 7):
        cells[place] = SubmittedCell(
            "raw", cells[place].grade_id, "", unread="its source is no text"
        )
    work = transplant(
        PRISTINE, [*cells[:4], SubmittedCell("raw", None, "", unread="it is no cell"), *cells[4:]]
    )
    unread = ReviewItem(ReviewKind.UNREAD, ("its source is no text",))
    assert work.review == {"f": unread, "essay": unread}
    assert work.ignored == [
        "Cells that cannot be read were left out, by their number in the notebook (`3: its source"
        " is no text`, `5: it is no cell`, `9: its source is no text`)."
    ]
    assert ("f", PRISTINE.cells[2].source) in running(work) and work.own == {
        "g": "def g(): return 2"
    }


DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC"
ANSWER = "The two sentences pull the one row of the word."


def waits(how, *places):
    return ReviewItem(ReviewKind.ANSWER_ELSEWHERE, (how, " and ".join(map(str, places))))


@pytest.mark.parametrize(
    "cell",
    [
        SubmittedCell("markdown", None, ANSWER),
        SubmittedCell("raw", None, ANSWER),
        SubmittedCell("markdown", "essay-of-mine", ANSWER),
        SubmittedCell("code", None, ANSWER),
        SubmittedCell("code", None, f"# {ANSWER}"),
        SubmittedCell("code", None, f'x = 1\n"""\n{ANSWER}\n"""'),
        SubmittedCell("code", None, f"print({ANSWER!r})"),
        SubmittedCell("code", None, f"answer = {ANSWER!r}"),
        SubmittedCell("code", None, f"%%markdown\n{ANSWER}"),
        SubmittedCell("code", None, "is it not the row of the word?"),
        SubmittedCell("markdown", "intro", f"# Title\n{ANSWER}"),
        SubmittedCell("code", "f-check", f"check(f)\n# {ANSWER}"),
        SubmittedCell("markdown", "f", ANSWER),
        SubmittedCell("markdown", None, "![](attachment:a_photo.png)"),
        SubmittedCell("markdown", None, "\u4e24\u4e2a\u53e5\u5b50\u62c9\u540c\u4e00\u884c\u3002"),
        SubmittedCell("raw", None, "", unread="it is no cell"),
        SubmittedCell("code", None, f"# {ANSWER}" + "\n" * MAX_CELL_CHARACTERS),
    ],
)
def test_a_written_answer_waits_where_its_cell_is_as_given_and_text_that_nobody_claims_is_elsewhere(
    cell,
):
    work = transplant(PRISTINE, [*as_submitted(), cell])
    assert work.review == {"essay": waits("as it was given", 9)} and "essay" not in work.own
    shown = next(one.source for one in work.notebook.cells if one.id == "essay")
    assert shown == work.found["essay"] and shown.startswith(
        "**Found in another cell: cell 9 of the notebook.** The answer's own cell is as it was"
        " given."
    )
    assert (cell.source.strip() or "cannot be read") in shown or len(cell.source) > MAX_COPIED


def test_a_picture_of_an_answer_that_stands_elsewhere_is_shown_with_it():
    pictures = {"picture-" + "0" * 16: DOT, "picture-" + "1" * 16: "no picture"}
    text = "Here: " + " ".join(f"![x](attachment:{name})" for name in pictures)
    work = transplant(
        PRISTINE, [*as_submitted(), SubmittedCell("markdown", None, text, pictures=pictures)]
    )
    attachments = next(one.attachments for one in work.notebook.cells if one.id == "essay")
    assert attachments == work.pictures and [list(one) for one in attachments.values()] == [
        ["image/png"],
        [LEFT_OUT],
    ]
    assert [one for one in work.ignored if "picture" in one] == [
        f"A picture in the answer `essay` is left out: {BROKEN}."
    ]


def test_of_a_picture_outside_the_notebook_it_is_said_before_it_is_handed_in():
    text = "![x](figures/plot.png) ![y](<my plot.png>) ![z](https://example.org/x.png)"
    work = transplant(PRISTINE, as_submitted(("essay", text)))
    said = "A picture in the answer `essay` is left out: {}."
    assert work.ignored == [said.format(NOT_THERE), said.format(ON_THE_WEB)]


def test_of_a_picture_that_no_answer_names_nothing_is_kept():
    cells = [
        dataclasses.replace(cell, pictures={"picture-" + "0" * 16: DOT})
        for cell in as_submitted(("essay", "Mine."))
    ]
    assert transplant(PRISTINE, cells).pictures == {}


def test_code_that_is_shown_as_an_answer_stays_within_its_fence():
    work = transplant(PRISTINE, [*as_submitted(), added(f"# {ANSWER}\n# ```\n# ````")])
    assert f"`````python\n# {ANSWER}\n# ```\n# ````\n`````" in work.found["essay"]


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [SubmittedCell("markdown", None, "ok")],
        [SubmittedCell("markdown", None, "# Title")],
        [SubmittedCell("markdown", "essay", "*Write here.*")],
        [added("import math\nx = math.sqrt(2)\nprint(f'{x:.3f}', 'done')")],
        [added("%matplotlib inline\n!pip install seaborn\nf?")],
        [added("x = 1  # todo: the second case")],
        [SubmittedCell("markdown", "intro", "# Title\nKim Lee, 4711234")],
        [added("def g(): raise NotImplementedError")],
        [
            added(
                'def h(x):\n    """Of all words, the first."""\n    return query(\'SELECT one FROM'
                " words', x)"
            )
        ],
    ],
)
def test_an_answer_that_is_nowhere_is_no_answer_and_nobody_is_asked(cells):
    work = transplant(PRISTINE, [*as_submitted(), *cells])
    assert work.review == {} and work.untouched == ["f", "g", "essay"]


def test_three_quotes_that_stand_in_a_cell_of_ours_too_hide_no_answer():
    given = new_notebook(
        cells=[
            *PRISTINE.cells,
            ours("code", "setup-2", 'def k():\n    """\n    Of all words, the first.\n    """'),
        ]
    )
    handed = as_submitted() + [SubmittedCell("code", "setup-2", given.cells[-1].source)]
    assert transplant(given, [*handed, added(given.cells[-1].source)]).review == {}
    assert transplant(given, [*handed, added(f'"""\n{ANSWER}\n"""')]).review == {
        "essay": waits("as it was given", 10)
    }


@pytest.mark.parametrize("name", [one.name for one in assignments()])
def test_a_notebook_as_it_was_given_asks_nobody_to_look_for_answers(name):
    given = load_assignment(name).pristine
    handed = [
        SubmittedCell(cell.cell_type, marks(cell).get("grade_id"), cell.source)
        for cell in given.cells
    ]
    assert transplant(given, handed).review == {}
    changed = [
        (
            dataclasses.replace(cell, source=f"{cell.source}\nx = 1")
            if cell.grade_id and cell.kind == "code" and not marks(ours).get("solution")
            else cell
        )
        for cell, ours in zip(handed, given.cells)
    ]
    assert transplant(given, changed).review == {}


def test_an_answer_that_is_there_is_read_whatever_else_is_written():
    work = transplant(
        PRISTINE, [*as_submitted(("essay", "Mine.")), SubmittedCell("markdown", None, ANSWER)]
    )
    assert work.review == {} and work.own == {"essay": "Mine."} and work.untouched == ["f", "g"]


def test_an_answers_cell_that_is_gone_or_lost_its_name_waits_and_is_not_called_untouched():
    work = transplant(PRISTINE, as_submitted()[:-1])
    assert work.review == {"essay": ReviewItem(ReviewKind.ANSWER_GONE)} and work.untouched == [
        "f",
        "g",
    ]
    stripped = [
        SubmittedCell(cell.cell_type, None, ANSWER if cell.id == "essay" else cell.source)
        for cell in PRISTINE.cells
    ]
    work = transplant(PRISTINE, stripped)
    assert work.review == {"essay": waits("not in the notebook", 8)} and work.untouched == [
        "f",
        "g",
    ]


def test_an_emptied_cell_is_no_answer_and_is_not_called_untouched():
    assert transplant(PRISTINE, as_submitted(("essay", " \n"), ("f", ""))).untouched == ["g"]
    work = transplant(
        PRISTINE, [*as_submitted(("essay", "")), SubmittedCell("markdown", None, ANSWER)]
    )
    assert work.review == {"essay": waits("empty", 9)}
    assert transplant(PRISTINE, as_submitted(("essay", ""))).review == {}


def test_looking_for_text_in_hostile_code_takes_time_in_proportion_to_it():
    hostile = [
        added("(" * 5_000),
        added("-" * 50_000 + "1"),
        added("x = " + "[" * 90 + "]" * 90),
        added("\x00"),
        added("'" * 59_999),
        added("def f(" + ")" * 50_000),
        added("def f\n" * 9_000),
        added("# def f(x" + "):" * 20_000),
        SubmittedCell("markdown", None, "```\n" * 10_000),
    ]
    assert transplant(PRISTINE, [*as_submitted(), *hostile]).untouched == ["f", "g", "essay"]
