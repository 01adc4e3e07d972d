"""Each page that runs code is also a notebook: valid, plain Markdown, and JupyterLab opens it
without a complaint.
"""

import os
import re
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from course.book.build.notebooks import to_notebook

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
RUN = [
    path
    for path in sorted(BOOK.rglob("*.md"))
    if "jupytext:" in path.read_text(encoding="utf-8")[:400]
]
MYST = re.compile(
    r"^\s*(`{3,}|:{3,})\{|^\([\w-]+\)=$|^\s*%\s|(?<!`)\{[a-z][\w:-]*\}`|\]\([^)]*\.md[)#]|^:{3,}",
    re.M,
)
HEAD = (
    "---\njupytext:\n  formats: md:myst\n  text_representation: {extension: .md, format_name:"
    " myst}\nkernelspec: {name: python3, display_name: Python 3}\n---\n"
)


@pytest.fixture
def page(tmp_path):
    """Write a page and give the Markdown of its notebook, without the opening note."""
    (tmp_path / "references.bib").write_text(
        "@article{levy2015, author={Levy, Omer and Goldberg, Yoav and Dagan, Ido}, "
        "title={Improving}, journal={TACL}, year={2015}, doi={10.1162/x}}"
    )
    (tmp_path / "other.md").write_text("# Another page\n")
    (tmp_path / "code.py").write_text("def f(x):\n    return x\n\n\ndef g(x):\n    return 2 * x\n")
    (tmp_path / "dot.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")

    def write(text):
        (tmp_path / "page.md").write_text(f"{HEAD}\n{text}\n")
        notebook = to_notebook(tmp_path / "page.md", tmp_path)
        nbformat.validate(notebook)
        return (
            "\n\n".join(cell.source for cell in notebook.cells[1:] if cell.cell_type == "markdown"),
            notebook,
        )

    return write


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_a_page_becomes_a_valid_notebook_of_plain_markdown(path):
    notebook = to_notebook(path, BOOK)
    nbformat.validate(notebook)
    assert "jupytext" not in notebook.metadata
    left = [
        found[0]
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for found in MYST.finditer(
            re.sub(r"```.*?```|`[^`\n]*`(?!`)", "", cell.source, flags=re.S)
            + "\n"
            + "\n".join(
                line for line in cell.source.splitlines() if line.startswith(("```{", ":::"))
            )
        )
    ]
    assert left == []
    assert to_notebook(path, BOOK) == notebook


@pytest.mark.parametrize(
    "source, plain",
    [
        (
            ":::{admonition} Careful\n:class: warning\nIt *breaks*.\n:::",
            "> **Careful**\n>\n> It *breaks*.",
        ),
        ("```{note}\nShort.\n```", "> **Note**\n>\n> Short."),
        ("```{math}\n:label: one\na = b\n```", "$$\na = b\n$$"),
        (
            "```{literalinclude} code.py\n:language: python\n:pyobject: g\n```",
            "```python\ndef g(x):\n    return 2 * x\n```",
        ),
        ("```python\n# {cite}`levy2015` stays\n```", "```python\n# {cite}`levy2015` stays\n```"),
        (
            "See {cite}`levy2015` and {cite:t}`levy2015`.",
            "See (Levy et al., 2015) and Levy et al., 2015.",
        ),
        ("A {term}`cosine`, the {term}`noise <noise distribution>`.", "A cosine, the noise."),
        ("Read [](other.md) or [this](other.md#part).", "Read *Another page* or this."),
        ("Write `{predict}` so, and `[](other.md)`.", "Write `{predict}` so, and `[](other.md)`."),
        ("(here)=\n## Part\n\n% a comment\n\nText.", "## Part\n\nText."),
        ("::::{grid} 2\n:::{card} One\nInside.\n:::\n::::", "> **One**\n>\n> Inside."),
        (
            "```{quiz} questions.yml\n:only: x\n```",
            "*The quiz can be answered on this page of the book.*",
        ),
        (
            "```{predict} pairs\n:choose: up | down\nWhich way?\n```",
            (
                "> **Predict, before you run the next cell**\n>\n> Which way?\n>\n> Choose: up or"
                " down."
            ),
        ),
        (
            "[outside](https://example.invalid/a.md) stays",
            "[outside](https://example.invalid/a.md) stays",
        ),
    ],
)
def test_each_piece_of_myst_becomes_plain_markdown(page, source, plain):
    text, _ = page(source)
    assert text.split("\n\n## References")[0] == plain


def test_references_stand_at_the_end_with_their_address(page):
    text, _ = page("See {cite}`levy2015`.")
    assert text.endswith(
        "## References\n\n- Levy, Goldberg, Dagan. Improving. *TACL*. 2015."
        " https://doi.org/10.1162/x"
    )


def test_a_picture_travels_inside_the_notebook(page):
    text, notebook = page("![a dot](dot.svg)")
    assert text == "![a dot](attachment:dot.svg)"
    assert "image/svg+xml" in notebook.cells[1].attachments["dot.svg"]


def test_a_number_that_a_cell_computed_stands_in_the_text(tmp_path):
    (tmp_path / "page.md").write_text(f"{HEAD}\nAll {{glue:text}}`words:,` of them.\n")
    notebook = to_notebook(tmp_path / "page.md", tmp_path, glued={"words": "12345"})
    assert notebook.cells[1].source == "All 12,345 of them."


def test_hidden_code_is_folded_and_not_lost(page):
    _, notebook = page("```{code-cell} python\n:tags: [hide-input]\n1 + 1\n```")
    assert notebook.cells[1].source == "1 + 1" and notebook.cells[1].metadata["jupyter"] == {
        "source_hidden": True
    }


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(
    "every", [pytest.param(4, id="each-fourth"), pytest.param(1, id="all", marks=pytest.mark.long)]
)
def test_jupyterlab_opens_the_pages(html, browser, tmp_path, every):
    """The notebooks of the built book, and the exercise notebooks that it offers, opened in a real
    JupyterLab.
    """
    from tests.journeys.conftest import wait_for_address

    names = [
        path.relative_to(html).as_posix()
        for folder in ("notebooks", "_downloads")
        for path in sorted((html / folder).rglob("*.ipynb"))
    ]
    assert len(names) >= len(RUN) + 1
    names = names[::-every]  # from the end, where an exercise notebook stands
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(html / name, tmp_path / name)
    token, log = secrets.token_hex(16), tmp_path / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "jupyter",
                "lab",
                "--no-browser",
                "--port=0",
                "--ip=127.0.0.1",
                "--ServerApp.allow_root=True",
                f"--IdentityProvider.token={token}",
                f"--ServerApp.root_dir={tmp_path}",
                "--LabApp.expose_app_in_browser=True",
            ],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "JUPYTER_CONFIG_DIR": str(tmp_path / ".jupyter"),
                "JUPYTER_RUNTIME_DIR": str(tmp_path / ".run"),
                "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / ".workspaces"),
            },
        )
    try:
        base = wait_for_address(server, log)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page, found = context.new_page(), []
        page.goto(f"{base}/lab?token={token}")
        page.wait_for_function(
            "window.jupyterapp && window.jupyterapp.restored.then(() => true)", timeout=120_000
        )
        for (
            name
        ) in names:  # Lab is loaded once; each notebook is opened in it as a double click opens it
            page.evaluate(
                "path => { jupyterapp.commands.execute('docmanager:open', { path }); }", name
            )
            panel = page.locator(".jp-NotebookPanel:visible")
            page.wait_for_selector(
                ".jp-NotebookPanel:visible .jp-MarkdownCell .jp-RenderedMarkdown h1, .jp-Dialog",
                timeout=120_000,
            )
            found += [
                f"{name}: {text}"
                for text in page.locator(".jp-Dialog").all_inner_texts()
                if not re.search(r"(?i)select kernel|would you like to (get|receive)", text)
            ]
            shown = panel.locator(".jp-RenderedMarkdown").all_inner_texts()
            found += [
                f"{name}: shows {text[:60]!r}"
                for text in shown
                if re.search(r"\{[a-z:-]+\}`|^:::", text, re.M)
            ]
            assert page.evaluate("jupyterapp.shell.currentWidget.context.path") == name and shown
            page.evaluate("() => { jupyterapp.shell.currentWidget.dispose(); }")
            panel.wait_for(state="detached")
        context.close()
        assert found == []
    finally:
        server.kill()  # it has only read copies
        server.wait()
