"""How far a notebook is: the points so far, the next exercise, and hints that open.

`check` notes each result here and shows one line and the hints of its exercise below its table.
`progress()` shows the same as a widget, which follows the checks; without widgets it is text.
Titles, points and hints come from the cards of the student's notebook. Only this session counts:
a result is known once its check ran in this kernel.
"""

import json
import os
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib.util import find_spec
from pathlib import Path

from autograder.checks.exercise import EXERCISES
from autograder.checks.results import ExerciseResult
from autograder.checks.rubric import with_code
from autograder.common.course_files import ROOT

TITLE = re.compile(r"^## \d+\. (.+)$", re.MULTILINE)
POINTS = re.compile(r"\*\*Points\*\* (\d+(?:\.\d+)?)")
DETAILS = re.compile(r"<details>\s*<summary>(Hint.*?)</summary>(.*?)</details>", re.DOTALL)
FENCE = re.compile(r"```\w*\n(.*?)```", re.DOTALL)

EARNED: dict[str, float] = {}  # points of the last check of each exercise, in this session
OPENED = {"chapter": ""}  # of the notebook that is open, such as "17"
WIDGETS: list = []  # those on display, which follow


@dataclass(frozen=True)
class Card:
    """What a notebook says of one exercise; hints are (title, HTML)."""

    id: str
    title: str
    points: float
    hints: tuple[tuple[str, str], ...]


def cards(number: str) -> list[Card]:
    """The exercises of a chapter's notebook in order; none if no notebook is found."""
    path = notebook(number)
    try:
        return list(_cards(number, path, path.stat().st_mtime_ns)) if path else []
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        return []  # a notebook that is being written, or is none


@lru_cache(maxsize=4)
def _cards(number: str, path: Path, changed: int) -> tuple[Card, ...]:
    found = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        source = "".join(cell["source"])
        title, points = TITLE.search(source), POINTS.search(source)
        if name.endswith("-card") and title and points:
            hints = tuple((head, as_html(text)) for head, text in DETAILS.findall(source))
            id = f"{number}.{name.removesuffix('-card')}"
            found.append(Card(id, title[1], float(points[1]), hints))
    return tuple(found)


def notebook(number: str) -> Path | None:
    """The notebook that is open, else one in this folder, else as it was given."""
    here = [Path(os.environ.get("JPY_SESSION_NAME", ""))]
    here += sorted(Path.cwd().glob(f"{number}-*.ipynb"))
    here += sorted(ROOT.glob(f"exercises/{number}-*/{number}-*.ipynb"))
    fits = (path for path in here if path.suffix == ".ipynb" and path.name[:2] == number)
    return next((path for path in fits if path.is_file()), None)


def as_html(text: str) -> str:
    """The Markdown of a hint as HTML: paragraphs and code; everything else is text."""
    parts = FENCE.split(text.strip())
    shown = []
    for place, part in enumerate(parts):
        if place % 2:
            shown.append(f"<pre>{escape(part.rstrip())}</pre>")
        else:
            paragraphs = re.split(r"\n\s*\n", part.strip())
            shown += [f"<p>{with_code(one)}</p>" for one in paragraphs if one]
    return "".join(shown)


def note(result: ExerciseResult) -> None:
    """Remember what a check gave, and bring the widgets up to date."""
    EARNED[result.exercise] = result.earned
    for widget in WIDGETS:
        widget.rows = _rows(widget.number)


def line(number: str) -> str:
    """ "Chapter 4 so far: 12 of 52 points. Next: Causal and padding masks (5 points)."; or ""."""
    known = cards(number)
    if not known:
        return ""
    points = sum(EARNED.get(card.id, 0.0) for card in known)
    possible = sum(card.points for card in known)
    left = next((card for card in known if EARNED.get(card.id, 0.0) < card.points), None)
    after = f" Next: {left.title} ({left.points:g} points)." if left else " All points are there."
    return f"Chapter {int(number)} so far: {points:g} of {possible:g} points.{after}"


def below(result: ExerciseResult) -> tuple[str, str]:
    """What stands under the table of a check: as text, and as HTML with the hints to open."""
    number = result.exercise[:2]
    said = line(number) if number.isdigit() else ""
    if not said:
        return "", ""
    card = next((one for one in cards(number) if one.id == result.exercise), None)
    stuck = card is not None and result.earned < result.points
    text = f"{said}\nStuck? course hint {result.exercise}" if stuck else said
    said, text = said + (more := offer(result)), text + more
    folded = [
        f"<details><summary>{escape(title)}</summary>{hint}</details>"
        for title, hint in (card.hints if stuck else ())
    ]
    return text, f"<p>{escape(said)}</p>{''.join(folded)}"


def offer(result: ExerciseResult) -> str:
    """Questions on one's own function, where it has all its points; "" where they are not there."""
    number, _, name = result.exercise.partition(".")
    whole = result.earned >= result.points and find_spec("autograder.viva") is not None
    exercise = EXERCISES.get(result.exercise)
    if not whole or exercise is None or exercise.kind != "function":
        return ""
    return (
        " Do you know your own code? from autograder.viva.practice import viva;"
        f' viva("{number}.{name}")'
    )


def progress(number: str) -> None:
    """Show the points so far, the next exercise and its hints; outside a notebook, nothing.

    number: of the chapter, such as "04". `check` prefers its exercises from now on.
    """
    OPENED["chapter"] = number
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or not hasattr(shell, "kernel") or not (said := line(number)):
        return
    bundle: dict = {"text/plain": said}
    try:
        bundle |= _widget(number)._repr_mimebundle_()[0] | {"text/plain": said}
    except Exception:  # no widgets here: a front end or a library is missing
        bundle["text/html"] = f"<p>{escape(said)}</p>"
    ipython.display.display(bundle, raw=True)


def _rows(number: str) -> list[dict]:
    return [
        {
            "title": card.title,
            "earned": EARNED.get(card.id, 0.0),
            "points": card.points,
            "hints": [list(hint) for hint in card.hints],
        }
        for card in cards(number)
    ]


def _widget(number: str):
    """A new widget of the chapter, which `note` keeps up to date."""
    import anywidget
    import traitlets

    class Progress(anywidget.AnyWidget):
        """The bar, the next exercise and its hints, drawn by the script below."""

        _esm = SCRIPT
        number = traitlets.Unicode()
        rows = traitlets.List().tag(sync=True)

    widget = Progress(number=number, rows=_rows(number))
    WIDGETS[:] = [*(one for one in WIDGETS if one.number != number), widget]
    return widget


SCRIPT = """
function sum(rows, key) {
  return rows.reduce((total, row) => total + row[key], 0);
}

function element(name, text) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  return made;
}

function draw(model, el) {
  const rows = model.get("rows");
  const earned = sum(rows, "earned"), points = sum(rows, "points");
  const next = rows.find((row) => row.earned < row.points);
  const bar = element("progress");
  bar.max = points;
  bar.value = earned;
  bar.style.width = "100%";
  bar.setAttribute("aria-label", "Points so far");
  const said = element("p", `${earned} of ${points} points so far. `
    + (next ? `Next: ${next.title} (${next.points} points).` : "All points are there."));
  said.setAttribute("role", "status");
  el.replaceChildren(bar, said);
  for (const [title, html] of next ? next.hints : []) {
    const hint = element("details");
    const body = element("div");
    body.innerHTML = html;
    hint.append(element("summary", title), body);
    el.append(hint);
  }
}

export default {
  render({ model, el }) {
    draw(model, el);
    model.on("change:rows", () => draw(model, el));
  },
};
"""
