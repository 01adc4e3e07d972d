"""Each of our own checks is silent on sound input and names a planted fault."""

import textwrap
from pathlib import Path

import pytest

from course.book.lint import checks as book_checks

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def site(tmp_path):
    """Write pages of a small site and return its folder."""

    def write(**files):
        for name, text in {"index": "<main id='top'><p>text</p></main>", **files}.items():
            path = tmp_path / (name.replace("__", "/") + ("" if "." in name else ".html"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def sources(tmp_path):
    """A book of two pages with its configuration and contents."""

    def write(
        config="title: t\n", toc="format: jb-book\nroot: intro\nchapters:\n- file: one\n", extra=()
    ):
        (tmp_path / "book").mkdir()
        (tmp_path / "_config.yml").write_text(config)
        (tmp_path / "book" / "_toc.yml").write_text(toc)
        for name in ("intro", "one", *extra):
            (tmp_path / "book" / f"{name}.md").write_text("# Page\n")
        return tmp_path

    return write


def test_our_own_configuration_and_contents_have_no_finding():
    assert book_checks.check_sources(ROOT) == []


@pytest.mark.parametrize(
    "config, key",
    [
        ("titel: t\n", "titel"),
        ("execute:\n  execute_notebook: cache\n", "execute.execute_notebook"),
        ("html:\n  favicons: x\n", "html.favicons"),
        ("sphinx:\n  extra_extension: []\n", "sphinx.extra_extension"),
    ],
)
def test_an_unknown_key_is_named(sources, config, key):
    found = book_checks.unknown_keys(sources(config) / "_config.yml")
    assert len(found) == 1 and repr(key) in found[0]


def test_a_page_outside_the_contents_is_named(sources):
    root = sources(extra=["lost"])
    assert [
        line.split(":")[0] for line in book_checks.orphans(root / "book", root / "_config.yml")
    ] == ["book/lost"]


@pytest.mark.parametrize(
    "tags, found",
    [("remove-input", 1), ("hide-input, remove-output", 1), ("remove-cell", 1), ("hide-input", 0)],
)
def test_a_cell_whose_evidence_cannot_be_opened_is_named(sources, tags, found):
    root = sources()
    (root / "book" / "one.md").write_text(
        f"# Page\n\n```{{code-cell}} python\n:tags: [{tags}]\n1\n```\n"
    )
    assert len(book_checks.hidden_for_good(root / "book")) == found


@pytest.mark.parametrize(
    "text, found",
    [("with\n$$ x = 1 $$\n", 1), ("with\n\n$$ x = 1 $$\n", 0), ("$$\nx = 1\n$$\n", 0)],
)
def test_a_displayed_formula_right_below_text_is_found(tmp_path, text, found):
    (tmp_path / "page.md").write_text(text)
    assert len(book_checks.swallowed_formulas(tmp_path)) == found


def test_an_excluded_page_is_no_orphan(sources):
    root = sources(config="exclude_patterns: [lost.md]\n", extra=["lost"])
    assert book_checks.orphans(root / "book", root / "_config.yml") == []


def test_a_name_in_the_contents_without_a_page_is_named(sources):
    root = sources(toc="format: jb-book\nroot: intro\nchapters:\n- file: one\n- file: two\n")
    assert book_checks.orphans(root / "book", root / "_config.yml") == [
        "book/_toc.yml: two has no page"
    ]


@pytest.mark.parametrize(
    "picture",
    [
        '<img src="a.png">',
        '<img src="a.png" alt="">',
        '<img src="a.png" alt="_images/a.png">',
        '<div role="img"><svg></svg></div>',
        '<svg role="img"></svg>',
    ],
)
def test_a_picture_without_words_is_named(site, picture):
    assert len(book_checks.without_alt(site(index=f"<main>{picture}</main>"))) == 1


@pytest.mark.parametrize(
    "picture",
    [
        '<img src="a.png" alt="a curve that rises">',
        '<svg aria-hidden="true"></svg>',
        '<img src="a.png" alt="" role="presentation">',
        '<div role="img" aria-label="a table">x</div>',
    ],
)
def test_a_picture_with_words_or_for_decoration_is_in_order(site, picture):
    assert book_checks.without_alt(site(index=f"<main>{picture}</main>")) == []


@pytest.mark.parametrize(
    "fault",
    [
        '<script src="https://cdn.invalid/x.js"></script>',
        '<link rel="stylesheet" href="//cdn.invalid/x.css">',
        '<img alt="x" src="http://cdn.invalid/x.png">',
        '<p style="background: url(https://cdn.invalid/x.png)">x</p>',
        '<style>@import "https://cdn.invalid/x.css";</style>',
        '<script>import("https://cdn.invalid/x.js")</script>',
        '<iframe title="x" src="https://cdn.invalid"></iframe>',
        '<img alt="x" srcset="https://cdn.invalid/x.png 2x">',
        '<meta http-equiv="refresh" content="0; url=https://cdn.invalid/">',
    ],
)
def test_a_request_to_another_host_is_named(site, fault):
    found = book_checks.outside_requests(site(index=f"<main>{fault}</main>"))
    assert len(found) == 1 and "cdn.invalid" in found[0] and found[0].startswith("index.html:1:")


def test_a_request_from_a_script_or_stylesheet_file_is_named(site):
    folder = site(
        **{
            "a.js": "const x = 1;\nfetch('https://cdn.invalid/data');",
            "b.css": "p { background: url(//cdn.invalid/b.png); }",
        }
    )
    assert [line.split(": ")[0] for line in book_checks.outside_requests(folder)] == [
        "a.js:2",
        "b.css:1",
    ]


def test_links_namespaces_and_inert_data_are_no_requests(site):
    folder = site(
        index=(
            '<a href="https://example.invalid">x</a><svg xmlns="http://www.w3.org/2000/svg"></svg>'
            '<script type="application/json">{"u": "https://example.invalid/x"}</script>'
        ),
        **{
            "a.js": (
                'const ns = "http://www.w3.org/2000/svg"; const half = "a//b"; //'
                " https://example.invalid"
            )
        },
    )
    assert book_checks.outside_requests(folder) == []


@pytest.mark.parametrize(
    "link, word",
    [
        ('<a href="lost.html">x</a>', "no file"),
        ('<a href="#lost">x</a>', "no element"),
        ('<a href="two.html#lost">x</a>', "no element"),
        ('<script src="lost.js"></script>', "no file"),
        ('<a download href="_sources/lost.ipynb">x</a>', "no file"),
    ],
)
def test_a_link_that_leads_nowhere_is_named(site, link, word):
    found = book_checks.broken_links(site(index=f"<main>{link}</main>", two="<p id='here'>x</p>"))
    assert len(found) == 1 and word in found[0]


def test_sound_links_are_in_order(site):
    folder = site(
        index=(
            '<a href="two.html#here">x</a><a href="#top">x</a><a id="top">x</a><a'
            ' href="mailto:a@b.invalid">m</a>'
        ),
        two="<p id='here'>x</p><a href='index.html'>x</a>",
    )
    assert book_checks.broken_links(folder) == []


def test_an_id_used_twice_is_named(site):
    assert (
        len(book_checks.repeated_ids(site(index="<p id='a'>x</p><p id='a'>y</p><p id='b'>z</p>")))
        == 1
    )


SECRET = {"joint = counts / counts.sum(dim=0, keepdim=True)", "ratio = a / b", "return ratio"}


@pytest.mark.parametrize(
    "name, text",
    [
        (
            "index",
            (
                '<pre><span class="n">joint</span> <span>=</span> counts / counts.sum(dim=0,'
                " keepdim=True)</pre>"
            ),
        ),
        (
            "_sources__page.md",
            "```python\n    joint = counts / counts.sum(dim=0, keepdim=True)  # why\n```\n",
        ),
        (
            "_sources__page.ipynb",
            '{"cells": [{"source": ["joint = counts / counts.sum(dim=0, keepdim=True)\\n", "x"]}]}',
        ),
        ("index", "<pre>ratio = a / b\nreturn ratio</pre>"),
        ("searchindex.js", "### BEGIN SOLUTION"),
    ],
)
def test_a_solution_is_found_wherever_it_lies(site, name, text):
    assert len(book_checks.leaked_solutions(site(**{name: text}), SECRET)) == 1


def test_a_short_line_alone_is_taken_for_a_coincidence(site):
    assert (
        book_checks.leaked_solutions(site(index="<pre>ratio = a / b\nprint(ratio)</pre>"), SECRET)
        == []
    )


def test_the_real_solutions_are_what_is_looked_for(site):
    from autograder.authoring.catalogue import assignments

    secret = set().union(*(one.secret_lines() for one in assignments()))
    longest = max(secret, key=len)
    assert (
        len(
            book_checks.leaked_solutions(
                site(index=f"<pre>{longest.replace('<', '&lt;')}</pre>"), secret
            )
        )
        == 1
    )


def test_the_built_book_has_no_finding(html):
    assert book_checks.check_output(ROOT, html) == []


def test_findings_of_a_page_come_from_the_page_as_it_is_now(site):
    folder = site(index="<img src='a.png'>")
    assert book_checks.without_alt(folder)
    (folder / "index.html").write_text(textwrap.dedent("<p>no picture any more</p>"))
    assert book_checks.without_alt(folder) == []
