"""Markdown of students and instructors: pictures and formulas show, nothing runs or loads."""

import re

import pytest

from autograder.classroom.reports.markdown import MAX_FORMULA, as_html, inert_html
from autograder.grading.notebook.pictures import NOT_THERE, ON_THE_WEB

NAME, LEFT = "picture-" + "0" * 16, "picture-" + "1" * 16
PICTURES = {NAME: {"image/png": "AAAA"}, LEFT: {"text/plain": "it is <b>no</b> picture"}}
IMAGE = '<img src="data:image/png;base64,AAAA" alt="{}">'
ALIVE = re.compile(
    r"<(script|iframe|object|embed|svg|style|link|base|form)\b|<[^>]*\son\w+\s*=|(href|src)=\"(?!data:image/png;base64,AAAA\"|https?:)",
    re.I,
)


@pytest.mark.parametrize(
    ("source", "html"),
    [
        (f"![a plot](attachment:{NAME})", IMAGE.format("a plot")),
        (f"![](attachment:{NAME})", IMAGE.format("picture")),
        (f"![a][b]\n\n[b]: attachment:{NAME}", IMAGE.format("a")),
        (
            f"<img src='attachment:{NAME}' width='300'>",
            IMAGE.format("picture")[:-1] + ' width="300">',
        ),
        (
            (
                f"<img src='attachment:{NAME}' width='javascript:1' srcset='http://x/y.png'"
                " onerror='alert(1)'>"
            ),
            IMAGE.format("picture"),
        ),
    ],
)
def test_a_picture_that_grading_took_is_shown(source, html):
    assert html in as_html(source, PICTURES)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (f"![x](attachment:{LEFT})", "it is &lt;b&gt;no&lt;/b&gt; picture"),
        ("![x](attachment:gone.png)", NOT_THERE),
        ("![x](plot.png)", NOT_THERE),
        ("![x](../../../etc/passwd)", NOT_THERE),
        ("![x](file:///etc/passwd)", NOT_THERE),
        ("![x](C:\\Users\\me\\plot.png)", NOT_THERE),
        ("![x](javascript:alert(1))", NOT_THERE),
        ("![x](data:text/html;base64,PHNjcmlwdD4=)", NOT_THERE),
        ("<img>", NOT_THERE),
        ("![x](http://127.0.0.1/x.png)", ON_THE_WEB),
        ("![x](//127.0.0.1/x.png)", ON_THE_WEB),
        ("<img src='HTTPS://127.0.0.1/x.png'>", ON_THE_WEB),
    ],
)
def test_a_picture_that_is_not_shown_is_a_sentence_that_says_why(source, reason):
    html = as_html(source, PICTURES)
    assert reason in html and "<img" not in html and "left out" in html


@pytest.mark.parametrize(
    "source",
    [
        "<script>alert(1)</script>",
        "<svg onload=alert(1)>",
        f'!["onerror=alert(1) x="](attachment:{NAME})',
        "[x](javascript:alert(1))",
        "<a href='data:text/html,x'>y</a>",
        "[x](attachment:y)",
        "[x](file:///etc/passwd)",
        "<math><mtext><img src=x onerror=alert(1)></mtext></math>",
        "$\\text{<img src=x onerror=alert(1)>}$",
        "$\\href{javascript:alert(1)}{x}$",
        "<formula><script>alert(1)</script></formula>",
        "<displayed-formula onclick=alert(1)>x",
        "![$<script>$](attachment:x)",
        "<style>*{}</style>",
        "<base href='http://x/'>",
        "<img src='data:image/svg+xml;base64,AAAA'>",
        f"<img src='attachment:{NAME}&quot; onerror=alert(1)'>",
        "<table background='http://x/y.png'>",
        "<div style='background:url(http://x/y.png)'>",
    ],
)
def test_nothing_in_a_text_runs_or_loads(source):
    for html in (as_html(source, PICTURES), inert_html(source)):
        assert ALIVE.findall(html) == []


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("$x_i$", "<math><msub><mi>x</mi><mi>i</mi></msub></math>"),
        ("$$a < b$$", '<math display="block"><mi>a</mi><mo>&lt;</mo><mi>b</mi></math>'),
        (
            "\\begin{align*}a &= b \\\\ c &= d\\end{align*}",
            "<mtr><mtd><mi>c</mi></mtd><mtd><mo>=</mo><mi>d</mi></mtd></mtr>",
        ),
        ("$\\frac{QK^\\top}{\\sqrt{D}}$", "<msqrt><mi>D</mi></msqrt>"),
        ("costs $5 or $6", "costs $5 or $6"),
        ("`$a$`", "<code>$a$</code>"),
        ("$\\nosuchcommand{x}$", "<code>$\\nosuchcommand{x}$</code>"),
        ("$" + "x" * 2 * MAX_FORMULA + "$", "<code>$xxx"),
    ],
)
def test_a_formula_is_mathml_and_one_that_is_not_known_stays_as_it_was_written(source, html):
    assert html in as_html(source)


def test_headings_of_a_text_are_below_those_of_the_page():
    assert as_html(
        "# A\n\n###### B", headings=False
    ) == "<h4>A</h4>\n<h4>B</h4>\n" and "<h1>A</h1>" in as_html("# A")


def test_a_long_hostile_text_takes_time_in_proportion_to_it():
    for source in (
        "$" * 12_000,
        "![x](" * 2_000,
        "<img " * 2_000,
        "<formula>" * 1_000,
        "$\\frac" * 2_000,
        "[" * 5_000,
        "$" + "\\sqrt{" * 150 + "$",
    ):
        assert len(as_html(source)) < 500_000
