"""What the feedback page and the class report share: the palette inlined, escaped templates, words
and code.

Pages are one file each: no script, no font, no request. Everything that comes from a submission is
text.
"""

import re
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.checks.rubric import WORDS, with_code

TEMPLATES = Path(__file__).parent / "templates"
PALETTE = Path(__file__).parents[3] / "book" / "assets" / "palette.css"
SHOWN_CODE = 12_000  # characters of one cell that a page shows

TONES = {
    "passed": "good",
    "slip": "warn",
    "capped": "warn",
    "wrong": "bad",
    "error": "bad",
    "not_attempted": "idle",
    "time": "bad",
    "memory": "bad",
    "killed": "bad",
    "fault": "warn",
    "human": "warn",
}


@lru_cache(maxsize=1)
def templates() -> Environment:
    """The page templates: autoescaping always on, an undefined name is an error."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "points": lambda number: f"{number:g}" if number is not None else "\u2013",
        "code": highlighted,
        "markdown": markdown,
        "sentence": lambda text: Markup(with_code(text)),
        "mebibytes": lambda count: f"{count / 2**20:,.0f} MiB",
        "in_words": lambda name: name.replace("-", " ").replace("_", " "),
        "breaking": lambda name: Markup(str(escape(name)).replace("_", "_<wbr>")),
        "percent": lambda share: f"{100 * share:.0f} %",
    }
    environment.globals |= {"words": WORDS, "tones": TONES}
    return environment


def render(name: str, **values: object) -> str:
    """One page as text, with the course's palette and the pages' style inlined."""
    style = PALETTE.read_text(encoding="utf-8") + (TEMPLATES / "pages.css").read_text(
        encoding="utf-8"
    )
    style = re.sub(r"/\*.*?\*/\s*", "", style, flags=re.DOTALL)
    return templates().get_template(name).render(style=Markup(style), **values)


def markdown(source: str, pictures: dict[str, dict[str, str]] | None = None) -> Markup:
    """Markdown as HTML that can run and load nothing, see markdown.py."""
    from autograder.classroom.reports.markdown import as_html  # takes as long as a page

    return as_html(source, pictures, headings=False)


def highlighted(source: str) -> Markup:
    """Python source as escaped HTML with the course's token colours, cut at SHOWN_CODE
    characters.
    """
    from pygments import highlight

    cut = (
        source
        if len(source) <= SHOWN_CODE
        else source[:SHOWN_CODE] + f"\n# ... {len(source) - SHOWN_CODE:,} more"
    )
    return Markup(highlight(cut, *_python()))


@lru_cache(maxsize=1)
def _python() -> tuple:
    """Pygments' lexer and formatter: making them takes longer than one cell."""
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)


def warm_up() -> None:
    """Make what pages share, so that children that are forked for one page each find it made."""
    for name in templates().list_templates(extensions=["j2"]):
        templates().get_template(name)
    highlighted("x = 1")
    markdown("$x$")


def exercise_title(assignment, exercise: str) -> str:
    """The heading of an exercise's card in the notebook, without its number; the exercise's id if
    it has none.
    """
    short = exercise.split(".", 1)[1]
    for cell in assignment.pristine.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == f"{short}-card":
            heading = re.search(r"^#+\s*(?:\d+\.\s*)?(.+)$", cell.source, flags=re.MULTILINE)
            if heading:
                return re.sub(r"[*`]", "", heading.group(1)).strip()
    return exercise


def assignment_title(assignment) -> str:
    """The heading of the notebook; the assignment's name if it has none."""
    heading = assignment.pristine.cells[0].source.split("\n", 1)[0]
    return heading.lstrip("# ").strip() or assignment.name
