"""Formulas are set while the book is built, and are HTML and MathML on every page."""

import re
from unicodedata import normalize

import pytest
from docutils import nodes
from docutils.utils import new_document

from course.book.build.formulas import FormulaError, aligned, rendered, unnumbered
from tests.book.conftest import ROOT

HARD = r"""\mathrm{attention}(Q, K, V) = \underbrace{\mathrm{softmax}\!\left(
\frac{Q K^\top}{\sqrt{D}}\right)}_{\text{attention weights, } T \times S} V .
\qquad \begin{pmatrix} \cos p\theta & -\sin p\theta \\ \sin p\theta & \cos p\theta \end{pmatrix}"""
TWO_LINES = r"""\begin{aligned} f_t &= \sigma(W_f x_t) \\ c_t &= f_t \odot c_{t-1} \end{aligned}"""

NUMBERED = r"""# Page

$$
a = b
$$ (one)

See {eq}`one`.

\begin{align}
c &= d \\
e &= f
\end{align}
"""


@pytest.fixture
def extension(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    import formulas

    return formulas


@pytest.mark.parametrize("tex", [r"\frac{a}{b}", HARD, TWO_LINES, r"x \in \mathbb{R}^{T \times D}"])
def test_a_formula_is_seen_as_html_and_read_as_mathml(tex):
    text = rendered(aligned(tex), display=True)
    seen, read = text.partition('<span class="katex-html"')[::2]
    assert "<math" in seen and "</math>" in seen
    assert read.startswith(' aria-hidden="true"')


@pytest.mark.parametrize(
    "tex, part",
    [
        (r"\frac{a", "expected '}'"),
        (r"\unknown{x}", r"Undefined control sequence: \unknown"),
        ("1 + ½", 'Unrecognized Unicode character "½"'),
    ],
)
def test_what_cannot_be_set_is_an_error_that_says_why(tex, part):
    with pytest.raises(FormulaError) as error:
        rendered(tex)
    assert part in str(error.value)


def test_lines_of_a_formula_stand_one_below_the_other():
    assert aligned("a &= b\n\nc &= d") == r"\begin{aligned}a &= b \\ c &= d\end{aligned}"
    assert aligned(r"a \\ b") == r"\begin{split}a \\ b\end{split}"
    assert aligned("\na = b\n") == "a = b"


def test_the_page_numbers_formulas_and_katex_does_not():
    starred = unnumbered(r"\begin{align}a &= b\end{align}")
    assert starred == r"\begin{align*}a &= b\end{align*}"
    assert "eqn-num" not in rendered(starred, display=True)


@pytest.mark.parametrize(
    "before, after, together",
    [
        ("of ", ": how", "k:"),
        ("a word (", ") is", "(k)"),
        ("(", " alone", "(k"),
        ("up to ", ".", "k."),
        ("“", "”, then", "“k”,"),
        ("when ", " grows", None),
        ("the ", "-th", None),
    ],
)
def test_a_formula_and_the_signs_that_touch_it_stay_on_one_line(extension, before, after, together):
    document = new_document("page")
    line = nodes.paragraph("", "", nodes.Text(before), nodes.math("", "k"), nodes.Text(after))
    document += line
    extension.keep_signs(None, document, "page")
    assert line.astext() == f"{before}k{after}"
    kept = [node.astext() for node in line.findall(nodes.inline)]
    assert kept == ([together] if together else [])


def test_a_stop_after_a_formula_is_not_printed_twice_where_a_like_one_came_before(extension):
    document = new_document("page")
    parts = [nodes.emphasis("", "a"), nodes.Text(", "), nodes.math("", "k"), nodes.Text(", ")]
    line = nodes.paragraph("", "", *parts, nodes.emphasis("", "b"))
    document += line
    extension.keep_signs(None, document, "page")
    assert line.astext() == "a, k, b"


def test_a_page_with_a_formula_that_cannot_be_set_is_named_with_its_line(extension, tmp_path):
    """Twice, because a second build finds the page unchanged."""
    for said in (_built(tmp_path, r"# Page", "", r"A $\wrong{x}$ formula."), _built(tmp_path)):
        assert "page.md:3: WARNING: formula \\wrong{x}: Undefined control sequence" in said


def test_formulas_with_labels_are_numbered_and_linked(extension, tmp_path):
    said = _built(tmp_path, *NUMBERED.split("\n"))
    assert "WARNING" not in said
    text = (tmp_path / "out" / "page.html").read_text(encoding="utf-8")
    number, link = re.search(r'<span class="eqno">\((\d)\)', text), re.search(r">\((\d)\)<", text)
    assert number and link and number[1] == link[1]
    assert 'id="equation-one"' in text and 'class="amsmath math"' in text
    assert "\\[" not in text and "MathJax" not in text


def _built(folder, *lines):
    """What Sphinx says when it builds a book of one page with the extension."""
    import io

    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    source = folder / "book"
    source.mkdir(exist_ok=True)
    if lines:
        (source / "page.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = io.StringIO()
    settings = {
        "extensions": ["myst_parser", "formulas"],
        "root_doc": "page",
        "html_math_renderer": "katex",
        "html_theme": "basic",
        "myst_enable_extensions": ["dollarmath", "amsmath"],
    }
    with docutils_namespace():
        places = (source, None, folder / "out", folder / "trees")
        Sphinx(*places, "html", settings, status=None, warning=said).build()
    return re.sub(r"\x1b\[[0-9;]*m", "", said.getvalue())


def test_no_page_sets_formulas_itself(html):
    for page in html.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "MathJax" not in text and not re.search(r"\\\(|\\\[", text), page
    assert not list(html.rglob("tex-svg.js")) and not list(html.rglob("katex*.js"))


def test_every_formula_of_the_book_keeps_the_stops_that_follow_it(html):
    for page in html.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"</span></span></span></span>[,.;:](?!</span>)", text), page


STYLES = ("palette.css", "vendor/katex/katex.min.css", "course.css", "formulas.css")


def shown(look, folder, body):
    """A page with the book's stylesheets, the fonts of formulas there."""
    assets = ROOT / "book" / "assets"
    links = "".join(f'<link rel="stylesheet" href="{(assets / name).as_uri()}">' for name in STYLES)
    (folder / "page.html").write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>{links}{body}</html>'
    )
    page = look((folder / "page.html").as_uri())
    page.evaluate("document.fonts.ready.then(() => true)")
    return page


@pytest.mark.browser
@pytest.mark.parametrize("width", [110, 150, 190, 230])
def test_a_long_formula_breaks_into_lines_and_keeps_its_stop(look, tmp_path, width):
    formula = rendered("x = (1, 2) + (3, 4) = (4, 6) = W_q")
    page = shown(
        look,
        tmp_path,
        f'<p style="width:{width}px">so <span class="nobr">(<span class="math">{formula}</span>),'
        "</span> then</p>",
    )
    first, last, stop = page.evaluate(
        """() => {
            const together = document.querySelector(".nobr"), range = document.createRange();
            range.selectNode(together.lastChild);
            const parts = [...together.querySelectorAll(".katex-base")];
            const bottom = (part) => part.getBoundingClientRect().bottom;
            return [bottom(parts[0]), bottom(parts.at(-1)), bottom(range)];
        }"""
    )
    assert last - first > 20 and abs(stop - last) < 10


@pytest.mark.browser
def test_a_screen_reader_is_told_a_fraction_once(look, tmp_path):
    page = shown(look, tmp_path, f"<p>{rendered(chr(92) + 'frac{a}{b}')}</p>")
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    roles = [one["role"]["value"] for one in tree if not one.get("ignored")]
    assert roles.count("MathMLMath") == 1 and roles.count("MathMLFraction") == 1
    texts = [one["name"]["value"] for one in tree if one["role"]["value"] == "StaticText"]
    assert sorted(normalize("NFKC", text) for text in texts) == ["a", "b"]
