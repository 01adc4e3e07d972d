"""Code cells as a reader meets them: no plumbing, and hidden code behind a corner link.

- Lines that import or call the course's plumbing are left out (course/book/build/shown_code.py).
- A cell with the tag `hide-input` shows its output, with a small link `</>` in the corner of the
  output's frame, which opens the code.
- The code below a {predict} holds its answer: it stays folded until the reader has predicted
  (assets/predict.js), and without scripts until it is opened.
- Cells of tables without words do not break: a vector stays on one line.
- Lines of code that are too long for a screen are wrapped with a hanging indent.

Everything opens without a script. The notebook of a page keeps its cells as they are.
"""

import re

from docutils import nodes

from course.book.build.shown_code import answers_prediction, shown_source

BLOCK = re.compile(
    r'(<div class="highlight-(?!none|text|myst-ansi|ipythontb)[\w+-]+ notranslate">'
    r'<div class="highlight"><pre>(?:<span></span>)?)(.*?)(</pre>)',
    re.S,
)
INDENT = re.compile(r'(?:<span class="w">)?( *)')
SHORT_CELL = re.compile(r'<td(?: class="([\w -]+)")?><p>([^<a-zA-Z]{1,40})</p></td>')
HANG = 4  # columns by which the further parts of a wrapped line are moved in


class CellSource(nodes.container):
    """The folded code of a cell."""


def is_cell(node):
    """Is this the container of a code cell, as myst-nb makes it?"""
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def source_of(cell):
    """The code of a cell: its node, or None where there is none."""
    if not cell.children or cell[0].get("nb_element") != "cell_code_source":
        return None
    return next(iter(cell[0].findall(nodes.literal_block)), None)


def settle_cells(app, doctree):
    """Leave plumbing out of the code of a page, and fold what is hidden."""
    for cell in list(doctree.findall(is_cell)):
        block = source_of(cell)
        if block is None:
            continue
        whole = block.astext()
        code = shown_source(whole)
        if not code:
            cell.remove(cell[0])
            cell.attributes.pop("hide_mode", None)
            continue
        shorter = nodes.literal_block(code, code, **block.attributes)
        shorter.source, shorter.line = block.source, block.line
        block.replace_self(shorter)
        if answers_prediction(whole):
            _fold(cell, "is-answer")
        elif cell.get("hide_mode") == "input":
            _fold(cell, "is-hidden" if len(cell) > 1 else "is-alone")


def _fold(cell, kind):
    """Put the code of a cell into a <details>."""
    code = cell[0]
    cell.attributes.pop("hide_mode", None)
    cell["classes"].append("has-source")
    holder = CellSource("", classes=["cell-source", kind])
    cell.replace(code, holder)
    holder += code


def visit_source(self, node):
    """The opening tag of folded code, and its link."""
    self.body.append(self.starttag(node, "details", CLASS=" ".join(node["classes"])))
    words = "Code, with the answer" if "is-answer" in node["classes"] else "Show the code"
    self.body.append(
        f'<summary title="{words}"><span aria-hidden="true">&lt;/&gt;</span>'
        f'<span class="cell-source-words">{words}</span></summary>\n'
    )


def depart_source(self, node):
    """The end of folded code."""
    self.body.append("</details>\n")


def wrap_lines(body):
    """Each line of code in a span of its own, whose style knows how far it is indented."""

    def one(found):
        if 'class="hll"' in found[2]:
            return found[0]
        lines = found[2].rstrip("\n").split("\n")
        return f"{found[1]}{''.join(map(_line, lines))}{found[3]}"

    return BLOCK.sub(one, body)


def _line(text):
    indent = len(INDENT.match(text)[1]) + HANG
    return f'<span class="ln" style="--in:{indent}">{text}\n</span>'


def keep_together(body):
    """Cells of tables that hold a number, a vector or a few signs, so that they do not break."""
    return SHORT_CELL.sub(
        lambda cell: f'<td class="{cell[1] or ""} short"><p>{cell[2]}</p></td>', body
    )


def add_lines(app, pagename, templatename, context, doctree):
    """Wrap the code of a page that is about to be written, and hold short cells together."""
    if "body" in context:
        context["body"] = keep_together(wrap_lines(context["body"]))


def setup(app):
    """Cells are settled when a page was read, lines when it is written."""
    app.add_node(CellSource, html=(visit_source, depart_source))
    app.connect("doctree-read", settle_cells, priority=250)
    app.connect("html-page-context", add_lines)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
