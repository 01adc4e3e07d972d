"""Formulas are HTML and MathML in the built pages, set by KaTeX while the book is built.

A page that shows one loads KaTeX's stylesheet (chosen in course_theme.py), which loads the fonts
that the page uses, and no script. A formula that KaTeX cannot read is a warning with page, line and
formula, so it stops a strict build.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from course.book.build.formulas import FormulaError, aligned, key, rendered, unnumbered

NAME = "katex"
SCRIPT = "vendor/katex/katex.min.js"  # it runs here; no page loads it
# Brackets and stops that touch a formula: a browser may end a line between the two, and begin the
# next with a colon.
BEFORE = re.compile(r"[(\[“‘]+\Z")
AFTER = re.compile(r"[)\]”’.,;:!?]+")
log = logging.getLogger(__name__)


def html_of(node):
    """The formula of a node of either kind as HTML; FormulaError if KaTeX cannot read it."""
    tex = node.astext()
    if isinstance(node, nodes.math):
        return rendered(tex.strip())
    if "amsmath" in node.get("classes", []):
        return rendered(unnumbered(tex), display=True)
    return rendered(aligned(tex), display=True)


def check(app, doctree):
    """Warn of the formulas of a page just read that KaTeX cannot read.

    Such a page is read again in the next build, which would find it unchanged and say nothing.
    """
    for node in doctree.findall(lambda one: isinstance(one, (nodes.math, nodes.math_block))):
        try:
            html_of(node)
        except FormulaError as error:
            formula = " ".join(node.astext().split())
            log.warning(f"formula {formula}: {error}", location=node, type="w2s")
            app.env.note_reread()


def shown(translator, node):
    """The formula as HTML, or where it was warned of, its TeX as code."""
    try:
        return html_of(node)
    except FormulaError:
        return f"<code>{translator.encode(node.astext())}</code>"


def visit_math(self, node):
    """A formula in a line."""
    self.body.append(self.starttag(node, "span", "", CLASS="math"))
    self.body.append(shown(self, node) + "</span>")
    raise nodes.SkipNode


def visit_math_block(self, node):
    """A formula on a line of its own, with its number if it has one."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node.get("number"):
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this formula")
        self.body.append("</span>")
    self.body.append(shown(self, node) + "</div>\n")
    raise nodes.SkipNode


def keep_signs(app, doctree, docname):
    """Put each formula in a line together with the brackets and stops that touch it."""
    for node in list(doctree.findall(nodes.math)):
        siblings = node.parent.children
        at = siblings.index(node)
        before = _cut(siblings, at - 1, BEFORE)
        after = _cut(siblings, at + 1, AFTER)
        if not (before or after):
            continue
        together = nodes.inline("", "", classes=["nobr"])
        node.replace_self(together)
        together += [nodes.Text(before), node, nodes.Text(after)]


def _cut(siblings, at, signs):
    """Take the signs off the end or the beginning of the text at a place, and return them.

    By its place and not with `replace`, which finds the first text that is equal.
    """
    if not 0 <= at < len(siblings) or not isinstance(siblings[at], nodes.Text):
        return ""
    text = siblings[at]
    found = signs.search(text) if signs is BEFORE else signs.match(text)
    if not found:
        return ""
    rest = nodes.Text(text[: found.start()] + text[found.end() :])
    rest.parent = text.parent
    siblings[at] = rest
    return found[0]


def leave_out_script(app, error):
    """Take KaTeX's script, which is no part of a page, out of the built book."""
    if error is None and app.builder.format == "html":
        Path(app.outdir, "_static", SCRIPT).unlink(missing_ok=True)


def setup(app):
    """Register the renderer, which `html_math_renderer` chooses, and the events."""
    app.add_config_value("w2s_formulas_key", key(), "html", [str])
    app.add_html_math_renderer(NAME, (visit_math, None), (visit_math_block, None))
    app.connect("doctree-read", check)
    app.connect("doctree-resolved", keep_signs, priority=900)
    app.connect("build-finished", leave_out_script, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
