"""Diagrams of boxes and arrows that do not move: SVG in the course's colours.

    drawing = Diagram(360, 120)
    drawing.box((60, 30), (80, 26), "h_{t-1}", hue="blue")
    drawing.line([(100, 30), (160, 30)], arrow=True)
    picture(drawing, caption="...", alt="...")

360 units are the width of a page on a phone, so that words of 12 units can be read there. `at` is
the centre of a box, a circle or words. `_t` or `_{t-1}` in words is set as a subscript.
"""

import html
import math
import re

from course.book.pages.plots import colour

SUBSCRIPT = re.compile(r"_(?:\{([^}]*)\}|(\w))")
WIDEST = 35  # rem, on a wide screen
ABOVE, BELOW = 16, 6  # what is left free: for the mark that opens a cell's code, and the caption

Point = tuple[float, float]


class Diagram:
    """Boxes, words and lines on a canvas; later ones are drawn over earlier ones."""

    def __init__(self, width: float, height: float):
        self.width, self.height, self.parts = width, height, []

    def box(
        self, at: Point, size: Point, label: str = "", hue: str = "", dashed: bool = False
    ) -> None:
        """A rounded box with a label, tinted if it has a hue; dashed for what is not used."""
        (x, y), (width, height) = at, size
        self.parts.append(
            f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}"'
            f' height="{height:g}" rx="4" {_fill(hue)} stroke-width="1.5"{_dashes(dashed)}/>'
        )
        if label:
            self.text(at, label, hue="ink-soft" if dashed else "ink")

    def circle(self, at: Point, radius: float, label: str = "", hue: str = "") -> None:
        """A circle with a label: an operation or a point."""
        self.parts.append(
            f'<circle cx="{at[0]:g}" cy="{at[1]:g}" r="{radius:g}" {_fill(hue)}'
            ' stroke-width="1.5"/>'
        )
        if label:
            self.text(at, label)

    def text(
        self,
        at: Point,
        words: str,
        size: float = 12,
        anchor: str = "middle",
        hue: str = "ink",
        bold: bool = False,
    ) -> None:
        """One line of words; `anchor` says which end of it is at `at`: start, middle or end."""
        weight = ' font-weight="650"' if bold else ""
        self.parts.append(
            f'<text x="{at[0]:g}" y="{at[1] + 0.35 * size:g}" font-size="{size:g}"'
            f' text-anchor="{anchor}" fill="{colour(hue)}"{weight}>'
            f"{_subscripts(words, size)}</text>"
        )

    def line(
        self,
        points: list[Point],
        hue: str = "ink-soft",
        width: float = 1.5,
        arrow: bool = False,
        dashed: bool = False,
    ) -> None:
        """A line through points, with a tip at its end if `arrow`."""
        tip = ""
        if arrow:
            back, corners = _tip(*points[-2:], 5 + 1.6 * width)
            points = [*points[:-1], back]
            tip = f'<path d="M{_path(corners)}z" fill="{colour(hue)}"/>'
        self.parts.append(
            f'<path d="M{_path(points)}" fill="none" stroke="{colour(hue)}"'
            f' stroke-width="{width:g}"{_dashes(dashed)}/>{tip}'
        )

    def grid(self, at: Point, cell: float, filled: list[list[bool]], hue: str = "blue") -> None:
        """Rows of square cells with their upper left corner at `at`; true ones are filled."""
        for row, line in enumerate(filled):
            for column, on in enumerate(line):
                self.parts.append(
                    f'<rect x="{at[0] + column * cell:g}" y="{at[1] + row * cell:g}"'
                    f' width="{cell:g}" height="{cell:g}" fill="{colour(hue)}"'
                    f' fill-opacity="{0.5 if on else 0}" stroke="{colour("edge")}"/>'
                )

    def to_svg(self) -> str:
        """The drawing as inline SVG, without ids."""
        return (
            f'<svg viewBox="0 {-ABOVE} {self.width:g} {self.height + ABOVE + BELOW:g}"'
            f' style="max-width: {WIDEST}rem; margin: 0 auto; font-family: inherit">'
            f"{''.join(self.parts)}</svg>"
        )


def _fill(hue: str) -> str:
    """Attributes for the inside and the edge of a shape: paper, with a light tint of its hue."""
    paper = colour("paper")
    if not hue:
        return f'fill="{paper}" stroke="{colour("edge")}"'
    tint = f"color-mix(in oklab, {colour(hue)} 18%, {paper})"
    return f'fill="{paper}" style="fill: {tint}" stroke="{colour(hue)}"'


def _dashes(dashed: bool) -> str:
    return ' stroke-dasharray="4 3"' if dashed else ""


def _subscripts(words: str, size: float) -> str:
    """Words as SVG: each subscript smaller and lower, what follows it on the line again."""
    shown, end, low = [], 0, False
    for match in SUBSCRIPT.finditer(words):
        between = html.escape(words[end : match.start()], quote=False)
        shown.append(f'<tspan dy="-3">{between}</tspan>' if low else between)
        below = html.escape((match[1] or match[2]).replace("-", "−"), quote=False)
        shown.append(f'<tspan dy="3" font-size="{0.8 * size:g}">{below}</tspan>')
        end, low = match.end(), True
    rest = html.escape(words[end:], quote=False)
    return "".join([*shown, f'<tspan dy="-3">{rest}</tspan>' if low and rest else rest])


def _path(points: list[Point]) -> str:
    return "L".join(f"{round(x, 1):g} {round(y, 1):g}" for x, y in points)


def _tip(start: Point, end: Point, length: float) -> tuple[Point, list[Point]]:
    """Where a line ends behind its tip, so as not to blunt it, and the tip's three corners."""
    angle = math.atan2(end[1] - start[1], end[0] - start[0])

    def behind(side: float, by: float) -> Point:
        return end[0] - by * math.cos(angle + side), end[1] - by * math.sin(angle + side)

    return behind(0, 0.8 * length), [end, behind(-0.45, length), behind(0.45, length)]
