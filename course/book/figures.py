"""Figures that move: one call that gives a static page its HTML and a live notebook a widget.

    from course.book.figures import figure
    figure("window-counts", data, caption="...", alt="...")

and, for a still picture, `picture(matplotlib_figure, caption="...", alt="...")`.

The drawing is book/assets/figures/NAME.js; the format of `data` stands at the top of that file. In a page of the
book the call gives a <figure> with a still picture, the data as inert JSON and the caption; the page's script takes
over when there is one. In a live notebook it gives an anywidget that wraps the same script.
"""
import hashlib
import html
import json
import math
import re
from pathlib import Path

from course.book import stills
from course.book.cache import in_book

ASSETS = Path(__file__).resolve().parents[2] / "book" / "assets"
KEYS = {  # what each figure's data must have; the formats are described in the js files
    "window-counts": {"sentences", "vocabulary", "window"},
    "skipgram-training": {"words", "snapshots"},
    "bank-neighbours": {"words", "senses", "methods", "neighbours"},
}


class FigureError(Exception):
    """A figure that cannot be made. The message names the figure, what is wrong and the remedy."""


class Figure:
    """A moving figure, displayed by Jupyter and by the book through `_repr_mimebundle_`."""

    def __init__(self, name: str, data: dict, caption: str, alt: str, still: str):
        self.name, self.data, self.caption, self.alt, self.still = name, data, caption, alt, still

    def to_html(self, with_data: bool = True) -> str:
        """The static form: a still SVG, the data for the script unless `with_data` is false, and the caption."""
        # "<" as an escape keeps "</script>" in a word from ending the element
        text = json.dumps(self.data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        script = f'<script type="application/json">{text}</script>' if with_data else ""
        return (f'<figure class="w2s-figure" id="figure-{self.name}" data-w2s-figure="{self.name}">'
                f'<div class="w2s-still" role="img" aria-label="{html.escape(self.alt, quote=True)}">{self.still}</div>'
                f"{script}<figcaption>{_inline(self.caption)}</figcaption></figure>")

    def to_widget(self):
        """The live form: an anywidget that runs the same script. Needs a notebook front end to be of use."""
        import anywidget
        import traitlets

        class CourseFigure(anywidget.AnyWidget):
            _esm = widget_module(self.name)
            _css = widget_styles()
            data = traitlets.Dict().tag(sync=True)
            caption = traitlets.Unicode().tag(sync=True)
            alt = traitlets.Unicode().tag(sync=True)

        return CourseFigure(data=self.data, caption=_inline(self.caption), alt=self.alt)

    def _repr_mimebundle_(self, include=None, exclude=None):
        plain = f"{self.alt}\n{self.caption}"
        if in_book():
            return {"text/html": self.to_html(), "text/plain": plain}
        bundle = self.to_widget()._repr_mimebundle_()
        bundle, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**bundle, "text/html": self.to_html(with_data=False), "text/plain": plain}, metadata


def figure(name: str, data: dict, caption: str, alt: str, still=None) -> Figure:
    """A moving figure, ready to be the last value of a cell.

    name: one of KEYS. data: JSON-serialisable, finite numbers only. caption: one or two sentences; `code` and
    *emphasis* are understood. alt: what the still picture shows, for those who cannot see it.
    still: SVG text or a matplotlib figure; None draws the standard still of this figure from `data`.
    Raises FigureError for an unknown name, missing data, or an empty caption or alt.
    """
    if name not in KEYS:
        raise FigureError(f"there is no figure {name!r}; choose one of {', '.join(sorted(KEYS))}")
    missing = KEYS[name] - set(data)
    if missing:
        raise FigureError(f"figure {name!r}: the data lacks {', '.join(sorted(missing))}; "
                          f"the format stands at the top of book/assets/figures/{name}.js")
    for label, text in (("caption", caption), ("alt", alt)):
        if not isinstance(text, str) or not text.strip():
            raise FigureError(f"figure {name!r}: {label} is {text!r}; say what the reader should see")
    data = _plain(data, name)
    svg = stills.draw(name, data) if still is None else still if isinstance(still, str) else stills.to_svg(still, name)
    return Figure(name, data, caption.strip(), alt.strip(), svg)


class Picture:
    """A still matplotlib figure with alt text and caption, shown as SVG in the course's colours."""

    def __init__(self, svg: str, caption: str, alt: str):
        self.svg, self.caption, self.alt = svg, caption, alt

    def _repr_mimebundle_(self, include=None, exclude=None):
        # the ground is the page's own in the book, and white in a notebook that has no palette
        return {"text/plain": f"{self.alt}\n{self.caption}", "text/html":
                '<figure class="w2s-picture" style="background: var(--w2s-paper, #fff)">'
                f'<div role="img" aria-label="{html.escape(self.alt, quote=True)}">{self.svg}</div>'
                f"<figcaption>{_inline(self.caption)}</figcaption></figure>"}


def picture(drawing, caption: str, alt: str) -> Picture:
    """A still picture from a matplotlib figure drawn under `stills.course_style()`, as the last value of a cell.

    alt: what the picture shows, for those who cannot see it. Raises FigureError if caption or alt is empty.
    """
    for label, text in (("caption", caption), ("alt", alt)):
        if not isinstance(text, str) or not text.strip():
            raise FigureError(f"picture: {label} is {text!r}; say what the reader should see")
    mark = f"picture-{hashlib.sha256(alt.encode()).hexdigest()[:8]}"  # ids must differ between pictures of a page
    return Picture(stills.to_svg(drawing, mark), caption.strip(), alt.strip())


def widget_module(name: str) -> str:
    """The figure's scripts as one ES module that anywidget can load."""
    core, drawing = (_asset(f"figures/{file}.js") for file in ("w2s", name))
    return f"""{core}
{drawing}
export default {{
  render({{ model, el }}) {{
    window.w2s.widget("{name}", el, model.get("data"), model.get("caption"), model.get("alt"));
  }}
}};
"""


def widget_styles() -> str:
    """The palette and the figures' styles, confined to the widget and following JupyterLab's theme."""
    palette = _asset("palette.css").replace(":root", ".w2s-widget")
    return palette + _asset("figures/figures.css") + """
body[data-jp-theme-light="false"] .w2s-widget { color-scheme: dark; }
body[data-jp-theme-light="true"] .w2s-widget { color-scheme: light; }
"""


def _asset(name):
    path = ASSETS / name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FigureError(f"{path} is missing; figures need the repository's book/assets/ folder") from None


def _plain(value, name):
    """`value` with tensors, arrays and numpy numbers as plain Python, so that it can be JSON."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item, name) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, name) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise FigureError(f"figure {name!r}: the data holds {value}; only finite numbers can be drawn")
        return round(value, 5)
    if value is None or isinstance(value, (str, int, bool)):
        return value
    raise FigureError(f"figure {name!r}: the data holds a {type(value).__name__}; use numbers, text, lists and dicts")


def _inline(text):
    """A caption as HTML: `code` and *emphasis*, all else escaped."""
    text = html.escape(text.strip(), quote=False)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", re.sub(r"`([^`]+)`", r"<code>\1</code>", text))
