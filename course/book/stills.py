"""Still pictures as SVG text: for the page before scripts run, for print, and for readers without scripts.

Colours are the palette's variables with the light value as fallback, so that one picture suits a light page, a dark
page, and a notebook that knows neither. `draw` makes the standard still of each moving figure from the same data;
`to_svg` turns a matplotlib figure, drawn under `course_style()`, into SVG of the same manner.
"""
import html
import io
import re

LIGHT = {  # the light values of book/assets/palette.css; tests/book/test_palette.py keeps the two equal
    "paper": "#fcfbf8", "panel": "#f3f1ea", "line": "#dedacf", "edge": "#8a867b", "ink": "#1e2329",
    "ink-soft": "#545b63", "blue": "#0067a3", "orange": "#a64800", "green": "#006e52", "purple": "#97407a",
    "yellow": "#7a5c00", "grey": "#5d646c",
}
HUES = ("blue", "orange", "green", "purple", "yellow", "grey")


def colour(name: str) -> str:
    """A palette colour as CSS that works with and without palette.css, for example for "blue"."""
    return f"var(--w2s-{name}, {LIGHT[name]})"


def draw(name: str, data: dict) -> str:
    """The standard still of the moving figure `name`, as SVG text. `data` has the format of its js file."""
    return {"window-counts": _window_counts, "skipgram-training": _skipgram, "bank-neighbours": _neighbours}[name](data)


def course_style() -> dict:
    """matplotlib settings for a picture in the course's manner: `with plt.rc_context(course_style()): ...`."""
    from cycler import cycler
    ink, soft, line = LIGHT["ink"], LIGHT["ink-soft"], LIGHT["line"]
    dashes = ["-", "--", "-.", ":", (0, (3, 1, 1, 1)), (0, (1, 1))]
    return {
        "svg.fonttype": "none", "svg.hashsalt": "word2serve", "font.family": "sans-serif", "font.size": 11,
        "text.color": ink, "axes.labelcolor": soft, "axes.edgecolor": LIGHT["edge"], "xtick.color": soft,
        "ytick.color": soft, "axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left",
        "axes.grid": True, "grid.color": line, "grid.linewidth": 0.8, "axes.axisbelow": True, "lines.linewidth": 2,
        "legend.frameon": False, "figure.facecolor": "none", "axes.facecolor": "none", "figure.figsize": (6.6, 3.6),
        "axes.prop_cycle": cycler(color=[LIGHT[hue] for hue in HUES]) + cycler(linestyle=dashes),
    }


def to_svg(figure, name: str) -> str:
    """A matplotlib figure as inline SVG: palette variables for its colours, the page's font, ids made unique.

    name: put before each id, because two pictures on a page must not share one. The figure is closed.
    """
    import matplotlib.pyplot as plt
    out = io.StringIO()
    with plt.rc_context({"svg.hashsalt": "word2serve", "svg.fonttype": "none"}):  # read when saving, not when drawing
        figure.savefig(out, format="svg", bbox_inches="tight", transparent=True,
                       metadata={"Date": None, "Creator": None})
    plt.close(figure)
    svg = out.getvalue()
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1), count=1)
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1; font-family: inherit", svg)
    svg = re.sub(r"font-family: [^;\"]*", "font-family: inherit", svg)
    for hue, value in LIGHT.items():
        svg = svg.replace(value, colour(hue))
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", svg)


def _svg(width, height, *parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'aria-hidden="true" font-family="inherit" font-size="13">' + "".join(parts) + "</svg>")


def _text(x, y, text, hue="ink", anchor="start", size=13, weight=400, turn=False):
    place = f'transform="translate({x:g} {y:g}) rotate(-90)"' if turn else f'x="{x:g}" y="{y:g}"'
    return (f'<text {place} text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" fill="{colour(hue)}">'
            f"{html.escape(str(text))}</text>")


def _shape(k, x, y, hue):
    """The mark of sense or group number k, as the scripts draw it: circle, square, triangle, cross."""
    inside = ['<circle r="5.5"/>', '<rect x="-5" y="-5" width="10" height="10"/>', '<path d="M0-6.5 6 5h-12Z"/>',
              f'<path d="M-5-5 5 5M5-5-5 5" stroke="{colour(hue)}" stroke-width="2.5"/>'][k % 4]
    return f'<g transform="translate({x:.1f} {y:.1f})" fill="{colour(hue)}">{inside}</g>'


def window_table(sentences: list, vocabulary: list, window: int) -> list:
    """How often each word of `vocabulary` has each other within `window` places: the final state of window-counts."""
    index = {word: k for k, word in enumerate(vocabulary)}
    table = [[0] * len(vocabulary) for _ in vocabulary]
    for tokens in sentences:
        for i, word in enumerate(tokens):
            for j in range(max(0, i - window), min(len(tokens), i + window + 1)):
                if j != i and word in index and tokens[j] in index:
                    table[index[word]][index[tokens[j]]] += 1
    return table


def _window_counts(data):
    words, sentences = data["vocabulary"], data["sentences"]
    table = window_table(sentences, words, data["window"])
    most = max((max(row) for row in table), default=0) or 1
    head, cell, top = 80, 28, 22 * len(sentences) + 18
    width = max(head + cell * len(words) + 6, max((9 * len(" ".join(tokens)) for tokens in sentences), default=0))
    left = (width - head - cell * len(words)) / 2
    parts = [_text(width / 2, 18 + 22 * k, " ".join(tokens), anchor="middle", size=15) for k, tokens in enumerate(sentences)]
    for r, word in enumerate(words):
        middle = r * cell + cell / 2
        parts.append(_text(left + head - 8, top + head + middle + 4, word, "ink-soft", "end"))
        parts.append(_text(left + head + middle + 4, top + head - 8, word, "ink-soft", turn=True))
        for c, count in enumerate(table[r]):
            x, y = left + head + c * cell, top + head + r * cell
            fill, strength = (colour("blue"), 0.15 + 0.6 * count / most) if count else (colour("panel"), 1)
            parts.append(f'<rect x="{x + 1:g}" y="{y + 1:g}" width="{cell - 2}" height="{cell - 2}" rx="3" fill="{fill}" '
                         f'fill-opacity="{strength:.2f}"/>')
            if count:
                parts.append(_text(x + cell / 2, y + cell / 2 + 4.5, count, anchor="middle"))
    return _svg(width, top + head + cell * len(words) + 6, *parts)


def _skipgram(data):
    first, last = data["snapshots"][0], data["snapshots"][-1]
    groups = list(dict.fromkeys(data.get("groups") or []))
    every = [point for shot in data["snapshots"] for point in shot["positions"]]
    spans = [(min(p[axis] for p in every), max(p[axis] for p in every)) for axis in (0, 1)]
    width, height, edge = 600, 420, 46

    def place(point):
        (x0, x1), (y0, y1) = spans
        return (edge + (point[0] - x0) / ((x1 - x0) or 1) * (width - 2 * edge),
                edge / 2 + (1 - (point[1] - y0) / ((y1 - y0) or 1)) * (height - edge))
    parts = []
    for k, word in enumerate(data["words"]):
        (ax, ay), (bx, by) = place(first["positions"][k]), place(last["positions"][k])
        parts.append(f'<path d="M{ax:.1f} {ay:.1f}L{bx:.1f} {by:.1f}" stroke="{colour("edge")}" stroke-opacity=".5"/>'
                     f'<circle cx="{ax:.1f}" cy="{ay:.1f}" r="2.5" fill="none" stroke="{colour("edge")}"/>')
    ends = [place(point) for point in last["positions"]]
    for k, (x, y) in enumerate(ends):
        kind = groups.index(data["groups"][k]) if groups else 0
        parts.append(_shape(kind, x, y, HUES[kind % 4]))
    parts += _labels(data["words"], ends, width)
    for k, name in enumerate(groups):
        parts += [_shape(k, edge + 140 * k, height + 14, HUES[k % 4]), _text(edge + 140 * k + 12, height + 19, name, "ink-soft")]
    return _svg(width, height + 30, *parts)


def _labels(words, places, width):
    """A label per mark: above, right, left or below it, whichever touches least of what is already there."""
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in places]
    out = []
    for k, (word, (x, y)) in enumerate(zip(words, places)):
        long, best = 7.2 * len(word), None
        for dx, dy, anchor, left in ((0, -10, "middle", x - long / 2), (11, 5, "start", x + 11),
                                     (-11, 5, "end", x - 11 - long), (0, 20, "middle", x - long / 2)):
            box = (left, y + dy - 11, left + long, y + dy + 3)
            cost = 5 * (box[0] < 0 or box[2] > width) + sum(
                box[0] < other[2] and box[2] > other[0] and box[1] < other[3] and box[3] > other[1]
                for i, other in enumerate(taken) if i != k)
            if best is None or cost < best[0]:
                best = (cost, box, _text(x + dx, y + dy, word, anchor=anchor))
        taken.append(best[1])
        out.append(best[2])
    return out


def _neighbours(data):
    word = data["words"][0]
    senses = [*data["senses"][word], "other"]
    width, row, lane = 660, 64, 170
    parts, left = [], 660 - lane * len(senses)
    for k, sense in enumerate(senses):
        hue = "grey" if sense == "other" else HUES[k]
        parts += [_shape(3 if sense == "other" else k, left + k * lane + 8, 16, hue),
                  _text(left + k * lane + 22, 21, sense, hue, size=15, weight=650)]
    for m, method in enumerate(data["methods"]):
        y = 34 + m * row
        found = data["neighbours"].get(word, {}).get(method["key"]) or []
        parts.append(f'<path d="M0 {y}H{width}" stroke="{colour("line")}"/>')
        parts.append(_text(0, y + 26, method["label"], weight=600))
        for k, sense in enumerate(senses):
            mine = [item["word"] for item in found if item["sense"] == sense]
            parts.append(_text(left + k * lane, y + 26, f"{len(mine)} of {len(found)}", "ink-soft"))
            fitting = [n for n in range(1, len(mine) + 1) if len(", ".join(mine[:n])) <= 20] or [min(1, len(mine))]
            parts.append(_text(left + k * lane, y + 47, ", ".join(mine[:fitting[-1]]) + (" …" if len(mine) > fitting[-1] else "")))
    return _svg(width, 34 + row * len(data["methods"]), *parts)
