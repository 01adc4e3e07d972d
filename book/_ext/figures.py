"""Figures in the pages, as a Sphinx extension: their stills, their scripts, and the models that
they load.

The stills of the pages that were read anew are drawn by the figures' own scripts (see
`course.book.build.stills`) before pages are written, in one browser. When a page is written, they
are put in, what is missing is drawn, and the kit, the figure's script and, where a model answers in
the page, the runtime are asked for, by that page alone. After the build the weights of the models
that pages offer are written beside the runtime. It needs nothing of the theme.
"""

import re
from pathlib import Path

from docutils import nodes

from course.book.build import stills
from course.book.pages import models as page_models
from course.book.pages.figures import ANSWERS, KEYS, scripts_of

ROOT = Path(__file__).resolve().parents[2]
OFFERED = re.compile(r'"(?:model|vocabulary)":\{"name":"([\w-]+)"')


def find_figures(app, doctree):
    """Note the figures of a page that was read."""
    if app.builder.format == "html":
        app.w2s_figures += [
            node.astext()
            for node in doctree.findall(nodes.raw)
            if "data-w2s-figure" in node.astext()
        ]


def draw_stills(app, env):
    """Draw the stills of all pages that were read, before the first is written."""
    stills.draw_ahead(app.w2s_figures, ROOT)


def add_stills_and_scripts(app, pagename, templatename, context, doctree):
    """Fill the stills of a page and ask for the scripts of its figures, in the order in which they
    must run.
    """
    body = context.get("body", "")
    names = list(dict.fromkeys(name for _, name, *_ in stills.FIGURE.findall(body)))
    if not names:
        return
    context["body"] = stills.fill(body, ROOT)
    with_models = any(ANSWERS & KEYS[name] for name in names)
    wanted = list(dict.fromkeys(file for name in names for file in scripts_of(name, with_models)))
    for file in wanted:
        app.add_js_file(file, loading_method="defer")
    known = {getattr(script, "filename", None) for script in context["script_files"]}
    addresses = {f"_static/{file}" for file in wanted}
    own = [script for script in app.builder.script_files if str(script.filename) in addresses]
    context["script_files"] = [
        *context["script_files"],
        *(script for script in own if script.filename not in known),
    ]


def write_models(app, error):
    """After an HTML build: the scripts of the models that its pages offer, and no others."""
    if error is not None or app.builder.format != "html":
        return
    offered = {
        name
        for page in Path(app.outdir).rglob("*.html")
        for name in OFFERED.findall(page.read_text(encoding="utf-8"))
    }
    page_models.write_scripts(Path(app.outdir, "_static", "models", "weights"), sorted(offered))


def setup(app):
    """Register the events; a change of a figure's script writes the pages anew, without running
    them.
    """
    app.add_config_value("w2s_figures_key", stills.scripts_key(), "html", [str])
    app.w2s_figures = []
    app.connect("doctree-read", find_figures)
    app.connect("env-updated", draw_stills)
    app.connect("html-page-context", add_stills_and_scripts, priority=950)
    app.connect("build-finished", write_models, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
