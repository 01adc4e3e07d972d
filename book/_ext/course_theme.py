"""The course's own look, as a Sphinx extension: theme, assets, executed-page cache.

bench/results/themes.json lays it beside a library's theme. The theme is one template
(word2serve/layout.html) and the stylesheets in book/assets/. Everything a page loads is named here,
so nothing else can slip in: scripts and stylesheets that other extensions add are dropped unless
KEEP names them.
"""

import os
import re
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from pybtex.plugin import find_plugin, register_plugin
from sphinx.util.fileutil import copy_asset
from sphinx.writers.html5 import HTML5Translator

from course.book.build import cache as book_cache
from course.book.build.build import read_page
from course.book.build.notebooks import glued_by, to_notebook

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CURRENT = re.compile(r'<a class="current reference internal" (href="#">.*?</a>)')
MENDED = {  # docutils' markup that assistive technology cannot use, and what stands in its place
    # deprecated, and not allowed inside the role="list" around it
    'role="doc-biblioentry"': 'role="listitem"',
    '<th class="head"><p></p></th>': "<td></td>",  # the empty corner of a table is no heading
    '<th class="head text-right"><p></p></th>': "<td></td>",
    '<th class="head text-left"><p></p></th>': "<td></td>",
}

KEEP = {  # file name -> is it wanted on this page?
    "_static/design-tabs.js": lambda body: "sd-tab-set" in body,
    "_static/palette.css": lambda body: True,
    "_static/course.css": lambda body: True,
    "_static/vendor/katex/katex.min.css": lambda body: _shows_formulas(body),
    "_static/formulas.css": lambda body: _shows_formulas(body),
    "_static/nav.css": lambda body: True,
    "_static/home.css": lambda body: "w2s-chapters" in body,
    "_static/predict.js": lambda body: "data-w2s-predict" in body,
    "_static/predict.css": lambda body: "data-w2s-predict" in body,
    "_static/figures/figures.css": lambda body: "data-w2s-figure" in body,
    "_static/review.css": lambda body: "data-w2s-review" in body,
    "_static/review-bank.js": lambda body: "data-w2s-review" in body,
    "_static/review-tools.js": lambda body: "data-w2s-review" in body,
    "_static/exam.js": lambda body: 'data-w2s-review="exam"' in body,
    "_static/repeat.js": lambda body: 'data-w2s-review="cards"' in body,
    "_static/next.js": lambda body: 'data-w2s-review="next"' in body,
    "_static/sphinx-design.min.css": lambda body: "sd-" in body,
}


def use_true_pages(app, config):
    """Take executed pages from the cache, less those that read something which has changed
    since.
    """
    config.nb_execution_cache_path = str(book_cache.cache_path(ROOT))
    book_cache.drop_untrue(ROOT)
    os.environ[book_cache.IN_BOOK] = (
        "1"  # kernels inherit it; course.book.pages.figures then writes a static page
    )


def pages_that_ran_again(app, env, added, changed, removed):
    """The pages whose outputs are newer than what Sphinx read of them: their text may be
    as it was.
    """
    now = book_cache.runs(ROOT)
    before = getattr(env, "w2s_runs", {})
    env.w2s_runs = {docname: now.get(app.env.doc2path(docname)) for docname in env.found_docs}
    return [docname for docname, run in env.w2s_runs.items() if run != before.get(docname)]


def remember_citation_plugins(app):
    """pybtex looks through all installed packages for its plugins at each citation; those that are
    registered it has.
    """
    for name in ("plaintext", "docutils"):
        register_plugin("pybtex.backends", name, find_plugin("pybtex.backends", name), force=True)


def use_own_search(app):
    """Sphinx's own index has no sentences to show; search_texts.py writes what the search page
    looks through.
    """
    app.builder.search = False


def _wanted(asset, body):
    name = (getattr(asset, "filename", None) or "").split("?")[0]
    keep = KEEP.get(name if name.startswith("_static/") else f"_static/{name}")
    return keep is not None and keep(body)


def _shows_formulas(body):
    """Whether a page holds a formula, or opens notes of glossary entries, which may."""
    return 'class="katex' in body or "glossary.html#term-" in body


def choose_assets(app, pagename, templatename, context, doctree):
    """Put only the wanted scripts and stylesheets on a page; those of figures come from the
    extension `figures`.
    """
    body = context.get("body", "")
    for wrong, right in MENDED.items():
        body = body.replace(wrong, right)
    if "body" in context:
        context["body"] = body
    context["script_files"] = [js for js in context["script_files"] if _wanted(js, body)]
    context["css_files"] = [css for css in context["css_files"] if _wanted(css, body)]
    context["w2s_scripts"] = ["questions.js"] if "data-w2s-questions" in body else []
    meta = context.get("meta") or {}
    context["w2s_minutes"] = meta.get("minutes") if isinstance(meta, dict) else None
    context["w2s_notebook"] = _notebook_name(app, pagename)
    context["w2s_nav"] = _navigation(context)
    context["w2s_sections"] = _sections(context.get("toc") or "") if doctree is not None else ""
    context["w2s_report"] = _report_address(app, pagename, context)


def _navigation(context):
    """The book's contents: every chapter, and the pages of the chapter that is open."""
    contents = (
        context["toctree"](maxdepth=3, collapse=True, includehidden=True, titles_only=True) or ""
    )
    contents = contents.replace(
        ' role="heading"', ""
    )  # Sphinx leaves out the level that such a heading needs
    return CURRENT.sub(lambda match: f'<a aria-current="page" {match[1]}', contents)


def _sections(toc):
    """The page's sections as a list of links, without its title; empty when there are fewer than
    two.
    """
    inner = (
        toc[toc.find("<ul>", 1) : toc.rfind("</ul>", 0, toc.rfind("</ul>")) + len("</ul>")]
        if toc.count("<ul>") > 1
        else ""
    )
    return inner if inner.count("<a ") > 1 else ""


def _report_address(app, pagename, context):
    """Where an error on this page is reported: the setting with the page filled in, or how to do it
    by hand.
    """
    address = app.config.w2s_report_address
    if address:
        return address.format(
            page=quote(pagename), title=quote(re.sub(r"<[^>]*>", "", context.get("title", "")))
        )
    return (
        "" if pagename == "how-to-use" else context["pathto"]("how-to-use")
    ) + "#report-an-error"


def _notebook_name(app, pagename):
    """Where the page's notebook can be downloaded, or None if the page runs no code."""
    source = Path(app.srcdir, f"{pagename}.md")
    if not source.exists():
        return None
    head = source.read_text(encoding="utf-8")[:2000]
    return (
        f"notebooks/{pagename}.ipynb"
        if "jupytext:" in head or "file_format: mystnb" in head
        else None
    )


def write_notebooks(app):
    """Write each executable page as a notebook without outputs, for readers who want to run it."""
    import nbformat
    from jupyter_cache import get_cache

    runs = get_cache(str(book_cache.cache_path(ROOT)))
    for docname in sorted(app.env.found_docs):
        name = _notebook_name(app, docname)
        if name:
            source, target = Path(app.srcdir, f"{docname}.md"), Path(app.outdir, name)
            try:
                glued = glued_by(runs.merge_match_into_notebook(read_page(source))[1])
            except KeyError:  # a build that runs nothing
                glued = {}
            target.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(to_notebook(source, Path(app.srcdir), glued), target)


def finish(app, error):
    """After an HTML build without an exception: notebooks, and nothing that other extensions left
    behind.
    """
    if error is None and app.builder.format == "html":
        write_notebooks(app)
        copy_asset(str(ROOT / "book" / "assets"), str(Path(app.outdir, "_static")))
        drop_leftovers(Path(app.outdir, "_static"))


def drop_leftovers(static):
    """Delete what other extensions put into _static and no page loads: scripts that name CDNs among
    them.
    """
    own = {
        path.relative_to(ROOT / "book" / "assets").as_posix()
        for path in (ROOT / "book" / "assets").rglob("*")
    }
    keep = own | {name.removeprefix("_static/") for name in KEEP}
    for path in static.rglob("*"):
        if path.is_file() and path.relative_to(static).as_posix() not in keep:
            path.unlink()


def visit_admonition(self, node):
    """An admonition with the class `dropdown` is a native <details>, so that it opens without a
    script.
    """
    if "dropdown" not in node["classes"]:
        HTML5Translator.visit_admonition(self, node)
        return
    title = node.next_node(nodes.title)
    kinds = " ".join(kind for kind in node["classes"] if kind != "dropdown")
    self.body.append(
        f'<details class="admonition {kinds}"><summary class="admonition-title">'
        f"{self.encode(title.astext())}</summary>\n"
    )
    node.remove(title)


def depart_admonition(self, node):
    """Close what visit_admonition opened."""
    self.body.append("</details>\n" if "dropdown" in node["classes"] else "</div>\n")


def setup(app):
    """Register theme, admonitions and the events that choose what a page loads."""
    app.add_html_theme("word2serve", str(HERE / "word2serve"))
    app.add_node(nodes.admonition, override=True, html=(visit_admonition, depart_admonition))
    app.add_config_value("w2s_report_address", "", "html", [str])
    app.connect("config-inited", use_true_pages)
    app.connect("builder-inited", use_own_search)
    app.connect("builder-inited", remember_citation_plugins)
    app.connect("env-get-outdated", pages_that_ran_again)
    app.connect("html-page-context", choose_assets, priority=900)
    app.connect("build-finished", finish, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
