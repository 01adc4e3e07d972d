"""The directive {aside}: a side note, which a reader may skip.

    :::{aside}
    The name comes from a retrieval system.
    :::

On a wide screen it stands at the right of its paragraph's text, on a phone between paragraphs.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Aside(nodes.General, nodes.Element):
    """One side note."""


class AsideDirective(SphinxDirective):
    """{aside}: what its body says, as a side note."""

    has_content = True

    def run(self):
        if not self.content:
            raise self.error("{aside}: say something in its body")
        note = Aside()
        self.state.nested_parse(self.content, self.content_offset, note)
        return [note]


def visit_aside(self, node):
    """The opening tag of a side note."""
    self.body.append(self.starttag(node, "div", CLASS="side-note", role="note"))


def depart_aside(self, node):
    """The end of a side note."""
    self.body.append("</div>\n")


def setup(app):
    """Register the directive."""
    app.add_node(Aside, html=(visit_aside, depart_aside))
    app.add_directive("aside", AsideDirective, override=True)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
