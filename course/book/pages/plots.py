"""Pictures that do not move, from matplotlib or a Diagram: SVG in the course's colours and manner.

    with plt.rc_context(course_style()):
        ...
    picture(drawing, caption="...", alt="...")

Colours are the palette's variables with the light value as fallback, so that one picture suits a
light page, a dark page, and a notebook that knows neither. Figures that move are drawn by the kit
in book/assets/figures/ (see `figures`).
"""

import hashlib
import html
import io
import re

from course.book.captions import checked_words, inline

# the light values of book/assets/palette.css; tests/book/test_palette.py keeps the two equal
LIGHT = {
    "paper": "#fcfbf8",
    "panel": "#f3f1ea",
    "line": "#dedacf",
    "edge": "#8a867b",
    "ink": "#1e2329",
    "ink-soft": "#545b63",
    "blue": "#0067a3",
    "orange": "#a64800",
    "green": "#006e52",
    "purple": "#97407a",
    "yellow": "#7a5c00",
    "grey": "#5d646c",
}
HUES = ("blue", "orange", "green", "purple", "yellow", "grey")


def colour(name: str) -> str:
    """A palette colour as CSS that works with and without palette.css, for example for "blue"."""
    return f"var(--w2s-{name}, {LIGHT[name]})"


def course_style() -> dict:
    """matplotlib settings for a picture in the course's manner: `with
    plt.rc_context(course_style()): ...`.
    """
    from cycler import cycler

    ink, soft, line = LIGHT["ink"], LIGHT["ink-soft"], LIGHT["line"]
    dashes = ["-", "--", "-.", ":", (0, (3, 1, 1, 1)), (0, (1, 1))]
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": "word2serve",
        "font.family": "sans-serif",
        "font.size": 11,
        "text.color": ink,
        "axes.labelcolor": soft,
        "axes.edgecolor": LIGHT["edge"],
        "xtick.color": soft,
        "ytick.color": soft,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.grid": True,
        "grid.color": line,
        "grid.linewidth": 0.8,
        "axes.axisbelow": True,
        "lines.linewidth": 2,
        "legend.frameon": False,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "figure.figsize": (6.6, 3.6),
        "axes.prop_cycle": cycler(color=[LIGHT[hue] for hue in HUES]) + cycler(linestyle=dashes),
    }


def to_svg(figure, name: str) -> str:
    """A matplotlib figure as inline SVG: palette variables for its colours, the page's font, ids
    made unique.

    name: put before each id, because two pictures on a page must not share one. The figure is
    closed.
    """
    import matplotlib.pyplot as plt

    out = io.StringIO()
    with plt.rc_context(
        {"svg.hashsalt": "word2serve", "svg.fonttype": "none"}
    ):  # read when saving, not when drawing
        figure.savefig(
            out,
            format="svg",
            bbox_inches="tight",
            transparent=True,
            metadata={"Date": None, "Creator": None},
        )
    plt.close(figure)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(
        r'(<svg[^>]*?) width="[^"]*"',
        r"\1",
        re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1),
        count=1,
    )
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1; font-family: inherit", svg)
    svg = re.sub(r"font-family: [^;\"]*", "font-family: inherit", svg)
    for hue, value in LIGHT.items():
        svg = svg.replace(value, colour(hue))
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", svg)


class Picture:
    """A still drawing with alt text and caption, shown as SVG in the course's colours."""

    def __init__(self, svg: str, caption: str, alt: str):
        self.svg, self.caption, self.alt = svg, caption, alt

    def _repr_mimebundle_(self, include=None, exclude=None):
        # the ground is the page's own in the book, and white in a notebook that has no palette
        return {
            "text/plain": f"{self.alt}\n{self.caption}",
            "text/html": (
                '<figure class="w2s-picture" style="background: var(--w2s-paper, #fff)">'
                f'<div role="img" aria-label="{html.escape(self.alt, quote=True)}">{self.svg}</div>'
                f"<figcaption>{inline(self.caption)}</figcaption></figure>"
            ),
        }


def picture(drawing, caption: str, alt: str) -> Picture:
    """A still picture, as the last value of a cell.

    drawing: a matplotlib figure drawn under `course_style()`, or a Diagram of `diagrams`. alt: what
    the picture shows, for those who cannot see it. Raises FigureError if caption or alt is empty.
    """
    caption, alt = checked_words("picture", caption, alt)
    # ids must differ between pictures of a page
    mark = f"picture-{hashlib.sha256(alt.encode()).hexdigest()[:8]}"
    svg = drawing.to_svg() if hasattr(drawing, "to_svg") else to_svg(drawing, mark)
    return Picture(svg, caption, alt)
