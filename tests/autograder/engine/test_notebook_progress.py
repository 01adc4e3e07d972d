"""The points so far, the next exercise and the hints, below a check and as a widget."""

import json

import nbformat
import pytest
from nbclient import NotebookClient

from autograder import notebook_progress
from autograder.checks.results import ExerciseResult, StageResult

CARD = """\
## {place}. {title}

**Why.** Because. **Points** {points}

<details><summary>Hint 1: a nudge</summary>

Use `x < y`, *then*:

```python
if a < b: pass
```

</details>
<details><summary>Fine print</summary>Nothing.</details>"""


def card_cell(name, place, title, points):
    cell = nbformat.v4.new_markdown_cell(CARD.format(place=place, title=title, points=points))
    cell.metadata["nbgrader"] = {"grade_id": f"{name}-card"}
    return cell


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a notebook of chapter 98 that has two exercises, in which nothing is done."""
    cells = [card_cell("first", 1, "The first", 2), card_cell("second", 2, "The second", 1.5)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "98-made.ipynb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setattr(notebook_progress, "EARNED", {})
    return tmp_path


def result(name, points, earned):
    stage = StageResult("one", points, earned, "passed" if earned == points else "wrong")
    return ExerciseResult(f"98.{name}", points, earned, [stage])


def test_the_line_adds_up_the_last_checks_and_names_the_next_exercise(folder):
    assert notebook_progress.line("98").endswith("0 of 3.5 points. Next: The first (2 points).")
    notebook_progress.note(result("first", 2, 1))
    assert "1 of 3.5 points. Next: The first" in notebook_progress.line("98")
    notebook_progress.note(result("first", 2, 2))
    assert "2 of 3.5 points. Next: The second (1.5 points)." in notebook_progress.line("98")
    notebook_progress.note(result("second", 1.5, 1.5))
    assert (
        notebook_progress.line("98")
        == "Chapter 98 so far: 3.5 of 3.5 points. All points are there."
    )


def test_hints_open_below_a_check_that_is_not_passed_and_hold_no_markup_of_the_card(folder):
    text, html = notebook_progress.below(result("first", 2, 1))
    assert "course hint 98.first" in text
    assert html.count("<details>") == 1 and "Fine print" not in html
    assert "<code>x &lt; y</code>" in html and "<pre>if a &lt; b: pass</pre>" in html
    text, html = notebook_progress.below(result("first", 2, 2))
    assert "hint" not in text and "<details>" not in html


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cells": [{}]}', '{"cells": [1]}'])
def test_without_a_readable_notebook_nothing_is_said(folder, content):
    (folder / "98-made.ipynb").write_text(content)
    assert notebook_progress.below(result("first", 2, 1)) == ("", "")
    assert notebook_progress.below(ExerciseResult("none", 2, 1, [])) == ("", "")


def test_outside_a_notebook_nothing_is_printed(folder, capsys):
    notebook_progress.progress("98")
    assert capsys.readouterr() == ("", "")


def test_in_a_kernel_the_widget_has_a_text_and_follows_the_checks(folder):
    source = """
from autograder import notebook_progress
from autograder.checks.results import ExerciseResult
notebook_progress.progress("98")
notebook_progress.note(ExerciseResult("98.first", 2, 1.5, []))
print([(row["title"], row["earned"]) for row in notebook_progress.WIDGETS[0].rows])
"""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    NotebookClient(
        made, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    outputs = made.cells[0].outputs
    data = next(one.data for one in outputs if one.output_type == "display_data")
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"].startswith("Chapter 98 so far: 0 of 3.5 points.")
    assert "[('The first', 1.5), ('The second', 0.0)]" in json.dumps(outputs)
