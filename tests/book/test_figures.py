"""figure() and picture(): what they refuse, and what they give a page and a notebook."""

import json
import re

import pytest

from course.book.build.cache import IN_BOOK
from course.book.captions import FigureError
from course.book.pages.diagrams import Diagram
from course.book.pages.figures import figure
from course.book.pages.plots import course_style, picture

DATA = {"sentences": [["a", "b", "a"]], "vocabulary": ["a", "b"], "window": 1}


def make(**change):
    return figure(**{"name": "window-counts", "data": DATA, "caption": "C", "alt": "A", **change})


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"name": "window-count"},
            "there is no figure 'window-count'; choose one of .*bank-neighbours, .*window-counts",
        ),
        ({"data": {"sentences": []}}, "lacks vocabulary, window; the format stands at the top"),
        ({"caption": " "}, "caption is ' '"),
        ({"alt": ""}, "alt is ''"),
        ({"data": {**DATA, "window": float("nan")}}, "holds nan"),
        ({"data": {**DATA, "window": {1, 2}}}, "holds a set"),
    ],
)
def test_a_figure_that_cannot_be_made_is_refused_with_the_reason(change, message):
    with pytest.raises(FigureError, match=message):
        make(**change)


def test_tensors_and_arrays_become_numbers():
    import numpy as np
    import torch

    made = make(data={**DATA, "window": np.int64(1), "extra": torch.tensor([[1.0, 2.0]])})
    assert made.data["window"] == 1 and made.data["extra"] == [[1.0, 2.0]]


def test_a_word_cannot_end_the_data_or_the_label_early():
    html = make(
        data={**DATA, "vocabulary": ["</script><b>", "b"]}, alt='say "x" & <y>', caption="a < b"
    ).to_html()
    assert html.count("</script>") == 1
    assert (
        json.loads(re.search(r'application/json">(.*?)</script>', html)[1])["vocabulary"][0]
        == "</script><b>"
    )
    assert 'aria-label="say &quot;x&quot; &amp; &lt;y&gt;"' in html and "a &lt; b" in html


def test_a_caption_may_hold_code_and_emphasis():
    assert "<em>bank</em> and <code>x_1</code>" in make(caption="*bank* and `x_1`").to_html()


def test_in_the_book_a_figure_is_plain_html(monkeypatch):
    monkeypatch.setenv(IN_BOOK, "1")
    assert set(make()._repr_mimebundle_()) == {"text/html", "text/plain"}


def test_in_a_notebook_a_figure_is_a_widget_with_its_words_to_fall_back_on(monkeypatch):
    monkeypatch.delenv(IN_BOOK, raising=False)
    bundle, _ = make()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "<p>A</p>" in bundle["text/html"] and "application/json" not in bundle["text/html"]


def test_a_figure_is_named_by_its_id_where_one_drawing_stands_twice_in_the_book():
    assert 'id="figure-window-counts" data-w2s-figure="window-counts"' in make().to_html()
    assert 'id="figure-second" data-w2s-figure="window-counts"' in make(id="second").to_html()


def drawing():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(course_style()):
        canvas, axes = plt.subplots()
        axes.plot([0, 1], [0, 1], label="one")
        axes.legend()
    return canvas


def test_a_picture_follows_the_palette_and_the_pages_font():
    svg = picture(drawing(), caption="C", alt="A")._repr_mimebundle_()["text/html"]
    assert "var(--w2s-blue" in svg and "var(--w2s-ink" in svg
    left = set(re.findall(r"#[0-9a-f]{6}", re.sub(r"var\([^)]*\)", "", svg)))
    assert left <= {"#000000", "#ffffff"}
    assert "DejaVu" not in svg


def test_two_pictures_share_no_id_and_one_is_the_same_every_time():
    first, again, other = (picture(drawing(), caption="C", alt=alt).svg for alt in ("A", "A", "B"))
    assert first == again
    names = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (first, other)]
    assert names[0] and not names[0] & names[1]
    assert all(target in names[0] for target in re.findall(r'(?:url\(#|href="#)([^)"]+)', first))


def boxes():
    diagram = Diagram(100, 50)
    diagram.box((20, 25), (30, 20), "h_{t-1} + x_t < 1", hue="blue")
    diagram.line([(35, 25), (80, 25)], hue="orange", width=3, arrow=True)
    return diagram


def test_a_diagram_is_drawn_in_the_palette_with_subscripts_and_without_ids():
    svg = picture(boxes(), caption="C", alt="A")._repr_mimebundle_()["text/html"]
    assert "var(--w2s-blue" in svg and "id=" not in svg
    assert not re.findall(r"#[0-9a-f]{6}", re.sub(r"var\([^)]*\)", "", svg))
    lines = re.findall(r'<tspan dy="(-?3)"[^>]*>([^<]*)</tspan>', svg)
    assert lines == [("3", "t−1"), ("-3", " + x"), ("3", "t"), ("-3", " &lt; 1")]


def test_an_arrow_ends_at_its_last_point_and_its_line_behind_the_tip():
    line, tip = re.findall(r'<path d="M([^"]*)"', boxes().to_svg())
    assert line.startswith("35 25L") and tip.startswith("80 25L")
    corners = [float(corner.split()[0]) for corner in tip.rstrip("z").split("L")[1:]]
    assert float(line.split("L")[1].split()[0]) < 80 and max(corners) < 75
